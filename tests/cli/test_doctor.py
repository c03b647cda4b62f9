"""`grader doctor`: what it looks for, how it says what is not there, and when it exits with 2."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.cli.main import run
from grader.doctor import gpus
from grader.sandbox.guest.walls import confine

pytestmark = [
    pytest.mark.skipif(bool(confine.missing()), reason=f"no confinement here: {confine.missing()}"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # Docker's SDK forgets a socket
]


@pytest.fixture(autouse=True)
def forgotten_sockets() -> Iterator[None]:
    """What the SDK forgot is found while it is ignored, not in a later test."""
    yield
    gc.collect()


def test_everything_has_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What no sandbox needs may be absent: an engine and a database that don't answer are told with the reason."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    monkeypatch.setenv("GRADER_DATABASE_URL", "postgresql://127.0.0.1:1/grader")
    monkeypatch.delenv("GRADER_SANDBOX", raising=False)

    assert run(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    words = {line[9:].partition(":")[0]: line[:9].strip() for line in lines}
    texts = {line[9:].partition(":")[0]: line for line in lines}
    assert list(words) == ["confinement", "sandbox", "Docker Engine", "GPUs", "database"]
    assert words["sandbox"] == "ok"
    assert words["Docker Engine"] == words["database"] == "absent"
    assert "No such file" in texts["Docker Engine"]
    assert "port 1" in texts["database"]


def test_no_sandbox_is_exit_code_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the sandbox that is asked for can't start, the line says why and the exit code is 2."""
    monkeypatch.setenv("GRADER_SANDBOX", "docker")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")

    assert run(["doctor"]) == 2
    assert "missing  sandbox: docker: no Docker Engine answered" in capsys.readouterr().out


def test_gpus(tmp_path: Path) -> None:
    """GPUs are told by their models; device files that are missing, or shut to the children's uids, are named."""
    (tmp_path / "gpus/0000:01:00.0").mkdir(parents=True)
    (tmp_path / "gpus/0000:01:00.0/information").write_text("Model: \t\t NVIDIA H200\nIRQ: 1\n", encoding="utf-8")
    for name, mode in (("nvidiactl", 0o666), ("nvidia0", 0o660), ("nvidia-uvm", 0o666)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)

    found = gpus(tmp_path / "gpus", tmp_path)
    assert not found.found
    assert found.text.startswith("NVIDIA H200; GRADER_GPUS names none")
    assert "nvidia-uvm-tools is missing" in found.text
    assert "nvidia0 is not for everybody" in found.text
    (tmp_path / "nvidia0").chmod(0o666)
    (tmp_path / "nvidia-uvm-tools").touch()
    (tmp_path / "nvidia-uvm-tools").chmod(0o666)
    assert gpus(tmp_path / "gpus", tmp_path).found
