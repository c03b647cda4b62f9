"""The code of a problem package: its reference, its recipes for cases, its mistakes. Trusted: authors write it.

reference.py    reference(*args, **kwargs) -> the exact answer, float64, of float64 tensors (also of tensors on `meta`,
                for its shape); for modules also with the keywords `init` and `state`. Optionally
                rounding(..., dtype=name) -> one unit of rounding for each element; without it the unit is measured, see
                `measured_rounding`. Optionally, for the words of public cases: quantities(...) -> name -> number for
                each element of the result, and regions(...) -> words -> flag for each.
cases.py        recipes() -> an iterable of `draw.Recipe`. Optionally INGREDIENTS: tag -> the dtypes in which a hidden
                case has to carry it.
mistakes.py     either explanations(..., dtype=name), which yields (mistakes' ids, output, unit of rounding) for every
                mistake and every pair of them, those to prefer first, the same ids for every call, with None for output
                and unit where such code raises; or, simpler, one function for each mistake, named by its id and called
                like the reference.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from grader.cases.draw import Draw, Recipe
from grader.errors import ProblemError
from grader.problem.toml import not_readable

if TYPE_CHECKING:
    from grader.problem.schema import Problem

WIDE = torch.finfo(torch.float32).eps
"""float64 inputs may be computed in float32."""

FACTOR = 8
"""An error of this many units of rounding is accepted; what that is measured on stands in docs/decisions."""

TRIES = 64
MADE_BY = (
    "cases/files.py",
    "cases/make.py",
    "cases/counterexamples.py",
    "cases/draw.py",
    "cases/mistakes.py",
    "judging/gradients.py",
    "cases/code.py",
)
AUTHORED = ("reference.py", "cases.py", "mistakes.py")
OPTIONAL = ("counterexamples.toml",)

Told = TypeVar("Told")
Explained = tuple[tuple[str, ...], torch.Tensor | None, torch.Tensor | None]


@dataclass(frozen=True, kw_only=True)
class Code:
    """What a package's files define. Every function takes a call's arguments as float64 tensors and numbers."""

    reference: Callable[..., torch.Tensor]
    rounding: Callable[..., torch.Tensor]
    recipes: Callable[[], Iterable[Recipe]]
    explanations: Callable[..., Iterator[Explained]]
    ingredients: Mapping[str, Sequence[str]]
    quantities: Callable[..., Mapping[str, torch.Tensor]] | None = None
    regions: Callable[..., Mapping[str, torch.Tensor]] | None = None


def load_code(problem: Problem) -> Code:
    """Runs the package's files. Raises ProblemError, naming the file, where one can't be run or lacks a function."""
    reference_file, cases_file, mistakes_file = (_run(problem, name) for name in AUTHORED)
    reference = _function(problem, reference_file, "reference")
    return Code(
        reference=reference,
        rounding=getattr(reference_file, "rounding", None) or measured_rounding(reference),
        recipes=_function(problem, cases_file, "recipes"),
        ingredients=getattr(cases_file, "INGREDIENTS", {}),
        explanations=_listed(problem, mistakes_file) or _from_functions(problem, mistakes_file),
        quantities=getattr(reference_file, "quantities", None),
        regions=getattr(reference_file, "regions", None),
    )


def _run(problem: Problem, name: str) -> ModuleType:
    return run_file(problem, problem.root / name)


@contextmanager
def blamed_on(path: Path, what: str) -> Iterator[None]:
    """Turns any exception of a package's code into a ProblemError that names the file and says what failed."""
    try:
        yield
    except ProblemError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename == str(path):
            raise not_readable(path, error) from None
        raise ProblemError(f"{path}: {what}: {type(error).__name__}: {error}: mend the code") from error


