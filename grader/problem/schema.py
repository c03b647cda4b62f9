"""The closed schema of a problem package as frozen records; docs/problem-format.md explains every key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from grader.problem.toml import Closed
from grader.records import Limits, Scalar, Verdict

DIMENSION = re.compile(r"(?:[1-9][0-9]*\*)?[A-Za-z_][A-Za-z0-9_]*|[1-9][0-9]*")

Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")]
Shape = tuple[str, ...]


class Parameter(Closed):
    """One argument. Tensors have a shape of dimension names, "..." (only first) for any number of leading ones.

    optional: the argument may be None, which is then its default. positive: a number must be above 0.
    """

    name: Name
    kind: Literal["tensor", "number", "integer", "boolean", "text"]
    meaning: Text
    shape: Shape = ()
    default: Scalar = None
    optional: bool = False
    positive: bool = False

    @field_validator("shape")
    @classmethod
    def _dimensions(cls, shape: Shape) -> Shape:
        return check_shape(shape)

    @model_validator(mode="after")
    def _only_tensors_have_shapes(self) -> Self:
        if self.shape and self.kind != "tensor":
            raise ValueError(f"only tensors have a `shape`, `{self.name}` is of kind {self.kind}: take `shape` out")
        return self

    @property
    def required(self) -> bool:
        """Whether every call has to give it."""
        return self.default is None and not self.optional


class State(Closed):
    """One tensor of a module's `state_dict`, by its full name ("down_proj.weight"), with its dimensions."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$")]
    shape: Shape
    meaning: Text

    @field_validator("shape")
    @classmethod
    def _dimensions(cls, shape: Shape) -> Shape:
        return check_shape(shape)


class Entry(Closed):
    """What the learner writes: a function, or a class (`module`) with constructor arguments and a `state_dict`.

    parameters: of the function, or of `forward`. result: the dimensions of the one tensor that comes back.
    """

    kind: Literal["function", "module"]
    name: Name
    parameters: Annotated[tuple[Parameter, ...], Field(min_length=1)]
    result: Shape
    result_meaning: Text
    init: tuple[Parameter, ...] = ()
    state: tuple[State, ...] = ()

    @field_validator("result")
    @classmethod
    def _dimensions(cls, shape: Shape) -> Shape:
        return check_shape(shape)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind == "function" and (self.init or self.state):
            raise ValueError('`init` and `state` are for `kind = "module"`: take them out, or change `kind`')
        check_unique("parameters", [parameter.name for parameter in self.parameters])
        check_unique("init", [parameter.name for parameter in self.init])
        check_unique("state", [tensor.name for tensor in self.state])
        return self


class MistakeInfo(Closed):
    """A mistake that gets its name in `diagnosis`; mistakes.py has a function of the same name as `id`."""

    id: Id
    title: Text
    hint: Text


class Example(Closed):
    """A worked example: a call and its result as a page shows them, and what to see in it."""

    title: Text
    call: Text
    result: Text
    explanation: Text


class Source(Closed):
    """Where a claim comes from. revision: pinned commit or version. lines: "64-91"."""

    title: Text
    url: Annotated[str, Field(pattern=r"^https://[^\s]+$")] | None = None
    revision: Text | None = None
    file: Text | None = None
    lines: Annotated[str, Field(pattern=r"^\d+(-\d+)?(, \d+(-\d+)?)*$")] | None = None
    supports: Text


class SelfCheck(Closed):
    """A question for the learner's own understanding, with its answer. Markdown with LaTeX."""

    question: Text
    answer: Text


class Neighbour(Closed):
    """A chapter before or after this one; slug: null where no problem of ours stands for it."""

    title: Text
    slug: Id | None = None


class Series(Closed):
    """The series that the problem belongs to, and its neighbours there."""

    title: Text
    previous: Neighbour | None = None
    next: Neighbour | None = None


class Place(Closed):
    """Where the operation stands in the model: a path from the whole to the part, and a sentence or two."""

    path: Annotated[tuple[Text, ...], Field(min_length=1)]
    text: Text


class Manifest(Closed):
    """All keys of problem.toml."""

    format: Literal[1]
    title: Text
    summary: Text
    difficulty: Literal["easy", "medium", "hard"]
    language: Language
    public_seed: Annotated[int, Field(ge=0, lt=1 << 64)]
    tags: tuple[Text, ...] = ()
    checks: tuple[Literal["gradient"], ...] = ()
    hints: tuple[Text, ...]
    requirements: Annotated[tuple[Text, ...], Field(min_length=1)]
    constraints: tuple[Text, ...]
    entry: Entry
    limits: Limits = Limits()
    mistakes: tuple[MistakeInfo, ...] = ()
    examples: Annotated[tuple[Example, ...], Field(min_length=1)]
    sources: tuple[Source, ...] = ()
    self_check: tuple[SelfCheck, ...] = ()
    series: Series | None = None
    place: Place | None = None

    @field_validator("limits")
    @classmethod
    def _above_zero(cls, limits: Limits) -> Limits:
        for key, value in vars(limits).items():
            if not value > 0:
                raise ValueError(f"`{key}` is {value}: give a number above 0")
        return limits

    @model_validator(mode="after")
    def _no_mistake_twice(self) -> Self:
        check_unique("mistakes", [mistake.id for mistake in self.mistakes])
        return self


class Problem(Manifest):
    """A whole package as records. statements, theories: the texts by language, the package's own language first."""

    slug: str
    root: Path
    starter: str
    statements: dict[str, str]
    theories: dict[str, str]

    def __hash__(self) -> int:
        return hash(self.root)

    @property
    def statement(self) -> str:
        """The statement in the package's own language."""
        return self.statements[self.language]

    @property
    def theory(self) -> str:
        """The theory in the package's own language."""
        return self.theories[self.language]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the statement can be read in, the package's own first."""
        return tuple(self.statements)


class Expectation(Closed):
    """What submissions.toml says of one example submission."""

    verdicts: Annotated[tuple[Annotated[Verdict, Field(strict=False)], ...], Field(min_length=1)] | None = None
    mistakes: tuple[Id, ...] = ()
    why: Text | None = None


class ExampleSubmission(Closed):
    """A file of submissions/: the verdicts that are right for it (its folder's name, unless submissions.toml permits
    others) and the mistakes that the diagnosis has to name."""

    path: Path
    verdicts: tuple[Verdict, ...]
    mistakes: tuple[str, ...]


def check_shape(shape: Shape) -> Shape:
    """Dimensions are names ("d_ff"), numbers ("3") or multiples ("2*d_ff"); "..." may only come first."""
    for position, dimension in enumerate(shape):
        if not (dimension == "..." and position == 0) and not DIMENSION.fullmatch(dimension):
            raise ValueError(
                f'`{dimension}` is no dimension: use "d_ff", "3" or "2*d_ff", and "..." only in first place'
            )
    return shape


def check_unique(key: str, names: list[str]) -> None:
    """Refuses a name that stands twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"`{twice[0]}` stands twice in `{key}`: rename or remove one")
