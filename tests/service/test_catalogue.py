"""The catalogue of an API or worker process follows the packages' files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from app.api.state import Catalogue
from grader.errors import ProblemError, UsageError
from grader.problem.folder import problems_root
from tests.support.strangers import as_a_stranger


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one package."""
    shutil.copytree(problems_root() / "soft_cap", tmp_path / "soft_cap")
    monkeypatch.setenv("GRADER_PROBLEMS", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["statement.md", "theory.md", "starter.py"])
def test_an_authors_edit_is_seen_at_once(packages: Path, name: str) -> None:
    """Also one of a text, which leaves problem.toml as it was."""
    catalogue = Catalogue()
    catalogue.load("soft_cap")
    (packages / "soft_cap" / name).write_text("# another")
    found = catalogue.load("soft_cap")
    assert "# another" in {found.statement, found.theory, found.starter}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who may not read")
def test_a_package_that_may_not_be_read_hides_no_other(packages: Path, tmp_path: Path) -> None:
    """A folder that is closed to the service's user is broken, not absent, and no other suffers."""
    for place in [tmp_path, *tmp_path.parents]:
        place.chmod(place.stat().st_mode | 0o055)
    shutil.copytree(packages / "soft_cap", packages / "shut")
    (packages / "shut").chmod(0o700)

    assert as_a_stranger(lambda: " ".join(problem.slug for problem in Catalogue().all())) == "soft_cap"
    assert as_a_stranger(lambda: Catalogue().load("shut").slug).startswith(f"ProblemError: {packages / 'shut'}")


def test_a_broken_package_hides_no_other(packages: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The catalogue shows the sound ones; the log names the other, and who asks for it gets its error."""
    (packages / "broken").mkdir()
    (packages / "broken" / "problem.toml").write_text("title = 1")
    catalogue = Catalogue()
    assert [problem.slug for problem in catalogue.all()] == ["soft_cap"]
    assert "broken" in caplog.text
    with pytest.raises(ProblemError):
        catalogue.load("broken")
    with pytest.raises(UsageError, match="no such problem"):
        catalogue.load("absent")
