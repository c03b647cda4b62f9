"""What /proc says of the processes that a lane watches: who descends from whom, what each uses."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

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
    """Resident bytes that belong to no file: an upper bound of what the process holds, shared pages counted in full."""
    status = _status(pid)
    return (status.get("RssAnon", 0) + status.get("RssShmem", 0)) << 10


def proportional_memory(pid: int) -> int | None:
    """The same with shared pages divided among their holders; None where we may not look."""
    try:
        lines = _read(f"/proc/{pid}/smaps_rollup").splitlines()
    except PermissionError:
        return None
    except OSError:
        return 0
    parts = dict(line.split(":", 1) for line in lines[1:])
    return sum(int(parts[key].split()[0]) << 10 for key in ("Pss_Anon", "Pss_Shmem"))


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


def folder_bytes(folder: Path) -> int:
    """Disk space below a folder, 4 KiB for each entry; links are not followed."""
    total, queue = 0, [str(folder)]
    while queue:
        with suppress(OSError), os.scandir(queue.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    total += 4096 + entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
    return total


def remove_folder(folder: Path, uid: int) -> None:
    """Removes a folder and all that a submission left in it, by an own process with the submission's uid."""
    with suppress(OSError):
        folder.rmdir()
        return
    pid = os.fork()
    if pid == 0:
        _empty_as(uid, folder)
    os.waitpid(pid, 0)
    folder.rmdir()


def _empty_as(uid: int, folder: Path) -> NoReturn:
    try:
        if uid != os.geteuid():
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        for root, folders, _files in os.walk(folder):
            for path in (Path(root, name) for name in folders):
                if not path.is_symlink():
                    path.chmod(0o700)
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    finally:
        os._exit(0)


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
        return {row[0].rstrip(":"): int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
    return {}


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")
