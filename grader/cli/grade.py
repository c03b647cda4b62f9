"""`grader grade`: arguments are checked first, then all files are graded at once, on the cores there are."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import track

from grader import source as files
from grader.errors import GraderError, UsageError
from grader.feedback.record import submission_record
from grader.problem import folder as problem
from grader.problem.schema import Problem
from grader.records import Grade, Verdict
from grader.sandbox import choose
from grader.sandbox.base import Sandbox

if TYPE_CHECKING:
    from grader.cases.case import CaseSet

UNCONFINED = "warning: --sandbox none: submissions run unconfined, with all your rights"
INTERRUPTED = 130


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A graded file. Dates in ISO 8601, UTC."""

    grade: Grade
    created_at: str
    finished_at: str


def grade_files(slug: str, names: Sequence[str], *, as_json: bool, sandbox: str, device: str, mode: str) -> int:
    """Grades all files and prints them; the exit code."""
    asked = problem.load(slug)
    for name in names:
        files.check(name)
    if list(names).count(files.STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be given once")
    with started(sandbox, device) as ready, ThreadPoolExecutor(cores()) as pool:
        answers = pool.map(Grading(asked, cases_of(asked), ready, device, mode).grade, names)
        try:
            return exit_code(print_json(answers) if as_json else print_tables(names, answers))
        except KeyboardInterrupt:
            ready.close()
            os._exit(INTERRUPTED)  # threads that wait for a submission would hold us up until its time limit
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # nobody reads what is left when the reader has gone


@contextmanager
def started(kind: str, device: str) -> Iterator[Sandbox]:
    """A sandbox that is starting: it imports torch while we do."""
    chosen = make_sandbox(kind)
    try:
        chosen.start()
        if device not in chosen.devices:
            raise UsageError(f"no device {device} in the {kind} sandbox here; there is {', '.join(chosen.devices)}")
        yield chosen
    finally:
        chosen.close()


def make_sandbox(kind: str) -> Sandbox:
    """The sandbox of that name."""
    if kind == "none":
        print(UNCONFINED, file=sys.stderr)
    return choose.make(kind)


def cases_of(asked: Problem) -> CaseSet:
    """The active cases. Imports torch: two seconds."""
    from grader.cases.store import has_cases, load_active  # noqa: PLC0415

    if sys.stderr.isatty() and not has_cases(asked):
        print(f"making the cases of {asked.slug}, once: this takes some seconds", file=sys.stderr)
    return load_active(asked)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Grading:
    """What is the same for all files."""

    asked: Problem
    cases: CaseSet
    sandbox: Sandbox
    device: str
    mode: str

    def grade(self, name: str) -> Answer:
        """One file graded."""
        from grader import engine  # noqa: PLC0415

        created = now()
        source = files.read(name, self.asked.limits.source_bytes)
        if isinstance(source, str):
            grade = engine.grade(self.asked, self.cases, source, self.sandbox, device=self.device, mode=self.mode)
        else:
            grade = engine.refused(self.asked, self.cases, source, device=self.device, mode=self.mode)
        return Answer(grade=grade, created_at=created, finished_at=now())


def now() -> str:
    """ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def print_json(answers: Iterator[Answer]) -> list[Verdict]:
    """One record a line, in the order given, each as soon as all before it are there."""
    verdicts = []
    for answer in answers:
        print(json.dumps(record(answer), allow_nan=False), flush=True)
        verdicts.append(answer.grade.verdict)
    return verdicts


def record(answer: Answer) -> dict[str, Any]:
    """The submission record; the command line makes id and dates itself."""
    grade = answer.grade
    dates = {"created_at": answer.created_at, "finished_at": answer.finished_at}
    made = {"id": str(uuid.uuid4()), "problem": grade.problem, "mode": grade.mode, "device": grade.device}
    return submission_record(grade, **made, **dates)


def print_tables(names: Sequence[str], answers: Iterator[Answer]) -> list[Verdict]:
    """One file with all that helps, several as a table; a progress bar while they run."""
    from grader.cli.grades import many_grades, one_grade  # noqa: PLC0415

    console, progress = Console(highlight=False), Console(stderr=True)
    if len(names) == 1:
        grade = next(answers).grade
        console.print(one_grade(names[0], grade))
        return [grade.verdict]
    shown = track(answers, "grading", len(names), console=progress, transient=True, disable=not progress.is_terminal)
    grades = [replace(answer.grade, cases=()) for answer in shown]  # thousands of files are no reason to keep all cases
    console.print(many_grades(names, grades))
    return [grade.verdict for grade in grades]


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """0 if all are accepted, else 1. Raises GraderError if the grader failed on one."""
    if Verdict.INTERNAL_ERROR in verdicts:
        raise GraderError("the grader itself failed on some files: try again, and see what `grader doctor` says")
    return 0 if all(verdict is Verdict.ACCEPTED for verdict in verdicts) else 1
