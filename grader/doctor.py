"""`grader doctor`: what this machine has for running submissions, one finding for each thing that is looked for.

The service adds its own (its database) by an entry point of the group `grader.findings`: a function without arguments
that gives findings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from grader.errors import GraderError, SandboxError
from grader.records import Call, Job, RunEnd
from grader.sandbox import choose
from grader.sandbox.base import Sandbox
from grader.sandbox.guest.walls import confine, landlock

GROUP = "grader.findings"
_GPUS, _DEVICE_FILES = Path("/proc/driver/nvidia/gpus"), Path("/dev")
_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia[0-9]*")
_ALL_MAY_USE = 0o006


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked for. needed: without it no sandbox can run as this process is set up."""

    what: str
    found: bool
    text: str
    needed: bool = False


def findings() -> Iterator[Finding]:
    """Everything, in the order in which it matters."""
    kind = os.environ.get("GRADER_SANDBOX") or choose.DEFAULT
    confined = confinement(needed=kind == "local")
    yield confined
    if confined.found or not confined.needed:
        yield trial(kind)
    yield engine()
    yield gpus()
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        yield from entry.load()()


def confinement(*, needed: bool) -> Finding:
    """What the kernel has for confining a process."""
    lacks = confine.missing()
    found = f"Landlock ABI {landlock.abi()}, seccomp with notices"
    if needed:
        found += (
            ", an own uid for each child" if os.geteuid() == 0 else ", one uid for all children (only root has more)"
        )
    return Finding(what="confinement", found=not lacks, needed=needed, text="; ".join(lacks) or found)


def trial(kind: str) -> Finding:
    """Whether the sandbox that GRADER_SANDBOX names starts, and runs a submission of one line."""
    try:
        with closing(choose.make(kind, spares=1)) as sandbox:
            text = f"{kind}: {run_one_line(sandbox, 'cpu')}"
        return Finding(what="sandbox", found=True, needed=True, text=text)
    except GraderError as error:
        return Finding(what="sandbox", found=False, needed=True, text=f"{kind}: {error}")


def run_one_line(sandbox: Sandbox, device: str) -> str:
    """Runs the smallest submission, and says how that went. SandboxError if it did not."""
    sandbox.start()
    *_, end = sandbox.run(Job(source="def f(): return 1", name="f", calls=(Call(),), device=device))
    took = f", {1000 * end.usage.wall_s:.0f} ms" if isinstance(end, RunEnd) else ""
    return f"a confined child ran and is gone{took}"


def engine() -> Finding:
    """Whether a Docker Engine answers and has the sandbox's image. Only `--sandbox docker` and compose need it."""
    from grader.sandbox.docker.containers import Engine  # noqa: PLC0415
    from grader.sandbox.docker.options import Options  # noqa: PLC0415

    asked = Engine(Options.from_environment(spares=1, gpus=()))
    try:
        return Finding(what="Docker Engine", found=True, text=asked.describe())
    except SandboxError as error:
        return Finding(what="Docker Engine", found=False, text=f"{error} (needed for GRADER_SANDBOX=docker only)")
    finally:
        asked.close()


def gpus(known: Path = _GPUS, device_files: Path = _DEVICE_FILES) -> Finding:
    """The NVIDIA driver's GPUs, whether every uid may use their device files, and what GRADER_GPUS names."""
    cards = sorted(known.glob("*"))
    if not cards:
        return Finding(what="GPUs", found=False, text="none: no NVIDIA driver has one here")
    named = ", ".join(choose.gpus()) or "none, so none is used"
    text = f"{', '.join(map(_model, cards))}; GRADER_GPUS names {named}"
    shut = list(_unusable(device_files))
    return Finding(what="GPUs", found=not shut, text="; ".join([text, *shut]))


def _model(card: Path) -> str:
    told = card / "information"
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("Model")), card.name)


def _unusable(folder: Path) -> Iterator[str]:
    """What keeps a child, which has a uid of its own, from the driver's device files."""
    for pattern in _DEVICES:
        files = sorted(folder.glob(pattern))
        if not files:
            yield f"{folder / pattern} is missing: `nvidia-modprobe -u -c 0` makes it"
        for file in files:
            if file.stat().st_mode & _ALL_MAY_USE != _ALL_MAY_USE:
                yield f"{file} is not for everybody to read and write"
