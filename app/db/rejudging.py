"""Grading stored submissions again: everything is graded first, then the verdicts that change are replaced in one step.

Old verdicts stay in the record's `history`.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

import procrastinate
from psycopg.rows import class_row

from app.db import queue
from app.db.connect import Pool, execute
from app.records import Claim, Finished

BATCH = 500


@dataclass(frozen=True, kw_only=True)
class Change:
    """A verdict that another one would replace."""

    submission_id: UUID
    subject: str | None
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class State:
    """How far a rejudging is."""

    problem: str
    total: int
    done: int
    applied: bool


class Rejudgings:
    """Their tables, and the jobs that fill them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def start(self, app: procrastinate.App, problem: str) -> UUID:
        """Queues every finished submission of the problem (mode submit), behind all that learners wait for."""
        rejudging_id = uuid4()
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute("INSERT INTO rejudgings (id, problem) VALUES (%s, %s)", [rejudging_id, problem])
            cursor = await connection.execute(
                "WITH chosen AS (SELECT id, device, seq FROM submissions"
                " WHERE problem = %s AND status = 'finished' AND mode = 'submit'),"
                " new AS (INSERT INTO rejudged (rejudging_id, submission_id) SELECT %s, id FROM chosen)"
                " SELECT id, device FROM chosen ORDER BY seq",
                [problem, rejudging_id],
            )
            while rows := await cursor.fetchmany(BATCH):
                jobs = [queue.rejudging(rejudging_id, submission_id, device) for submission_id, device in rows]
                await app.job_manager.batch_defer_jobs_async(jobs, connection=connection)
        return rejudging_id

    async def claim(self, rejudging_id: UUID, submission_id: UUID) -> Claim | None:
        """What is to be graded again; None when that is done."""
        async with self._pool.connection() as connection, connection.cursor(row_factory=class_row(Claim)) as cursor:
            await cursor.execute(
                "SELECT id, attempt, 0 AS failures, problem, mode, device, source, inputs, (SELECT version"
                " FROM case_versions WHERE active AND case_versions.problem = submissions.problem) AS active_cases"
                " FROM submissions JOIN rejudged ON submission_id = id"
                " WHERE rejudging_id = %s AND id = %s AND rejudged.verdict IS NULL",
                [rejudging_id, submission_id],
            )
            return await cursor.fetchone()

    async def record(self, rejudging_id: UUID, submission_id: UUID, end: Finished) -> None:
        """Keeps a new verdict beside the old one."""
        await execute(
            self._pool,
            "UPDATE rejudged SET verdict = %s, grade = %s, cases_version = %s"
            " WHERE rejudging_id = %s AND submission_id = %s",
            [end.verdict, end.grade, end.cases_version, rejudging_id, submission_id],
        )

    async def state(self, rejudging_id: UUID) -> State | None:
        """How far it is; None where there is no such rejudging."""
        async with self._pool.connection() as connection, connection.cursor(row_factory=class_row(State)) as cursor:
            await cursor.execute(
                "SELECT problem, applied_at IS NOT NULL AS applied, count(submission_id) AS total,"
                " count(verdict) AS done FROM rejudgings LEFT JOIN rejudged ON rejudging_id = rejudgings.id"
                " WHERE rejudgings.id = %s GROUP BY rejudgings.id",
                [rejudging_id],
            )
            return await cursor.fetchone()

    async def changes(self, rejudging_id: UUID) -> list[Change]:
        """The verdicts that differ, the oldest submission first. internal_error replaces nothing."""
        async with self._pool.connection() as connection, connection.cursor(row_factory=class_row(Change)) as cursor:
            await cursor.execute(
                "SELECT submission_id, subject, submissions.verdict AS old, rejudged.verdict AS new"
                " FROM rejudged JOIN submissions ON submission_id = id WHERE rejudging_id = %s"
                " AND rejudged.verdict <> submissions.verdict AND rejudged.verdict <> 'internal_error' ORDER BY seq",
                [rejudging_id],
            )
            return await cursor.fetchall()

    async def apply(self, rejudging_id: UUID) -> int:
        """Replaces those verdicts, all in one step; says how many. Done before: none."""
        async with self._pool.connection() as connection, connection.transaction():
            first = await connection.execute(
                "UPDATE rejudgings SET applied_at = now() WHERE id = %s AND applied_at IS NULL", [rejudging_id]
            )
            if not first.rowcount:
                return 0
            cursor = await connection.execute(
                "UPDATE submissions SET verdict = rejudged.verdict, grade = rejudged.grade,"
                " cases_version = rejudged.cases_version, history = (history::jsonb || jsonb_build_object("
                "'verdict', submissions.verdict, 'cases_version', submissions.cases_version,"
                " 'graded_at', finished_at, 'replaced_at', now()))::text"
                " FROM rejudged WHERE submission_id = id AND rejudging_id = %s"
                " AND rejudged.verdict <> submissions.verdict AND rejudged.verdict <> 'internal_error'",
                [rejudging_id],
            )
            return cursor.rowcount
