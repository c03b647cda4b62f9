"""What `grader doctor` says of the service (entry point group `grader.findings`): its database."""

from __future__ import annotations

from collections.abc import Iterator

from app.db import embedded as postgres
from app.settings import Settings, from_environment
from grader.doctor import Finding
from grader.errors import GraderError

_PATIENCE_S = 5


def findings() -> Iterator[Finding]:
    """The database that the service would use, by the rule of `app.db.embedded.running_url`. Starts none."""
    try:
        yield Finding(what="database", found=True, text=_database(from_environment()))
    except GraderError as error:
        yield Finding(what="database", found=False, text=str(error))


def _database(settings: Settings) -> str:
    """What answers there, or what `grader serve` would start. PostgresError where neither can be."""
    if url := postgres.running_url(settings):
        return f"PostgreSQL {_version(url)} answers"
    own = postgres.cluster(settings)
    return f"PostgreSQL {own.programs.major} is here, with data in {own.folder}; `grader serve` starts it"


def _version(url: str) -> str:
    import psycopg  # noqa: PLC0415

    try:
        with psycopg.connect(url, connect_timeout=_PATIENCE_S) as connection:
            return str(connection.info.parameter_status("server_version"))
    except psycopg.OperationalError as error:
        raise postgres.PostgresError(f"GRADER_DATABASE_URL: {str(error).splitlines()[0]}") from error
