"""A grade as the submission record of the contract; the command line and the API use the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.records import CaseResult, Grade, Usage

ENVELOPE: Mapping[str, Any] = {
    "id": None,
    "problem": None,
    "mode": "submit",
    "device": "cpu",
    "subject": None,
    "metadata": {},
    "status": "finished",
    "queue": None,
    "events_url": None,
}
DATES: Mapping[str, Any] = {"created_at": None, "finished_at": None}


def submission_record(grade: Grade | None, **known: Any) -> dict[str, Any]:
    """The whole record: `known` holds keys of ENVELOPE and DATES (ISO 8601), the grade all others.

    Every key is always there; what does not apply is None, or [] for the lists.
    """
    unknown = known.keys() - ENVELOPE.keys() - DATES.keys()
    if unknown:
        raise TypeError(f"no such key of a submission record: {', '.join(sorted(unknown))}")
    return {**ENVELOPE, **graded(grade), **DATES, **known}


def graded(grade: Grade | None) -> dict[str, Any]:
    """The part of the record that comes from the engine."""
    return {
        "verdict": grade.verdict.value if grade else None,
        "summary": grade.summary if grade else None,
        "passed": grade.passed if grade else None,
        "total": grade.total if grade else None,
        "cases_version": grade.cases_version if grade else None,
        "cases": [case_record(case) for case in grade.cases] if grade else [],
        "diagnosis": [vars(one) | {} for one in grade.diagnosis] if grade else [],
        "notes": [vars(note) | {} for note in grade.notes] if grade else [],
        "error": vars(grade.error) | {} if grade and grade.error else None,
        "stdout": grade.stdout if grade else None,
        "stderr": grade.stderr if grade else None,
        "resources": resources(grade.usage) if grade and grade.usage else None,
    }


def case_record(case: CaseResult) -> dict[str, Any]:
    """One case, also as it goes out as an event."""
    record = dict(vars(case))
    return record if case.indicative else {key: value for key, value in record.items() if key != "indicative"}


def resources(usage: Usage) -> dict[str, int]:
    """Whole milliseconds and bytes."""
    return {
        "wall_ms": round(usage.wall_s * 1000),
        "cpu_ms": round(usage.cpu_s * 1000),
        "peak_memory_bytes": usage.peak_memory_bytes,
    }
