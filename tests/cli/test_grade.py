"""The command line as a person or a program uses it: the built command, its output, its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cases.case import CaseSet
from tests.feedback.test_message import RIGHT
from tests.support.manifests import FOLDER, expected

GRADER = Path(sys.executable).parent / "grader"
ACCEPTED = FOLDER / "accepted" / "plain_native.py"
WRONG = FOLDER / "mistakes" / "swapped_caps.py"


def grader(*arguments: object, stdin: bytes | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the built command."""
    done = subprocess.run(
        [GRADER, *map(str, arguments)], input=stdin, capture_output=True, check=False, env=os.environ | environment
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="module")
def everything(case_set: CaseSet) -> tuple[subprocess.CompletedProcess[str], list[dict[str, object]]]:
    """All files of two folders graded at once as JSON Lines; the cases are made before, as `case_set`."""
    paths = [line.path for folder in ("accepted", "mistakes") for line in expected(folder)]
    done = grader("grade", "situ_glu", "--json", *paths)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def test_many_files(everything: tuple[subprocess.CompletedProcess[str], list[dict[str, object]]]) -> None:
    """Several files are answered in the order given, one record a line, with nothing else on stdout or stderr."""
    done, records = everything
    lines = [line for folder in ("accepted", "mistakes") for line in expected(folder)]

    assert (done.returncode, done.stderr) == (1, "")
    assert len(records) == len(lines)
    for line, record in zip(lines, records, strict=True):
        assert record["verdict"] in line.verdicts, line.id


def test_record_is_complete(everything: tuple[subprocess.CompletedProcess[str], list[dict[str, object]]]) -> None:
    """The command line makes id and dates itself, and each id is another."""
    records = everything[1]

    assert len({record["id"] for record in records}) == len(records)
    for record in records:
        assert (record["status"], record["problem"], record["mode"], record["device"]) == (
            "finished", "situ_glu", "submit", "cpu"
        )  # fmt: skip
        assert str(record["created_at"]) <= str(record["finished_at"])


def test_accepted_from_standard_input(case_set: CaseSet) -> None:
    """An accepted source from standard input exits 0."""
    done = grader("grade", "situ_glu", "-", "--json", stdin=RIGHT.encode())

    assert (done.returncode, json.loads(done.stdout)["cases_version"]) == (0, case_set.version)


def test_table_for_people(case_set: CaseSet) -> None:
    """A single file shows verdict, failing cases and the likely mistake."""
    done = grader("grade", "situ_glu", WRONG, COLUMNS="200")

    assert done.returncode == 1
    for text in ("wrong_answer", "Likely mistake", "Worst at [", "passed"):
        assert text in done.stdout


def test_public_only(case_set: CaseSet) -> None:
    """--public-only is mode "run"."""
    record = json.loads(grader("grade", "situ_glu", ACCEPTED, "--json", "--public-only").stdout)

    assert record["mode"] == "run"
    assert {case["visibility"] for case in record["cases"]} == {"public"}


def test_unconfined_warns(case_set: CaseSet) -> None:
    """--sandbox none grades, with a warning on stderr each time."""
    done = grader("grade", "situ_glu", ACCEPTED, "--sandbox", "none")

    assert done.returncode == 0
    assert "unconfined" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["grade", "situ_glu"], "FILE"),
        (["grade", "no_such", ACCEPTED], "no_such"),
        (["grade", "situ_glu", ACCEPTED, "no_such.py"], "no_such.py"),
        (["grade", "situ_glu", FOLDER], "folder"),
        (["grade", "situ_glu", "-", "-"], "once"),
        (["grade", "situ_glu", ACCEPTED, "--device", "tpu"], "tpu"),
        (["grade", "situ_glu", ACCEPTED, "--device", "cuda"], "cuda"),
        (["grade", "situ_glu", ACCEPTED, "--sandbox", "chroot"], "chroot"),
        (["cases", "rollback", "situ_glu", "no_such"], "no_such"),
        (["problem", "show", "no_such"], "no_such"),
        (["no_such"], "no_such"),
    ],
)
def test_no_answer(arguments: list[object], text: str, case_set: CaseSet) -> None:
    """What can't be answered exits 2 with one line on stderr, and nothing is graded."""
    done = grader(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert text in done.stderr


def test_cases(case_set: CaseSet) -> None:
    """The versions of the hidden cases are listed with the active one, without contents."""
    versions = [json.loads(line) for line in grader("cases", "list", "situ_glu", "--json").stdout.splitlines()]

    assert [version["version"] for version in versions if version["active"]] == [case_set.version]
    assert all(version.keys() == {"version", "active", "created_at", "count", "digest"} for version in versions)


def test_problems() -> None:
    """Problems are listed and shown, for people and as JSON."""
    listed = [json.loads(line) for line in grader("problem", "list", "--json").stdout.splitlines()]

    assert "situ_glu" in {problem["slug"] for problem in listed}
    assert json.loads(grader("problem", "show", "situ_glu", "--json").stdout)["slug"] == "situ_glu"
    assert "def situ_glu" in grader("problem", "show", "situ_glu").stdout


def test_doctor() -> None:
    """A machine that runs this test suite can run a sandbox."""
    assert grader("doctor").returncode == 0


@pytest.mark.parametrize("command", [["problem", "list"], ["--help"], ["grade", "situ_glu", "no_such.py"]])
def test_no_torch(command: list[str]) -> None:
    """Commands that grade nothing do not wait for torch."""
    code = f"import sys; from grader.cli.main import run; run({command}); sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
