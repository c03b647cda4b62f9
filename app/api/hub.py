"""Who waits for which submission, and the one connection of this process that hears of changes.

Nothing here reads tables: a notification (or a lost connection, after which anything may have happened) wakes the
waiting ones, and they look for themselves.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg.conninfo import make_conninfo

from app.db.store import CHANNEL

log = logging.getLogger(__name__)

KEEPALIVES = {"keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "2"}


class Wake:
    """One waiting request: `changed` is set by every notification, `ended` by the last one."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self.ended = asyncio.Event()

    def ring(self, *, ended: bool) -> None:
        """Wakes the waiting one."""
        self.changed.set()
        if ended:
            self.ended.set()


class Hub:
    """Started once in each API process."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiting: dict[str, set[Wake]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()
        self._told = False

    async def start(self) -> None:
        """Returns once it listens."""
        self._task = asyncio.create_task(self._listen(), name="hub")
        await self._listening.wait()

    async def stop(self) -> None:
        """Ends the connection; nobody is woken any more."""
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    @contextmanager
    def subscribe(self, submission_id: str) -> Iterator[Wake]:
        """Changes from here on are not missed."""
        wake = Wake()
        self._waiting[submission_id].add(wake)
        try:
            yield wake
        finally:
            self._waiting[submission_id].discard(wake)
            if not self._waiting[submission_id]:
                del self._waiting[submission_id]

    def listeners(self, submission_id: str) -> int:
        """How many wait for it in this process."""
        return len(self._waiting.get(submission_id, ()))

    async def _listen(self) -> None:
        while True:
            try:
                await self._hear()
            except Exception as error:  # nobody would be woken any more
                if not self._told:
                    log.warning("lost the connection that hears of changes: %s", error)
                self._told = True
            await asyncio.sleep(0.2)

    async def _hear(self) -> None:
        conninfo = make_conninfo(self._url, **KEEPALIVES)
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            self._listening.set()
            self._told = False
            self._ring_all()
            async for notification in connection.notifies():
                submission_id, _, status = notification.payload.partition(" ")
                for wake in self._waiting.get(submission_id, ()):
                    wake.ring(ended=status in {"finished", "cancelled"})

    def _ring_all(self) -> None:
        for wakes in self._waiting.values():
            for wake in wakes:
                wake.ring(ended=True)
