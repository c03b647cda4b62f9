"""Why a source could not be loaded, in words: too long, not text, or what the sandbox says of it."""

from __future__ import annotations

from grader.feedback.exceptions import public_error
from grader.records import CaseReport, ErrorInfo
from grader.text import clean, clean_line


def refusal(source: str, limit: int) -> ErrorInfo | None:
    """Why a source is not even tried; None if it is. `limit`: bytes in UTF-8."""
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > limit:
        return complaint(f"the source has {size:,} bytes in UTF-8; the limit is {limit:,}")
    for line, text in enumerate(source.split("\n"), 1):
        if "\0" in text:
            return complaint("the source contains a NUL character: is it a text file?", line)
        if any("\ud800" <= character <= "\udfff" for character in text):
            return complaint("the source contains half a surrogate pair, which is no character", line)
    return None


def complaint(message: str, line: int | None = None) -> ErrorInfo:
    """What is wrong with a source, as the SyntaxError that Python would make of it."""
    return ErrorInfo(type="SyntaxError", message=message, line=line, traceback=None)


def error(report: CaseReport, source: str) -> ErrorInfo | None:
    """The exception that ended loading, None where none did."""
    return public_error(report.raised, source) if report.raised else None


def reason(error: ErrorInfo | None, report: CaseReport | None = None) -> str:
    """Why loading failed: "SyntaxError in line 3: expected ':'", or the supervisor's word for what ended it."""
    if error is None:
        return clean(report.reason) if report else ""
    line = f" in line {error.line}" if error.line else ""
    return f"{error.type}{line}: {clean_line(error.message, 300)}" if error.message else f"{error.type}{line}"
