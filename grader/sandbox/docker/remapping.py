"""An engine with --userns-remap: root of a container is somebody else here, and so is this worker seen from there."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LENGTH = 1 << 16  # of an engine's ranges, as useradd makes them
_NOBODY = 65534  # as whom a user namespace shows everybody who has no uid in it
_IDS = re.compile(r"(\d+)\.\d+")


@dataclass(frozen=True, kw_only=True)
class Remapping:
    """Which user of the host root of a container is."""

    uid: int = 0

    def own(self, folder: Path) -> None:
        """Has a container's root write in a folder. OSError where this process may not see to it."""
        if self.uid != 0:
            os.chown(folder, self.uid, -1)

    @property
    def peer_uid(self) -> int:
        """This process's uid, as a container sees it."""
        inside, outside, _length = map(int, Path("/proc/self/uid_map").read_text(encoding="ascii").split()[:3])
        uid = os.geteuid() - inside + outside - self.uid
        return uid if self.uid == 0 or 0 <= uid < _LENGTH else _NOBODY


def found(info: dict[str, Any], userns: str | None) -> Remapping:
    """From GET /info: the engine's data lie in a folder that is named by whom root is."""
    remaps = any(option.startswith("name=userns") for option in info.get("SecurityOptions") or ())
    ids = _IDS.fullmatch(Path(str(info.get("DockerRootDir"))).name)
    if not remaps or userns == "host" or ids is None:
        return Remapping()
    return Remapping(uid=int(ids[1]))
