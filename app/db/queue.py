"""The queue: procrastinate on the same database. One queue for each device, three tasks, no verdicts.

A submission and its job are one transaction; a job that is done is deleted, the submissions table is the history. A job
whose worker stopped giving signs of life is put back by `sweep`, which every worker runs in a loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import procrastinate
from procrastinate import jobs, utils
from psycopg import AsyncConnection

from app.db.connect import SWEEP_LOCK, Pool

log = logging.getLogger(__name__)

PRIORITIES = {"run": 20, "submit": 10, "rejudge": 0}
GRADE, REJUDGE, CALLBACK = "grade", "rejudge", "callback"
CALLBACKS = "callbacks"
_INSERTED = '{"type": "job_inserted", "job_id": 0}'  # what procrastinate's workers wake up for; a retry sends none


class TryAgain(Exception):
    """Raised by a task: the job goes back into the queue, to be taken after `delay_s`."""

    def __init__(self, delay_s: float = 0.0) -> None:
        super().__init__(f"try again in {delay_s:.1f} s")
        self.delay_s = delay_s


class _Retry(procrastinate.BaseRetryStrategy):
    def get_retry_decision(self, *, exception: BaseException, job: jobs.Job) -> procrastinate.RetryDecision | None:
        if isinstance(exception, TryAgain):
            return procrastinate.RetryDecision(retry_at=utils.utcnow() + timedelta(seconds=exception.delay_s))
        return None


RETRY = _Retry()


async def open_queue(pool: Pool, url: str) -> procrastinate.App:
    """procrastinate on our pool."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))
    await app.open_async(pool)
    return app


def job(name: str, queue: str, mode: str, arguments: dict[str, Any]) -> jobs.Job:
    """A job that is not deferred yet."""
    return jobs.Job(
        id=None,
        task_name=name,
        queue=queue,
        priority=PRIORITIES[mode],
        lock=None,
        queueing_lock=None,
        task_kwargs=arguments,
    )


async def defer(app: procrastinate.App, connection: AsyncConnection[Any], new: jobs.Job) -> int:
    """Puts a job into the queue inside the connection's transaction; returns its id."""
    deferred = await app.job_manager.defer_job_async(new, connection=connection)
    assert deferred.id is not None
    return deferred.id


def grading(submission_id: UUID, device: str, mode: str) -> jobs.Job:
    """The job that grades a submission."""
    return job(GRADE, device, mode, {"submission_id": str(submission_id)})


def callback(submission_id: UUID) -> jobs.Job:
    """The job that delivers a finished record."""
    return job(CALLBACK, CALLBACKS, "submit", {"submission_id": str(submission_id)})


def rejudging(rejudging_id: UUID, submission_id: UUID, device: str) -> jobs.Job:
    """The job that grades a finished submission again."""
    ids = {"rejudging_id": str(rejudging_id), "submission_id": str(submission_id)}
    return job(REJUDGE, device, "rejudge", ids)


async def stop_job(connection: AsyncConnection[Any], job_id: int) -> None:
    """Removes a waiting job, asks a running one to stop; in the connection's transaction."""
    await connection.execute("SELECT procrastinate_cancel_job_v1(%s, true, true)", [job_id])


async def sweep(app: procrastinate.App, pool: Pool, timeout_s: float) -> int:
    """Puts the jobs of dead workers back into the queue; says how many. One sweep at a time in the whole service."""
    async with pool.connection() as connection, connection.transaction():
        cursor = await connection.execute("SELECT pg_try_advisory_xact_lock(%s)", [SWEEP_LOCK])
        if await cursor.fetchone() != (True,):
            return 0
        stalled = list(await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=timeout_s))
        for lost in stalled:
            log.warning("job %s was lost with its worker, and goes back into the queue", lost.id)
            await app.job_manager.retry_job(lost)
            await connection.execute("SELECT pg_notify(%s, %s)", [f"procrastinate_queue_v1#{lost.queue}", _INSERTED])
        await app.job_manager.prune_stalled_workers(timeout_s * 3)
    return len(stalled)


async def find_lost(app: procrastinate.App, pool: Pool) -> int:
    """Gives a new job to each open submission that has none, whatever became of it; says how many."""
    async with pool.connection() as connection, connection.transaction():
        cursor = await connection.execute("SELECT pg_try_advisory_xact_lock(%s)", [SWEEP_LOCK])
        if await cursor.fetchone() != (True,):
            return 0
        cursor = await connection.execute(
            "SELECT id, device, mode FROM submissions WHERE status IN ('queued', 'running')"
            " AND created_at < now() - interval '30 seconds'"
            " AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE procrastinate_jobs.id = job_id) LIMIT 1000"
        )
        lost = await cursor.fetchall()
        # a job that is put back and was cancelled too is marked as failed by procrastinate, and left
        await connection.execute("DELETE FROM procrastinate_jobs WHERE status NOT IN ('todo', 'doing')")
        for submission_id, device, mode in lost:
            job_id = await defer(app, connection, grading(submission_id, device, mode))
            await connection.execute("UPDATE submissions SET job_id = %s WHERE id = %s", [job_id, submission_id])
            log.error("a submission had no job, and got a new one", extra={"submission": str(submission_id)})
    return len(lost)


async def every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Calls `work` again and again; a failure is logged, and the loop goes on."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("%s failed", getattr(work, "__name__", "a loop"))
        await asyncio.sleep(seconds)
