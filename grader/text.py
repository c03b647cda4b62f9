"""Makes texts that a submission wrote fit to be stored and shown: no NUL, surrogates, terminal or bidi tricks."""

from __future__ import annotations

import re

MESSAGE_LIMIT = 2_000
NAME_LIMIT = 80
OUTPUT_LIMIT = 64 << 10

_KEPT = "\n\t"
_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in _KEPT} | {0x7F: "\u2421"}
_C1 = dict.fromkeys(range(0x80, 0xA0), "\ufffd")
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_BIDI = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")
_HARMLESS = _CONTROLS | _C1 | _SURROGATES | _BIDI


def clean(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """The text with control characters as visible signs, at most `limit` characters long; a cut says so."""
    cut, shown = len(text) > limit, text[:limit].replace("\r\n", "\n").translate(_HARMLESS)
    return f"{shown}... (cut)" if cut else shown


def clean_line(text: str, limit: int = NAME_LIMIT) -> str:
    """The same in one line, for names."""
    return clean(" ".join(re.split(r"[\n\t\u2028\u2029]", text)), limit)


def source_lines(source: str) -> list[str]:
    """The lines of a source as Python counts them: only CR, LF and CRLF end one."""
    return re.split(r"\r\n|\r|\n", source)


def and_list(words: list[str]) -> str:
    """["a", "b", "c"] -> "a, b and c"."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
