"""Verifies one package: every check in order, cheap ones first; what can't be tried any more is left out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from grader.cases.case import VALUES, Case, CaseSet
from grader.cases.code import Code, blamed_on, load_code
from grader.cases.make import draw_cases
from grader.cases.mistakes import explain
from grader.errors import ProblemError
from grader.problem import folder as problems
from grader.problem.folder import example_submissions
from grader.problem.schema import Problem
from grader.records import PASSED, Grade, Verdict
from grader.sandbox.base import Sandbox
from grader.verify import report as reports
from grader.verify.claims import check_claims, run_claims
from grader.verify.finding import Finding, from_error
from grader.verify.inputs import (
    check_coverage,
    check_duplicates,
    check_ingredients,
    check_junk,
    check_set,
    coverage,
    usable,
)
from grader.verify.kills import check_diagnosis, check_kills, kill_matrix
from grader.verify.prose import check_texts
from grader.verify.report import Margin, Report, worst
from grader.verify.steady import Elsewhere, check_again
from grader.verify.trial import SLOW, Trial, try_examples, try_source, with_share_of_limits
from grader.verify.worked import check_examples

SEED = b"verify"
ROOM = 4
"""The slowest accepted example stays so many times below the limit."""

LARGEST_ERROR = 0.9
"""Of the allowance: accepted examples stay below."""

QUICKER = "make it or the cases quicker, or raise [limits] in problem.toml, of which `verify` allows half"
"""What to do about an example that reached a limit."""

Progress = Callable[[str, int, int], None]
"""(what is being done, how much is done, of how much)"""


def silent(what: str, done: int, total: int) -> None:
    """Shows no progress."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """seed: of the hidden cases. without: a tag; the cases that carry it are left out.

    elsewhere: also make the cases in a second process with another instruction set.
    """

    seed: bytes = SEED
    without: str = ""
    elsewhere: bool = True
    progress: Progress = silent


def verify(folder: Path, sandbox: Sandbox, options: Options | None = None) -> Report:
    """Everything about the package in this folder. What is wrong with it is in the report, never an exception."""
    options, started = options or Options(), time.monotonic()
    report = Report(slug=folder.name, folder=str(folder))
    try:
        problem = problems.load_folder(folder)
        report = replace(report, loaded=True, findings=tuple(check_texts(problem)))
        code = load_code(problem)
        cases = draw_cases(problem, code, options.seed, options.without)
        report = _verified(problem, code, cases, report, (sandbox, options))
    except ProblemError as error:
        report = replace(report, findings=(*report.findings, from_error(error, folder, "schema")))
    return replace(report, seconds=time.monotonic() - started)


def _verified(
    problem: Problem, code: Code, cases: tuple[Case, ...], report: Report, given: tuple[Sandbox, Options]
) -> Report:
    sandbox, options = given
    if not options.elsewhere or options.without:
        return examine(problem, code, cases, report, (sandbox, options))
    with Elsewhere(problem, options.seed) as elsewhere:
        report = examine(problem, code, cases, report, (sandbox, options))
        found = [*check_again(problem, code, options.seed, cases), *elsewhere.check(problem.slug, cases)]
    return replace(report, findings=(*report.findings, *found))


def examine(
    problem: Problem, code: Code, cases: tuple[Case, ...], report: Report, given: tuple[Sandbox, Options]
) -> Report:
    """The checks on cases, mistakes, examples and claims. A set without any case has one finding."""
    sandbox, options = given
    found = [*report.findings, *check_set(cases)]
    cases = usable(cases)
    if not any(case.kind == VALUES for case in cases):
        return replace(report, findings=(*found, *(finding for _, finding in check_ingredients(code, cases))))
    options.progress("mistakes", 0, 1)
    with blamed_on(problem.root / "mistakes.py", "it fails in some case"):
        explanations = explain(code, cases)
    case_set = CaseSet(
        problem=problem.slug, version="", cases=cases, order_key=options.seed, load_explanations=lambda: explanations
    )
    report = replace(report, cases=cases, killed=kill_matrix(case_set), claims=run_claims(problem, code))
    report = replace(report, trials=_tried(problem, case_set, sandbox, options.progress))
    covered = coverage(problem, cases)
    report = _measured(problem, replace(report, coverage=tuple(covered.values())))
    tags = dict.fromkeys([*code.ingredients, *(tag for case in cases for tag in case.tags)])
    report = replace(report, ingredients=reports.ingredients(report, tags))
    found += [*check_junk(problem, cases), *check_duplicates(cases), *check_coverage(problem, covered)]
    found += [*missing(code, report), *check_kills(case_set, report.killed), *check_diagnosis(problem, case_set)]
    found += [*check_claims(report.claims), *check_examples(problem, code), *check_trials(problem, report)]
    found += check_starter_run(problem, case_set, sandbox)
    return replace(report, findings=tuple(found))


def examine_set(problem: Problem, case_set: CaseSet, sandbox: Sandbox, progress: Progress) -> Report:
    """What `verify` checks, on cases that were made already: before they are activated. Texts are not looked at."""
    code = load_code(problem)
    explanations = cache(case_set.load_explanations)
    case_set = replace(case_set, load_explanations=explanations)
    report = Report(slug=problem.slug, folder=str(problem.root), cases=case_set.cases, killed=kill_matrix(case_set))
    report = replace(report, trials=_tried(problem, case_set, sandbox, progress))
    report = _measured(problem, report)
    found = [*check_set(case_set.cases), *check_junk(problem, case_set.cases), *check_duplicates(case_set.cases)]
    found += [*check_coverage(problem, coverage(problem, case_set.cases)), *missing(code, report)]
    found += [*check_kills(case_set, report.killed), *check_diagnosis(problem, case_set)]
    found += [*check_trials(problem, report), *check_starter_run(problem, case_set, sandbox)]
    return replace(report, findings=tuple(found))


def _tried(problem: Problem, case_set: CaseSet, sandbox: Sandbox, progress: Progress) -> tuple[Trial, ...]:
    examples, done = example_submissions(problem), [0]

    def on_trial() -> None:
        done[0] += 1
        progress("submissions", done[0], len(examples))

    progress("submissions", 0, len(examples))
    return try_examples(problem, case_set, examples, sandbox, on_trial)


def _measured(problem: Problem, report: Report) -> Report:
    """With margins and the slowest accepted example."""
    accepted = [trial for trial in report.trials if is_accepted(trial)]
    errors = [Margin(of=one.file, case=name, error=error) for one in accepted for name, error in one.errors.items()]
    mistakes = [Margin(of=one.name, error=one.error) for one in report.killed]
    times = [(trial.file, trial.grade.usage.cpu_s, problem.limits.cpu_s) for trial in accepted if trial.grade.usage]
    return replace(
        report,
        worst_accepted=worst(errors),
        best_mistake=min(mistakes, key=lambda one: one.error or 0.0, default=Margin()),
        slowest=max(times, key=lambda one: one[1], default=None),
    )


def is_accepted(trial: Trial) -> bool:
    """Whether an example has to be accepted."""
    return trial.example is not None and trial.example.verdicts == (Verdict.ACCEPTED,)


def missing(code: Code, report: Report) -> Iterator[Finding]:
    """Ingredients that are not there, each with what passes now that its cases are missing."""
    passing = [one.name for one in report.killed if not one.cases]
    passing += [
        trial.file
        for trial in report.trials
        if trial.grade.verdict is Verdict.ACCEPTED and trial.example and Verdict.ACCEPTED not in trial.example.verdicts
    ]
    for _, finding in check_ingredients(code, report.cases):
        now = f"now pass: {', '.join(passing)}" if passing else "no mistake and no example passes without it"
        yield replace(finding, what=f"{finding.what} ({now})")


def check_trials(problem: Problem, report: Report) -> Iterator[Finding]:
    """Verdicts, named mistakes, margins and time of the examples; accepted ones exist."""
    for trial in report.trials:
        yield from check_trial(trial)
    if not any(is_accepted(trial) for trial in report.trials):
        file, what = "submissions/accepted", "there is no accepted example"
        yield Finding(check="submissions", file=file, what=what, mend="add some")
    margin = report.worst_accepted
    if margin.error is not None and LARGEST_ERROR < margin.error <= 1:
        yield Finding(
            check="margins", file="reference.py",
            what=f"{margin.of} is off by {margin.error:.2f} allowances in case {margin.case!r}",
            mend="widen `rounding`, or make the inputs of that case milder",
        )  # fmt: skip
    if report.slowest and report.slowest[1] * ROOM > report.slowest[2]:
        file, seconds, limit = report.slowest
        yield Finding(
            check="time", file="problem.toml", what=f"{file} needs {seconds:.2f} s of the {limit:g} s of CPU",
            mend=f"raise limits.cpu_s to {math.ceil(ROOM * seconds)} or more, or make the cases smaller",
        )  # fmt: skip


def check_trial(trial: Trial) -> Iterator[Finding]:
    """One example gets its verdict and has its mistakes named."""
    assert trial.example is not None
    grade, wanted = trial.grade, trial.example
    named = {one.mistake for one in grade.diagnosis}
    if grade.verdict not in wanted.verdicts:
        wrong = next((case for case in grade.cases if case.outcome == grade.verdict != PASSED), None)
        where = f" (case {wrong.name}: {wrong.message[:160]})" if wrong else _why(grade)
        mend = "move it to the folder of its verdict, or mend reference or cases"
        yield Finding(
            check="submissions", file=trial.file, what=f"is {grade.verdict}, not {' or '.join(wanted.verdicts)}{where}",
            mend=QUICKER if grade.verdict in SLOW else mend,
        )  # fmt: skip
    elif named != set(wanted.mistakes):
        yield Finding(
            check="submissions", file=trial.file,
            what=f"has {sorted(named) or 'no mistakes'} named, not {sorted(wanted.mistakes) or 'none'}",
            mend="mend its `mistakes` in submissions.toml, or mistakes.py (try `--without TAG`)",
        )  # fmt: skip


def _why(grade: Grade) -> str:
    """What was raised, for an example that could not be loaded."""
    return f" ({grade.error.type}: {(grade.error.message or '')[:160]})" if grade.error else ""


def check_starter_run(problem: Problem, case_set: CaseSet, sandbox: Sandbox) -> Iterator[Finding]:
    """The starter loads, and fails every case that compares values."""
    trial = try_source(with_share_of_limits(problem), case_set, problem.starter, sandbox)
    if trial.grade.verdict is Verdict.COMPILE_ERROR:
        what, mend = trial.grade.summary, "let it load and take the call"
        yield Finding(check="starter", file="starter.py", what=what, mend=mend)
        return
    passed = [case.name for case in case_set.cases if case.kind == VALUES and case.name not in trial.failed]
    if passed:
        yield Finding(
            check="starter", file="starter.py", what=f"it passes {', '.join(passed)}", mend="let it do less, or nothing"
        )


def folders(slugs: Sequence[str]) -> list[Path]:
    """The folders of the packages asked for; all where none is named. Raises UsageError for an unknown one."""
    return [problems.find(slug) for slug in slugs] or list(problems.package_folders())
