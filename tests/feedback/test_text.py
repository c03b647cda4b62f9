"""Texts from submissions are harmless, and exceptions tell of hidden cases only what the contract allows."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.feedback.exceptions import OWN_EXCEPTION, hidden_error, public_error
from grader.records import Raised
from grader.text import clean, clean_line, source_lines


@given(st.text(max_size=300), st.integers(1, 200))
def test_fuzz_clean(text: str, limit: int) -> None:
    """Whatever the text, what is shown is short, can be encoded, and holds no control character but LF and TAB."""
    shown = clean(text, limit)

    assert len(shown) <= limit + len("... (cut)")
    assert json.loads(json.dumps(shown.encode().decode())) == shown
    assert not [sign for sign in shown if (sign < " " and sign not in "\n\t") or "\x7f" <= sign < "\xa0"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\0b", "a\u2400b"),
        ("\x1b[31mred", "\u241b[31mred"),
        ("half \ud800", "half \ufffd"),
        ("\u202egnip", "\ufffdgnip"),
        ("\u200fmark\u200e", "\ufffdmark\ufffd"),
        ("two\r\nlines", "two\nlines"),
        ("été, 中文", "été, 中文"),
    ],
)
def test_clean(text: str, expected: str) -> None:
    """NUL, terminal codes, half surrogates and bidi overrides become visible signs; letters stay."""
    assert clean(text) == expected


def test_a_line_is_one_line() -> None:
    """What is shown in a line has no break of any kind in it."""
    assert clean_line("a\nb\tc\u2028d\u2029e\rf") == "a b c d e\u240df"


def test_cut_is_said() -> None:
    """A text that was cut says so."""
    assert clean("x" * 10, 4) == "xxxx... (cut)"


def test_lines_as_python_counts_them() -> None:
    """A form feed or a Unicode line separator ends no line."""
    assert source_lines("a\r\nb\rc\nd\x0ce\u2028f") == ["a", "b", "c", "d\x0ce\u2028f"]


@pytest.mark.parametrize(
    ("kind", "module", "expected"),
    [
        ("ValueError", "builtins", "ValueError"),
        ("OutOfMemoryError", "torch", "OutOfMemoryError"),
        ("secret_0_125", "builtins", OWN_EXCEPTION),
        ("print", "builtins", OWN_EXCEPTION),
        ("ValueError", "submission", OWN_EXCEPTION),
        ("OutOfMemoryError", "torch.secret_0_125", OWN_EXCEPTION),
    ],
)
def test_hidden_exception(kind: str, module: str, expected: str) -> None:
    """Of a hidden case's exception the type is shown only if Python or torch really has it; never a text."""
    error = hidden_error(Raised(type=kind, module=module, message="secret", line=2, frames=((2, "secret"),)), "a\nb")

    assert (error.type, error.message, error.line, error.traceback) == (expected, None, 2, None)


def test_line_outside_of_the_source() -> None:
    """A line that the source does not have is not shown: it could be any number."""
    assert hidden_error(Raised(type="ValueError", module="builtins", message="", line=4711), "a\nb").line is None


def test_caret() -> None:
    """A syntax error shows its line with a caret below the column."""
    told = Raised(type="SyntaxError", module="builtins", message="expected ':'", line=2, column=12)

    assert public_error(told, "import x\n    def f(x)\n").traceback == "line 2\n    def f(x)\n           ^"


def test_traceback() -> None:
    """A traceback holds the learner's own frames, with the source's text."""
    told = Raised(type="E", module="x", message="", line=1, frames=((2, "<module>"), (1, "f"), (99, "g")))

    assert public_error(told, "    raise E\nf()").traceback == "line 2, in <module>\n    f()\nline 1, in f\n    raise E"
