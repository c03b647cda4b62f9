"""What a worker does: the queue's three tasks, and what it owes the service besides. No verdict logic.

Besides: a sign of life every few seconds, canaries (a right and a wrong answer graded now and then), and the sweep for
jobs of dead workers.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID, uuid4

import procrastinate
from procrastinate.job_context import AbortReason

from app import callbacks
from app.db import connect as database
from app.db import queue
from app.db.connect import TROUBLE
from app.db.fleet import Fleet
from app.db.rejudging import Rejudgings
from app.db.store import MAX_FAILURES, Store
from app.metrics import WorkerMetrics
from app.records import Claim, Finished
from app.settings import Settings
from grader.errors import ProblemError, Unwanted

if TYPE_CHECKING:
    from app.worker.grading import Gradings

log = logging.getLogger(__name__)

Result = TypeVar("Result")

FLUSH_S = 0.05
CANARY_EVERY_S, CANARY_AGAIN_S = 60.0, 3.0
LOST_EVERY_S = 60.0
RETENTION_EVERY_S = 3600.0
STORE_TRIES_S = 60.0
RETRY_PAUSE_S = 1.0
REJUDGE_TRIES = 5


@contextmanager
def kept(context: procrastinate.JobContext, abandoned: threading.Event | None = None) -> Iterator[None]:
    """A job that a shutdown or a database that is away cuts short goes back into the queue.

    An exception that the queue does not know would be the end of it.
    """
    try:
        yield
    except asyncio.CancelledError:
        if abandoned:
            abandoned.set()
        if context.abort_reason() is not AbortReason.SHUTDOWN:
            raise  # cancelled by its owner
        raise queue.TryAgain from None
    except TROUBLE as error:
        log.warning("the database is away: %s", error, extra={"job": context.job.id})
        raise queue.TryAgain(RETRY_PAUSE_S) from None


class Worker:
    """Everything that one worker process has."""

    def __init__(self, settings: Settings, pool: database.Pool, gradings: Gradings) -> None:
        self.id = uuid4()
        self._settings, self._pool, self._gradings = settings, pool, gradings
        self._store, self._fleet, self._rejudgings = Store(pool), Fleet(pool), Rejudgings(pool)
        self._metrics = WorkerMetrics()
        self._threads = ThreadPoolExecutor(settings.worker_slots, thread_name_prefix="grade")
        self._restarts = 0

    # ------------------------------------------------------------ tasks

    def add_tasks(self, app: procrastinate.App) -> None:
        """Makes this worker's methods the queue's tasks."""
        app.task(name=queue.GRADE, pass_context=True, retry=queue.RETRY)(self.grade)
        app.task(name=queue.REJUDGE, pass_context=True, retry=queue.RETRY)(self.rejudge)
        app.task(name=queue.CALLBACK, pass_context=True, retry=queue.RETRY)(self.callback)
        self._queue = app

    async def grade(self, context: procrastinate.JobContext, submission_id: str) -> None:
        """Grades one submission, unless it has ended or somebody else has it by the time this is done."""
        with kept(context):
            claim = await self._store.claim(UUID(submission_id))
            if claim is not None:
                self._metrics.phase.labels("queue").observe(claim.waited_s)
                await self._graded(context, claim)

    async def _graded(self, context: procrastinate.JobContext, claim: Claim) -> None:
        abandoned = threading.Event()
        try:
            if claim.failures > MAX_FAILURES:
                await self._give_up(claim)
            else:
                await self._attempt(claim, abandoned)
        except asyncio.CancelledError:
            abandoned.set()
            if context.abort_reason() is not AbortReason.SHUTDOWN:
                raise  # cancelled by its owner
            await self._store.release(claim, failed=False)
            raise queue.TryAgain from None
        except Unwanted:
            log.info("another attempt has taken over, or it was cancelled", extra={"submission": str(claim.id)})
        except (queue.TryAgain, *TROUBLE):
            raise
        except ProblemError as error:
            log.error("the package of %s is broken: %s", claim.problem, error)
            await self._give_up(claim)
        except Exception:
            log.exception("an attempt failed", extra={"submission": str(claim.id), "attempt": claim.attempt})
            await self._failed(claim)

    async def _attempt(self, claim: Claim, abandoned: threading.Event) -> None:
        told: list[str] = []
        flushing = asyncio.create_task(self._flush(claim, told, abandoned))
        began = time.monotonic()
        try:
            end = await self._in_thread(partial(self._gradings.grade, claim, told.append, abandoned))
        finally:
            flushing.cancel()
            with suppress(asyncio.CancelledError):
                await flushing
        self._metrics.phase.labels("grade").observe(time.monotonic() - began)
        if end.verdict == "internal_error" and claim.failures < MAX_FAILURES:
            await self._failed(claim)
        else:
            await self._finish(claim, end)

    async def _flush(self, claim: Claim, told: list[str], abandoned: threading.Event) -> None:
        """Tells of cases as they come, several in one notification, at most one in FLUSH_S."""
        first = 0
        while not abandoned.is_set():
            await asyncio.sleep(FLUSH_S)
            new = told[first:]
            if new or first == 0:
                try:
                    if not await self._store.report(claim, first, new):
                        abandoned.set()
                    first += len(new)
                except TROUBLE:
                    log.warning("progress could not be told", extra={"submission": str(claim.id)})

    async def _failed(self, claim: Claim) -> None:
        """Back into the queue, or the end after too many failures."""
        self._metrics.retries.inc()
        if claim.failures >= MAX_FAILURES:
            await self._give_up(claim)
        elif await self._store.release(claim, failed=True):
            raise queue.TryAgain(RETRY_PAUSE_S)

    async def _give_up(self, claim: Claim) -> None:
        log.error("gave up: internal_error", extra={"submission": str(claim.id), "attempt": claim.attempt})
        await self._finish(claim, self._gradings.internal_error(claim))

    async def _finish(self, claim: Claim, end: Finished) -> None:
        """Writes the verdict, waiting for a database that is away for a while; fenced: doing it twice does no harm."""
        began = time.monotonic()
        while True:
            try:
                written = await self._write(claim, end)
                break
            except TROUBLE:
                if time.monotonic() - began > STORE_TRIES_S:
                    raise
                await asyncio.sleep(RETRY_PAUSE_S)
        self._metrics.phase.labels("store").observe(time.monotonic() - began)
        fields = {
            "submission": str(claim.id), "problem": claim.problem, "attempt": claim.attempt, "verdict": end.verdict,
        }  # fmt: skip
        if written:
            self._metrics.verdicts.labels(claim.problem, end.verdict).inc()
            log.info("finished", extra=fields)
        else:
            log.warning("the claim was lost; this verdict is dropped", extra=fields)

    async def _write(self, claim: Claim, end: Finished) -> bool:
        async with self._pool.connection() as connection, connection.transaction():
            written, callback_url = await self._store.finish(connection, claim, end)
            if callback_url:
                await queue.defer(self._queue, connection, queue.callback(claim.id))
        return written

    async def rejudge(self, context: procrastinate.JobContext, rejudging_id: str, submission_id: str) -> None:
        """Grades a finished submission again and keeps the result beside the old one."""
        abandoned = threading.Event()
        with kept(context, abandoned):
            claim = await self._rejudgings.claim(UUID(rejudging_id), UUID(submission_id))
            if claim is not None:
                end = await self._graded_again(context, claim, abandoned)
                await self._rejudgings.record(UUID(rejudging_id), claim.id, end)

    async def _graded_again(
        self, context: procrastinate.JobContext, claim: Claim, abandoned: threading.Event
    ) -> Finished:
        try:
            if context.job.attempts < REJUDGE_TRIES:
                return await self._in_thread(partial(self._gradings.grade, claim, lambda _: None, abandoned))
            log.error("gave up grading again", extra={"submission": str(claim.id)})
        except Exception:
            log.exception("rejudging failed", extra={"submission": str(claim.id)})
            raise queue.TryAgain(RETRY_PAUSE_S) from None
        return self._gradings.internal_error(claim)

    async def callback(self, context: procrastinate.JobContext, submission_id: str) -> None:
        """Delivers a finished record."""
        with kept(context):
            await callbacks.deliver(self._settings, self._pool, UUID(submission_id), context.job.attempts + 1)

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    # ------------------------------------------------------------ loops

    async def alive(self) -> None:
        """A sign of life, and what was counted."""
        await self._fleet.seen(self.id, socket.gethostname(), self._gradings.devices, self._settings.worker_slots)
        self._metrics.restarts.inc(self._gradings.restarts - self._restarts)
        self._restarts = self._gradings.restarts
        await self._metrics.flush(self._pool)

    async def canary(self) -> None:
        """Grades a right and a wrong answer; only if both get their verdict the service is said to be ready."""
        while not await self._in_thread(self._gradings.canary):
            await asyncio.sleep(CANARY_AGAIN_S)
        await self._fleet.canary_sang(self.id)

    async def sweep(self) -> None:
        """Puts back what dead workers had."""
        await queue.sweep(self._queue, self._pool, self._settings.claim_timeout_s)
        await self._fleet.forget_workers(self._settings.claim_timeout_s * 10)

    async def find_lost(self) -> None:
        """Nothing that was accepted may be lost, whatever happened to its job."""
        await queue.find_lost(self._queue, self._pool)

    async def retention(self) -> None:
        """Removes what is older than GRADER_RETENTION_DAYS."""
        while self._settings.retention_days and await self._store.remove_older(self._settings.retention_days):
            pass

    def loops(self) -> list[asyncio.Task[None]]:
        """All that runs beside the jobs."""
        pulse_s = self._settings.claim_timeout_s / 4
        wanted = [(pulse_s, self.alive), (pulse_s, self.sweep), (CANARY_EVERY_S, self.canary)]
        wanted += [(LOST_EVERY_S, self.find_lost), (RETENTION_EVERY_S, self.retention)]
        return [asyncio.create_task(queue.every(seconds, work), name=work.__name__) for seconds, work in wanted]

    async def leave(self) -> None:
        """Says that no sign of life is to be waited for."""
        with suppress(*TROUBLE):
            await self._fleet.gone(self.id)
