"""PostgreSQL as it is found: embedded or outside, old and new, dumped and restored; migrations; settings."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest
from procrastinate.exceptions import ConnectorException

from app import logs
from app.db import connect as database
from app.db import embedded as postgres
from app.settings import Settings, from_environment
from grader.errors import UsageError
from tests.service.conftest import RIGHT, make_database, own_folder, wheel
from tests.service.running import ROOT, Running

OUTSIDE = next((found for found in postgres.candidates(Settings()) if found.folder != wheel()), None)
needs_another = pytest.mark.skipif(
    OUTSIDE is None, reason="no PostgreSQL of the machine's own (apt install postgresql)"
)


@pytest.fixture(scope="module")
def outside() -> Iterator[postgres.Cluster]:
    """The machine's own PostgreSQL, as an outside server."""
    assert OUTSIDE is not None
    with own_folder() as folder:
        started = postgres.cluster(Settings(data_dir=folder, postgres_bin=OUTSIDE.folder))
        started.start()
        yield started
        started.stop()


def grader(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The command line."""
    command = [sys.executable, "-c", "from grader.cli.main import main; main()", *arguments]
    kept = {name: value for name, value in os.environ.items() if name != "GRADER_DATABASE_URL"}
    return subprocess.run(command, cwd=ROOT, env=kept | environ, capture_output=True, text=True, check=False)


def count(url: str, table: str) -> int:
    """Rows of a table."""
    with psycopg.connect(url) as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def test_a_cluster_is_found_as_it_was() -> None:
    """Stopped and started again, the data are there; the server listens on no network address."""
    with own_folder() as folder:
        embedded = postgres.cluster(Settings(data_dir=folder, postgres_bin=wheel()))
        embedded.start()
        with psycopg.connect(embedded.url()) as connection:
            connection.execute("CREATE TABLE kept (n integer)")
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        embedded.stop()
        assert not embedded.running()
        with postgres.database(Settings(data_dir=folder, postgres_bin=wheel())) as url:
            assert count(url, "kept") == 0
        assert not embedded.running()


def test_another_majors_data_are_refused(tmp_path: Path) -> None:
    """A sentence says which version they belong to and how to move them."""
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("13\n")
    with pytest.raises(postgres.PostgresError, match=r"belong to PostgreSQL 13.*grader db dump"):
        postgres.cluster(Settings(data_dir=tmp_path))


@needs_another
def test_dump_and_restore_across_majors(outside: postgres.Cluster) -> None:
    """What the machine's own PostgreSQL held is in the embedded 18 afterwards; a database in use is not overwritten."""
    assert OUTSIDE is not None
    url = make_database(outside, "dumped")
    database.migrate(url)
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO secrets VALUES ('kept', 'yes')")
    with own_folder() as folder:
        target = {"GRADER_DATA_DIR": str(folder), "GRADER_POSTGRES_BIN": str(wheel())}
        dumped = grader("db", "dump", str(folder / "dump"), GRADER_DATABASE_URL=url)
        assert dumped.returncode == 0, dumped.stderr
        restored = grader("db", "restore", str(folder / "dump"), **target)
        assert restored.returncode == 0, restored.stderr
        with postgres.database(Settings(data_dir=folder, postgres_bin=wheel())) as new:
            with psycopg.connect(new) as connection:
                assert connection.execute("SELECT value FROM secrets WHERE name = 'kept'").fetchone() == ("yes",)
            database.migrate(new)
        again = grader("db", "restore", str(folder / "dump"), **target)
        assert (again.returncode, "not empty" in again.stderr) == (2, True)


def test_migrations_at_once(cluster: postgres.Cluster) -> None:
    """Four programs that start together migrate once, and all find the schema."""
    url = make_database(cluster, "together")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(database.migrate, [url] * 4))
    assert count(url, "schema_versions") == len(database.migrations())


def test_a_newer_schema_is_refused(cluster: postgres.Cluster) -> None:
    """An old program says that it is too old."""
    url = make_database(cluster, "newer")
    database.migrate(url)
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO schema_versions (version) VALUES (9999)")
    with pytest.raises(database.DatabaseError, match=r"schema 9999.*upgrade this one"):
        database.migrate(url)


