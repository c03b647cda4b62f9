"""`grader cases regenerate`: stress, make, check, compare, activate; what is under way is shown on stderr."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from grader import source as files
from grader.cli.grade import started
from grader.cli.verify import Tell, bar
from grader.errors import CheckFailed, ProblemError, UsageError
from grader.problem.schema import Problem
from grader.sandbox.base import Sandbox


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What was asked for on the command line."""

    seed: int | None
    dry_run: bool
    diff: bool
    stress: int
    sandbox: str = "local"


class Enough(Exception):
    """Ends a dry run before anything is stored."""


def regenerate_cases(problem: Problem, wish: Wish) -> int:
    """Does it and says what came of it; 0 if new cases are active (or would be), 1 if the check failed."""
    with started(wish.sandbox, "cpu") as sandbox, bar(problem.slug) as progress:
        if wish.stress:
            find_counterexamples(problem, wish, sandbox, progress)
        try:
            told = remake(problem, wish, sandbox, progress)
        except (CheckFailed, ProblemError) as error:
            progress.close()
            typer.echo(str(error))
            typer.echo(
                f"grader: {problem.slug}: the new cases are not good enough; the old cases stay active", err=True
            )
            return 1
    typer.echo(told)
    return 0


def remake(problem: Problem, wish: Wish, sandbox: Sandbox, progress: Tell) -> str:
    """The word for what is active now. Raises CheckFailed, with the old cases still active."""
    from grader.cases import store  # noqa: PLC0415  (imports torch)
    from grader.cases.case import HIDDEN, CaseSet  # noqa: PLC0415
    from grader.cases.diff import difference  # noqa: PLC0415
    from grader.verify.checking import checker  # noqa: PLC0415

    before = store.active(problem) if wish.diff else None
    check, made = checker(problem, sandbox, progress), list[CaseSet]()

    def look(case_set: CaseSet) -> None:
        check(case_set)
        made.append(case_set)
        if wish.dry_run:
            raise Enough

    def on_wait() -> None:
        typer.echo(f"grader: {problem.slug}: its cases are being made by another process: waiting for it", err=True)

    progress("making cases", 0, 1)
    word = "was made, checked and thrown away"
    try:
        store.regenerate(problem, wish.seed, check=look, on_wait=on_wait)
        word = "is active"
    except Enough:
        pass
    progress.close()
    if wish.diff:
        typer.echo("\n".join(difference(before.cases if before else (), made[0].cases)))
    hidden = sum(case.visibility == HIDDEN for case in made[0].cases)
    count = f"{len(made[0].cases) - hidden} public and {hidden} hidden cases"
    return f"{problem.slug}: version {made[0].version} {word}, with {count}"


def find_counterexamples(problem: Problem, wish: Wish, sandbox: Sandbox, progress: Tell) -> None:
    """Tries further seeds and keeps what is found in the package, from where the new cases take it in."""
    from grader.cases.counterexamples import FILE, keep  # noqa: PLC0415
    from grader.verify.stress import stress  # noqa: PLC0415  (imports torch)

    found = stress(problem, wish.stress, sandbox, progress, wish.seed)
    if not found:
        typer.echo(f"{problem.slug}: nothing found with {wish.stress} further seeds")
        return
    for one in found:
        typer.echo(f"{problem.slug}: {one.recipe}, seed {one.seed!r}: {one.why}")
    if wish.dry_run:
        return
    try:
        keep(problem, found)
    except OSError as error:
        raise UsageError(f"{problem.root / FILE}: {error.strerror}: make it writable, or give --dry-run") from error
    typer.echo(f"{files.shown(problem.root / FILE)}: {len(found)} counterexamples are kept as cases")
