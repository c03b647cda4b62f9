"""The service's commands, added to `grader` through the entry point group `grader.commands`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

import typer

from app.settings import from_environment
from grader.errors import GraderError, UsageError

Result = TypeVar("Result")

serve = typer.Typer(add_completion=False, rich_markup_mode=None)
worker = typer.Typer(add_completion=False, rich_markup_mode=None)
rejudge = typer.Typer(add_completion=False, rich_markup_mode=None)
key = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode=None, help="API keys: create, list, revoke."
)
db = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode=None, help="The whole database to a file, and back."
)

AsJson = Annotated[bool, typer.Option("--json", help="One record a line.")]
NEWER_DUMP_OPTIONS = ["--format=custom", "--no-owner", "--no-privileges"]


@serve.command()
def run_service() -> None:
    """API, worker and database, started, supervised and stopped together."""
    from app import logs  # noqa: PLC0415
    from app import serve as service  # noqa: PLC0415

    logs.configure()
    service.serve(from_environment())


@worker.command()
def run_worker() -> None:
    """A worker only, for more machines; GRADER_DATABASE_URL says where the queue is."""
    from app.worker.process import main  # noqa: PLC0415

    main()


# ---------------------------------------------------------------- keys


@key.command()
def create(
    name: Annotated[str, typer.Argument(help="Whose key it is, for lists.")],
    role: Annotated[
        Literal["client", "public", "admin"],
        typer.Option(help="public: for pages, may not list; admin: sees all, may rejudge."),
    ] = "client",
) -> None:
    """Make a key and print it, this once."""
    from app.api import access  # noqa: PLC0415

    key_id, secret = _with_connection(lambda connection: access.create_key(connection, name, role))
    typer.echo(f"id {key_id}, role {role}; the key is shown this once:", err=True)
    typer.echo(secret)


@key.command("list")
def list_keys(as_json: AsJson = False) -> None:
    """Say which keys there are."""
    from app.api import access  # noqa: PLC0415

    for found in _with_connection(access.list_keys):
        record = {
            "id": found.id,
            "name": found.name,
            "role": found.role,
            "created_at": found.created_at.isoformat(),
            "revoked_at": found.revoked_at and found.revoked_at.isoformat(),
        }
        state = "revoked" if found.revoked_at else "active"
        typer.echo(json.dumps(record) if as_json else f"{found.id}  {found.role:6}  {state:7}  {found.name}")


@key.command()
def revoke(key_id: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Make a key worthless, at once and for good."""
    from app.api import access  # noqa: PLC0415

    if not _with_connection(lambda connection: access.revoke_key(connection, key_id)):
        raise UsageError(f"no active key {key_id!r}; `grader key list` shows them")
    typer.echo(f"{key_id} is revoked")


# ---------------------------------------------------------------- dump and restore


@db.command()
def dump(file: Annotated[Path, typer.Argument(help="Where to write; must not exist.")]) -> None:
    """Write the whole database to a file that any PostgreSQL of this version or newer can take in."""
    from app.db import embedded as postgres  # noqa: PLC0415

    if file.exists():
        raise UsageError(f"{file} exists already; choose another name")
    settings = from_environment()
    with postgres.database(settings) as url, _private(file):
        programs = postgres.dump_programs(settings, _server_major(url))
        _run(programs.path("pg_dump"), *NEWER_DUMP_OPTIONS, f"--file={file}", url=url)
    typer.echo(f"wrote {file} ({file.stat().st_size} bytes)")


@contextmanager
def _private(file: Path) -> Iterator[None]:
    """Makes a file that its owner alone can read; takes it away again when what is to fill it fails."""
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        yield
    except BaseException:
        file.unlink()
        raise


