"""What the API answers with: the models of /openapi.json, and a stored submission as the contract's record."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from app.records import Submission
from grader.feedback.record import submission_record
from grader.problem import schema
from grader.records import Limits


class Reply(BaseModel):
    """A part of a reply; every key is always there."""

    model_config = ConfigDict(extra="forbid")


class Worst(Reply):
    """The element that is farthest out."""

    index: list[int]
    actual: JsonValue
    expected: JsonValue
    error: JsonValue
    allowed: JsonValue


class Detail(Reply):
    """Of public cases only; numbers that JSON has not are the strings "NaN", "Infinity", "-Infinity"."""

    inputs: dict[str, JsonValue]
    expected: JsonValue
    actual: JsonValue
    worst: Worst | None
    mismatched: int | None
    truncated: bool


class PublicCase(Reply):
    """A case whose inputs and values may be seen."""

    name: str
    visibility: Literal["public"]
    outcome: str
    message: str | None
    dtype: str | None
    time_ms: float | None
    detail: Detail | None
    indicative: bool = False


class HiddenCase(Reply):
    """A case of which nothing but name, dtype, outcome and a message without values is told."""

    name: str
    visibility: Literal["hidden"]
    outcome: str
    message: str | None
    dtype: str | None
    time_ms: None
    detail: None
    indicative: bool = False


class Mistake(Reply):
    """A named mistake that explains `explains` of `of` failing cases."""

    mistake: str
    title: str
    hint: str
    explains: int
    of: int


class Remark(Reply):
    """A remark that changes no verdict."""

    id: str
    text: str


class Fault(Reply):
    """The first failing case's exception; for a hidden one without message and traceback."""

    type: str
    message: str | None
    line: int | None
    traceback: str | None


class Resources(Reply):
    """What the whole run used."""

    wall_ms: float
    cpu_ms: float
    peak_memory_bytes: int


class QueuePlace(Reply):
    """Where a waiting submission stands. position: how many come before it, counted up to 1000."""

    position: int
    waiting_ms: int


class Record(Reply):
    """The submission record."""

    id: UUID
    problem: str
    mode: Literal["submit", "run"]
    device: str
    subject: str | None
    metadata: dict[str, JsonValue]
    status: Literal["queued", "running", "finished", "cancelled"]
    queue: QueuePlace | None
    events_url: str | None
    verdict: str | None
    summary: str | None
    passed: int | None
    total: int | None
    cases_version: str | None
    cases: list[PublicCase | HiddenCase]
    diagnosis: list[Mistake]
    notes: list[Remark]
    error: Fault | None
    stdout: str | None
    stderr: str | None
    resources: Resources | None
    created_at: datetime
    finished_at: datetime | None
    history: list[dict[str, JsonValue]] = Field(default=[], description="verdicts that rejudging replaced, if any")


class Page(Reply):
    """A page of submissions, the newest first."""

    items: list[Record]
    next_cursor: str | None


class ProblemSummary(Reply):
    """A problem in the catalogue."""

    slug: str
    title: str
    summary: str
    difficulty: Literal["easy", "medium", "hard"]
    language: str
    languages: list[str]
    tags: list[str]
    kind: Literal["function", "module"]


class NamedMistake(Reply):
    """A mistake that a diagnosis may name; its hint comes with the diagnosis."""

    id: str
    title: str


class ShownProblem(ProblemSummary):
    """One problem: everything that a learner may see. Texts are Markdown with LaTeX."""

    statement: str
    theory: str
    translations: dict[str, dict[str, str]] = Field(description="statement and theory by language")
    starter: str
    requirements: list[str]
    constraints: list[str]
    hints: list[str]
    examples: list[schema.Example]
    entry: schema.Entry
    limits: Limits
    checks: list[str]
    mistakes: list[NamedMistake]
    sources: list[schema.Source]
    self_check: list[schema.SelfCheck]
    series: schema.Series | None
    place: schema.Place | None


class ProblemDetails(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, JsonValue]] | None = None


def record(stored: Submission, *, queue: dict[str, int] | None = None, events_url: str | None = None) -> dict[str, Any]:
    """A stored submission as the contract's record."""
    bare = submission_record(
        None, id=str(stored.id), problem=stored.problem, mode=stored.mode, device=stored.device, status=stored.status,
        subject=stored.subject, metadata=json.loads(stored.metadata), queue=queue, events_url=events_url,
        created_at=stored.created_at.isoformat(), finished_at=stored.finished_at and stored.finished_at.isoformat(),
    )  # fmt: skip
    graded = json.loads(stored.grade) if stored.grade else {}
    history = json.loads(stored.history)
    kept = {"verdict": stored.verdict, "cases_version": stored.cases_version}
    return {**bare, **graded, **kept, **({"history": history} if history else {})}
