"""The sandbox that a name and the environment ask for. The only place that reads GRADER_* variables of sandboxes."""

from __future__ import annotations

import os
from pathlib import Path

from grader.sandbox.base import Sandbox

DEFAULT = "local"
SPARES = 2  # of each lane, which has one run at a time; with as many as cores they would be cores squared


def make(kind: str | None = None, *, spares: int | None = None) -> Sandbox:
    """local, socket, docker or none; default: what GRADER_SANDBOX says. spares: children kept waiting by each lane."""
    kind = kind or os.environ.get("GRADER_SANDBOX") or DEFAULT
    spares = spares or SPARES
    if kind == "socket":
        from grader.sandbox.socket import DEFAULT_FOLDER, SocketSandbox  # noqa: PLC0415

        return SocketSandbox(Path(os.environ.get("GRADER_SOCKET") or DEFAULT_FOLDER))
    if kind == "docker":
        from grader.sandbox.docker.options import Options  # noqa: PLC0415
        from grader.sandbox.docker.sandbox import DockerSandbox  # noqa: PLC0415

        return DockerSandbox(Options.from_environment(spares=spares, gpus=gpus()))
    from grader.sandbox.local import LocalSandbox  # noqa: PLC0415

    return LocalSandbox(confined=kind != "none", spares=spares, gpus=gpus())


def gpus() -> tuple[str, ...]:
    """GRADER_GPUS: numbers, UUIDs or MIG ids of the GPUs that submissions may use; empty: none."""
    return tuple(gpu.strip() for gpu in (os.environ.get("GRADER_GPUS") or "").split(",") if gpu.strip())
