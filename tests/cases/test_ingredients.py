"""situ_glu's ingredients: without the cases that carry one, verify fails, names it, and lists what now passes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.cases.case import CaseSet
from grader.cases.code import load_code
from grader.cases.mistakes import Explanations
from grader.problem import folder as problem
from grader.records import Verdict
from grader.sandbox.local import LocalSandbox
from grader.verify.kills import without
from grader.verify.package import Options, Report, missing, verify
from grader.verify.report import passes_without
from grader.verify.trial import Trial, try_examples

FOLDER = problem.load("situ_glu").root
CODE = load_code(problem.load("situ_glu"))

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(sandbox: LocalSandbox) -> Report:
    """The whole check of situ_glu, once."""
    return verify(FOLDER, sandbox)


def test_situ_glu_is_verified(report: Report) -> None:
    """Nothing is wrong with the package, and its fifteen mistakes are all in the kill matrix."""
    assert [str(finding) for finding in report.findings] == []
    assert len({one.mistake for one in report.killed}) == 15
    assert len(report.claims) >= 7


@pytest.mark.parametrize("tag", CODE.ingredients)
def test_a_missing_ingredient_is_named(report: Report, sandbox: LocalSandbox, tag: str) -> None:
    """The finding names the ingredient, and the mistakes and examples that pass without it; these really do."""
    gone = frozenset(case.name for case in report.cases if tag in case.tags)
    cases = tuple(case for case in report.cases if case.name not in gone)
    passing = tuple(trial for trial in report.trials if passes_without(trial, gone))
    trials = regraded(cases, passing, sandbox)
    left = replace(report, cases=cases, killed=without(report.killed, gone), trials=trials)
    found = [finding for finding in missing(CODE, left) if f"'{tag}'" in finding.what]

    assert len(found) == 1
    assert all(trial.grade.verdict is Verdict.ACCEPTED for trial in trials)
    wanted = [trial.file for trial in trials if trial.example and Verdict.ACCEPTED not in trial.example.verdicts]
    wanted += [one.name for one in left.killed if not one.cases]
    assert all(name in found[0].what for name in wanted)
    assert ("now pass" in found[0].what) == bool(wanted)


def regraded(cases: tuple[object, ...], trials: tuple[Trial, ...], sandbox: LocalSandbox) -> tuple[Trial, ...]:
    """These examples, graded with these cases only."""
    case_set = CaseSet(
        problem="situ_glu", version="", cases=cases, order_key=b"", load_explanations=Explanations  # type: ignore[arg-type]
    )  # fmt: skip
    examples = [trial.example for trial in trials if trial.example]
    return try_examples(problem.load("situ_glu"), case_set, examples, sandbox)


REMOVED = """

_all_recipes = recipes


def recipes():
    return (recipe for recipe in _all_recipes() if TAG not in recipe.tags)
"""
KEPT = {"textbook.py", "cached_by_shape.py"}


@pytest.mark.parametrize(("tag", "passes"), [("same_memory", "cached_by_shape.py")])
def test_a_package_without_an_ingredient_fails(sandbox: LocalSandbox, tmp_path: Path, tag: str, passes: str) -> None:
    """The same in a package whose cases.py makes no case with the tag, and with `--without TAG`."""
    folder = tmp_path / "situ_glu"
    shutil.copytree(FOLDER, folder, ignore=lambda place, names: unwanted(Path(place), names))
    (folder / "submissions.toml").unlink()
    outright = verify(folder, sandbox, Options(without=tag)).findings
    with (folder / "cases.py").open("a") as file:
        file.write(REMOVED.replace("TAG", repr(tag)))
    removed = verify(folder, sandbox, Options(elsewhere=False)).findings
    for findings in (outright, removed):
        named = [one.what for one in findings if one.check == "ingredients" and f"'{tag}'" in one.what]
        assert len(named) == 1
        assert passes in named[0]


def unwanted(place: Path, names: list[str]) -> list[str]:
    """Example submissions that this test does without."""
    return [name for name in names if place.parent.name == "submissions" and name not in KEPT]
