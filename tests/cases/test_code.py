"""A package's code: the simple way to write one, and errors that name the file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from grader.cases.case import Case, CaseSet
from grader.cases.code import load_code
from grader.cases.draw import Draw, Recipe
from grader.cases.make import build_case, make_cases
from grader.cases.mistakes import explain, from_bytes, to_bytes
from grader.errors import ProblemError
from grader.judging.diagnose import diagnose
from grader.problem.arguments import Arguments, Array
from grader.problem.schema import Entry, MistakeInfo, Parameter, Problem
from grader.verify.kills import check_diagnosis
from tests.support.calling import answer

REFERENCE = """
import torch
def reference(x, cap=2.0):
    return cap * torch.tanh(x / cap)
"""
CASES = """
from functools import partial
from grader.cases.draw import DTYPES, Arguments, Array, Recipe
def arguments(dtype, draw):
    return Arguments(args=(Array(values=draw.bell((4, 3), 3.0), dtype=dtype), 3.5))
def recipes():
    for visibility in ("public", "hidden"):
        for dtype in DTYPES:
            drawn = partial(arguments, dtype)
            yield Recipe(name=f"{visibility}-{dtype}", arguments=drawn, dtype=dtype, visibility=visibility)
"""
MISTAKES = """
import torch
def clamped(x, cap=2.0):
    return x.clamp(-cap, cap)
def unscaled(x, cap=2.0):
    return torch.tanh(x / cap)
def raising(x, cap=2.0):
    raise ValueError("no")
