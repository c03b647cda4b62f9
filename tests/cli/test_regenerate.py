"""`grader cases regenerate`: dry runs, differences, failed checks, crashes, full disks, two at once, stress."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from grader.cases import store
from grader.cases.counterexamples import Counterexample, keep, kept
from grader.cases.disk import folder_of, locked
from grader.cli import regenerate as cli_regenerate
from grader.cli.main import run
from grader.errors import ProblemError
from grader.problem import folder as problem
from grader.problem.schema import Problem
from grader.sandbox.local import LocalSandbox
from tests.support.packages import change, make


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: LocalSandbox) -> Problem:
    """A new package, with a data folder of its own; commands in this process use the tests' one sandbox."""
    monkeypatch.setattr(cli_regenerate, "started", lambda kind, device: nullcontext(sandbox))
    monkeypatch.setenv("GRADER_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "problems").mkdir()
    return problem.load_folder(make(tmp_path / "problems", monkeypatch))


def command(*arguments: str) -> subprocess.Popen[str]:
    """`grader cases regenerate leaky` in a process of its own."""
    line = [
        sys.executable,
        "-c",
        "from grader.cli.main import main; main()",
        "cases",
        "regenerate",
        "leaky",
        *arguments,
    ]
    return subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )


def versions(package: Problem) -> list[str]:
    return [version.version for version in store.list_versions(package)]


