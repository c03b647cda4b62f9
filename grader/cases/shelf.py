"""Where a service keeps cases for all its machines, seen from here: a protocol, and the copying to and from the files.

A package that has such a place names a function in the entry point group `grader.cases`; it returns a Shelf, or None
where there is none to be used now. The shelf is authoritative: what is active there is active here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol

GROUP = "grader.cases"


@dataclass(frozen=True, kw_only=True)
class Active:
    """The version that counts, and the package's sources (file -> sha256) when it was made the active one."""

    version: str
    sources: Mapping[str, str]


class Shelf(Protocol):
    """Versions of cases, shared by several machines."""

    def versions(self, slug: str) -> Collection[str]:
        """All versions."""

    def active(self, slug: str) -> Active | None:
        """The version that counts, None where there is none."""

    def fetch(self, slug: str, version: str) -> Mapping[str, bytes]:
        """The files of one version by name."""

    def put(self, slug: str, active: Active, files: Mapping[str, bytes]) -> None:
        """Stores a version if it is new and activates it, in one step."""


def shared() -> Shelf | None:
    """The shelf that is to be used now, if any."""
    for entry in entry_points(group=GROUP):
        find: Callable[[], Shelf | None] = entry.load()
        if (found := find()) is not None:
            return found
    return None
