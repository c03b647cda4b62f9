"""What a child printed: counted as long as it runs, kept up to a size until the first hidden call."""

from __future__ import annotations

_SHOWN_BYTES = 64 << 10  # of each stream


class Output:
    """Both streams of one run. shown: whether what comes now may be kept; truncated: not all of that was kept."""

    def __init__(self) -> None:
        self.total_bytes = 0
        self.shown, self.truncated = True, False
        self._kept = {"stdout": bytearray(), "stderr": bytearray()}

    def keep(self, stream: str, data: bytes) -> None:
        """Takes what came on one stream."""
        self.total_bytes += len(data)
        if self.shown:
            room = _SHOWN_BYTES - len(self._kept[stream])
            self._kept[stream] += data[:room]
            self.truncated |= len(data) > room

    def text(self, stream: str) -> str:
        """What was kept of a stream."""
        return self._kept[stream].decode("utf-8", errors="replace")
