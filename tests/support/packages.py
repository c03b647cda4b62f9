"""Copies of the skeleton package, changed here and there, for tests of verify, new and regenerate."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import skeleton
from grader.problem import folder as problem
from grader.problem.schema import Problem


def make(folder: Path, monkeypatch: pytest.MonkeyPatch, slug: str = "leaky") -> Path:
    """A new package in a folder of its own, which is the folder of all packages from now on."""
    monkeypatch.setenv("GRADER_PROBLEMS", str(folder))
    return skeleton.make(slug)


def change(package: Path, file: str, old: str, new: str) -> Problem:
    """The package with one text in one of its files replaced."""
    path = package / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return problem.load_folder(package)
