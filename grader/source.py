"""Submissions from files: read with a limit, decoded as Python decodes a source (PEP 263)."""

from __future__ import annotations

import io
import os
import sys
import tokenize
from pathlib import Path

from grader.errors import UsageError
from grader.feedback.loading import complaint
from grader.records import ErrorInfo

STANDARD_INPUT = "-"
_BYTES_PER_CHARACTER = 4  # no encoding needs more for what UTF-8 says in one byte


def shown(path: Path) -> str:
    """A path as a person would name it: from the current folder if it lies below, else in full."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def check(file: str) -> None:
    """Raises UsageError for what can't be read."""
    if file == STANDARD_INPUT:
        return
    path = Path(file)
    if path.is_dir():
        raise UsageError(f"{file} is a folder: give the files in it, for example {file.rstrip('/')}/*.py")
    if not path.exists():
        raise UsageError(f"no file {file}: check its name")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{file} can't be read: check its permissions")


def read(file: str, limit: int) -> str | ErrorInfo:
    """The text of a file ("-": standard input), or why it is none. `limit`: bytes that a source may have."""
    enough = _BYTES_PER_CHARACTER * limit + 1
    try:
        if file == STANDARD_INPUT:
            return decode(sys.stdin.buffer.read(enough), limit)
        with Path(file).open("rb") as stream:
            return decode(stream.read(enough), limit)
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from error


def decode(data: bytes, limit: int) -> str | ErrorInfo:
    """Byte order mark, encoding comment or UTF-8; what is too long in any encoding is not decoded."""
    if len(data) > _BYTES_PER_CHARACTER * limit:
        return complaint(f"the source is longer than the limit of {limit:,} bytes")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except SyntaxError as error:
        return complaint(str(error.msg))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return complaint(f"not {error.encoding}: {error.reason} (byte {error.start})", line)
    except (LookupError, ValueError) as error:
        return complaint(str(error))
