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
import math
import os
import select
import signal
import socket
import time
from contextlib import suppress
from typing import Any

from grader.sandbox.guest import service, spare
from grader.sandbox.guest.live import SLACK_BYTES, Live
from grader.sandbox.guest.service import Reports
from grader.sandbox.guest.spare import Settings, Spare
from grader.sandbox.guest.walls import cgroup, mounts, proc, seccomp

_QUIET_S = 0.003  # when the supervisor has asked for nothing so long, children are made
_AGAIN_S = 0.005  # until we look again whether a process is there that was allowed
_READY_S = 60.0
_DEATH_S = 20.0


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
        waiting = self._getting_ready()
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
                self._hear(waiting[descriptor], descriptor)
            elif descriptor == listener:
                self._heed(listener, event)
            elif descriptor == drain:
                return self._live is not None
            elif not self._obey():
                return False
        if self._live is not None and time.monotonic() >= self._live.next_look:
            self._look(self._live)
        if self._live is not None and listener is not None:
            self._answer(self._live, listener)
        return True

    def _patience_ms(self) -> float | None:
        if self._live is not None:
            return max(0.0, (min(self._live.next_look, self._live.next_answer) - time.monotonic()) * 1000)
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
            self._stop(self._live)
        return True

    def _hand_over(self, limits: dict[str, Any]) -> None:
        self._bury()
        child = self._ready_spare()
        if self._settings.mounted:
            mounts.resize_work_folder(str(child.folder), limits["file_bytes"])
        self._spares.remove(child)
        if self._group:
            self._group.allow(limits["memory_bytes"] + SLACK_BYTES)
        idle = proc.data_bytes(child.pid)
        self._live = Live(
            child=child,
            limits=limits,
            mounted=self._settings.mounted,
            watched=self._watched,
            alone=self._group is not None,  # a container's own cgroup is the neighbours' too
        )
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
            waiting = self._getting_ready()
            for descriptor in select.select(list(waiting), [], [], 1)[0]:
                self._hear(waiting[descriptor], descriptor)
        raise TimeoutError(f"no child got ready within {_READY_S:.0f} s")

    def _getting_ready(self) -> dict[int, Spare]:
        return {descriptor: child for child in self._spares if not child.ready for descriptor in child.watched()}

    def _hear(self, child: Spare, descriptor: int) -> None:
        """A child's word, or that it asks for a thread: no submission is in it yet, only libraries that get warm."""
        if child.ready or child not in self._spares:
            return
        if descriptor != child.listener:
            child.hear()
        elif notice := seccomp.receive(descriptor, self._names):
            seccomp.answer(descriptor, notice)

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
            self._finish(self._live, "violation", call=notice.told)
            return
        if notice.ends_with_sigsys:  # SIGSYS has one meaning
            seccomp.answer(listener, notice, errno.EPERM)
            return
        self._live.ask(notice)

    def _answer(self, live: Live, listener: int) -> None:
        """Tells those who wait whether they may start a process, in the order in which they asked."""
        live.next_answer = math.inf
        while live.asking:
            allowed = live.may_spawn(live.asking[0].caller, self._waiting())
            if allowed is None:
                live.next_answer = time.monotonic() + _AGAIN_S
                return
            seccomp.answer(listener, live.asking.pop(0), 0 if allowed else errno.EAGAIN)

    def _waiting(self) -> set[int]:
        return {child.pid for child in self._spares}

    def _look(self, live: Live) -> None:
        self._bury()
        if ending := live.look(self._waiting()):
            how, details = ending
            self._finish(live, how, **details)

    def _stop(self, live: Live) -> None:
        """Ends a run that is no longer wanted; what was forbidden and could not be heeded yet is told all the same."""
        self._bury()
        if call := self._forbidden(live):
            self._finish(live, "violation", call=call)
        elif live.orphan_violated:
            self._finish(live, "died", code=-signal.SIGSYS, starved=False)
        else:
            self._finish(live, "killed")

    def _forbidden(self, live: Live) -> str | None:
        """A forbidden call among those that wait for our word: each process and thread has one at most."""
        listener = live.child.listener
        for _ in range(live.limits["processes"] + 1):
            if listener is None or not select.select([listener], [], [], 0)[0]:
                return None
            notice = seccomp.receive(listener, self._names)
            if notice is not None and notice.is_violation:
                return notice.told
        return None

    def _finish(self, live: Live, how: str, **details: Any) -> None:
        """Everything dead, the folder gone, then the word to the zygote and to the supervisor.

        Notices are not answered any more, so that whoever waits for one waits until it is killed.
        """
        wall = time.monotonic() - live.started
        self._kill()
        live.child.discard(self._settings)
        self._live = None
        if self._group:
            self._group.lift()
        if live.memory_ran_out():
            self._renew_spares()
        self._reports.tell(service.VIOLATED if _is_violation(how, details) else service.ENDED)
        usage = {"wall_s": wall, "cpu_s": live.cpu_s, "peak_memory_bytes": live.resident_bytes}
        self._send({"is": "ended", "how": how, "usage": usage, "reached": list(live.reached.values()), **details})

    def _renew_spares(self) -> None:
        """One may have been killed in the run's place, and not be dead yet: none of them gets the next run."""
        self._spares, doomed = [], self._spares
        self._kill()
        for child in doomed:
            child.discard(self._settings)

    def _kill(self) -> None:
        """Kills every descendant but the waiting children, until none is left."""
        sparing = self._waiting()
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
        if self._live is not None:
            self._live.note_death(pid, status, usage, self._waiting())
        for child in [child for child in self._spares if child.pid == pid]:
            self._spares.remove(child)
            child.discard(self._settings)


def _is_violation(how: str, details: dict[str, Any]) -> bool:
    return how == "violation" or (how == "died" and details["code"] == -signal.SIGSYS)
