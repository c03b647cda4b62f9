"""What a submission's exception is taken for: by its own word only where that can't hurt."""

from __future__ import annotations

import builtins
import re
import sys

from grader.records import ErrorInfo, Raised
from grader.text import clean, clean_line, source_lines

OWN_EXCEPTION = "an exception of your own"
_ALLOCATION_FAILED = re.compile(
    r"DefaultCPUAllocator: (can't allocate|not enough) memory|std::bad_alloc|Errno 12\]|"
    r"Cannot allocate memory|CUDA out of memory|CUDA error: out of memory|CU(BLAS|SOLVER|DNN)_STATUS_ALLOC_FAILED"
)


def is_allocation_failure(raised: Raised) -> bool:
    """Whether memory could not be had (`MemoryError`, torch's own error), real or raised by hand."""
    if raised.type in {"MemoryError", "_ArrayMemoryError", "OutOfMemoryError"}:
        return True
    return raised.type in {"RuntimeError", "OSError"} and bool(_ALLOCATION_FAILED.search(raised.message))


def known_type(raised: Raised) -> str | None:
    """The exception's name if Python or torch really has one of that name there, else None."""
    if raised.module != "builtins" and raised.module.split(".")[0] != "torch":
        return None
    owner = builtins if raised.module == "builtins" else sys.modules.get(raised.module)
    found = vars(owner).get(raised.type) if owner else None  # getattr would have torch import what it puts off
    return raised.type if isinstance(found, type) and issubclass(found, BaseException) else None


def own_line(raised: Raised, source: str) -> int | None:
    """The line in the learner's source, None where there is no such line."""
    line = raised.line
    return line if line is not None and 1 <= line <= len(source_lines(source)) else None


def public_error(raised: Raised, source: str) -> ErrorInfo:
    """Everything that the learner may see of an exception outside of hidden cases."""
    return ErrorInfo(
        type=clean_line(raised.type),
        message=clean(raised.message),
        line=own_line(raised, source),
        traceback=traceback(raised, source),
    )


def hidden_error(raised: Raised, source: str) -> ErrorInfo:
    """What may be seen of an exception in a hidden case: a type that it did not make up, and a line."""
    return ErrorInfo(
        type=known_type(raised) or OWN_EXCEPTION, message=None, line=own_line(raised, source), traceback=None
    )


def traceback(raised: Raised, source: str) -> str | None:
    """The learner's own frames with their source lines, as Python prints them; a caret for syntax errors."""
    lines = source_lines(source)
    frames = [frame(lines, line, function) for line, function in raised.frames[-20:] if 1 <= line <= len(lines)]
    if frames:
        return "\n".join(frames)
    line = own_line(raised, source)
    return pointed(lines[line - 1], line, raised.column) if line else None


def frame(lines: list[str], line: int, function: str) -> str:
    """One frame of a traceback."""
    return f"line {line}, in {clean_line(function)}\n    {clean_line(lines[line - 1].strip(), 200)}"


def pointed(text: str, line: int, column: int | None) -> str:
    """A source line, with a caret below `column` (1-based)."""
    stripped = text.lstrip()
    shown = f"line {line}\n    {clean_line(stripped, 200)}"
    offset = (column or 0) - 1 - (len(text) - len(stripped))
    return f"{shown}\n    {' ' * offset}^" if column and 0 <= offset <= 200 else shown
