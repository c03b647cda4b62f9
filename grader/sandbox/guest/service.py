"""The guest as a service of its own: where it listens, its sign of life, and when it makes room for a fresh one.

Theory of operation. Lanes tell the zygote of every run that ended, one byte each. After as many as were asked for,
after a violation, or when something of ours broke, the guest takes no more connections, lets runs that are under way
end, and exits; whoever started it starts the next one. A guest that is younger than `_YOUNG_S` goes on until it is not:
Docker waits twice as long before each restart of what ran for less, and violations must not make it slow to come back.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ENDED, VIOLATED, BROKE = b"e", b"v", b"b"
_YOUNG_S = 10.0
_BACKLOG = 64


def listen(folder: Path, device: str) -> tuple[socket.socket, Path]:
    """A socket below `folder`, named by machine and device, for its owner and group; it appears when it can be used."""
    path = folder / f"{socket.gethostname()}.{device.partition(':')[0]}.sock"
    new = path.with_suffix(".new")
    _forget_the_dead(folder)
    new.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(str(new))
    new.chmod(0o660)
    listening.listen(_BACKLOG)
    new.rename(path)
    return listening, path


def _forget_the_dead(folder: Path) -> None:
    """Removes sockets at which nobody listens any more: those of containers that are gone."""
    for path in folder.glob("*.sock"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            probe.setblocking(False)
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
            except OSError:
                continue


def children_folder(folder: Path) -> Path:
    """A folder of its own for work folders: strangers may pass, and only we may look."""
    children = folder / "children"
    children.mkdir(exist_ok=True)
    children.chmod(0o711)
    return children


def peer_uid(connection: socket.socket) -> int:
    """The uid of the process that connected, as the kernel knows it."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[4:8], "little")


@dataclass(kw_only=True)
class Reports:
    """Both ends of both pipes: lanes write to `news`; that `drain` has ended tells them to end too."""

    news: tuple[int, int] = field(default_factory=os.pipe)
    drain: tuple[int, int] = field(default_factory=os.pipe)

    def for_lane(self) -> None:
        """In a lane: the zygote's ends are closed."""
        os.close(self.news[0])
        os.close(self.drain[1])

    def tell(self, what: bytes) -> None:
        """From a lane to the zygote."""
        with suppress(OSError):
            os.write(self.news[1], what)


@dataclass(kw_only=True)
class Retirement:
    """When this guest has done enough. submissions: None for never by number; alive: the file that is touched."""

    submissions: int | None
    alive: Path | None
    began: float = field(default_factory=time.monotonic)
    runs: int = 0
    soiled: bool = False

    def hear(self, news: bytes) -> None:
        """Takes note of what lanes told."""
        self.runs += len(news) - news.count(BROKE)
        self.soiled |= VIOLATED in news or BROKE in news

    def is_due(self) -> bool:
        """Whether it is time to make room."""
        if self.submissions is None:
            return False
        return self.runs >= self.submissions or (self.soiled and time.monotonic() - self.began > _YOUNG_S)

    def beat(self) -> None:
        """The sign of life that the container's health check looks at."""
        if self.alive is not None:
            self.alive.touch()
