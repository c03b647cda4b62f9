"""The folder in which a problem's versions of cases lie, and its lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from platformdirs import user_data_dir

from grader.errors import CasesError

if TYPE_CHECKING:
    from grader.problem.schema import Problem


def data_root() -> Path:
    """GRADER_DATA_DIR, or the user's data directory."""
    return Path(os.environ.get("GRADER_DATA_DIR") or user_data_dir("grader"))


def folder_of(problem: Problem) -> Path:
    """The folder of the problem's versions, made if need be."""
    folder = data_root() / "cases" / problem.slug
    try:
        folder.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path in (folder.parent, folder):
            path.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise CasesError(f"{folder}: {error.strerror}: let GRADER_DATA_DIR name a folder to write to") from error
    return folder


def no_word() -> None:
    """Says nothing while another process is waited for."""


@contextmanager
def locked(folder: Path, on_wait: Callable[[], None] = no_word) -> Iterator[None]:
    """Alone with the problem's versions; a second process waits, and is told so by `on_wait`."""
    lock = FileLock(folder / "lock", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        on_wait()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
