"""Small files that have to be whole: written so that they survive a crash, read so that damage is named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from grader.errors import CasesError


def write(path: Path, data: bytes) -> None:
    """A new file that only its owner may read, on the disk when this returns."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync(folder: Path) -> None:
    """Sees to it that the folder's entries are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path) -> bytes:
    """All bytes. Raises CasesError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CasesError(f"{path}: {error.strerror}: run `grader cases regenerate`, or roll back") from error


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object. Raises CasesError."""
    try:
        value = json.loads(read(path))
    except ValueError as error:
        raise altered(path) from error
    if not isinstance(value, dict):
        raise altered(path)
    return value


def altered(path: Path) -> CasesError:
    """The error for a file that is not what was written."""
    return CasesError(f"{path}: was cut short or altered: run `grader cases regenerate`, or roll back")
