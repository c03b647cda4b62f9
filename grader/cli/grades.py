"""What a person at a terminal sees of a grade. Texts of submissions are printed as plain text, never as markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.records import NOT_RUN, PASSED, CaseResult, Grade, Verdict
from grader.text import clean

_SHOWN_OUTPUT = 2000
_SHOWN_ROWS = 5
_GOOD, _BAD, _QUIET = "bold green", "bold red", "dim"


def many_grades(files: Sequence[str], grades: Sequence[Grade]) -> Table:
    """One line for each file."""
    table = plain_table("file", "verdict", "passed", "ms", "summary")
    for file, grade in zip(files, grades, strict=True):
        table.add_row(Text(file), styled(grade.verdict), passed(grade), milliseconds(grade), Text(grade.summary))
    return table


def one_grade(file: str, grade: Grade) -> RenderableType:
    """Verdict and summary, the cases that did not pass, mistakes, notes, the exception, what was printed."""
    title = Text.assemble(
        (file, "bold"), "  ", styled(grade.verdict), f"  {passed(grade)} passed  {milliseconds(grade)} ms"
    )
    parts: list[RenderableType] = [title, Text(grade.summary), *failed_cases(grade)]
    parts += [
        block(f"Likely mistake: {one.title}", f"{one.hint} ({one.explains} of {one.of} cases)")
        for one in grade.diagnosis
    ]
    if grade.error and grade.error.traceback:
        parts.append(block("Where", grade.error.traceback))
    parts += [block("Note", note.text) for note in grade.notes]
    parts += [block(name, clean(text, _SHOWN_OUTPUT)) for name, text in printed(grade)]
    return Group(*parts)


def failed_cases(grade: Grade) -> Iterable[RenderableType]:
    """A table of the cases that failed, those that say the same in one row; of those not run only the number."""
    alike: dict[tuple[str, str], list[CaseResult]] = {}
    for case in grade.cases:
        if case.outcome not in {PASSED, NOT_RUN}:
            alike.setdefault((case.outcome, case.message), []).append(case)
    rows = list(alike.values())
    if rows:
        table = plain_table("case", "dtype", "outcome", "message")
        for cases in rows[:_SHOWN_ROWS]:
            first, more = cases[0], f" and {len(cases) - 1} more" if len(cases) > 1 else ""
            dtype = "" if more else first.dtype or ""
            table.add_row(Text(first.name + more), Text(dtype), styled(first.outcome), Text(first.message))
        yield Padding(table, (1, 0, 0, 0))
    if len(rows) > _SHOWN_ROWS:
        yield Text(f"... and {sum(len(cases) for cases in rows[_SHOWN_ROWS:])} more; --json has them all.", _QUIET)
    missing = sum(case.outcome == NOT_RUN for case in grade.cases)
    if missing:
        yield Text(f"{missing} of {grade.total} cases were not run.", _QUIET)


def printed(grade: Grade) -> list[tuple[str, str]]:
    """What the submission printed."""
    return [(name, text) for name, text in (("stdout", grade.stdout), ("stderr", grade.stderr)) if text]


def block(title: str, text: str) -> RenderableType:
    """A titled paragraph."""
    return Group(Text(f"\n{title}", "bold"), Padding(Text(text.rstrip("\n")), (0, 0, 0, 2)))


def plain_table(*columns: str) -> Table:
    """A table without a frame."""
    table = Table(box=None, pad_edge=False, header_style=_QUIET)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in {"verdict", "outcome", "passed", "dtype"})
    return table


def styled(outcome: str) -> Text:
    """Green for good, red for bad."""
    return Text(outcome, _GOOD if outcome in {Verdict.ACCEPTED, PASSED} else _BAD)


def passed(grade: Grade) -> str:
    """ "12/42"."""
    return f"{grade.passed}/{grade.total}"


def milliseconds(grade: Grade) -> str:
    """Wall time of the run, or "-"."""
    return f"{grade.usage.wall_s * 1000:.0f}" if grade.usage else "-"
