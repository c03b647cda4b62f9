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
    """This process, in words that no other one ever had: machine, its start, pid, the process's start."""
    return " ".join((socket.gethostname(), _boot(), str(os.getpid()), _started(os.getpid())))


def is_dead(words: str, container_runs: Callable[[str], bool]) -> bool:
    """Whether the process that wrote these words is gone; False where that can't be known from here.

    An owner on another machine is judged only if it was a container of the same engine (its host name is an id then).
    """
    host, boot, pid, started = (words.split() + [""] * 4)[:4]
    if host == socket.gethostname():
        return boot != _boot() or not pid.isdigit() or _started(int(pid)) != started
    return bool(_CONTAINER_ID.fullmatch(host)) and not container_runs(host)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _started(pid: int) -> str:
    """Clock ticks from the machine's start to the process's; "" if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""
