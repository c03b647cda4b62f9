"""Whose a guest's folder is. A lock says so: whoever started the guest, the zygote and its lanes hold it, and when the
last of them is dead nobody does. Folders that nobody holds are removed by the next zygote that starts.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path

from grader.sandbox.guest.walls import folders

PREFIX = "grader-"
_LOCK = "owner"


def claim(folder: Path) -> int:
    """Marks a folder as one of ours that is in use, for as long as anybody has the descriptor that is returned."""
    new = folder / f"{_LOCK}.new"
    descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    new.rename(folder / _LOCK)  # nobody ever sees it without its lock
    return descriptor


def sweep(own: Path) -> None:
    """Removes the folders beside `own` whose users are all dead. Those of other people are left to them."""
    for lock in own.parent.glob(f"{PREFIX}*/{_LOCK}"):
        with suppress(OSError):
            if lock.parent.lstat().st_uid == os.geteuid():
                _remove_unless_held(lock)


def _remove_unless_held(lock: Path) -> None:
    descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for folder in (lock.parent / "children").iterdir():
            folders.remove_abandoned(folder)
        shutil.rmtree(lock.parent)
    finally:
        os.close(descriptor)
