"""A lane: keeps confined children waiting, and watches over the one that is at work.

Theory of operation. One lane serves one supervisor over one connection, and has one live child at a time. It was forked
from the zygote, so it has torch, and it is the ancestor of all that a submission starts: orphans come back to it. It
hears of each new process or thread before the kernel makes it, counts, and refuses when the limit is reached. Every
10 ms it looks at time, memory and files. When the run ends, for whatever reason, it kills until nobody is left but the
waiting children, removes the folder, and only then tells the supervisor how the run ended.

Messages on the connection, each one JSON text: `take` {limits} is answered by `child` and five descriptors (requests,
replies, stdout, stderr, arena); `ended` {how, usage, ...} comes when the run is over, by itself or after `kill`.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from grader.sandbox.guest import cgroup, folders, mounts, proc, seccomp, service, spare
from grader.sandbox.guest.service import Reports
from grader.sandbox.guest.spare import Settings, Spare

_TICK_S = 0.01
_QUIET_S = 0.003  # when the supervisor has asked for nothing so long, children are made
_REST = 3  # a look at many processes takes long: this many times as long nobody looks again
_BIRTH_S = 0.05  # the longest that a process may take from our word until we can see it
_READY_S = 60.0
_DEATH_S = 20.0
_SLACK_BYTES = 96 << 20  # beyond the limit for a moment: the reserve for telling, and what comes between two looks


@dataclass(kw_only=True)
class Live:
    """The run under way: who, since when, how much is allowed, and what was seen of it."""

    child: Spare
    limits: dict[str, Any]
    kills_before: int
    started: float = field(default_factory=time.monotonic)
    next_look: float = 0.0
    spawned: bool = False
    cpu_s: float = 0.0
    orphans_cpu_s: float = 0.0
    resident_bytes: int = 0
    status: int | None = None
    orphan_violated: bool = False
    births: list[float] = field(default_factory=list)
    reached: dict[str, str] = field(default_factory=dict)


class Lane:
    """One supervisor's keeper."""

    def __init__(self, connection: socket.socket, settings: Settings, reports: Reports) -> None:
        self._connection = connection
        self._settings = settings
        self._reports = reports
        self._spares: list[Spare] = []
        self._live: Live | None = None
        self._names = {number: name for name, number in seccomp.machine()[1].items()}
        self._made = 0
        self._mode = "real"
        self._group = cgroup.join() if settings.confinement else None
        self._watched = self._group or cgroup.own()

    def serve(self) -> None:
        """Until the supervisor is gone, or something of ours breaks, of which it is told first."""
        try:
            while self._turn():
                pass
        except Exception as error:
            self._reports.tell(service.BROKE)
            with suppress(OSError):
                self._send({"is": "broken", "why": f"{type(error).__name__}: {error}"})
        finally:
            self._spares, waiting = [], self._spares
            self._kill()
            for child in (*waiting, *([self._live.child] if self._live else [])):
                child.discard(self._settings)

    def _turn(self) -> bool:
        """Waits for whatever comes first and deals with it; False when the supervisor is gone."""
        waiting = {child.handshake.fileno(): child for child in self._spares if not child.ready}
        listener = self._live.child.listener if self._live else None
        poll = select.poll()
        drain = self._reports.drain[0] if self._live is None else None
        for descriptor in (self._connection.fileno(), *waiting, *(d for d in (listener, drain) if d is not None)):
            poll.register(descriptor, select.POLLIN)
        ready = poll.poll(self._patience_ms())
        if not ready and self._short():
            self._add_spare()
        for descriptor, event in ready:
            if descriptor in waiting:
                if not waiting[descriptor].ready:
                    waiting[descriptor].hear()
            elif descriptor == listener:
                self._heed(listener, event)
            elif descriptor == drain:
                return self._live is not None
            elif not self._obey():
                return False
        if self._live is not None and time.monotonic() >= self._live.next_look:
            self._look(self._live)
        return True

    def _patience_ms(self) -> float | None:
        if self._live is not None:
            return max(0.0, (self._live.next_look - time.monotonic()) * 1000)
        return _QUIET_S * 1000 if self._short() else None

    def _short(self) -> bool:
        """Whether children should be made now: not while one is at work, that would take its core."""
        return self._live is None and len(self._spares) < self._settings.spares

    def _add_spare(self) -> None:
        self._made += 1
        self._spares.append(spare.fork(self._settings, self._made, self._mode))

    # ------------------------------------------------------------ what the supervisor asks for

    def _obey(self) -> bool:
        try:
            text = self._connection.recv(1 << 16)
        except ConnectionResetError:
            return False
        if not text:
            return False
        message = json.loads(text)
        if message["do"] == "take":
            self._mode = message["mode"]
            self._hand_over(message["limits"])
        elif self._live is not None:
            self._finish(self._live, "killed")
        return True

    def _hand_over(self, limits: dict[str, Any]) -> None:
        self._bury()
        child = self._ready_spare()
        if self._settings.mounted:
            mounts.resize_work_folder(str(child.folder), limits["file_bytes"])
        self._spares.remove(child)
        if self._group:
            self._group.allow(limits["memory_bytes"] + _SLACK_BYTES)
        idle = proc.data_bytes(child.pid)
        self._live = Live(child=child, limits=limits, kills_before=self._kills())
        message = json.dumps({"is": "child", "idle_data_bytes": idle}).encode()
        socket.send_fds(self._connection, [message], list(child.pipes))

    def _ready_spare(self) -> Spare:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            for child in self._spares:
                if child.ready:
                    return child
            if not self._spares:
                self._add_spare()
            for handshake in select.select([child.handshake for child in self._spares], [], [], 1)[0]:
                next(child for child in self._spares if child.handshake is handshake).hear()
        raise TimeoutError(f"no child got ready within {_READY_S:.0f} s")

    def _send(self, message: dict[str, Any]) -> None:
        self._connection.send(json.dumps(message).encode())

    # ------------------------------------------------------------ the run under way

    def _heed(self, listener: int, event: int) -> None:
        """A call waits for our word: it may go on, is refused, or ends the run. Nobody is left to call: a death."""
        if self._live is None:
            return
        if not event & select.POLLIN:
            self._live.next_look = 0.0
            return
        notice = seccomp.receive(listener, self._names)
        if notice is None:
            return
        if notice.is_violation:
            call = "clone with new namespaces" if notice.new_namespace else notice.call
            self._finish(self._live, "violation", call=call)
            return
        if notice.ends_with_sigsys:  # SIGSYS has one meaning
            seccomp.answer(listener, notice, errno.EPERM)
            return
        allowed = self._live.limits["processes"]
        running = self._running(self._live)
        self._live.spawned = True
        seccomp.answer(listener, notice, 0 if running < allowed else errno.EAGAIN)
        if running < allowed:
            self._live.births.append(time.monotonic())
        else:
            self._live.reached["processes"] = f"processes and threads: {allowed} are allowed, {running} were running"

    def _running(self, live: Live) -> int:
        """Processes and threads of the run. Near the limit, what was just allowed is waited for until it shows."""
        allowed = live.limits["processes"]
        while True:
            running, now = proc.count_tasks(self._pids(live)), time.monotonic()
            live.births = [birth for birth in live.births if now - birth < _BIRTH_S]
            if running >= allowed or running + len(live.births) < allowed or not live.births:
                return running
            time.sleep(_BIRTH_S / 10)

    def _pids(self, live: Live) -> list[int]:
        """The live child and everything that descends from it, orphans included."""
        if not live.spawned:
            return [live.child.pid]
        return proc.descendants(os.getpid(), {child.pid for child in self._spares})

    def _look(self, live: Live) -> None:
        """One look: is it alive, in time, within its memory and its folder?"""
        self._bury()
        if live.status is not None:
            self._finish(live, "died", **self._death(live, live.status))
            return
        if live.orphan_violated:
            self._finish(live, "died", code=-signal.SIGSYS, starved=False)
            return
        pids, limits, wall = self._pids(live), live.limits, time.monotonic() - live.started
        live.cpu_s = max(live.cpu_s, sum(map(proc.cpu, pids)) + live.orphans_cpu_s - live.child.cpu_s)
        if live.cpu_s > limits["cpu_s"]:
            self._finish(live, "time", kind="CPU time", limit=limits["cpu_s"], used=live.cpu_s)
        elif wall > limits["wall_s"]:
            self._finish(live, "time", kind="time", limit=limits["wall_s"], used=wall)
        elif (used := self._memory(live, pids)) > limits["memory_bytes"] + _SLACK_BYTES:
            self._finish(live, "memory", limit=limits["memory_bytes"], used=used)
        elif self._group and self._kills() > live.kills_before:  # a container's own cgroup is the neighbours' too
            self._finish(live, "starved")
        elif (used := self._on_disk(live)) > limits["file_bytes"]:
            self._finish(live, "files", limit=limits["file_bytes"], used=used)
        took = time.monotonic() - live.started - wall
        live.next_look = time.monotonic() + max(_TICK_S, _REST * took)

    def _on_disk(self, live: Live) -> int:
        """Bytes in the work folder; a file system of its own keeps its limit by itself."""
        if self._settings.mounted:
            return 0
        free = folders.FREE_BYTES
        return folders.used_bytes(live.child.folder, live.limits["file_bytes"] + free) - free

    def _memory(self, live: Live, pids: list[int]) -> int:
        """Bytes in use. Shared pages count for all who have them, so a sum that is too large is looked at again.

        Where we may not look (an ordinary user, a container without CAP_SYS_PTRACE): beyond an idle child.
        """
        most = sum(map(proc.memory, pids)) - live.child.memory_bytes
        if len(pids) == 1 or most <= live.limits["memory_bytes"]:
            return most
        shares = [proc.proportional_memory(pid) for pid in pids]
        known = [share for share in shares if share is not None]
        if len(known) == len(shares):
            return sum(known)
        return sum(max(0, proc.memory(pid) - live.child.memory_bytes) for pid in pids)  # we may not look: the most

    def _death(self, live: Live, status: int) -> dict[str, Any]:
        """How the child itself ended: an exit status, or a signal and whether the kernel sent it for want of memory."""
        code = os.waitstatus_to_exitcode(status)
        return {"code": code, "starved": code == -signal.SIGKILL and self._kills() > live.kills_before}

    def _kills(self) -> int:
        return self._watched.kills() if self._watched else 0

    def _finish(self, live: Live, how: str, **details: Any) -> None:
        """Everything dead, the folder gone, then the word to the zygote and to the supervisor.

        Notices are not answered any more, so that whoever waits for one waits until it is killed.
        """
        wall = time.monotonic() - live.started
        self._kill()
        live.child.discard(self._settings)
        self._live = None
        self._reports.tell(service.VIOLATED if _is_violation(how, details) else service.ENDED)
        usage = {"wall_s": wall, "cpu_s": live.cpu_s, "peak_memory_bytes": live.resident_bytes}
        self._send({"is": "ended", "how": how, "usage": usage, "reached": list(live.reached.values()), **details})

    def _kill(self) -> None:
        """Kills every descendant but the waiting children, until none is left."""
        sparing = {child.pid for child in self._spares}
        deadline = time.monotonic() + _DEATH_S
        while time.monotonic() < deadline:
            doomed = [pid for pid in proc.children(os.getpid()) if pid not in sparing]
            if not doomed:
                return
            for pid in doomed:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._bury()
            time.sleep(0.0002)
        raise TimeoutError("a submission's processes could not be killed")

    def _bury(self) -> None:
        """Takes note of everybody who died: the live child, orphans, and spares, which are replaced later."""
        with suppress(ChildProcessError):
            while (found := os.wait4(-1, os.WNOHANG))[0]:
                self._note_death(*found)

    def _note_death(self, pid: int, status: int, usage: Any) -> None:
        live = self._live
        if live is not None:
            live.resident_bytes = max(live.resident_bytes, usage.ru_maxrss << 10)
        if live is not None and pid == live.child.pid:
            live.status = status
            live.cpu_s = max(live.cpu_s, usage.ru_utime + usage.ru_stime + live.orphans_cpu_s - live.child.cpu_s)
        elif live is not None and pid not in {child.pid for child in self._spares}:
            live.orphans_cpu_s += usage.ru_utime + usage.ru_stime
            live.orphan_violated |= os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS
        for child in [child for child in self._spares if child.pid == pid]:
            self._spares.remove(child)
            child.discard(self._settings)


def _is_violation(how: str, details: dict[str, Any]) -> bool:
    return how == "violation" or (how == "died" and details["code"] == -signal.SIGSYS)
