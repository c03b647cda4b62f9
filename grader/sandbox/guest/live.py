"""The run under way: who is at work, what was seen of it, and whether it has to end.

A look costs little for one process, and more the more there are. `Live.look` says what it found; the lane acts.
"""

from __future__ import annotations

import math
import os
import signal
import time
from dataclasses import dataclass, field
from typing import Any

from grader.sandbox.guest.spare import Spare
from grader.sandbox.guest.walls import folders, proc
from grader.sandbox.guest.walls.cgroup import Group
from grader.sandbox.guest.walls.seccomp import Notice

SLACK_BYTES = 96 << 20  # beyond the limit for a moment: the reserve for telling, and what comes between two looks
_TICK_S = 0.01
_REST = 3  # a look at many processes takes long: this many times as long nobody looks again, but not for ever
_LONGEST_REST_S = 0.25
_BIRTH_S = 0.5  # the longest that a process may take from our word until we can see it

Ending = tuple[str, dict[str, Any]]


@dataclass(kw_only=True)
class Live:
    """One run, from the lane that is the ancestor of all its processes.

    mounted: its folder is a file system that keeps the limit by itself. watched: the cgroup that it is in; alone: with
    nobody else, so that whom the kernel kills there for want of memory belongs to it. births: callers that may start a
    process, and since when; asking: those that wait to be told.
    """

    child: Spare
    limits: dict[str, Any]
    mounted: bool
    watched: Group | None
    alone: bool
    started: float = field(default_factory=time.monotonic)
    next_look: float = 0.0
    next_answer: float = math.inf
    spawned: bool = False
    cpu_s: float = 0.0
    orphans_cpu_s: float = 0.0
    resident_bytes: int = 0
    status: int | None = None
    orphan_violated: bool = False
    births: dict[int, float] = field(default_factory=dict)
    asking: list[Notice] = field(default_factory=list)
    reached: dict[str, str] = field(default_factory=dict)
    kills_before: int = field(init=False)

    def __post_init__(self) -> None:
        self.kills_before = self._kills()

    # ------------------------------------------------------------ processes

    def ask(self, notice: Notice) -> None:
        """A thread asks for one more process or thread; so what it was allowed before has been born."""
        self.births.pop(notice.caller, None)
        self.asking.append(notice)

    def may_spawn(self, caller: int, spares: set[int]) -> bool | None:
        """Whether a thread may start one more. None: not known yet, ask again. A refusal is noted.

        What was allowed counts once it can be seen, and as a birth until then: until its caller asks for the next one,
        or has had all the time that a process may take.
        """
        allowed, now = self.limits["processes"], time.monotonic()
        self.births = {asked: since for asked, since in self.births.items() if now - since < _BIRTH_S}
        running = proc.count_tasks(self._pids(spares))
        self.spawned = True
        if running >= allowed:
            self.reached["processes"] = f"processes and threads: {allowed} are allowed, {running} were running"
            return False
        if running + len(self.births) >= allowed:
            return None
        self.births[caller] = now
        return True

    def _pids(self, spares: set[int]) -> list[int]:
        """The child and everything that descends from it, orphans included."""
        return proc.descendants(os.getpid(), spares) if self.spawned else [self.child.pid]

    def note_death(self, pid: int, status: int, usage: Any, spares: set[int]) -> None:
        """Takes note of one that was waited for: the child, an orphan of it, or a spare."""
        self.resident_bytes = max(self.resident_bytes, usage.ru_maxrss << 10)
        used_s = usage.ru_utime + usage.ru_stime
        if pid == self.child.pid:
            self.status = status
            self.cpu_s = max(self.cpu_s, used_s + self.orphans_cpu_s - self.child.cpu_s)
        elif pid not in spares:
            self.orphans_cpu_s += used_s
            self.orphan_violated |= os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS

    # ------------------------------------------------------------ what it uses

    def look(self, spares: set[int]) -> Ending | None:
        """One look: is it alive, in time, within its memory and its folder? How it ends, if it has to."""
        if self.status is not None:
            return "died", self._death(self.status)
        if self.orphan_violated:
            return "died", {"code": -signal.SIGSYS, "starved": False}
        wall = time.monotonic() - self.started
        if wall > self.limits["wall_s"]:
            return "time", {"kind": "time", "limit": self.limits["wall_s"], "used": wall}
        ending = self._beyond(self._pids(spares))
        now = time.monotonic()
        rest = min(max(_TICK_S, _REST * (now - self.started - wall)), _LONGEST_REST_S)
        self.next_look = max(now + _TICK_S, min(now + rest, self.started + self.limits["wall_s"]))
        return ending

    def _beyond(self, pids: list[int]) -> Ending | None:
        """The limit that was reached, and how far."""
        limits = self.limits
        self.cpu_s = max(self.cpu_s, sum(map(proc.cpu, pids)) + self.orphans_cpu_s - self.child.cpu_s)
        if self.cpu_s > limits["cpu_s"]:
            return "time", {"kind": "CPU time", "limit": limits["cpu_s"], "used": self.cpu_s}
        if (used := self._memory(pids)) > limits["memory_bytes"] + SLACK_BYTES:
            return "memory", {"limit": limits["memory_bytes"], "used": used}
        if self.alone and self.memory_ran_out():
            return "starved", {}
        if (used := self._on_disk()) > limits["file_bytes"]:
            return "files", {"limit": limits["file_bytes"], "used": used}
        return None

    def _on_disk(self) -> int:
        """Bytes in the work folder."""
        if self.mounted:
            return 0
        free, owner = folders.FREE_BYTES, self.child.uid if self.child.uid != os.geteuid() else None
        return folders.used_bytes(self.child.folder, self.limits["file_bytes"] + free, owner) - free

    def _memory(self, pids: list[int]) -> int:
        """Bytes in use. Shared pages count for all who have them, so a sum that is too large is looked at again.

        Where we may not look (an ordinary user, a container without CAP_SYS_PTRACE): beyond an idle child.
        """
        most = sum(map(proc.memory, pids)) - self.child.memory_bytes
        if len(pids) == 1 or most <= self.limits["memory_bytes"]:
            return most
        shares = [proc.proportional_memory(pid) for pid in pids]
        known = [share for share in shares if share is not None]
        if len(known) == len(shares):
            return sum(known)
        return sum(max(0, proc.memory(pid) - self.child.memory_bytes) for pid in pids)  # we may not look: the most

    def memory_ran_out(self) -> bool:
        """Whether the kernel has killed for want of memory since the run began."""
        return self._kills() > self.kills_before

    def _death(self, status: int) -> dict[str, Any]:
        """How the child itself ended: an exit status, or a signal and whether the kernel sent it for want of memory."""
        code = os.waitstatus_to_exitcode(status)
        return {"code": code, "starved": code == -signal.SIGKILL and self.memory_ran_out()}

    def _kills(self) -> int:
        return self.watched.kills() if self.watched else 0
