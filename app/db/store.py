"""Submissions in the database: the state machine, and every statement that reads or changes it.

    queued --claim--> running --finish--> finished
       ^                 |
       +---- release ----+          queued | running --cancel--> cancelled

Each claim raises `attempt`, and only the latest attempt may write: a worker that was thought dead changes nothing any
more. finished and cancelled never change (only rejudging replaces a verdict, and keeps the old one). A claim of a
submission that is running counts as a failure of the attempt before; after MAX_FAILURES it is `internal_error`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row

from app.db.connect import Pool, execute, one_row
from app.records import (
    TERMINAL,
    Claim,
    Filter,
    Finished,
    IdempotencyKey,
    NewSubmission,
    Progress,
    Submission,
    ascii_json,
)

CHANNEL = "grader_submissions"
MAX_FAILURES = 2
COUNTED_AHEAD = 1000

_COLUMNS = (
    "id, seq, owner, subject, problem, mode, device, metadata, status, verdict, cases_version, grade, history, "
    "created_at, finished_at"
)


class Store:
    """All calls take their own connection from the pool, unless one is given so that they join its transaction."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    # ------------------------------------------------------------ what the API does

    async def insert(self, connection: AsyncConnection[Any], new: NewSubmission, job_id: int) -> Submission:
        """Stores a queued submission in the transaction in which its job was deferred."""
        async with connection.cursor(row_factory=class_row(Submission)) as cursor:
            await cursor.execute(
                "INSERT INTO submissions (id, owner, client, subject, problem, mode, device, priority, source, inputs,"
                " metadata, callback_url, job_id) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
                f" RETURNING {_COLUMNS}",
                [
                    new.id, new.owner, new.client, new.subject, new.problem, new.mode, new.device, new.priority,
                    new.source.encode("utf-8", "surrogatepass"), None if new.inputs is None else ascii_json(new.inputs),
                    ascii_json(new.metadata), new.callback_url, job_id,
                ],
            )  # fmt: skip
            stored = await cursor.fetchone()
        assert stored is not None
        return stored

    async def get(self, submission_id: UUID) -> Submission | None:
        """One submission, or None."""
        async with self.pool.connection() as connection, connection.cursor(row_factory=class_row(Submission)) as cursor:
            await cursor.execute(f"SELECT {_COLUMNS} FROM submissions WHERE id = %s", [submission_id])
            return await cursor.fetchone()

    async def listed(self, which: Filter, limit: int) -> list[Submission]:
        """The newest first, at most `limit`."""
        wanted = {
            "owner = %s": which.owner,
            "subject = %s": which.subject,
            "problem = %s": which.problem,
            "verdict = %s": which.verdict,
            "seq < %s": which.before,
        }
        given = {condition: value for condition, value in wanted.items() if value is not None}
        where = " AND ".join(given) or "true"
        query = f"SELECT {_COLUMNS} FROM submissions WHERE {where} ORDER BY seq DESC LIMIT %s"
        async with self.pool.connection() as connection, connection.cursor(row_factory=class_row(Submission)) as cursor:
            await cursor.execute(query.encode(), [*given.values(), limit])
            return await cursor.fetchall()

    async def ahead(self, submission: Submission) -> int:
        """How many queued ones come before it, counted up to COUNTED_AHEAD."""
        row = await one_row(
            self.pool,
            "SELECT count(*) FROM (SELECT 1 FROM submissions AS other, submissions AS mine WHERE mine.id = %s"
            " AND other.status = 'queued' AND (other.priority > mine.priority"
            " OR other.priority = mine.priority AND other.seq < mine.seq) LIMIT %s) AS counted",
            [submission.id, COUNTED_AHEAD],
        )
        return int(row[0]) if row else 0

    async def cancel(self, connection: AsyncConnection[Any], submission_id: UUID) -> int | None:
        """Cancels what has not finished. Returns the job to be stopped, None when there was nothing to cancel."""
        cursor = await connection.execute(
            "WITH ended AS (UPDATE submissions SET status = 'cancelled', finished_at = now() WHERE id = %s"
            " AND status IN ('queued', 'running') RETURNING id, job_id),"
            " gone AS (DELETE FROM progress USING ended WHERE submission_id = ended.id)"
            " SELECT job_id, pg_notify(%s, id || ' cancelled') FROM ended",
            [submission_id, CHANNEL],
        )
        row = await cursor.fetchone()
        return None if row is None else row[0] or 0

    async def progress(self, submission_id: UUID, from_case: int) -> Progress | None:
        """State and further cases; the whole submission once it has ended. None when it was removed."""
        row = await one_row(
            self.pool,
            "SELECT status, ARRAY(SELECT body FROM progress WHERE submission_id = id AND index >= %s ORDER BY index)"
            " FROM submissions WHERE id = %s",
            [from_case, submission_id],
        )
        if row is None:
            return None
        status, cases = row
        ended = await self.get(submission_id) if status in TERMINAL else None
        return Progress(status=status, cases=tuple(cases), submission=ended)

    async def remembered(self, connection: AsyncConnection[Any], key: IdempotencyKey) -> tuple[UUID, bytes] | None:
        """The submission that this idempotency key made, and the digest of its body."""
        cursor = await connection.execute(
            "SELECT submission_id, body_digest FROM idempotency WHERE scope = %s AND key = %s", [key.scope, key.key]
        )
        row = await cursor.fetchone()
        return None if row is None else (row[0], bytes(row[1]))

    async def remember(self, connection: AsyncConnection[Any], key: IdempotencyKey, submission_id: UUID) -> bool:
        """Binds a key to a submission of this transaction; False when another was faster."""
        cursor = await connection.execute(
            "INSERT INTO idempotency (scope, key, body_digest, submission_id) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            [key.scope, key.key, key.digest, submission_id],
        )
        return cursor.rowcount == 1

    async def open_of(self, client: str, limit: int) -> int:
        """How many of a client's submissions have not ended, counted up to `limit`."""
        row = await one_row(
            self.pool,
            "SELECT count(*) FROM (SELECT 1 FROM submissions"
            " WHERE client = %s AND status IN ('queued', 'running') LIMIT %s) AS counted",
            [client, limit],
        )
        return int(row[0]) if row else 0

    async def queue(self, limit: int) -> tuple[int, float]:
        """(how many are queued, counted up to `limit`; age of the oldest in seconds)."""
        row = await one_row(
            self.pool,
            "SELECT count(*), coalesce(extract(epoch FROM now() - min(created_at)), 0)"
            " FROM (SELECT created_at FROM submissions WHERE status = 'queued' LIMIT %s) AS counted",
            [limit],
        )
        return (int(row[0]), float(row[1])) if row else (0, 0.0)

    # ------------------------------------------------------------ what a worker does

    async def claim(self, submission_id: UUID) -> Claim | None:
        """Makes this the attempt that may write. None when it has ended."""
        query = (
            "UPDATE submissions SET attempt = attempt + 1, failures = failures + (status = 'running')::int,"
            " status = 'running', started_at = now() WHERE id = %s AND status IN ('queued', 'running')"
            " RETURNING id, attempt, failures, problem, mode, device, source, inputs, (SELECT version"
            " FROM case_versions WHERE active AND case_versions.problem = submissions.problem) AS active_cases,"
            " extract(epoch FROM now() - created_at)::float AS waited_s"
        )
        async with self.pool.connection() as connection, connection.cursor(row_factory=class_row(Claim)) as cursor:
            await cursor.execute(query, [submission_id])
            return await cursor.fetchone()

    async def report(self, claim: Claim, first: int, cases: Iterable[str]) -> bool:
        """Stores cases from index `first` on and tells listeners, once for all; False when the claim was lost."""
        row = await one_row(
            self.pool,
            "WITH mine AS (SELECT id FROM submissions WHERE id = %(id)s AND attempt = %(attempt)s"
            " AND status = 'running' FOR SHARE),"
            " new AS (INSERT INTO progress SELECT mine.id, %(first)s + case_.at - 1, case_.body FROM mine,"
            " unnest(%(cases)s::text[]) WITH ORDINALITY AS case_ (body, at) ON CONFLICT DO NOTHING)"
            " SELECT pg_notify(%(channel)s, id || ' running') FROM mine",
            {"id": claim.id, "attempt": claim.attempt, "first": first, "cases": list(cases), "channel": CHANNEL},
        )
        return row is not None

    async def finish(self, connection: AsyncConnection[Any], claim: Claim, end: Finished) -> tuple[bool, str | None]:
        """Writes the verdict if this is still the attempt that may. Returns (written, callback_url).

        Waits for the disk whatever the connection's default: a verdict that was seen must not be lost.
        """
        cursor = await connection.execute(
            "WITH done AS (UPDATE submissions SET status = 'finished', verdict = %(verdict)s, grade = %(grade)s,"
            " cases_version = %(version)s, finished_at = now() WHERE id = %(id)s AND attempt = %(attempt)s"
            " AND status = 'running' RETURNING id, callback_url),"
            " gone AS (DELETE FROM progress USING done WHERE submission_id = done.id)"
            " SELECT callback_url, pg_notify(%(channel)s, id || ' finished'),"
            " set_config('synchronous_commit', 'on', true) FROM done",
            {
                "id": claim.id,
                "attempt": claim.attempt,
                "verdict": end.verdict,
                "grade": end.grade,
                "version": end.cases_version,
                "channel": CHANNEL,
            },
        )
        row = await cursor.fetchone()
        return row is not None, row[0] if row else None

    async def release(self, claim: Claim, *, failed: bool) -> bool:
        """Back into the queue; `failed` counts against it. False when the claim was lost."""
        row = await one_row(
            self.pool,
            "UPDATE submissions SET status = 'queued', failures = failures + %s WHERE id = %s AND attempt = %s"
            " AND status = 'running' RETURNING pg_notify(%s, id || ' queued')",
            [int(failed), claim.id, claim.attempt, CHANNEL],
        )
        return row is not None

    async def remove_older(self, days: int, batch: int = 1000) -> int:
        """Retention: removes up to `batch` submissions that ended more than `days` ago; says how many."""
        async with self.pool.connection() as connection:
            cursor = await connection.execute(
                "DELETE FROM submissions WHERE id IN (SELECT id FROM submissions"
                " WHERE status IN ('finished', 'cancelled') AND created_at < now() - make_interval(days => %(days)s)"
                " AND finished_at < now() - make_interval(days => %(days)s) LIMIT %(batch)s)",
                {"days": days, "batch": batch},
            )
            return cursor.rowcount

    # ------------------------------------------------------------ the rest

    async def secret(self, name: str) -> str:
        """A secret that all API processes of this database share."""
        row = await one_row(self.pool, "SELECT value FROM secrets WHERE name = %s", [name])
        assert row is not None
        return str(row[0])

    async def callback_url(self, submission_id: UUID) -> str | None:
        """Where the finished record is to be sent."""
        row = await one_row(self.pool, "SELECT callback_url FROM submissions WHERE id = %s", [submission_id])
        return row[0] if row else None

    async def record_callback(self, submission_id: UUID, attempt: int, status: int | None, error: str | None) -> None:
        """Keeps one attempt to deliver a callback."""
        await execute(
            self.pool,
            "INSERT INTO callbacks (submission_id, attempt, status, error) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            [submission_id, attempt, status, error],
        )
