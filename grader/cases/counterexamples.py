"""Seeds that once showed a fault, kept in the package: `counterexamples.toml`, which every set of cases takes in.

One table each: the recipe's name, the seed, and what was seen. `grader cases regenerate --stress` writes them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import Field

from grader.cases.draw import Recipe
from grader.errors import ProblemError
from grader.problem.toml import Closed, parse, read_toml

if TYPE_CHECKING:
    from grader.cases.code import Code
    from grader.problem.schema import Problem

FILE = "counterexamples.toml"
TAG = "counterexample"


class Counterexample(Closed):
    """A recipe's name, the seed that it was drawn from, and what happened with it."""

    recipe: str = Field(min_length=1)
    seed: str = Field(min_length=1)
    why: str = Field(min_length=1)


class Kept(Closed):
    """The whole file."""

    counterexamples: tuple[Counterexample, ...] = ()


def kept(problem: Problem) -> tuple[Counterexample, ...]:
    """What the package keeps; () where it has no such file. Raises ProblemError."""
    path = problem.root / FILE
    return parse(path, Kept, read_toml(path)).counterexamples if path.exists() else ()


def kept_recipes(problem: Problem, code: Code) -> Iterator[tuple[Recipe, bytes]]:
    """The recipes to make further hidden cases of, each with its seed. Raises ProblemError for an unknown recipe."""
    known = {recipe.name: recipe for recipe in code.recipes()}
    for one in kept(problem):
        if one.recipe not in known:
            raise ProblemError(f"{problem.root / FILE}: no recipe {one.recipe!r} in cases.py: rename it or take it out")
        recipe = known[one.recipe]
        yield (
            replace(
                recipe,
                name=f"{recipe.name}-{hashlib.sha256(one.seed.encode()).hexdigest()[:8]}",
                stream=recipe.stream or recipe.name,
                visibility="hidden",
                same_memory=False,
                tags=recipe.tags | {TAG},
            ),
            one.seed.encode(),
        )


def keep(problem: Problem, found: Sequence[Counterexample]) -> None:
    """Adds to the package's file; what is there already is not written twice."""
    before = kept(problem)
    new = [one for one in found if (one.recipe, one.seed) not in {(old.recipe, old.seed) for old in before}]
    tables = "".join(_table(one) for one in dict.fromkeys(new))
    with (problem.root / FILE).open("a", encoding="utf-8") as file:
        file.write(tables)


def _table(one: Counterexample) -> str:
    quoted = {key: json.dumps(value) for key, value in one.model_dump().items()}
    return "[[counterexamples]]\n" + "".join(f"{key} = {value}\n" for key, value in quoted.items()) + "\n"
