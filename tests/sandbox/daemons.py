"""Processes that try to outlive their run, and how to find those that did."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import psutil

from tests.sandbox.running import PRELUDE

CANARY = f"canary-{os.getpid()}"  # at most 15 characters; other test runs of this machine have their own
# a stubborn orphan: sessions and parents left behind, all signals ignored, stopped on top
DAEMON = f"""{PRELUDE}
def daemon(stop):
    if os.fork():
        return
    os.setsid()
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    if os.fork():
        os._exit(0)
    ctypes.CDLL(None).prctl(15, b'{CANARY}', 0, 0, 0)
    if stop:
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        time.sleep(1000)
for number in range(6):
    daemon(number % 2)
time.sleep(0.3)
"""


def canaries() -> list[int]:
    """Processes that a test's daemons left, on this whole machine."""
    found = []
    for process in psutil.process_iter(["name"]):
        if process.info["name"] == CANARY:
            found.append(process.pid)
    return found


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Whether it came true in good time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
