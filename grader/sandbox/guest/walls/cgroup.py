"""A memory cgroup for each lane, where the guest may make one: a wall around everything that a submission can hold.

The lane joins once, and all its children are born inside, so nobody waits for it. Two generations of cgroups are known;
where neither can be had (an ordinary user, most containers) the lane's own looks have to do, and a container's limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_NAME = "grader-lane-"


@dataclass(frozen=True, kw_only=True)
class Group:
    """A memory cgroup; `second`: of the second generation."""

    folder: Path
    second: bool

    def allow(self, more_bytes: int) -> None:
        """Sets the limit to what is in use now and `more_bytes`."""
        used = int((self.folder / ("memory.current" if self.second else "memory.usage_in_bytes")).read_text())
        self._limit(str(used + more_bytes))

    def lift(self) -> None:
        """Takes the limit away: what a dead process had is given back late, and nobody is to die for it."""
        self._limit("max" if self.second else "-1")

    def _limit(self, text: str) -> None:
        (self.folder / ("memory.max" if self.second else "memory.limit_in_bytes")).write_text(text)

    def kills(self) -> int:
        """How often the kernel has killed in it for want of memory."""
        text = (self.folder / ("memory.events" if self.second else "memory.oom_control")).read_text()
        return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill "))


def join() -> Group | None:
    """Makes a cgroup for the calling process and moves it there; None where that can't be had."""
    for parent, second in _places():
        folder = parent / f"{_NAME}{os.getpid()}"
        with suppress(OSError):
            folder.mkdir()
            if (folder / ("memory.max" if second else "memory.limit_in_bytes")).exists():
                (folder / "cgroup.procs").write_text(str(os.getpid()))
                return Group(folder=folder, second=second)
        with suppress(OSError):
            folder.rmdir()
    return None


def own() -> Group | None:
    """The cgroup that this process is in already, to hear of kills: a container's, say."""
    for folder, second in ((_ROOT, True), (_ROOT / "memory", False)):
        if (folder / ("memory.events" if second else "memory.oom_control")).exists():
            return Group(folder=folder, second=second)
    return None


def sweep() -> None:
    """Removes the cgroups of lanes that are gone; the kernel keeps those that are in use."""
    for parent, _second in _places():
        for folder in parent.glob(f"{_NAME}*"):
            with suppress(OSError):
                folder.rmdir()


def _places() -> Iterator[tuple[Path, bool]]:
    """Where a cgroup may be made: below ours, or (second generation) beside it."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _number, controllers, path = line.split(":", 2)
            if "memory" in controllers.split(","):
                yield _ROOT / "memory" / path.strip("/"), False
            elif not controllers and (_ROOT / "cgroup.controllers").exists():
                own = _ROOT / path.strip("/")
                yield from ((folder, True) for folder in (own, own.parent) if folder.is_relative_to(_ROOT))
