"""`grader problem new`: a package to change, under its own name, and nothing of what is there is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.cli.main import run
from grader.errors import UsageError
from grader.problem import folder as problem
from grader.skeleton import NAME, TITLE, make


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of packages."""
    monkeypatch.setenv("GRADER_PROBLEMS", str(tmp_path))
    return tmp_path


def test_a_new_package_has_its_own_name_everywhere(root: Path) -> None:
    """Slug and title stand in every file instead of the skeleton's, and the package loads."""
    package = make("soft_sign")
    loaded = problem.load("soft_sign")
    assert loaded.title == "Soft sign"
    assert loaded.entry.name == "soft_sign"
    for path in package.rglob("*.*"):
        assert NAME not in path.read_text()
        assert TITLE not in path.read_text()


def test_the_command_says_where_it_is(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`grader problem new` prints the folder and what to do next."""
    assert run(["problem", "new", "soft_sign"]) == 0
    out = capsys.readouterr().out
    assert str(root / "soft_sign") in out
    assert "grader problem verify soft_sign" in out


@pytest.mark.parametrize("slug", ["Soft", "soft-sign", "../soft", "2nd", "", "x" * 65])
def test_what_is_no_slug_is_refused(root: Path, slug: str) -> None:
    """A name that can't be a slug makes nothing."""
    with pytest.raises(UsageError, match="is no slug"):
        make(slug)
    assert list(root.iterdir()) == []


def test_a_package_that_is_there_is_left_alone(root: Path) -> None:
    """A slug that is taken is refused."""
    (make("soft_sign") / "theory.md").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        make("soft_sign")
    assert (root / "soft_sign" / "theory.md").read_text() == "mine"
    assert [path.name for path in root.iterdir()] == ["soft_sign"]


def test_a_folder_that_is_not_there_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be written, the error says what to do."""
    (root / "file").write_text("")
    monkeypatch.setenv("GRADER_PROBLEMS", str(root / "file"))
    with pytest.raises(UsageError, match="GRADER_PROBLEMS"):
        make("soft_sign")
