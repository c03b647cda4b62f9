"""Whose a container is, and whether its owner still lives: what the labels of sandbox containers say."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

KIND, OWNER, FOLDER = "grader.sandbox", "grader.owner", "grader.folder"
_CONTAINER_ID = re.compile(r"[0-9a-f]{12}")


def owner() -> str:
    """This process, in words that no other one ever had: host, boot of the machine, pid, start, PID namespace."""
    return " ".join((socket.gethostname(), _boot(), str(os.getpid()), _started(os.getpid()), _namespace()))


def is_dead(words: str, container_runs: Callable[[str], bool]) -> bool:
    """Whether the process that wrote these words is gone; False where that can't be known from here.

    An owner in another container is judged by whether that runs (its host name is an id then), for its pid means
    nothing here; so is one that was in this container before it was started anew.
    """
    host, boot, pid, started, namespace = (words.split() + [""] * 5)[:5]
    if (boot, namespace) == (_boot(), _namespace()):
        return not pid.isdigit() or _started(int(pid)) != started
    if host == socket.gethostname() and (boot != _boot() or _CONTAINER_ID.fullmatch(host)):
        return True
    return bool(_CONTAINER_ID.fullmatch(host)) and not container_runs(host)


def _namespace() -> str:
    return str(Path("/proc/self/ns/pid").stat().st_ino)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _started(pid: int) -> str:
    """Clock ticks from the machine's start to the process's; "" if there is none, or only what is left of it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in {"Z", "X"} else fields[19]
