"""What /proc says of the processes that a lane watches: who descends from whom, what each uses."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_SYS_ADMIN = 21
_FIRST_UID, _UIDS_PER_LANE = 0x40000000, 64


def children(pid: int) -> list[int]:
    """Direct children of `pid`, zombies included; [] if it is gone."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, _read(f"{task}/children").split())
    return found


def descendants(pid: int, leaving_out: set[int]) -> list[int]:
    """Everybody below `pid`, without the trees of `leaving_out`."""
    found: list[int] = []
    queue = [child for child in children(pid) if child not in leaving_out]
    while queue:
        current = queue.pop()
        found.append(current)
        queue += children(current)
    return found


def count_tasks(pids: list[int]) -> int:
    """Processes and threads together."""
    return sum(_status(pid).get("Threads", 1) for pid in pids)


def memory(pid: int) -> int:
    """Bytes in use that belong to no file, page tables among them: the most that the process holds."""
    status = _memory_status(pid)[1]
    return sum(status.get(key, 0) for key in ("RssAnon", "RssShmem", "VmSwap", "VmPTE")) << 10


def _memory_status(pid: int) -> tuple[int, dict[str, int]]:
    """The thread by which the kernel tells of a process's memory, and its status: the first may end before others."""
    status = _status(pid)
    if "VmSize" not in status:
        with suppress(OSError):
            tasks = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
            return next(((task, told) for task in tasks if "VmSize" in (told := _status(task))), (pid, status))
    return pid, status


def proportional_memory(pid: int) -> int | None:
    """The same with shared pages divided among their holders; None where we may not look."""
    thread, status = _memory_status(pid)
    try:
        lines = _read(f"/proc/{thread}/smaps_rollup").splitlines()
    except PermissionError:
        return None
    except OSError:
        return 0
    parts = dict(line.split(":", 1) for line in lines[1:])
    shares = sum(int(parts[key].split()[0]) for key in ("Pss_Anon", "Pss_Shmem"))
    return (shares + status.get("VmPTE", 0)) << 10


def data_bytes(pid: int) -> int:
    """The size of a process's data as RLIMIT_DATA counts it."""
    return _status(pid).get("VmData", 0) << 10


def cpu(pid: int) -> float:
    """Seconds of CPU time, its buried children's included; 0 if it is gone."""
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


def spare_uid(lane: int, count: int) -> int:
    """A uid that no person and no other waiting child of this machine has: from the lane's pid and a counter.

    Inside a user namespace with few uids, from the upper half of those.
    """
    wanted = _FIRST_UID + (lane % (1 << 22)) * _UIDS_PER_LANE + count % _UIDS_PER_LANE
    inside, _outside, length = map(int, _read("/proc/self/uid_map").split()[:3])
    if wanted < inside + length:
        return wanted
    half = length // 2
    return inside + half + (lane * _UIDS_PER_LANE + count) % (length - half)


def may_mount() -> bool:
    """Whether this process is root with CAP_SYS_ADMIN; asked first, since trying may be death in a container."""
    lines = (line.split() for line in _read("/proc/self/status").splitlines())
    capabilities = next(int(words[1], 16) for words in lines if words[0] == "CapEff:")
    return os.geteuid() == 0 and bool(capabilities >> _SYS_ADMIN & 1)


def volunteer_for_the_killer() -> None:
    """When memory runs out, the kernel kills this process before any of ours."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _status(pid: int) -> dict[str, int]:
    """The numbers of /proc/PID/status; {} if the process is gone."""
    with suppress(OSError):
        rows = (line.split() for line in _read(f"/proc/{pid}/status").splitlines())
        return {
            row[0].rstrip(":"): int(row[1]) for row in rows if len(row) > 1 and row[1].isascii() and row[1].isdigit()
        }
    return {}


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")
