"""The trusted end of one lane: gives a child its work, reads what comes back, and says what was seen.

Theory of operation. A call's inputs are written to memory that is shared with the child, and its request is sent; not
before its answer has come, and the inputs were compared with what had been written, does the next one go out. So no
hidden input exists in the child while a public case runs, and none of its messages can be mistaken for another's.
Output is drained all the while. What comes back is parsed with limits, and is data: whoever lies here lies about a
value that the engine then finds to be wrong.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import secrets
import select
import signal
import socket
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

from grader.errors import SandboxFailed, Unwanted
from grader.exceptions import is_allocation_failure
from grader.records import CaseReport, Job, Mode, Outcome, RunEnd, Usage
from grader.sandbox.guest import confine, wire
from grader.sandbox.memory import Memory
from grader.sandbox.reports import Reply, call_report, load_report, parse

_REPORT_BYTES = 1 << 20  # the largest reply besides its tensors
_SHOWN_BYTES = 64 << 10  # of stdout and stderr each
_GRACE_S = 60.0  # beyond the wall limit, before a silent lane is given up
_GRADIENTS = 16  # a result's gradients are at most so many times as large


class LaneGone(SandboxFailed):
    """The guest ended before it had taken the job."""


@dataclass(frozen=True, kw_only=True)
class Ended(Exception):
    """The lane's word that the run is over: how, and what was used."""

    how: str
    details: dict[str, Any]


