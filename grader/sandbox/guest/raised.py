"""An exception as data. Nothing in it is trusted to behave: names, texts and tracebacks may raise or lie."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

_MESSAGE_CHARACTERS = 4000
_FRAMES = 30
_LIMITS = {errno.EMFILE: "descriptors", errno.EFBIG: "files", errno.ENOSPC: "files"}
# themselves only: a subclass's attributes may be of its own making
_OF_THE_PARSER = (SyntaxError, IndentationError, TabError)
_errno = OSError.__dict__["errno"].__get__


def tell(error: BaseException, file: str) -> dict[str, Any]:
    """Type, module, text, line, and the frames that are in `file`, outermost first; for a syntax error its place."""
    kind = type(error)
    told: dict[str, Any] = {
        "type": class_text(kind, "__name__"),
        "module": class_text(kind, "__module__"),
        "message": clean(_text(error), _MESSAGE_CHARACTERS),
    }
    frames = list(_frames(error, file))[-_FRAMES:]
    if kind in _OF_THE_PARSER:
        assert isinstance(error, SyntaxError)
        text = clean(error.text, _MESSAGE_CHARACTERS) if type(error.text) is str else None
        told |= {"line": _number(error.lineno), "column": _number(error.offset), "text": text}
        told["message"] = clean(_text(error.msg), _MESSAGE_CHARACTERS)
    return told | {"frames": frames} | ({"line": frames[-1][0]} if frames else {})


def limit_of(error: BaseException) -> str | None:
    """The limit at which a call failed, if that is what the exception says."""
    number = _errno(error) if issubclass(type(error), OSError) else None
    return _LIMITS.get(number) if type(number) is int else None


def class_text(kind: type, name: str) -> str:
    """A class's `__name__` or `__module__`, past whatever its metaclass says."""
    if name == "__name__":
        return clean(str(type.__dict__["__name__"].__get__(kind)))
    module = type.__dict__["__dict__"].__get__(kind).get("__module__", "builtins")
    return clean(module) if type(module) is str else "?"


def clean(text: str, length: int = 100) -> str:
    """So much of a text as a reply may hold, without the halves of characters that are no Unicode."""
    return text[:length].encode("utf-8", "replace").decode()


def _number(value: Any) -> int | None:
    """A line or column, if it is one."""
    return value if type(value) is int and 0 <= value <= 1 << 20 else None


def _text(value: Any) -> str:
    """What `str` makes of it, if it makes anything."""
    try:
        text = str(value)
    except BaseException:
        return "(the exception's text could not be read: it raised an exception itself)"
    return text if type(text) is str else ""


def _frames(error: BaseException, file: str) -> Iterator[tuple[int, str]]:
    entry = BaseException.__dict__["__traceback__"].__get__(error)
    while entry is not None:
        code = entry.tb_frame.f_code
        if code.co_filename == file:
            yield _number(entry.tb_lineno) or 0, clean(code.co_name)
        entry = entry.tb_next
