"""A work folder seen from outside: how much lies in it, and how it is taken away, whatever a submission planted there.

Theory of operation. Nothing is opened but folders, never through a link, and never by a long path: folders may lie too
deep for any path, may be locked, and may be swapped for a link while we look.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from grader.sandbox.guest.walls import confine

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ENTRY_BYTES = 4096
FREE_BYTES = 1024 * _ENTRY_BYTES  # so many entries a work folder that is mounted has for nothing

_libc = ctypes.CDLL(None)


def used_bytes(folder: Path, enough: int, owner: int | None = None) -> int:
    """Disk space below a folder, 4 KiB for each entry; counting ends above `enough`.

    owner: with whose rights it is looked at, if not with ours. A folder that its owner can't open, having locked it, is
    more than enough: something may lie in it.
    """
    total, queue = 0, [os.open(folder, _FOLDER)]
    try:
        with contextlib.nullcontext() if owner is None else _rights_of(owner):
            while queue and total <= enough:
                descriptor = queue.pop()
                try:
                    total += _used_in(descriptor, queue, enough - total)
                finally:
                    os.close(descriptor)
    finally:
        for descriptor in queue:
            os.close(descriptor)
    return total


@contextlib.contextmanager
def _rights_of(owner: int) -> Iterator[None]:
    """To the file system this thread is `owner`: folders of mode 0700 are shut to a root without CAP_DAC_OVERRIDE.

    Nobody may signal it for that. The kernel forgets that we die with our parent, so it is told again.
    """
    parent, ourselves = os.getppid(), (os.geteuid(), os.getegid())
    _libc.setfsgid(owner)
    _libc.setfsuid(owner)
    try:
        yield
    finally:
        _libc.setfsuid(ourselves[0])
        _libc.setfsgid(ourselves[1])
        confine.die_with(parent)


def _used_in(descriptor: int, queue: list[int], enough: int) -> int:
    total = 0
    with os.scandir(descriptor) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                total += _ENTRY_BYTES + entry.stat(follow_symlinks=False).st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    try:
                        queue.append(os.open(entry.name, _FOLDER, dir_fd=descriptor))
                    except FileNotFoundError:
                        raise
                    except OSError:
                        return enough + 1
            if total > enough:
                break
    return total


def remove(folder: Path, uid: int) -> None:
    """Removes a folder and all that a submission left in it, by an own process with the submission's uid."""
    with suppress(OSError):
        folder.rmdir()
        return
    pid = os.fork()
    if pid == 0:
        _empty_as(uid, folder)
    os.waitpid(pid, 0)
    folder.rmdir()


def remove_abandoned(folder: Path) -> None:
    """The same where it was forgotten whose the folder was: its first entry tells."""
    owners = [entry.lstat().st_uid for entry in folder.iterdir()]
    remove(folder, owners[0] if owners else os.geteuid())


def _empty_as(uid: int, folder: Path) -> NoReturn:
    try:
        if uid != os.geteuid():
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        empty(folder)
    finally:
        os._exit(0)


def empty(folder: Path) -> None:
    """Takes everything out of a folder in which nobody is at work any more, however deep, locked or named."""
    top = os.open(folder, _FOLDER)
    try:
        while names := _names(top):
            for name in names:
                if _is_folder(name, top):
                    _remove_folder(name, top)
                else:
                    os.unlink(name, dir_fd=top)
    finally:
        os.close(top)


def _remove_folder(name: str, top: int) -> None:
    """Folders inside are moved to the top, where their turn comes: so no depth is too deep."""
    os.chmod(name, 0o700, dir_fd=top)
    inside = os.open(name, _FOLDER, dir_fd=top)
    try:
        for child in _names(inside):
            if _is_folder(child, inside):
                os.chmod(child, 0o700, dir_fd=inside)
                os.rename(child, secrets.token_hex(16), src_dir_fd=inside, dst_dir_fd=top)
            else:
                os.unlink(child, dir_fd=inside)
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=top)


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
