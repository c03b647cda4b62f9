"""Files are decoded as Python decodes a source, and whatever is in one, an answer comes back."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import ErrorInfo
from grader.source import decode

EXAMPLES = int(os.environ.get("GRADER_FUZZ_EXAMPLES", "100"))
LIMIT = 1000
COOKIES = st.sampled_from(["latin-1", "utf-8", "utf-7", "rot13", "hex", "punycode", "idna", "undefined", "utf-16", "x"])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"x = 1\r\n", "x = 1\r\n"),
        (b"\xef\xbb\xbfx = 1", "x = 1"),
        ("# coding: latin-1\n# é".encode("latin-1"), "# coding: latin-1\n# é"),
        ("#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n# €".encode("cp1252"), None),
        ("# été".encode(), "# été"),
        (b"", ""),
    ],
)
def test_decode(data: bytes, expected: str | None) -> None:
    """Byte order marks, encoding comments in the first two lines, and UTF-8 otherwise."""
    text = decode(data, LIMIT)

    assert text == (expected if expected is not None else data.decode("cp1252"))


@pytest.mark.parametrize(
    "data",
    [
        "# é".encode("latin-1"),
        b"\xef\xbb\xbf# coding: latin-1\n",
        b"# coding: no-such-thing\n",
        b"# coding: rot13\nk = 1\n",
        "x = 1".encode("utf-16"),
        b"#" * (4 * LIMIT + 1),
    ],
)
def test_not_decodable(data: bytes) -> None:
    """What Python would refuse, or what is too long in any encoding, is told as a syntax error."""
    told = decode(data, LIMIT)

    assert isinstance(told, ErrorInfo)
    assert told.type == "SyntaxError"
    assert told.message


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=200), COOKIES)
def test_fuzz_decode(data: bytes, cookie: str) -> None:
    """Whatever the bytes and the encoding comment, there is a text or a reason, and no exception."""
    for content in (data, f"# coding: {cookie}\n".encode() + data):
        assert isinstance(decode(content, LIMIT), str | ErrorInfo)