def run_file(problem: Problem, path: Path) -> ModuleType:
    """A Python file of the package, run as a module of its own. Raises ProblemError, naming the file."""
    if not path.is_file():
        raise ProblemError(f"{path}: it is missing: every package has this file; see docs/problem-format.md")
    spec = importlib.util.spec_from_file_location(f"grader_problem_{problem.slug}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with blamed_on(path, "can't be run"):
        spec.loader.exec_module(module)
    return module


def _function(problem: Problem, module: ModuleType, name: str) -> Callable[..., Any]:
    function = getattr(module, name, None)
    if not callable(function):
        raise ProblemError(f"{module.__file__}: define a function `{name}` (docs/problem-format.md)")
    return function  # type: ignore[no-any-return]


def _listed(problem: Problem, module: ModuleType) -> Callable[..., Iterator[Explained]] | None:
    """The package's own `explanations`, if it has them, held to the mistakes that problem.toml lists."""
    own = getattr(module, "explanations", None)
    if own is None:
        return None
    listed = {mistake.id for mistake in problem.mistakes}

    def explanations(*args: Any, dtype: str, **kwargs: Any) -> Iterator[Explained]:
        for names, output, unit in own(*args, dtype=dtype, **kwargs):
            unknown = ", ".join(repr(name) for name in names if name not in listed)
            if unknown:
                what = f"`explanations` has {unknown}, which problem.toml does not list"
                raise ProblemError(f"{module.__file__}: {what}: add it to [[mistakes]] there, or mend the id")
            yield names, output, unit

    return explanations


def _from_functions(problem: Problem, module: ModuleType) -> Callable[..., Iterator[Explained]]:
    functions = {mistake.id: _function(problem, module, mistake.id) for mistake in problem.mistakes}

    def explanations(*args: Any, dtype: str, **kwargs: Any) -> Iterator[Explained]:
        for name, function in functions.items():
            try:
                output = function(*args, **kwargs)
                unit = measured_rounding(function)(*args, dtype=dtype, **kwargs)
                largest = torch.finfo(getattr(torch, dtype)).max
                yield (name,), output, torch.where(output.abs() > largest, torch.inf, unit)
            except (RuntimeError, IndexError, ValueError, TypeError):
                yield (name,), None, None

    return explanations


def measured_rounding(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A unit of rounding for a function without an analytic one.

    The inputs are moved by one rounding at random, many times. The unit is the largest move of the answer, one rounding
    of the answer itself, and half of float32's rounding of the largest answer, for what cancels inside, with the
    smallest number of the dtype.
    """

    def rounding(*args: Any, dtype: str, **kwargs: Any) -> torch.Tensor:
        info = torch.finfo(getattr(torch, dtype))
        eps = max(info.eps, WIDE)
        exact, draw = function(*args, **kwargs), Draw(b"measured rounding")
        spread = torch.zeros_like(exact)
        for _ in range(TRIES):
            moved = function(*_moved(args, eps, draw), **_moved(kwargs, eps, draw))
            spread = torch.maximum(spread, torch.nan_to_num((moved - exact).abs(), nan=0.0))
        finite = exact[exact.isfinite()]
        scale = float(finite.abs().max()) if finite.numel() else 0.0
        return spread + eps * exact.abs() + WIDE * scale / 2 + info.smallest_normal * info.eps

    return rounding


def _moved(value: Any, eps: float, draw: Draw) -> Any:
    if isinstance(value, torch.Tensor):
        return value * (1 + eps * torch.from_numpy(draw.signs(tuple(value.shape))))
    if isinstance(value, dict):
        return {key: _moved(inner, eps, draw) for key, inner in value.items()}
    return tuple(_moved(inner, eps, draw) for inner in value) if isinstance(value, tuple) else value


def sources(problem: Problem) -> dict[str, str]:
    """sha256 of all that decides about the cases: the package's files and keys, and the generator's own files."""
    files = _package_files(problem) | {f"grader/{name}": Path(__file__).parents[1] / name for name in MADE_BY}
    found = {name: _told_of(path, Path.read_bytes) for name, path in files.items()}
    found["problem.toml, starter.py"] = _deciding_keys(problem)
    return {name: hashlib.sha256(data).hexdigest() for name, data in found.items()}


def state(problem: Problem) -> tuple[object, ...]:
    """What changes whenever the package's part of `sources` may have; costs a look at each file, and reads none."""
    looks = (_told_of(path, Path.stat) for path in _package_files(problem).values())
    return (_deciding_keys(problem), *((look.st_mtime_ns, look.st_size, look.st_ino) for look in looks))


def _package_files(problem: Problem) -> dict[str, Path]:
    optional = (name for name in OPTIONAL if (problem.root / name).exists())
    return {name: problem.root / name for name in (*AUTHORED, *optional)}


def _told_of(path: Path, tell: Callable[[Path], Told]) -> Told:
    try:
        return tell(path)
    except OSError as error:
        raise ProblemError(f"{error.filename}: {error.strerror}: every package has this file") from error


def _deciding_keys(problem: Problem) -> bytes:
    """What of the record the cases depend on: a text that was mended is no reason to make them anew."""
    entry, mistakes = problem.entry, [mistake.id for mistake in problem.mistakes]
    keys = [problem.public_seed, problem.checks, entry.kind, entry.name, entry.result, mistakes, problem.starter]
    return json.dumps(keys).encode()
