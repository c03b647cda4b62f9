"""Connections, and the schema's numbered migrations (migrations/*.sql), applied in order under a lock.

A program that is older than the schema it finds refuses to touch it.
"""

from __future__ import annotations

import time
from importlib import resources
from typing import Any

import psycopg
from procrastinate.exceptions import ConnectorException
from procrastinate.schema import SchemaManager
from psycopg_pool import AsyncConnectionPool

from app.db import embedded as postgres
from app.settings import Settings
from grader.errors import GraderError

LOCK = 0x67726164  # "grad": the advisory lock of migrations
SWEEP_LOCK = LOCK + 1
OLDEST_SERVER = 14

Pool = AsyncConnectionPool[psycopg.AsyncConnection[tuple[Any, ...]]]


TROUBLE = (psycopg.OperationalError, ConnectorException)
"""What a database that is away raises, by itself, by a pool that waited for it, or hidden by procrastinate."""


class DatabaseError(GraderError):
    """The database can't be used by this program."""


class DatabaseAway(DatabaseError):
    """It does not answer; it may later."""


def is_away(error: BaseException) -> bool:
    """Whether it is the database that does not answer, and no statement that is wrong."""
    hidden = isinstance(error, ConnectorException) and error.__cause__
    return isinstance(hidden or error, psycopg.OperationalError)


def migrations() -> list[tuple[int, str]]:
    """(number, SQL) of every migration, in order."""
    files = [entry for entry in (resources.files("app") / "migrations").iterdir() if entry.name.endswith(".sql")]
    return sorted((int(entry.name[:4]), entry.read_text(encoding="utf-8")) for entry in files)


def migrate(url: str) -> None:
    """Brings the schema up to this program's version; raises DatabaseError when it is newer."""
    try:
        with psycopg.connect(url, connect_timeout=10) as connection:
            _check_server(connection)
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            _apply(connection)
    except psycopg.OperationalError as error:
        raise DatabaseAway(f"the database does not answer: {str(error).strip().splitlines()[0]}") from None


def await_migrated(settings: Settings, within_s: float = 30.0) -> str:
    """The address of the database, migrated; waits for one that is being started beside this program."""
    until = time.monotonic() + within_s
    while True:
        url = postgres.running_url(settings)
        try:
            if url is not None:
                migrate(url)
                return url
        except DatabaseAway:
            if time.monotonic() > until:
                raise
        if url is None and time.monotonic() > until:
            raise DatabaseError("no database: set GRADER_DATABASE_URL, or start everything with `grader serve`")
        time.sleep(0.1)


def _check_server(connection: psycopg.Connection[Any]) -> None:
    major = connection.info.server_version // 10_000
    if major < OLDEST_SERVER:
        raise DatabaseError(f"the database is PostgreSQL {major}; {OLDEST_SERVER} or newer is needed")
    encoding = connection.execute("SHOW server_encoding").fetchone()
    if encoding != ("UTF8",):
        raise DatabaseError("the database's encoding is not UTF8: make it with `createdb -E UTF8 -T template0`")


def _apply(connection: psycopg.Connection[Any]) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_versions (version integer PRIMARY KEY, at timestamptz DEFAULT now())"
    )
    row = connection.execute("SELECT coalesce(max(version), 0) FROM schema_versions").fetchone()
    current, known = row[0] if row else 0, migrations()
    if current > known[-1][0]:
        raise DatabaseError(
            f"the database has schema {current}, and this program knows {known[-1][0]}: it was upgraded by a newer "
            "grader; upgrade this one too"
        )
    if current == 0:
        connection.execute(SchemaManager.get_schema())
    for number, sql in known:
        if number > current:
            connection.execute(sql.encode())
            connection.execute("INSERT INTO schema_versions (version) VALUES (%s)", [number])


async def _autocommit(connection: psycopg.AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)


def pool(url: str, size: int = 10, *, durable: bool = True, custom_plans: bool = False) -> Pool:
    """A pool of autocommit connections, not opened yet.

    durable False: commits do not wait for the disk unless told to. custom_plans: for procrastinate's fetch, whose
    generic plan reads the whole queue when 10^5 jobs wait for a device that this worker has not (1 ms became 40).
    Connections are checked when they are taken, so that a restarted server costs no caller an error.
    """
    options = "-c timezone=UTC"
    options += "" if durable else " -c synchronous_commit=off"
    options += " -c plan_cache_mode=force_custom_plan" if custom_plans else ""
    return AsyncConnectionPool(
        url,
        min_size=2,
        max_size=size,
        open=False,
        timeout=5,
        reconnect_timeout=30,
        configure=_autocommit,
        check=AsyncConnectionPool.check_connection,
        kwargs={"options": options, "connect_timeout": 10},
    )


async def execute(pool: Pool, query: str, values: Any) -> None:
    """One statement of which nothing comes back."""
    async with pool.connection() as connection:
        await connection.execute(query.encode(), values)


async def one_row(pool: Pool, query: str, values: Any) -> tuple[Any, ...] | None:
    """The first row of one statement."""
    async with pool.connection() as connection:
        cursor = await connection.execute(query.encode(), values)
        return await cursor.fetchone()