class Lane:
    """A connection to one lane of a guest, for one job after the other."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def is_usable(self) -> bool:
        """Whether it waits for work: a lane that has something to say unasked has ended or broken."""
        return not _readable(self._connection.fileno(), 0)

    def run(self, job: Job) -> Generator[CaseReport | RunEnd, None, None]:
        """See `grader.sandbox.base`."""
        yield from self.follow(self.begin(job))

    def begin(self, job: Job) -> Run:
        """Takes a child. LaneGone if there was none to be had here: nothing was run, another lane may be asked."""
        try:
            return Run(self._connection, job)
        except (OSError, SandboxFailed) as error:
            raise LaneGone(f"the sandbox gave no child: {error}") from error

    def follow(self, run: Run) -> Generator[CaseReport | RunEnd, None, None]:
        """The reports of a run that was begun here."""
        try:
            yield from run.reports()
        except OSError as error:
            raise SandboxFailed(f"the sandbox's connection broke: {error}") from error
        finally:
            run.close()

    def close(self) -> None:
        """The lane ends, and everything in it."""
        self._connection.close()


class Run:
    """One job in one child."""

    def __init__(self, connection: socket.socket, job: Job) -> None:
        self._connection, self._job = connection, job
        limits = job.limits
        self._deadline = time.monotonic() + limits.wall_s + _GRACE_S
        self._ask(
            do="take",
            mode=warm_for(job),
            limits={
                "wall_s": limits.wall_s,
                "cpu_s": limits.cpu_s,
                "memory_bytes": limits.memory_bytes,
                "processes": limits.processes,
                "file_bytes": limits.file_bytes,
            },
        )
        message, pipes = self._receive(descriptors=5)
        self._data_bytes = message["idle_data_bytes"] + limits.memory_bytes
        self._requests, self._replies, self._stdout, self._stderr, arena = pipes
        self._pipes = pipes
        self._memory = Memory(mmap.mmap(arena, 0))
        for descriptor in pipes[:4]:
            os.set_blocking(descriptor, False)
        self._output = {"stdout": bytearray(), "stderr": bytearray()}
        self._output_bytes, self._shown, self._truncated = 0, True, False
        self._reply, self._ticket = bytearray(), ""
        self._flags: set[str] = set()
        self._open = {*pipes[1:4], connection.fileno()}
        self._current = -1
        self._gone: Ended | None = None
        self._ended: Ended | None = None

    # ------------------------------------------------------------ the course of a run

    def reports(self) -> Iterator[CaseReport | RunEnd]:
        """One report for loading, one for each call made, the end."""
        try:
            yield from self._calls()
        except Ended as ended:
            self._ended = ended
            yield self._last_report(ended)
        yield self._end()

    def _calls(self) -> Iterator[CaseReport]:
        """A report is handed out when the next call is under way, so that child and engine work side by side."""
        self._load()
        report = load_report(self._next_reply(0), self._job)
        if report.outcome is Outcome.RETURNED:
            for index, call in enumerate(self._job.calls):
                self._current = index
                self._hide_output()
                self._send(do="call", **self._memory.place(call))
                yield report
                reply = self._next_reply(call.result_bytes * (1 + call.want_gradients * _GRADIENTS))
                report = self._weighed(call_report(self._current, reply, self._memory.mutations(reply.report.changed)))
                if report.outcome is Outcome.MEMORY_LIMIT:
                    break
        yield report

    def _weighed(self, report: CaseReport) -> CaseReport:
        """An allocation that failed is the memory limit at work, and ends the run as every limit does."""
        if report.raised is None or not is_allocation_failure(report.raised):
            return report
        reason = f"an allocation failed: {_mib(self._job.limits.memory_bytes)} of memory are allowed"
        return replace(report, outcome=Outcome.MEMORY_LIMIT, reason=reason)

    def _load(self) -> None:
        job, limits = self._job, self._job.limits
        calls = [(0, call.init) if job.kind == "module" else (len(call.args), call.kwargs) for call in job.calls]
        self._send(
            do="load",
            source=job.source,
            name=job.name,
            kind=job.kind,
            patterns=sorted({(count, tuple(sorted(keywords))) for count, keywords in calls}),
            limits={
                "data_bytes": self._data_bytes,
                "file_bytes": limits.file_bytes,
                "cpu_s": limits.cpu_s,
                "torch_threads": limits.torch_threads,
            },
        )

    def _hide_output(self) -> None:
        """From the first hidden call on, nothing printed is kept."""
        if self._current == self._job.hidden_from:
            self._drain_rest()
            self._shown = False

    def _last_report(self, ended: Ended) -> CaseReport:
        outcome, reason = _seen(ended, self._job)
        return CaseReport(call=self._current, outcome=outcome, reason=reason)

    def _end(self) -> RunEnd:
        """Kills what is still there, waits until all is dead, and tells what was used and printed."""
        if self._ended is None:
            self._ended = self._stop("killed")
        details = self._ended.details
        return RunEnd(
            usage=Usage(**details["usage"]),
            stdout=_text(self._output["stdout"]),
            stderr=_text(self._output["stderr"]),
            output_truncated=self._truncated,
            flags=frozenset(self._flags),
            reached=(*details["reached"], *(text for flag, text in self._limits().items() if flag in self._flags)),
        )

    def _limits(self) -> dict[str, str]:
        """What a child says of limits at which a call failed, by flag."""
        return {
            "descriptors": f"open files: {confine.MAX_OPEN_FILES} are allowed, all were in use",
            "files": f"files: {_mib(self._job.limits.file_bytes)} are allowed, all were in use",
        }

    def close(self) -> None:
        """Kills a run that was left early; lets go of pipes and memory."""
        try:
            if self._ended is None:
                with contextlib.suppress(OSError, SandboxFailed):  # it broke, and that is what gets told
                    self._ended = self._stop("killed")
        finally:
            self._memory.close()
            for descriptor in self._pipes:
                os.close(descriptor)

    # ------------------------------------------------------------ to the child and back

    def _send(self, **request: Any) -> None:
        """Writes a request; what the child prints meanwhile is drained. A child that is gone is noticed later.

        Each request has a ticket that its reply must show, so that no reply can come before its request.
        """
        self._ticket = secrets.token_hex(8)
        payload = memoryview(wire.request(request | {"ticket": self._ticket}))
        while payload:
            try:
                payload = payload[os.write(self._requests, payload) :]
            except BlockingIOError:
                self._wait(writing=True)
                if self._reply:
                    raise self._stop("malformed") from None
            except BrokenPipeError:
                return

    def _next_reply(self, tensor_bytes: int) -> Reply:
        """Waits for one reply; Ended if the run is over instead, or ended here because the reply is none."""
        while True:
            length = int.from_bytes(self._reply[: wire.LENGTH_BYTES], "little")
            have = len(self._reply) - wire.LENGTH_BYTES
            if have >= 0 and (length > tensor_bytes + _REPORT_BYTES or have > length):
                raise self._stop("malformed")
            if have == length and have > 0:
                return self._parsed()
            if self._gone is not None:
                raise self._gone
            self._wait()

    def _parsed(self) -> Reply:
        blob = bytes(self._reply[wire.LENGTH_BYTES :])
        self._reply.clear()
        try:
            reply = parse(blob)
        except wire.Malformed:
            raise self._stop("malformed") from None
        if reply.report.ticket != self._ticket:
            raise self._stop("malformed")
        self._flags |= set(reply.report.flags)
        return reply

    def _wait(self, *, writing: bool = False) -> None:
        """Waits for anything, and takes it: a piece of a reply, output, the lane's word that the run is over."""
        poll = select.poll()
        for descriptor in self._open:
            poll.register(descriptor, select.POLLIN)
        if writing:
            poll.register(self._requests, select.POLLOUT)
        ready = {descriptor for descriptor, _event in poll.poll(1000)}
        if self._job.wanted is not None and not self._job.wanted():
            raise Unwanted("the run is not wanted any more")
        if self._connection.fileno() in ready:
            self._hear()
        for descriptor in sorted(ready & {self._replies, self._stdout, self._stderr}):
            self._read(descriptor)
        if not ready and time.monotonic() > self._deadline:
            raise SandboxFailed("the lane did not keep the time limit")

    def _hear(self) -> None:
        """The lane says that the run is over; what the child wrote before its death is still taken."""
        message, _ = self._receive()
        self._gone = Ended(how=message["how"], details=message)
        self._open.discard(self._connection.fileno())
        for descriptor in sorted(self._open):
            while descriptor in self._open:
                self._read(descriptor)

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, 1 << 18)
        except BlockingIOError:
            if self._gone is not None:
                self._open.discard(descriptor)
            return
        if not data:
            self._open.discard(descriptor)
        elif descriptor == self._replies:
            self._reply += data
        else:
            self._keep("stdout" if descriptor == self._stdout else "stderr", data)

    def _keep(self, stream: str, data: bytes) -> None:
        self._output_bytes += len(data)
        if self._shown:
            room = _SHOWN_BYTES - len(self._output[stream])
            self._output[stream] += data[:room]
            self._truncated |= len(data) > room
        if self._output_bytes > self._job.limits.output_bytes and self._gone is None:
            raise self._stop("output")

    def _drain_rest(self) -> None:
        for descriptor in (self._stdout, self._stderr):
            while descriptor in self._open and _readable(descriptor, 0):
                self._read(descriptor)

    # ------------------------------------------------------------ to the lane and back

    def _stop(self, how: str) -> Ended:
        """Ends the run now; returns the lane's word that all is dead, under our own heading."""
        if self._gone is None:
            self._ask(do="kill")
            message, _ = self._receive()
            self._gone = Ended(how=message["how"], details=message)
        return Ended(how=how, details=self._gone.details)

    def _ask(self, **message: Any) -> None:
        self._connection.send(json.dumps(message).encode())

    def _receive(self, descriptors: int = 0) -> tuple[dict[str, Any], list[int]]:
        if not _readable(self._connection.fileno(), max(0.0, self._deadline - time.monotonic())):
            raise SandboxFailed("the lane does not answer")
        text, received, _flags, _address = socket.recv_fds(self._connection, 1 << 16, descriptors)
        message = json.loads(text) if text else {"is": "broken", "why": "it ended without a word"}
        if message["is"] == "broken":
            raise SandboxFailed(f"the sandbox broke: {message['why']}")
        return message, received


