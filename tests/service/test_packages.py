"""Problem packages that change, break or can't be read while the service runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.db import embedded as postgres
from grader import skeleton
from tests.service.conftest import make_database
from tests.service.running import ROOT, Running, wait_until

REFERENCE = "torch.where(x > 0, x, slope * x)"
CHANGED = "torch.where(x > 0, x, slope * x + 1)"


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two packages of its own."""
    folder = tmp_path_factory.mktemp("problems")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_PROBLEMS", str(folder))
        skeleton.make("leaky")
    shutil.copytree(ROOT / "problems" / "soft_cap", folder / "soft_cap")
    return folder


@pytest.fixture(scope="module")
def service(cluster: postgres.Cluster, problems: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An API and a worker for them."""
    started = Running(
        url=make_database(cluster, "packages"),
        data_dir=tmp_path_factory.mktemp("packages"),
        extra={"GRADER_PROBLEMS": str(problems)},
    )
    try:
        started.start_worker()
        started.start_api()
        started.wait_ready()
        yield started
    finally:
        started.stop()


def graded(service: Running, problem: str, source: str) -> dict[str, object]:
    """The record of a submission, finished."""
    with httpx.Client(base_url=service.address + "/api/v1", timeout=60) as client:
        record = client.post("/submissions?wait=60", json={"problem": problem, "source": source}).json()
    assert record["status"] == "finished", record
    return dict(record)


def right_leaky(problems: Path) -> str:
    return (problems / "leaky/submissions/accepted/where.py").read_text(encoding="utf-8")


def right_soft_cap(problems: Path) -> str:
    return next((problems / "soft_cap/submissions/accepted").glob("*.py")).read_text(encoding="utf-8")


def edit(file: Path, old: str, new: str) -> None:
    """Replaces a text in a file, which has to be there."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_changed_reference_counts_at_once(service: Running, problems: Path) -> None:
    """A worker that runs makes the cases anew; one that starts elsewhere, with nothing of its own, does too."""
    before = graded(service, "leaky", right_leaky(problems))
    edit(problems / "leaky/reference.py", REFERENCE, CHANGED)
    changed = graded(service, "leaky", right_leaky(problems))
    service.restart_worker()
    service.wait_ready()  # a package whose own examples are wrong is no reason to take nothing
    edit(problems / "leaky/reference.py", CHANGED, REFERENCE)
    service.restart_worker(before=lambda: shutil.rmtree(service.data_dir / "cases"))
    back = graded(service, "leaky", right_leaky(problems))

    assert [record["verdict"] for record in (before, changed, back)] == ["accepted", "wrong_answer", "accepted"]
    assert before["cases_version"] == back["cases_version"] != changed["cases_version"]


def test_changed_texts_are_shown_at_once(service: Running, problems: Path) -> None:
    """The statement, the starter and problem.toml are read again when they change."""
    for file, old, new in (
        ("statement.md", "#", "## Changed statement\n\n#"),
        ("starter.py", "import torch", "import torch  # changed starter"),
        ("problem.toml", 'title = "', 'title = "Changed title '),
    ):
        edit(problems / "leaky" / file, old, new)
    shown = httpx.get(f"{service.address}/api/v1/problems/leaky").text

    assert all(f"hanged {what}" in shown for what in ("statement", "starter", "title"))


@pytest.mark.parametrize(("file", "text"), [("cases.py", "1 / 0"), ("submissions.toml", "x =")])
def test_broken_code_is_no_fault_of_a_learner(service: Running, problems: Path, file: str, text: str) -> None:
    """Until it is mended its submissions end as our error; others are graded, also by a worker that starts now."""
    path = problems / "leaky" / file
    sound = path.read_bytes() if path.exists() else b""
    path.write_text(text, encoding="utf-8")
    try:
        service.restart_worker()
        other = graded(service, "soft_cap", right_soft_cap(problems))
        own = graded(service, "leaky", right_leaky(problems))
    finally:
        path.write_bytes(sound)

    assert other["verdict"] == "accepted"
    assert own["verdict"] == ("accepted" if file == "submissions.toml" else "internal_error")
    assert graded(service, "leaky", right_leaky(problems))["verdict"] == "accepted"


@pytest.mark.parametrize("text", ['title = "no end', 'nonsense = "key"\n'], ids=["no TOML", "unknown key"])
def test_a_broken_package_harms_no_other(service: Running, problems: Path, text: str) -> None:
    """The catalogue shows the others, which are graded, also by a worker that starts now; it says so itself."""
    sound = (problems / "leaky/problem.toml").read_text(encoding="utf-8")
    (problems / "leaky/problem.toml").write_text(text + sound, encoding="utf-8")
    try:
        shown = httpx.get(f"{service.address}/api/v1/problems")
        broken = httpx.get(f"{service.address}/api/v1/problems/leaky")
        refused = httpx.post(f"{service.address}/api/v1/submissions", json={"problem": "leaky", "source": "x"})
        service.restart_worker()
        record = graded(service, "soft_cap", right_soft_cap(problems))
    finally:
        (problems / "leaky/problem.toml").write_text(sound, encoding="utf-8")

    assert [problem["slug"] for problem in shown.json()] == ["soft_cap"]
    assert broken.status_code == refused.status_code == 503
    assert broken.headers["content-type"] == "application/problem+json"
    assert "package is broken" in broken.json()["detail"]
    assert str(problems) not in broken.text
    assert record["verdict"] == "accepted"
    assert "problem.toml" in service.log("api")
    wait_until(lambda: service.answers("/readyz"), "the service is ready")
    assert graded(service, "leaky", right_leaky(problems))["verdict"] == "accepted"