@db.command()
def restore(file: Annotated[Path, typer.Argument(help="What `grader db dump` wrote.")]) -> None:
    """Take a dump into an empty database, and bring its schema up to this program's version."""
    from app.db import connect as database  # noqa: PLC0415
    from app.db import embedded as postgres  # noqa: PLC0415

    if not file.is_file():
        raise UsageError(f"no file {file}")
    settings = from_environment()
    with postgres.database(settings) as url:
        _refuse_unless_empty(url)
        programs = postgres.dump_programs(settings, _server_major(url))
        flags = ["--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
        _run(programs.path("pg_restore"), *flags, str(file), url=url)
        database.migrate(url)
    typer.echo(f"restored {file}")


def _refuse_unless_empty(url: str) -> None:
    import psycopg  # noqa: PLC0415

    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()").fetchone()
    if row and row[0]:
        raise UsageError("the database is not empty: restore into a new one (another GRADER_DATA_DIR, or createdb)")


def _server_major(url: str) -> int:
    import psycopg  # noqa: PLC0415

    with psycopg.connect(url) as connection:
        return connection.info.server_version // 10_000


def _run(program: str, *arguments: str, url: str) -> None:
    """One of PostgreSQL's programs. The password goes by the environment: every user can read a command line."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: PLC0415

    place = conninfo_to_dict(url)
    password = place.pop("password", None)
    environ = os.environ | ({"PGPASSWORD": str(password)} if password else {})
    target = make_conninfo("", **place)
    command = [program, f"--dbname={target}", *arguments]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GraderError(f"{Path(program).name} failed: {' '.join(done.stderr.strip().splitlines()[-1:])}")


# ---------------------------------------------------------------- rejudging


@rejudge.command()
def rejudge_problem(
    slug: Annotated[str, typer.Argument(metavar="PROBLEM")],
    apply: Annotated[bool, typer.Option("--apply", help="Replace the verdicts that change.")] = False,
    as_json: AsJson = False,
) -> None:
    """Grade stored submissions again and say which verdicts would change; the workers do it, behind everything else."""
    from grader.problem import folder as problem  # noqa: PLC0415

    asked = problem.load(slug).slug
    changes, total, applied = _with_database(lambda url: _rejudge(url, asked, apply=apply))
    for change in changes:
        record = {"id": str(change.submission_id), "subject": change.subject, "old": change.old, "new": change.new}
        typer.echo(json.dumps(record) if as_json else f"{change.submission_id}  {change.old} -> {change.new}")
    told = f"{total} graded again, {len(changes)} verdicts {'replaced' if applied else 'would change'}"
    typer.echo(told + ("" if apply or not changes else "; --apply replaces them"), err=as_json)


async def _rejudge(url: str, slug: str, *, apply: bool) -> tuple[list[Any], int, bool]:
    from app.db import connect as database  # noqa: PLC0415
    from app.db import queue  # noqa: PLC0415
    from app.db.fleet import Fleet  # noqa: PLC0415
    from app.db.rejudging import Rejudgings  # noqa: PLC0415

    async with database.pool(url) as pool:
        fleet = Fleet(pool)
        await _require_a_worker(fleet)
        rejudgings = Rejudgings(pool)
        rejudging_id = await rejudgings.start(await queue.open_queue(pool, url), slug)
        total = await _graded_again(rejudgings, rejudging_id, fleet)
        changes = await rejudgings.changes(rejudging_id)
        if apply:
            await rejudgings.apply(rejudging_id)
        return changes, total, apply


async def _require_a_worker(fleet: Any) -> None:
    if not await fleet.live_workers(from_environment().claim_timeout_s):
        raise UsageError("no worker is running: start `grader serve` or `grader worker` first")


async def _graded_again(rejudgings: Any, rejudging_id: UUID, fleet: Any) -> int:
    """Waits for the workers, as long as there is one; a progress bar for people."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("grading again", total=None)
        while True:
            state = await rejudgings.state(rejudging_id)
            progress.update(bar, total=state.total, completed=state.done)
            if state.done == state.total:
                return int(state.total)
            await _require_a_worker(fleet)
            await asyncio.sleep(0.5)


# ---------------------------------------------------------------- the database, for a command


def _with_database(work: Callable[[str], Awaitable[Result]]) -> Result:
    """Runs something on the migrated database; an embedded one that was not running is started for it."""
    from app.db import connect as database  # noqa: PLC0415
    from app.db import embedded as postgres  # noqa: PLC0415

    with postgres.database(from_environment()) as url:
        database.migrate(url)

        async def run() -> Result:
            return await work(url)

        return asyncio.run(run())


def _with_connection(work: Callable[[Any], Awaitable[Result]]) -> Result:
    import psycopg  # noqa: PLC0415

    async def run(url: str) -> Result:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            return await work(connection)

    return _with_database(run)
