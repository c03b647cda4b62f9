"""Hidden cases in the database: content-addressed files, versions, and which one is active for every worker at once.

This is the `grader.cases.shelf.Shelf` that grader's own case store copies to and from (entry point group
`grader.cases`), so that `grader cases` and `grader grade` follow the rule of where cases live.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from app.db import embedded as postgres
from app.settings import from_environment
from grader.cases.files import MANIFEST
from grader.cases.shelf import Active
from grader.errors import GraderError

if TYPE_CHECKING:
    import psycopg

LOCK = 0x63617365  # "case": advisory locks of problems' versions


class Shelf:
    """Versions of cases in one database. Every call is a transaction of its own."""

    def __init__(self, url: str) -> None:
        self._url = url

    def versions(self, slug: str) -> list[str]:
        """All versions."""
        with self._connected() as connection:
            rows = connection.execute("SELECT version FROM case_versions WHERE problem = %s", [slug]).fetchall()
        return [version for (version,) in rows]

    def active(self, slug: str) -> Active | None:
        """The active version, and the package's sources when it was activated; where that is unknown, its makers."""
        with self._connected() as connection:
            row = connection.execute(
                "SELECT version, sources FROM case_versions WHERE problem = %s AND active", [slug]
            ).fetchone()
        if row is None:
            return None
        version, sources = row
        return Active(version=version, sources=sources or json.loads(self.fetch(slug, version)[MANIFEST])["sources"])

    def fetch(self, slug: str, version: str) -> dict[str, bytes]:
        """The files of one version by name; {} where there is none."""
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT path, content FROM case_version_files JOIN case_files USING (digest)"
                " WHERE problem = %s AND version = %s",
                [slug, version],
            ).fetchall()
        return {path: bytes(content) for path, content in rows}

    def put(self, slug: str, active: Active, files: Mapping[str, bytes]) -> None:
        """Stores a version if it is new and, in the same transaction, makes it the active one."""
        with self._connected() as connection:
            self._put_files(connection, slug, active.version, files)
            connection.execute("UPDATE case_versions SET active = false WHERE problem = %s AND active", [slug])
            connection.execute(
                "UPDATE case_versions SET active = true, sources = %s WHERE problem = %s AND version = %s",
                [json.dumps(dict(active.sources)), slug, active.version],
            )

    def _put_files(
        self, connection: psycopg.Connection[Any], slug: str, version: str, files: Mapping[str, bytes]
    ) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [LOCK, slug])
        new = connection.execute(
            "INSERT INTO case_versions (problem, version) VALUES (%s, %s) ON CONFLICT DO NOTHING", [slug, version]
        )
        if not new.rowcount:
            return
        for path, content in files.items():
            digest = hashlib.sha256(content).hexdigest()
            connection.execute("INSERT INTO case_files VALUES (%s, %s) ON CONFLICT DO NOTHING", [digest, content])
            connection.execute("INSERT INTO case_version_files VALUES (%s, %s, %s, %s)", [slug, version, path, digest])

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        import psycopg  # noqa: PLC0415  (`grader grade` without a database does without it)

        try:
            with psycopg.connect(self._url, connect_timeout=10) as connection:
                yield connection
        except psycopg.OperationalError as error:
            raise GraderError(f"the database does not answer: {str(error).splitlines()[0]}") from None


def shelf() -> Shelf | None:
    """The database by the contract's rule, migrated; None where cases live in files only."""
    url = postgres.running_url(from_environment())
    if url is None:
        return None
    from app.db import connect as database  # noqa: PLC0415

    database.migrate(url)
    return Shelf(url)