def test_a_database_that_is_away_is_named() -> None:
    """One sentence, no traceback."""
    with pytest.raises(database.DatabaseError, match="does not answer"):
        database.migrate("postgresql://postgres@127.0.0.1:1/nothing?connect_timeout=2")


@needs_another
def test_an_outside_server_serves_all(outside: postgres.Cluster, cases_dir: Path) -> None:
    """API and worker on the machine's own PostgreSQL, by its address: a submission is accepted."""
    running = Running(url=make_database(outside, "served"), data_dir=cases_dir)
    try:
        running.start_worker("outside-worker")
        running.start_api("outside-api")
        running.wait_ready()
        request = {"problem": "situ_glu", "source": RIGHT}
        answer = httpx.post(running.address + "/api/v1/submissions?wait=50", json=request, timeout=60)
        assert answer.json()["verdict"] == "accepted"
    finally:
        running.stop()


@pytest.mark.parametrize(
    ("name", "value"), [("GRADER_PORT", "http"), ("GRADER_AUTH", "maybe"), ("GRADER_BACKLOG", "0")]
)
def test_bad_settings_are_named(name: str, value: str) -> None:
    """A sentence with the variable's name."""
    with pytest.raises(UsageError, match=name):
        from_environment({name: value})


def test_keys_are_needed_beyond_loopback() -> None:
    """Off on loopback, on elsewhere, as one says otherwise."""
    assert not Settings().keys_needed
    assert Settings(host="0.0.0.0").keys_needed
    assert Settings(auth="on").keys_needed
    assert not Settings(host="0.0.0.0", auth="off").keys_needed


def test_a_dump_shows_no_password_and_leaves_no_half_file(cluster: postgres.Cluster, tmp_path: Path) -> None:
    """pg_dump gets the password by its environment, since command lines can be read; where it fails no file stays."""
    programs, told = tmp_path / "bin", tmp_path / "told"
    programs.mkdir()
    for path in wheel().iterdir():
        (programs / path.name).symlink_to(path)
    (programs / "pg_dump").unlink()
    (programs / "pg_dump").write_text(f'#!/bin/sh\necho "$PGPASSWORD $*" > {told}\necho out of ink >&2\nexit 1\n')
    (programs / "pg_dump").chmod(0o755)
    url = make_database(cluster, "locked").replace("postgres@", "postgres:sesame@")
    ended = grader("db", "dump", str(tmp_path / "dump"), GRADER_DATABASE_URL=url, GRADER_POSTGRES_BIN=str(programs))
    assert (ended.returncode, ended.stderr) == (2, "grader: pg_dump failed: out of ink\n")
    assert told.read_text().startswith("sesame ")
    assert "sesame" not in told.read_text().partition(" ")[2]
    assert not (tmp_path / "dump").exists()


def test_a_database_that_is_away_is_logged_in_a_line() -> None:
    """No traceback, also where procrastinate hides the cause in an error of its own; other errors keep theirs."""
    lines = [logged(error) for error in (away(), hidden(away()), ValueError("another"))]
    assert ["database is away" in line["message"] for line in lines] == [True, True, False]
    assert ["exception" in line for line in lines] == [False, False, True]


def away() -> Exception:
    """What connecting to nobody raises."""
    with pytest.raises(psycopg.OperationalError) as caught:
        psycopg.connect("postgresql://postgres@127.0.0.1:1/nothing?connect_timeout=2")
    return caught.value


def hidden(cause: Exception) -> Exception:
    """The same as procrastinate tells it."""
    error = ConnectorException()
    error.__cause__ = cause
    return error


def logged(error: Exception) -> dict[str, object]:
    """The line that is written about it, parsed."""
    record = logging.makeLogRecord({"msg": "a loop failed", "exc_info": (type(error), error, error.__traceback__)})
    assert logs.shorten(record)
    return dict(json.loads(logs.Json().format(record)))
