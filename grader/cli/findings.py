"""What a person at a terminal sees of a report: checks and what was measured, the kill matrix, the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.cases.case import HIDDEN
from grader.cli.grades import block, plain_table
from grader.verify.report import Margin, Report

CHECKS = (
    "schema", "texts", "formulas", "links", "names", "sources", "examples", "starter", "cases", "ingredients", "junk",
    "duplicates", "arguments", "mistakes", "submissions", "margins", "time", "determinism", "claims",
)  # fmt: skip
CHEAP = CHECKS[:6]
"""Tried also where no cases can be made."""

COLUMNS = 60
"""Cases in one block of the kill matrix."""


def shown(report: Report) -> RenderableType:
    """The whole report; findings come after it, a line each."""
    title = Text.assemble(
        (report.slug, "bold"), "  ", ("verified", "bold green") if report.verified else ("not verified", "bold red"),
        f"  {report.seconds:.1f} s",
    )  # fmt: skip
    parts: list[RenderableType] = [title, Padding(checks(report), (0, 0, 0, 2))]
    if report.killed:
        parts += [Text("\nMistakes by cases: # caught", "bold"), *kill_matrix(report)]
    if alone := only_caught(report):
        parts.append(block("Only caught by", "\n".join(alone)))
    return Group(*parts)


def checks(report: Report) -> Table:
    """A line for each check that was tried, and one for how many were not."""
    table = plain_table("check", "", "measured")
    measured = dict(measurements(report))
    found = Counter(finding.check for finding in report.findings)
    tried = [check for check in CHECKS if report.trials or found[check] or (report.loaded and check in CHEAP)]
    for check in tried:
        state = Text(f"{found[check]} found", "bold red") if found[check] else Text("ok", "green")
        table.add_row(check, state, Text(measured.get(check, "")))
    if untried := len(CHECKS) - len(tried):
        table.add_row(f"{untried} more", Text("not tried"), Text("what is found has to be mended first"))
    return table


def measurements(report: Report) -> Iterator[tuple[str, str]]:
    """(check, what was measured)."""
    hidden = sum(case.visibility == HIDDEN for case in report.cases)
    yield "cases", f"{len(report.cases) - hidden} public, {hidden} hidden"
    yield "ingredients", f"{len(report.ingredients)} tags"
    yield "mistakes", f"{len({one.mistake for one in report.killed})}, in {len(report.killed)} forms"
    yield "submissions", f"{len(report.trials)} examples"
    accepted, mistake = margin(report.worst_accepted), margin(report.best_mistake)
    yield "margins", f"accepted at most {accepted}; mistakes at least {mistake}"
    if report.slowest:
        file, seconds, limit = report.slowest
        yield "time", f"{seconds:.2f} s of CPU of {limit:g} s: {file}"
    yield "claims", str(len(report.claims))
    varied = [f"{one.argument} {len(one.values)}" for one in report.coverage]
    yield "arguments", f"different values or shapes: {', '.join(varied)}" if varied else ""


def margin(one: Margin) -> str:
    """ "0.71 allowances (submissions/accepted/x.py, case y)"."""
    if one.error is None:
        return "nothing measured"
    return f"{one.error:.3g} allowances ({', '.join(filter(None, (one.of, one.case)))})"


def kill_matrix(report: Report) -> Iterator[RenderableType]:
    """A row for each form of a mistake, a column for each hidden case that compares values, with a legend."""
    names = [case.name for case in report.cases if case.visibility == HIDDEN and case.kind == "values"]
    for start in range(0, len(names), COLUMNS):
        yield Padding(_block(report, names[start : start + COLUMNS], start), (0, 0, 0, 2))
    yield Padding(Text(", ".join(f"{number} {name}" for number, name in enumerate(names, 1)), "dim"), (0, 0, 0, 2))


def _block(report: Report, names: Sequence[str], start: int) -> Table:
    table = plain_table("mistake", "in", "least", "")
    table.columns[-1].header = Text("".join(str((start + number) % 10) for number in range(1, len(names) + 1)), "dim")
    for column in table.columns:
        column.no_wrap = True
    for one in report.killed:
        row = "".join("#" if name in one.cases else "." for name in names)
        count = sum(name in one.cases for name in names)
        table.add_row(Text(one.name), str(count), f"{one.error:.3g}", row)
    return table


def only_caught(report: Report) -> list[str]:
    """Ingredients without which something would pass."""
    return [
        f"{one.tag}: {', '.join((*one.mistakes, *one.submissions))}"
        for one in report.ingredients
        if one.mistakes or one.submissions
    ]
