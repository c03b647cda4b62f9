"""Landlock: what a child may read and where it may write, by path; and whom it may signal. landlock(7).

The kernel's rights grow with its ABI. All rights that this kernel knows are handled, so what no rule grants is refused.
Below `MINIMUM_ABI` truncation is not covered, and we say so instead of running with a hole.
"""

from __future__ import annotations

import ctypes
import os
import struct

MINIMUM_ABI = 3
SIGNAL_SCOPE_ABI = 6

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _REFER = 1 << 14, 1 << 13
_MAKE_AND_REMOVE = 0b1_1111_1111_0000
_MAKE_DEVICES = (1 << 6) | (1 << 11) | (1 << 9)  # character and block devices, sockets
_RIGHTS_BY_ABI = {3: (1 << 15) - 1, 5: (1 << 16) - 1}

READ = _READ_FILE | _READ_DIR
READ_WRITE_FILE = _READ_FILE | _WRITE_FILE
OWN = READ | _WRITE_FILE | _TRUNCATE | _REFER | (_MAKE_AND_REMOVE & ~_MAKE_DEVICES)
READ_AND_WRITE = READ | _WRITE_FILE
DEVICE = READ_WRITE_FILE | 1 << 15  # and its ioctls
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | (1 << 15)

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The kernel's Landlock ABI, 0 where it has none."""
    return max(0, int(_libc.syscall(_CREATE, None, 0, _VERSION_FLAG)))


def restrict(rules: dict[str, int]) -> None:
    """Binds the calling thread, and all that it will start, to `rules`: path to rights. Needs no_new_privs."""
    version = abi()
    handled = _RIGHTS_BY_ABI[max(known for known in _RIGHTS_BY_ABI if known <= version)]
    network = 3 if version >= 4 else 0
    scoped = 3 if version >= SIGNAL_SCOPE_ABI else 0
    attributes = struct.pack("<QQQ", handled, network, scoped)
    size = 24 if scoped else 16 if network else 8
    ruleset = _checked(_libc.syscall(_CREATE, attributes, size, 0))
    try:
        for path, rights in rules.items():
            _add(ruleset, path, rights & handled)
        _checked(_libc.syscall(_RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)


def _add(ruleset: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        wanted = rights if _is_directory(descriptor) else rights & _FILE_RIGHTS
        _checked(_libc.syscall(_ADD, ruleset, _PATH_BENEATH, struct.pack("<Qi", wanted, descriptor), 0))
    finally:
        os.close(descriptor)


def _is_directory(descriptor: int) -> bool:
    return os.fstat(descriptor).st_mode & 0o170000 == 0o040000


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"landlock: {os.strerror(ctypes.get_errno())}")
    return result
