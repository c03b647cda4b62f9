"""What the routes of one API process share."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import procrastinate
from fastapi import Request

from app.api.access import Access
from app.api.hub import Hub
from app.db.fleet import Fleet
from app.db.store import Store
from app.records import Submission
from app.settings import Settings
from grader.errors import GraderError, UsageError
from grader.problem import folder as problems
from grader.problem.schema import Problem

log = logging.getLogger(__name__)

BACKLOG_AGE_S = 1.0


class Catalogue:
    """Problem packages, read again when a file of theirs changes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, Problem]] = {}
        self._told: dict[str, str] = {}

    def load(self, slug: str) -> Problem:
        """By slug only. Raises UsageError that names the slugs there are, ProblemError for a broken package."""
        folder = problems.problems_root() / slug
        if not problems.SLUG.fullmatch(slug) or not problems.is_package(folder):
            raise _unknown()
        state = _state(folder)
        known = self._known.get(slug)
        if known is None or known[0] != state:
            known = self._known[slug] = (state, problems.load(slug))
        return known[1]

    def all(self) -> list[Problem]:
        """Every package that is sound, by slug; the log names the others, once."""
        return list(self._sound())

    def _sound(self) -> Iterator[Problem]:
        for folder in problems.package_folders():
            try:
                yield self.load(folder.name)
            except GraderError as error:
                if self._told.get(folder.name) != str(error):
                    log.error("a problem package is left out: %s", error)
                self._told[folder.name] = str(error)


def _state(folder: Path) -> list[tuple[str, int]]:
    """What changes whenever a file of the package does."""
    try:
        return sorted((entry.name, entry.stat().st_mtime_ns) for entry in os.scandir(folder) if entry.is_file())
    except OSError as error:
        raise problems.not_readable(folder, error) from None


def _unknown() -> UsageError:
    return UsageError(f"no such problem; there are: {', '.join(folder.name for folder in problems.package_folders())}")


class Backlog:
    """How many are queued in all: counted at most once a second, and one more for each that this process took since."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store, self._limit = store, limit
        self._size, self._counted_at = 0, float("-inf")

    async def size(self) -> int:
        """Counted up to the limit."""
        now = time.monotonic()
        if now - self._counted_at > BACKLOG_AGE_S:
            self._counted_at = now
            self._size, _ = await self._store.queue(self._limit)
        return self._size

    def count_one(self) -> None:
        """One was taken."""
        self._size += 1


@dataclass(frozen=True, kw_only=True)
class Service:
    """Opened when the process starts, closed when it ends."""

    settings: Settings
    store: Store
    fleet: Fleet
    queue: procrastinate.App
    hub: Hub
    access: Access
    catalogue: Catalogue
    backlog: Backlog

    def age_ms(self, stored: Submission) -> int:
        """How long ago it came, in milliseconds."""
        return max(0, round((datetime.now(UTC) - stored.created_at).total_seconds() * 1000))


def service(request: Request) -> Service:
    """The process's own, from any request."""
    found = request.app.state.service
    assert isinstance(found, Service)
    return found
