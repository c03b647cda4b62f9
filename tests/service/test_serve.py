"""`grader serve` as a person uses it: one command starts everything, Ctrl-C ends it, a second start finds it all."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from app.db import embedded as postgres
from app.settings import Settings
from tests.service.conftest import RIGHT, own_folder
from tests.service.running import ROOT, free_port, wait_until
from tests.service.test_database import grader

REQUEST = {"problem": "situ_glu", "source": RIGHT}
CAPLESS = RIGHT.replace("gate_cap * torch.tanh(gate / gate_cap)", "gate")


@dataclass
class Served:
    """A `grader serve` and what it said."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def api(self) -> str:
        """The API's base."""
        return f"http://127.0.0.1:{self.port}/api/v1"

    def submit(self, source: str = RIGHT) -> dict[str, object]:
        """The finished record of a source."""
        answer = httpx.post(f"{self.api}/submissions?wait=50", json=REQUEST | {"source": source}, timeout=60)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def end(self) -> int:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


def environ(folder: Path, port: int) -> dict[str, str]:
    """Everything by default, but for the folder and the port."""
    return {"GRADER_DATA_DIR": str(folder), "GRADER_PORT": str(port), "OMP_NUM_THREADS": "1"}


def serve(folder: Path) -> Served:
    """Starts it and waits until it says that it is ready."""
    port, log = free_port(), folder / "serve.log"
    command = [sys.executable, "-c", "from grader.cli.main import main; main()", "serve"]
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environ(folder, port)}, stdout=said, stderr=said
        )
    served = Served(folder, port, process, log)
    wait_until(lambda: "ready after" in log.read_text() or process.poll() is not None, "it is ready", 90)
    assert process.poll() is None, log.read_text()
    return served


@pytest.fixture(scope="module")
def folder(cases_dir: Path) -> Iterator[Path]:
    """A data directory with cases in files, as `grader grade` would have made it."""
    with own_folder() as made:
        shutil.copytree(cases_dir / "cases", made / "cases")
        yield made


def test_serve(folder: Path) -> None:
    """Start, submit, new cases, rejudging, Ctrl-C, another start: nothing is left running, nothing is lost."""
    served = serve(folder)
    given = environ(folder, served.port)
    try:
        first = served.submit()
        assert first["verdict"] == "accepted"
        busy = grader("serve", **given)
        assert (busy.returncode, "GRADER_PORT" in busy.stderr) == (2, True)
        children = psutil.Process(served.process.pid).children(recursive=True)
        kept_version_and_rejudging(served, given, str(first["cases_version"]), str(first["id"]))
        assert "API" in kill_the_api(served)
        kill_the_database(served)
        assert served.submit()["verdict"] == "accepted"
    finally:
        assert served.end() == 0
    wait_until(lambda: not any(child.is_running() for child in children), "no process is left", 10)
    assert re.search(r"grader: stopped", served.log.read_text())
    killed = serve(folder).process
    killed.kill()
    killed.wait()
    again = serve(folder)
    try:
        found = httpx.get(f"{again.api}/submissions/{first['id']}").json()
        assert found["verdict"] == "accepted"
        assert [item["id"] for item in httpx.get(f"{again.api}/submissions").json()["items"]][-1] == first["id"]
    finally:
        assert again.end() == 0
    assert not (folder / "postgres" / "postmaster.pid").exists(), (
        "a database that a killed serve had left is stopped too"
    )


def kept_version_and_rejudging(served: Served, given: dict[str, str], old_version: str, first: str) -> None:
    """`cases regenerate` switches the worker in one step; a record keeps its version; rejudging shows, then applies."""
    assert old_version in grader("cases", "list", "situ_glu", **given).stdout
    made = grader("cases", "regenerate", "situ_glu", "--seed", "5", **given)
    assert made.returncode == 0, made.stderr
    assert served.submit()["cases_version"] != old_version
    assert httpx.get(f"{served.api}/submissions/{first}").json()["cases_version"] == old_version
    wrong = served.submit(CAPLESS)
    assert wrong["verdict"] == "wrong_answer"
    pretend_that_it_was_accepted(served.folder, str(wrong["id"]))
    shown = grader("rejudge", "situ_glu", **given)
    assert f"{wrong['id']}  accepted -> wrong_answer" in shown.stdout, shown.stderr
    assert httpx.get(f"{served.api}/submissions/{wrong['id']}").json()["verdict"] == "accepted"
    assert grader("rejudge", "situ_glu", "--apply", **given).returncode == 0
    record = httpx.get(f"{served.api}/submissions/{wrong['id']}").json()
    assert (record["verdict"], record["history"][0]["verdict"]) == ("wrong_answer", "accepted")
    back = grader("cases", "rollback", "situ_glu", old_version, **given)
    assert back.returncode == 0, back.stderr
    assert served.submit()["cases_version"] == old_version


def pretend_that_it_was_accepted(folder: Path, submission_id: str) -> None:
    """As if earlier cases had let it through."""
    url = postgres.running_url(Settings(data_dir=folder))
    assert url is not None
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE submissions SET verdict = 'accepted' WHERE id = %s", [submission_id])


def kill_the_api(served: Served) -> str:
    """SIGKILLs the API; it is started again. What was said about it."""
    children = psutil.Process(served.process.pid).children()
    next(child for child in children if "app.api.main" in child.cmdline()).kill()
    wait_until(lambda: "started again" in served.log.read_text(), "the API is started again", 20)

    def answers() -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{served.port}/healthz").status_code == 200
        except httpx.HTTPError:
            return False

    wait_until(answers, "the API answers again", 30)
    return served.log.read_text()


def kill_the_database(served: Served) -> None:
    """SIGKILLs PostgreSQL and, at the same time, the worker, which can't start without one."""
    folder = served.folder / "postgres"
    postmaster = int((folder / "postmaster.pid").read_text().splitlines()[0])
    children = psutil.Process(served.process.pid).children()
    psutil.Process(postmaster).kill()
    next(child for child in children if "app.worker.process" in child.cmdline()).kill()
    wait_until(lambda: "PostgreSQL ended and is started again" in served.log.read_text(), "PostgreSQL is revived", 20)
    base = f"http://127.0.0.1:{served.port}"
    wait_until(lambda: httpx.get(f"{base}/readyz", timeout=30).status_code == 200, "it is ready again", 60)
    assert served.process.poll() is None


def test_without_a_worker_rejudging_says_so(folder: Path) -> None:
    """One line, exit code 2, and the database that was started for it is stopped again."""
    ended = grader("rejudge", "situ_glu", **environ(folder, 1))
    assert (ended.returncode, "no worker is running" in ended.stderr) == (2, True)
    assert not (folder / "postgres" / "postmaster.pid").exists()


def test_keys_by_command_line(folder: Path) -> None:
    """create, list, revoke: the key is printed once and never again."""
    given = environ(folder, 1)
    made = grader("key", "create", "a course", "--role", "public", **given)
    key = made.stdout.strip()
    assert key.startswith("grader_")
    listed = grader("key", "list", "--json", **given).stdout
    assert key.split("_", 2)[1] in listed
    assert key.split("_", 2)[2] not in listed
    assert grader("key", "revoke", key.split("_")[1], **given).returncode == 0
    assert grader("key", "revoke", key.split("_")[1], **given).returncode == 2