"""


@pytest.fixture
def soft_cap(situ_glu: Problem, tmp_path: Path) -> Problem:
    """A package whose reference has no unit of rounding, and whose mistakes are plain functions."""
    for name, text in (("reference.py", REFERENCE), ("cases.py", CASES), ("mistakes.py", MISTAKES)):
        (tmp_path / name).write_text(text)
    parameters = (
        Parameter(name="x", kind="tensor", shape=("...",), meaning="x"),
        Parameter(name="cap", kind="number", default=2.0, meaning="cap"),
    )
    return situ_glu.model_copy(
        update={
            "root": tmp_path,
            "slug": "soft_cap",
            "starter": "def soft_cap(x, cap=2.0):\n    return x\n",
            "entry": Entry(
                kind="function", name="soft_cap", parameters=parameters, result=("...",), result_meaning="y"
            ),
            "mistakes": tuple(MistakeInfo(id=id, title=id, hint=id) for id in ("clamped", "unscaled", "raising")),
        }
    )


def right(x: torch.Tensor, cap: float = 2.0) -> torch.Tensor:
    return cap * torch.tanh(x / cap)


def wide(x: torch.Tensor, cap: float = 2.0) -> torch.Tensor:
    return (torch.tanh(x.double() / cap) * cap).to(x.dtype)


def rewritten(x: torch.Tensor, cap: float = 2.0) -> torch.Tensor:
    return (cap * (2 * torch.sigmoid(2 * x.float() / cap) - 1)).to(x.dtype)


@pytest.mark.parametrize("function", [right, wide, rewritten])
def test_a_measured_unit_accepts_right_code(soft_cap: Problem, function: object) -> None:
    """Without an analytic unit of rounding right code in its own dtype or a wider one passes, with several seeds."""
    code = load_code(soft_cap)
    assert callable(function)
    assert [answer(function, make_cases(soft_cap, code, b"%d" % seed)).failed for seed in range(5)] == [[]] * 5


def test_mistakes_can_be_plain_functions(soft_cap: Problem) -> None:
    """A function for each mistake is enough for it to be caught and named; one that raises explains nothing."""
    code = load_code(soft_cap)
    cases = make_cases(soft_cap, code, b"seed")
    known = from_bytes(to_bytes(explain(code, cases)))
    case_set = CaseSet(problem="soft_cap", version="", cases=cases, order_key=b"", load_explanations=lambda: known)
    for function, named in ((lambda x, cap: x.clamp(-cap, cap), ["clamped"]), (lambda x, cap: x * 2, [])):
        answers = answer(function, cases)
        assert [one.mistake for one in diagnose(soft_cap, case_set, answers.results, answers.failed)] == named
        assert answers.failed


def test_a_mistake_whose_answer_is_nan_is_named(soft_cap: Problem) -> None:
    """A NaN is met by a NaN: code that divides 0 by 0 in some elements is caught and diagnosed, plain NaN is not."""
    (soft_cap.root / "mistakes.py").write_text(MISTAKES.replace("torch.tanh(x / cap)", "(x - cap).sqrt()"))
    code = load_code(soft_cap)
    cases = make_cases(soft_cap, code, b"seed")
    known = explain(code, cases)
    case_set = CaseSet(problem="soft_cap", version="", cases=cases, order_key=b"", load_explanations=lambda: known)
    for function, named in ((lambda x, cap: (x - cap).sqrt(), ["unscaled"]), (lambda x, cap: x * torch.nan, [])):
        answers = answer(function, cases)
        assert [one.mistake for one in diagnose(soft_cap, case_set, answers.results, answers.failed)] == named
        assert [one for one in check_diagnosis(soft_cap, case_set) if "unscaled" in one.what] == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("reference.py", "def reference(:", r"reference\.py: can't be run: SyntaxError"),
        ("reference.py", "x = 1", r"reference\.py: define a function `reference`"),
        ("cases.py", "import nothing_like_it", r"cases\.py: can't be run: ModuleNotFoundError"),
        ("cases.py", "recipes = 3", r"cases\.py: define a function `recipes`"),
        ("mistakes.py", "", r"mistakes\.py: define a function `clamped`"),
    ],
)
def test_files_that_cannot_be_used_are_named(soft_cap: Problem, file: str, text: str, said: str) -> None:
    """An author is told which file to mend and how."""
    (soft_cap.root / file).write_text(text)
    with pytest.raises(ProblemError, match=said):
        load_code(soft_cap)


def test_a_missing_file_is_named(soft_cap: Problem) -> None:
    """A package without its cases.py is a broken package, and says so."""
    (soft_cap.root / "cases.py").unlink()
    with pytest.raises(ProblemError, match=r"cases\.py: it is missing"):
        load_code(soft_cap)


def test_a_mistake_that_is_not_listed_is_named(soft_cap: Problem) -> None:
    """An id that problem.toml lacks, or spells otherwise, is found when cases are made and not when a learner waits."""
    text = "def explanations(x, cap, *, dtype):\n    yield ('clamp',), x, x\n"
    (soft_cap.root / "mistakes.py").write_text(text)
    code = load_code(soft_cap)
    with pytest.raises(ProblemError, match=r"mistakes\.py: `explanations` has 'clamp', which problem.toml does not"):
        explain(code, make_cases(soft_cap, code, b"seed"))


def test_what_the_starter_returns_must_fail(soft_cap: Problem) -> None:
    """A starter that is right makes every case useless: refused."""
    copied = soft_cap.model_copy(update={"starter": "import torch\n" + REFERENCE.replace("reference", "soft_cap")})
    with pytest.raises(ProblemError, match="starter returns lies within the allowance"):
        make_cases(copied, load_code(copied), b"seed")


def test_no_mistakes_are_no_trouble(soft_cap: Problem) -> None:
    """A package that names no mistakes has cases all the same, and no diagnosis."""
    plain = soft_cap.model_copy(update={"mistakes": ()})
    code = load_code(plain)
    cases: tuple[Case, ...] = make_cases(plain, code, b"seed")
    assert from_bytes(to_bytes(explain(code, cases))).mistakes == ()


def test_a_large_result_may_come_back(soft_cap: Problem) -> None:
    """A result of any size, in float64 by mistake too, is small enough to be sent."""
    recipe = Recipe(name="large", arguments=lambda draw: Arguments(args=(Array(values=draw.bell((300, 1000))),)))
    case = build_case(soft_cap, load_code(soft_cap), recipe, recipe.arguments(Draw(b"seed")))
    assert case.call.result_bytes >= 300 * 1000 * 8
