"""A mount namespace of the guest's own, as root: a way to Python through folders that only root may enter, and small
file systems as work folders. Where the kernel refuses (a container without CAP_SYS_ADMIN), the guest does without.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from grader.sandbox.guest.walls import proc

_NEW_MOUNTS = 0x00020000
_NO_SUID, _NO_DEVICES, _NO_EXEC, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 2, 4, 8, 32, 4096, 16384, 1 << 18
_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)


def separate() -> bool:
    """Moves this process to a mount namespace of its own; False if it may not."""
    if not proc.may_mount() or _libc.unshare(_NEW_MOUNTS) != 0:
        return False
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    return True


def blocked_folder(path: str) -> str | None:
    """The first folder above `path` that a stranger can't enter."""
    for parent in reversed(Path(path).resolve().parents):
        if not parent.stat().st_mode & 0o001:
            return str(parent)
    return None


def make_reachable(paths: Iterable[str]) -> None:
    """Covers each folder that strangers can't enter by an empty one that holds nothing but `paths`, where they were."""
    wanted = [str(Path(path).resolve()) for path in paths]
    covers: dict[str, list[str]] = {}
    for path in wanted:
        folder = blocked_folder(path)
        if folder:
            covers.setdefault(folder, []).append(path)
    for folder, inside in covers.items():
        _cover(folder, inside)


def _cover(folder: str, inside: list[str]) -> None:
    held = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in inside}
    _mount("tmpfs", folder, "tmpfs", _NO_SUID | _NO_DEVICES, "mode=755,size=1m")
    for path, descriptor in sorted(held.items()):
        _make_open_folder(path)
        _mount(f"/proc/self/fd/{descriptor}", path, None, _BIND | _RECURSIVE)
        os.close(descriptor)


def _make_open_folder(path: str) -> None:
    mask = os.umask(0o022)
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    finally:
        os.umask(mask)


def mount_work_folder(path: str, *, uid: int, size_bytes: int) -> None:
    """A file system in memory, empty, of at most `size_bytes` and 1,024 files, owned by `uid`."""
    options = f"mode=700,uid={uid},gid={uid},size={size_bytes},nr_inodes=1024"
    _mount("tmpfs", path, "tmpfs", _NO_SUID | _NO_DEVICES | _NO_EXEC, options)


def resize_work_folder(path: str, size_bytes: int) -> None:
    """Another size for a mounted work folder."""
    _mount("tmpfs", path, "tmpfs", _REMOUNT | _NO_SUID | _NO_DEVICES | _NO_EXEC, f"size={size_bytes}")


def unmount(path: str) -> None:
    """Takes a work folder away, with all that lies in it."""
    if _libc.umount2(path.encode(), _DETACH) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    texts = [text.encode() if text else None for text in (source, target, kind, options)]
    if _libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]) != 0:
        raise OSError(ctypes.get_errno(), f"mount: {os.strerror(ctypes.get_errno())}", target)
