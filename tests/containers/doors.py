"""A door in front of the Docker Engine that can be shut: for a client the engine then is away, or hangs."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from pathlib import Path


class Door:
    """Passes bytes between its own socket and the engine's. `away`: nobody listens. `hang` and `go_on`: nothing passes
    meanwhile, and what was sent arrives later, as with an engine that was stopped and continued."""

    def __init__(self, path: Path, engine: str) -> None:
        self._path, self._engine = path, engine
        self._open = threading.Event()
        self._open.set()
        self._listening: socket.socket | None = None
        self._passing: list[socket.socket] = []
        self.back()

    def back(self) -> None:
        """Somebody listens again."""
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self._path))
        self._listening.listen(64)
        threading.Thread(target=self._serve, args=(self._listening,), daemon=True).start()

    def away(self) -> None:
        """Nobody listens, and connections that were open break."""
        if self._listening is not None:
            self._listening.shutdown(socket.SHUT_RDWR)
        self._path.unlink(missing_ok=True)
        for one in self._passing:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._passing.clear()

    def hang(self) -> None:
        """No byte passes."""
        self._open.clear()

    def go_on(self) -> None:
        """What was held up passes now."""
        self._open.set()

    def _serve(self, listening: socket.socket) -> None:
        with listening, contextlib.suppress(OSError):
            while True:
                near, far = listening.accept()[0], socket.socket(socket.AF_UNIX)
                self._passing.append(near)
                threading.Thread(target=self._pass_on, args=(near, far), daemon=True).start()

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        with near, far, contextlib.suppress(OSError):
            far.connect(self._engine)
            while True:
                for source in select.select([near, far], [], [])[0]:
                    data = source.recv(1 << 16)
                    self._open.wait()
                    if not data:
                        return
                    (far if source is near else near).sendall(data)
