"""What a child with a GPU may do beyond the others, and how it gets warm: one rule set, chosen by `--device cuda:0`.

Theory of operation. A process that has touched CUDA poisons its forks, so the zygote never does; each child starts CUDA
itself, after it was confined and before it gets any work. CUDA wants the driver's device files with their ioctls, files
in memory, a look at the machine, and to write the names of its own threads: a child with a GPU owns its entries below
/proc, and Landlock shows it those and nobody else's. It also wants to listen on an abstract unix socket, for other
processes that would share its memory: it may, but nobody may connect, accept or send, and no socket gets a name in the
file system. And it starts threads, which the lane lets it while the child gets ready.

Non-goals: what the driver does. Isolation between a submission and the GPU's other users ends there; a GPU for each
sandbox, MIG, or gVisor's nvproxy are the next walls. Memory that CUDA maps is counted by no limit but the container's.

This was built from what others found out of CUDA under Landlock and seccomp, in public issues of NVIDIA/OpenShell and
nolabs-ai/nono, in snapd's rules and in conduit's; docs/containers.md says what has been run.
"""

from __future__ import annotations

from pathlib import Path

import torch

from grader.sandbox.guest.walls import landlock

EXTRA_CALLS = ("memfd_create", "bind", "listen", "setsockopt", "getsockopt", "getsockname")
_DEVICES = ("nvidiactl", "nvidia[0-9]*", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps/*", "zero", "null")
_READABLE = (
    "/proc/driver/nvidia",
    "/proc/driver/nvidia-uvm",
    "/proc/devices",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/modules",
    "/proc/sys/vm/mmap_min_addr",
    "/proc/sys/vm/overcommit_memory",
    "/sys/bus/pci/devices",
    "/sys/devices/system",
    "/sys/module/nvidia",
    "/etc/ld.so.cache",
)
_SIZE = 64


def rules(pid: int) -> dict[str, int]:
    """Landlock's rules for the process `pid`, beside those that every child has."""
    devices = [str(path) for pattern in _DEVICES for path in Path("/dev").glob(pattern)]
    readable = [path for path in _READABLE if Path(path).exists()]
    readable += map(str, Path("/sys/devices").glob("pci*"))  # a GPU may hang on any of the machine's buses
    own = {f"/proc/{pid}": landlock.READ, f"/proc/{pid}/task": landlock.READ_AND_WRITE}
    return dict.fromkeys(readable, landlock.READ) | dict.fromkeys(devices, landlock.DEVICE) | own


def full_precision() -> None:
    """Products of matrices are summed in float32 and, of float32 ones, computed in it; touches no GPU."""
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def check(device: str) -> None:
    """Raises if the device does not compute: after a submission was killed, this is how we know that it is well."""
    ones = torch.ones(_SIZE, _SIZE, device=device)
    found = float((ones @ ones).sum())
    if found != _SIZE**3:
        raise RuntimeError(f"the GPU computes {found} instead of {_SIZE**3}")


def untouched() -> bool:
    """Whether this process may still fork children that use CUDA."""
    return not torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
