"""Files parsed at the door into closed records: what breaks the schema becomes one sentence that says how to mend it.

An unknown or missing key, or a value of the wrong kind, is a ProblemError that names file and key.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from grader.errors import ProblemError

FORMAT_HELP = "docs/problem-format.md explains every key"
SHOWN_CHARACTERS = 60
UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
"""What pydantic calls an unknown key."""


class Closed(BaseModel):
    """A frozen record that takes no key it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def not_readable(path: Path, error: OSError) -> ProblemError:
    """What to say of a file or folder that can't be read."""
    return ProblemError(f"{path}: {error.strerror}: it has to be readable by uid {os.geteuid()}")


def read_text(path: Path) -> str:
    """A text file of the package, UTF-8, not empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ProblemError(f"{path}: the file is missing: write it ({FORMAT_HELP})") from None
    except OSError as error:
        raise not_readable(path, error) from None
    except UnicodeDecodeError as error:
        raise ProblemError(f"{path}: not UTF-8 at byte {error.start}: save it as UTF-8") from None
    if not text.strip():
        raise ProblemError(f"{path}: the file is empty: write it ({FORMAT_HELP})")
    return text


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as tables. Raises ProblemError with the line of a syntax error."""
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ProblemError(f"{path}: not TOML: {error}") from None


Record = TypeVar("Record", bound=Closed)


def parse(path: Path, record: type[Record], table: Mapping[str, Any], *, where: str = "") -> Record:
    """A TOML table as a record. Raises ProblemError for the first thing that is wrong with it."""
    try:
        return record.model_validate_json(json.dumps(table, default=str))
    except ValidationError as error:
        raise ProblemError(f"{path}: {explain(_first(error.errors()), record, where)}") from None


def _first(errors: list[ErrorDetails]) -> ErrorDetails:
    """The error to tell: an unknown key before a missing one, since a misspelt key is both."""
    return next((error for error in errors if error["type"] in UNKNOWN), errors[0])


def explain(error: ErrorDetails, record: type[Closed], where: str) -> str:
    """One error of pydantic's as a sentence: which key, what is wrong with it, how to mend it."""
    key = key_path(error["loc"], where)
    match error["type"]:
        case "missing":
            return f"missing key `{key}`: add it ({FORMAT_HELP})"
        case kind if kind in UNKNOWN:
            return f"unknown key `{key}`: {suggestion(error['loc'], record)} ({FORMAT_HELP})"
        case "value_error":
            return f"key `{key}`: {error['ctx']['error']}"
        case _:
            return f"key `{key}`: {error['msg']}, found {shorten(error['input'])}: change the value ({FORMAT_HELP})"


def key_path(location: tuple[int | str, ...], where: str) -> str:
    """("entry", "parameters", 0, "name") as entry.parameters[0].name; types that pydantic tried are left out."""
    path = where
    for part in location:
        if part not in ("int", "float", "bool", "str"):
            path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path or "(the whole file)"


def suggestion(location: tuple[int | str, ...], record: type[Closed]) -> str:
    """What to do about an unknown key: the known one that looks most like it, or all known ones."""
    known = known_keys(location[:-1], record)
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"take it out, or use one of {', '.join(known)}"


def known_keys(location: tuple[int | str, ...], record: type[Closed]) -> list[str]:
    """The keys that the table at this place may have, found by walking the records' annotations."""
    names = [part for part in location if isinstance(part, str)]
    found: Any = record
    for name in names:
        found = table_type(found.model_fields[name].annotation)
    return list(found.model_fields) if issubclass(found, BaseModel) else [field.name for field in fields(found)]


def table_type(annotation: Any) -> Any:
    """The record in an annotation such as `tuple[Source, ...]` or `Series | None`."""
    inner = [argument for argument in get_args(annotation) if argument not in (type(None), Ellipsis)]
    return table_type(inner[0]) if inner else annotation


def shorten(value: object) -> str:
    """A value as it is shown in a message."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."
