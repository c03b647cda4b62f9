"""What a sandbox container may be and have: the same short table for compose and for the Docker SDK.

No network, no IPC, a read-only root, work folders in memory with a size, three capabilities that the zygote needs to
give its children other uids and to kill them, no new privileges, our seccomp profile, limits on everything.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import UsageError
from grader.sandbox.docker.profile import profile

CAPABILITIES = ("SETUID", "SETGID", "KILL")
SOCKET_FOLDER, WORK_FOLDER = "/run/grader", "/scratch"
_FROM_ENVIRONMENT = ("image", "policy", "pool", "memory", "cpus", "runtime", "userns", "volume")
WORK_OPTIONS = "size=256m,nr_inodes=16384,mode=0711,nosuid,nodev,noexec"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How containers are started.

    policy: "shared" or "single". pool: containers kept waiting (single). spares: children kept waiting for each
    connection (shared). submissions: runs after which a shared container makes room. volume: the name of a volume that
    is mounted at `folder` here, for workers that are containers themselves; else a folder of this machine is used.
    runtime: "runsc", "nvidia", ...; userns: "host" to leave the engine's own remapping. gpus: ids as the engine knows
    them, each for a container of its own. cpus: 0 for no limit.
    """

    image: str = "grader-sandbox"
    policy: str = "shared"
    pool: int = 3
    spares: int = 2
    submissions: int = 1000
    memory_bytes: int = 4 << 30
    cpus: float = 0.0
    pids: int = 1024
    runtime: str | None = None
    userns: str | None = None
    volume: str | None = None
    folder: Path | None = None
    gpus: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, *, spares: int, gpus: tuple[str, ...]) -> Options:
        """GRADER_DOCKER_IMAGE, _POLICY, _POOL, _MEMORY, _CPUS, _RUNTIME, _USERNS, _VOLUME; docs/containers.md."""
        said = {name: os.environ.get(f"GRADER_DOCKER_{name.upper()}") or None for name in _FROM_ENVIRONMENT}
        if said["policy"] not in {None, "shared", "single"}:
            raise UsageError(f"GRADER_DOCKER_POLICY is {said['policy']}: it must be shared or single")
        return cls(
            image=said["image"] or cls.image,
            policy=said["policy"] or cls.policy,
            pool=int(said["pool"] or max(cls.pool, spares + 1)),
            memory_bytes=int(said["memory"] or cls.memory_bytes),
            cpus=float(said["cpus"] or cls.cpus),
            runtime=said["runtime"],
            userns=said["userns"],
            volume=said["volume"],
            folder=Path(os.environ.get("GRADER_SOCKET") or SOCKET_FOLDER) if said["volume"] else None,
            spares=spares,
            gpus=gpus,
        )


def command(options: Options, gpu: str | None, peer_uid: int | None = None) -> list[str]:
    """The guest's arguments. peer_uid: as whom a container sees this worker, if not by its own uid."""
    single = options.policy == "single"
    return [
        f"--socket={SOCKET_FOLDER}",
        f"--folder={WORK_FOLDER}",
        f"--device={'cpu' if gpu is None else 'cuda:0'}",
        f"--submissions={1 if single else options.submissions}",
        f"--spares={1 if single or gpu is not None else options.spares}",
        f"--peer-uid={os.geteuid() if peer_uid is None else peer_uid}",
    ]


def confinement() -> dict[str, Any]:
    """The part that is the same for every container, in the engine's own words (HostConfig)."""
    return {
        "NetworkMode": "none",
        "IpcMode": "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "CapAdd": list(CAPABILITIES),
        "SecurityOpt": ["no-new-privileges", f"seccomp={json.dumps(profile())}"],
        "Tmpfs": {WORK_FOLDER: WORK_OPTIONS},
        "Init": True,
        "Ulimits": [{"Name": "nofile", "Soft": 4096, "Hard": 4096}, {"Name": "core", "Soft": 0, "Hard": 0}],
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}},
    }


def creation(
    options: Options, *, gpu: str | None, name: str, labels: dict[str, str], source: str, peer_uid: int | None = None
) -> dict[str, Any]:
    """The body of POST /containers/create. source: the folder or volume that holds the socket."""
    limits = {
        "Memory": options.memory_bytes,
        "MemorySwap": options.memory_bytes,
        "PidsLimit": options.pids,
        **({"CpuPeriod": 100_000, "CpuQuota": int(options.cpus * 100_000)} if options.cpus else {}),
    }
    mount = {"Type": "volume" if options.volume else "bind", "Source": source, "Target": SOCKET_FOLDER}
    places = {
        "Mounts": [mount],
        **({"Runtime": options.runtime} if options.runtime else {}),
        **({"UsernsMode": options.userns} if options.userns else {}),
        **({"DeviceRequests": [_device(gpu)]} if gpu is not None else {}),
    }
    return {
        "Image": options.image,
        "Cmd": command(options, gpu, peer_uid),
        "Hostname": name,
        "User": f"0:{os.getegid()}",
        "Labels": labels,
        "HostConfig": confinement() | limits | places,
    }


def _device(gpu: str) -> dict[str, Any]:
    return {"Driver": "nvidia", "DeviceIDs": [gpu], "Capabilities": [["gpu", "compute", "utility"]]}
