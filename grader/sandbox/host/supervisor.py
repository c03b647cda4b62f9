"""The trusted end of one lane: gives a child its work, reads what comes back, and says what was seen.

Theory of operation. A call's inputs are written to memory that is shared with the child, and its request is sent; not
before its answer has come, and the inputs were compared with what had been written, does the next one go out. So no
hidden input exists in the child while a public case runs, and none of its messages can be mistaken for another's.
Output is drained all the while. What comes back is parsed with limits, and is data: whoever lies here lies about a
value that the engine then finds to be wrong.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import select
import socket
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

from grader.errors import SandboxFailed, Unwanted
from grader.feedback.exceptions import is_allocation_failure
from grader.records import CaseReport, Job, Mode, Outcome, RunEnd, Usage
from grader.sandbox.guest import wire
from grader.sandbox.host import messages
from grader.sandbox.host.endings import limits_told, seen, starved
from grader.sandbox.host.memory import Memory
from grader.sandbox.host.output import Output
from grader.sandbox.host.replies import Reply, call_report, load_report, parse

_REPORT_BYTES = 1 << 20  # the largest reply besides its tensors
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
        return not messages.readable(self._connection.fileno(), 0)

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
        messages.send(connection, {"do": "take", "mode": warm_for(job), "limits": vars(limits)})
        message, pipes = self._receive(descriptors=5)
        self._data_bytes = message["idle_data_bytes"] + limits.memory_bytes
        self._requests, self._replies, self._stdout, self._stderr, arena = pipes
        self._pipes = pipes
        self._memory = Memory(mmap.mmap(arena, 0))
        for descriptor in pipes[:4]:
            os.set_blocking(descriptor, False)
        self._output = Output()
        self._reply, self._ticket = bytearray(), ""
        self._flags: set[str] = set()
        self._open = {*pipes[1:4], connection.fileno()}
        self._current = -1
        self._gone: Ended | None = None
        self._ended: Ended | None = None

    # ------------------------------------------------------------ the course of a run

    def reports(self) -> Iterator[CaseReport | RunEnd]:
        """One report for loading, one for each call made, the end.

        The last one waits for the end, in which something forbidden may come to light.
        """
        try:
            last = yield from self._calls()
        except Ended as ended:
            self._ended = ended
            outcome, reason = seen(ended.how, ended.details, self._job.limits)
            last = CaseReport(call=self._current, outcome=outcome, reason=reason)
        end = self._end()
        yield self._revised(last)
        yield end

    def _revised(self, last: CaseReport) -> CaseReport:
        """The last report, or the violation that the lane found when it ended the run."""
        if self._gone is None or last.outcome is Outcome.VIOLATION:
            return last
        outcome, reason = seen(self._gone.how, self._gone.details, self._job.limits)
        return replace(last, outcome=outcome, reason=reason) if outcome is Outcome.VIOLATION else last

    def _calls(self) -> Generator[CaseReport, None, CaseReport]:
        """A report is handed out when the next call is under way, so that child and engine work side by side.

        The last one is returned.
        """
        self._load()
        report = load_report(self._next_reply(0), self._job)
        if report.outcome is Outcome.RETURNED:
            for index, call in enumerate(self._job.calls):
                self._current, asked = index, time.monotonic()
                try:
                    self._hide_output()
                    self._send(do="call", **self._memory.place(call))
                except Ended:
                    yield report  # this one had come before
                    raise
                yield report
                reply = self._next_reply(call.result_bytes * (1 + call.want_gradients * _GRADIENTS))
                report = call_report(index, reply, self._memory.mutations(reply.report.changed))
                report = replace(report, seconds=min(report.seconds, time.monotonic() - asked))
                if report.raised and is_allocation_failure(report.raised):
                    report = starved(report, self._job.limits)
                    break
        return report

    def _load(self) -> None:
        job, limits = self._job, self._job.limits
        calls = [(0, call.init) if job.kind == "module" else (len(call.args), call.kwargs) for call in job.calls]
        self._send(
            do="load",
            source=job.source,
            name=job.name,
            kind=job.kind,
            imitate=warm_for(job) == "fake",
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
            for descriptor in (self._stdout, self._stderr):
                while descriptor in self._open and messages.readable(descriptor, 0):
                    self._read(descriptor)
            self._output.shown = False

    def _end(self) -> RunEnd:
        """Kills what is still there, waits until all is dead, and tells what was used and printed."""
        if self._ended is None:
            self._ended = self._stop("killed")
        details = self._ended.details
        return RunEnd(
            usage=Usage(**details["usage"]),
            stdout=self._output.text("stdout"),
            stderr=self._output.text("stderr"),
            output_truncated=self._output.truncated,
            flags=frozenset(self._flags),
            reached=(*details["reached"], *limits_told(self._flags, self._job.limits)),
        )

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
        is_answer = self._current < 0 or reply.report.raised or reply.report.returned
        if reply.report.ticket != self._ticket or not is_answer:
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
            self._output.keep("stdout" if descriptor == self._stdout else "stderr", data)
            if self._output.total_bytes > self._job.limits.output_bytes and self._gone is None:
                raise self._stop("output")

    # ------------------------------------------------------------ to the lane and back

    def _stop(self, how: str) -> Ended:
        """Ends the run now; returns the lane's word that all is dead, under our own heading."""
        if self._gone is None:
            messages.send(self._connection, {"do": "kill"})
            message, _ = self._receive()
            self._gone = Ended(how=message["how"], details=message)
        return Ended(how=how, details=self._gone.details)

    def _receive(self, descriptors: int = 0) -> tuple[dict[str, Any], list[int]]:
        return messages.receive(self._connection, self._deadline, descriptors)


def warm_for(job: Job) -> str:
    """The kind of calls that the child should be warm for."""
    return "real" if any(call.mode is Mode.REAL for call in job.calls) or not job.calls else "fake"
