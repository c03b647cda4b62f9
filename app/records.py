"""The frozen records that travel between the API, the store and the workers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

TERMINAL = frozenset({"finished", "cancelled"})


@dataclass(frozen=True, kw_only=True)
class NewSubmission:
    """What is asked for, already checked."""

    id: UUID
    owner: str
    client: str
    problem: str
    source: str = field(repr=False)
    mode: str = "submit"
    device: str = "cpu"
    priority: int = 0
    subject: str | None = None
    inputs: Mapping[str, Any] | None = field(default=None, repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    callback_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class IdempotencyKey:
    """What a caller binds a submission to. scope: the API key's; digest: of the body."""

    scope: str
    key: str
    digest: bytes


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A stored submission, without its source and inputs. grade, history, metadata: JSON text."""

    id: UUID
    seq: int
    owner: str
    subject: str | None
    problem: str
    mode: str
    device: str
    metadata: str
    status: str
    verdict: str | None
    cases_version: str | None
    grade: str | None = field(repr=False)
    history: str
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The right to grade one submission, as long as no later attempt exists."""

    id: UUID
    attempt: int
    failures: int
    problem: str
    mode: str
    device: str
    source: bytes = field(repr=False)
    inputs: str | None = field(repr=False)
    active_cases: str | None
    waited_s: float = 0.0

    @property
    def text(self) -> str:
        """The source as it was sent, lone surrogates included."""
        return self.source.decode("utf-8", "surrogatepass")


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A verdict to be written. grade: JSON text in ASCII."""

    verdict: str
    cases_version: str | None
    grade: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What an event stream needs to know. cases: JSON texts from the asked index on."""

    status: str
    cases: tuple[str, ...]
    submission: Submission | None


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which submissions are listed; None means any."""

    owner: str | None = None
    subject: str | None = None
    problem: str | None = None
    verdict: str | None = None
    before: int | None = None


def ascii_json(value: object) -> str:
    """JSON that PostgreSQL's text can hold whatever the strings are: NUL and surrogates stay escaped."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
