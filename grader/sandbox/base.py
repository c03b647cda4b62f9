"""The sandbox protocol: what the engine may count on, however the guest was started.

`run(job)` is a generator. It yields one `CaseReport` for loading the source (call -1), then one for each call that was
made, in order, and last one `RunEnd`. When `RunEnd` comes, everything that the submission started is dead and its
files are gone. A report whose outcome is DIED, VIOLATION, MALFORMED or a limit is the last one: what follows was not
run. The next call is under way while a report is looked at, but the wall limit goes on meanwhile: read quickly, and put
off what may take long.

Leaving the generator early (`close()`) kills the run; so does `job.wanted` when it says no: Unwanted is raised. `run`
may be called from several threads at once.

Raises SandboxUnavailable where this machine can't confine code, SandboxFailed when the sandbox itself broke: that run
says nothing about the submission, and may be tried again.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from grader.records import CaseReport, Job, RunEnd


class Sandbox(Protocol):
    """A place to run submissions in."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Where tensors may live: "cpu", "cuda"."""

    def start(self) -> None:
        """Gets ready: imports torch, keeps confined children waiting. Called again, does nothing."""

    def run(self, job: Job) -> Generator[CaseReport | RunEnd, None, None]:
        """Runs one job in a fresh child."""

    def close(self) -> None:
        """Ends every process and removes every file of this sandbox."""