def _readable(descriptor: int, seconds: float) -> bool:
    """Whether something can be read, or has ended, in this time; `select` knows no descriptor above 1,023."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def warm_for(job: Job) -> str:
    """The kind of calls that the child should be warm for."""
    return "real" if any(call.mode is Mode.REAL for call in job.calls) or not job.calls else "fake"


def _seen(ended: Ended, job: Job) -> tuple[Outcome, str]:
    """How a run ended, in our vocabulary and in words: the limit, its value and what was used."""
    details = ended.details
    match ended.how:
        case "violation":
            return Outcome.VIOLATION, f"the system call {details['call']}, which no solution needs, was stopped"
        case "malformed":
            return Outcome.MALFORMED, "something other than a result was written to the channel for results"
        case "time":
            used, kind, limit = details["used"], details["kind"], details["limit"]
            return Outcome.TIME_LIMIT, f"{used:.1f} s of {kind} were used, {limit:g} s are allowed"
        case "memory":
            return (
                Outcome.MEMORY_LIMIT,
                f"{_mib(details['used'])} of memory were used, {_mib(details['limit'])} are allowed",
            )
        case "starved":
            return (
                Outcome.MEMORY_LIMIT,
                f"all processes together needed more than the {_mib(job.limits.memory_bytes)} allowed",
            )
        case "output":
            return (
                Outcome.OUTPUT_LIMIT,
                f"more than the {job.limits.output_bytes >> 10} KiB were printed that are allowed",
            )
        case "files":
            return (
                Outcome.OUTPUT_LIMIT,
                f"files of {_mib(details['used'])} were written, {_mib(details['limit'])} are allowed",
            )
        case _:
            return _death(details)


def _death(details: dict[str, Any]) -> tuple[Outcome, str]:
    code = details.get("code", 0)
    if details.get("starved"):
        return Outcome.MEMORY_LIMIT, "the kernel ended the process because its memory ran out"
    if code == -signal.SIGSYS:
        return Outcome.VIOLATION, "a system call of a foreign kind was stopped"
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return Outcome.DIED, f"the process was killed by {name}"
    return Outcome.DIED, f"the process ended with exit status {code} before it gave a result"


def _mib(count: float) -> str:
    return f"{count / (1 << 20):.0f} MiB"


def _text(output: bytearray) -> str:
    return output.decode("utf-8", errors="replace")
