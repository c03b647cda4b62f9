"""How a run ended: from the lane's word for it to our own vocabulary, and a sentence for the learner.

The lane says `died`, `violation`, `time`, `memory`, `starved` or `files`; the supervisor adds what only it can see,
`malformed` and `output`.
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from grader.records import CaseReport, Limits, Outcome
from grader.sandbox.guest.walls import confine


def seen(how: str, details: dict[str, Any], limits: Limits) -> tuple[Outcome, str]:
    """The outcome of a run that ended so, and a sentence with the limit, its value and what was used."""
    match how:
        case "violation":
            return Outcome.VIOLATION, f"the system call {details['call']}, which no solution needs, was stopped"
        case "malformed":
            return Outcome.MALFORMED, "something other than a result was written to the channel for results"
        case "time":
            used, kind, limit = details["used"], details["kind"], details["limit"]
            return Outcome.TIME_LIMIT, f"{used:.1f} s of {kind} were used, {limit:g} s are allowed"
        case "memory":
            return (
                Outcome.MEMORY_LIMIT,
                f"{mib(details['used'])} of memory were used, {mib(details['limit'])} are allowed",
            )
        case "starved":
            return (
                Outcome.MEMORY_LIMIT,
                f"all processes together needed more than the {mib(limits.memory_bytes)} that are allowed",
            )
        case "output":
            return Outcome.OUTPUT_LIMIT, f"more was printed than the {limits.output_bytes >> 10} KiB that are allowed"
        case "files":
            return (
                Outcome.OUTPUT_LIMIT,
                f"files of {mib(details['used'])} were written, {mib(details['limit'])} are allowed",
            )
        case _:
            return _death(details)


def _death(details: dict[str, Any]) -> tuple[Outcome, str]:
    code = details.get("code", 0)
    if details.get("starved"):
        return Outcome.MEMORY_LIMIT, "the kernel ended the process because its memory ran out"
    if code == -signal.SIGSYS:
        return Outcome.VIOLATION, "a system call of a foreign kind was stopped"
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return Outcome.DIED, f"the process was killed by {name}"
    return Outcome.DIED, f"the process ended with exit status {code} before it gave a result"


def starved(report: CaseReport, limits: Limits) -> CaseReport:
    """A call in which an allocation failed: the memory limit at work, which ends the run as every limit does."""
    reason = f"an allocation failed: {mib(limits.memory_bytes)} of memory are allowed"
    return replace(report, outcome=Outcome.MEMORY_LIMIT, reason=reason)


def limits_told(flags: Collection[str], limits: Limits) -> Iterator[str]:
    """Sentences for the limits at which a call failed, by the child's own word."""
    if "descriptors" in flags:
        yield f"open files: {confine.MAX_OPEN_FILES} are allowed, all were in use"
    if "files" in flags:
        yield f"files: {mib(limits.file_bytes)} are allowed, all were in use"


def mib(count: float) -> str:
    """Bytes as a person reads them."""
    return f"{count / (1 << 20):.0f} MiB"
