"""Why a source could not be loaded, in words: too long, not text, or what the sandbox says of it."""

from __future__ import annotations

from grader.exceptions import public_error
from grader.records import CaseReport, ErrorInfo
from grader.texts import clean


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
    """The exception that ended loading, or the supervisor's word for what did."""
    if report.raised:
        return public_error(report.raised, source)
    return ErrorInfo(type=report.outcome.value, message=clean(report.reason), line=None, traceback=None)