def test_a_dry_run_stores_nothing(package: Problem, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run makes and checks the cases; --diff tells which differ, by name only."""
    old = store.regenerate(package, 1)
    assert run(["cases", "regenerate", "leaky", "--seed", "2", "--dry-run", "--diff"]) == 0
    out = capsys.readouterr().out
    assert "~ usual-slope-float32: inputs, what is expected, the allowance\n" in out
    assert "5 cases stay the same\n" in out
    assert "was made, checked and thrown away" in out
    assert versions(package) == [old.version]
    assert {path.name for path in folder_of(package).iterdir()} == {old.version, "active", "lock"}


def test_an_equal_seed_changes_nothing(package: Problem, capsys: pytest.CaptureFixture[str]) -> None:
    """The same seed gives the same version, and no difference."""
    old = store.regenerate(package, 1)
    assert run(["cases", "regenerate", "leaky", "--seed", "1", "--diff"]) == 0
    out = capsys.readouterr().out
    assert f"{len(old.cases)} cases stay the same" in out
    assert f"version {old.version} is active" in out


def test_a_failed_check_leaves_the_old_cases(package: Problem, capsys: pytest.CaptureFixture[str]) -> None:
    """An accepted example that is refused, or a mistake that gets through: exit 1, findings, the old version."""
    old = store.regenerate(package, 1)
    change(package.root, "submissions/accepted/library.py", "leaky_relu(x, slope)", "leaky_relu(x)")
    assert run(["cases", "regenerate", "leaky", "--seed", "2"]) == 1
    told = capsys.readouterr()
    assert "leaky/submissions/accepted/library.py: [submissions] is wrong_answer, not accepted" in told.out
    assert "the old cases stay active" in told.err
    assert versions(package) == [old.version]


def test_a_missing_ingredient_leaves_the_old_cases(package: Problem, capsys: pytest.CaptureFixture[str]) -> None:
    """Cases without an ingredient are refused, by its name."""
    old = store.regenerate(package, 1)
    broken = change(package.root, "cases.py", '"steep", (7,)', '"", (7,)')
    assert run(["cases", "regenerate", "leaky"]) == 1
    assert "'steep'" in capsys.readouterr().out
    assert versions(broken) == [old.version]


def test_a_killed_regeneration_leaves_the_old_cases(package: Problem) -> None:
    """SIGKILL in the middle of writing: the old version stays active, and the next regeneration works and clears up."""
    old = store.regenerate(package, 1)
    killer = (
        "import os, signal; from grader.cases import store; from grader.problem import folder; real = store.write\n"
        "def write(path, data):\n"
        "    real(path, data[: len(data) // 2])\n"
        "    os.kill(os.getpid(), signal.SIGKILL) if path.name == 'expected.safetensors' else None\n"
        "store.write = write; store.regenerate(folder.load('leaky'), 2)"
    )
    ended = subprocess.run([sys.executable, "-c", killer], check=False, cwd=Path(__file__).parents[2])
    assert ended.returncode == -signal.SIGKILL
    assert any(path.name.startswith(".") for path in folder_of(package).iterdir())
    assert store.load_active(package) == old
    new = store.regenerate(package, 2)
    assert set(versions(package)) == {old.version, new.version}
    assert not any(path.name.startswith(".") for path in folder_of(package).iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
def test_a_full_disk_leaves_the_old_cases(package: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk that is full the old version stays active, and the error says so; with room again all is well."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], check=False).returncode:
        pytest.skip("this machine mounts nothing")
    try:
        monkeypatch.setenv("GRADER_DATA_DIR", str(disk))
        old = store.regenerate(package, 1)
        room = os.statvfs(disk)
        (disk / "ballast").write_bytes(b"x" * (room.f_bavail * room.f_bsize - (64 << 10)))
        assert run(["cases", "regenerate", "leaky", "--seed", "2"]) == 2
        assert store.load_active(package) == old
        (disk / "ballast").unlink()
        assert run(["cases", "regenerate", "leaky", "--seed", "2"]) == 0
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_second_regeneration_waits_and_says_so(package: Problem) -> None:
    """While one process makes the cases, another one says that it waits, and then does its work."""
    with locked(folder_of(package)):
        second = command("--seed", "3")
        assert second.stderr is not None
        assert "its cases are being made by another process: waiting for it" in second.stderr.readline()
        time.sleep(0.1)
        assert second.poll() is None
    out, _ = second.communicate(timeout=100)
    assert second.returncode == 0
    assert "is active" in out


def test_stress_keeps_what_it_finds(package: Problem, capsys: pytest.CaptureFixture[str]) -> None:
    """A seed with which right code is refused is kept in the package, and makes a case of its own from then on."""
    right = (package.root / "reference.py").read_text()
    strict = "\n\ndef rounding(x, slope=0.01, *, dtype):\n    return 0 * x + 1e-12\n"
    (package.root / "reference.py").write_text(right + strict)
    assert run(["cases", "regenerate", "leaky", "--stress", "1", "--seed", "4"]) == 1
    assert "counterexamples are kept as cases" in capsys.readouterr().out
    found = kept(package)
    assert found
    assert all(one.seed == "stress 4 0" and "submissions/accepted/" in one.why for one in found)

    (package.root / "reference.py").write_text(right)
    made = store.regenerate(package, 4)
    tagged = [case for case in made.cases if "counterexample" in case.tags]
    assert len(tagged) == len(found)
    assert all(case.visibility == "hidden" for case in tagged)
    assert {case.name.rpartition("-")[0] for case in tagged} == {one.recipe for one in found}
    assert run(["cases", "regenerate", "leaky", "--stress", "1", "--seed", "5"]) == 0
    assert "nothing found with 1 further seeds" in capsys.readouterr().out


def test_counterexamples_are_drawn_from_their_seed(package: Problem) -> None:
    """A kept case has the numbers that its recipe has with that seed; keeping it twice keeps it once."""
    one = Counterexample(recipe="usual-slope-float16", seed="seed 9", why='said "so"')
    keep(package, [one, one])
    keep(package, [one])
    assert kept(package) == (one,)
    made = store.regenerate(package, 1)
    other = {case.name: case for case in store.regenerate(package, 9).cases}
    tagged = next(case for case in made.cases if "counterexample" in case.tags)
    assert tagged.call == other["usual-slope-float16"].call


def test_a_counterexample_of_no_recipe_is_an_error(package: Problem) -> None:
    """A kept case whose recipe is gone is named with its file."""
    keep(package, [Counterexample(recipe="gone", seed="1", why="x")])
    with pytest.raises(ProblemError, match=r"counterexamples\.toml: no recipe 'gone'"):
        store.regenerate(package, 1)
