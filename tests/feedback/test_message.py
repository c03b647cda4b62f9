"""What learners are told: public cases everything, hidden ones neither sizes, nor values, nor texts."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from grader.feedback.record import submission_record
from grader.records import CaseResult, Grade

Grading = Callable[..., Grade]

HEAD = "import torch\n\ndef situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):\n"
LINES = """
    g, u = input_tensor @ gate_projection.T, input_tensor @ up_projection.T
    result = gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * up_cap * torch.tanh(u / up_cap)
"""
RIGHT = f"{HEAD}{LINES}    return result\n"

CASE_KEYS = {"name", "visibility", "outcome", "message", "dtype", "time_ms", "detail"}


def first_failing(grade: Grade, visibility: str) -> CaseResult:
    """The first case of that kind that did not pass."""
    return next(case for case in grade.cases if case.visibility == visibility and case.outcome != "passed")


@pytest.mark.parametrize(
    ("body", "public", "hidden"),
    [
        ("    pass", ["None", "`return`"], ["not one plain dense tensor"]),
        (LINES + "    return result, g", ["tuple", "Return one plain dense tensor"], ["not one plain dense tensor"]),
        (LINES + "    return result.tolist()", ["list"], ["not one plain dense tensor"]),
        (LINES + "    return result.to_sparse()", ["sparse"], ["not one plain dense tensor"]),
        (LINES + "    return result[..., :-1]", ["Expected shape [", "d_ff] = [", "d_ff is"], ["d_ff"]),
        (LINES + "    return result.unsqueeze(0)", ["dimensions instead of"], ["another number of dimensions"]),
        (LINES + "    return result.double()", ["Expected dtype float32, got float64"], ["required dtype"]),
        (
            LINES + "    gate_projection.data.mul_(2)\n    return result",
            ["gate_projection (values, first at [0, 0])"],
            ["gate_projection (values)"],
        ),
        (LINES + "    return result * 1.01", ["elements", "Worst at [", "expected", "got", "allowed"], ["tolerance"]),
        (LINES + "    return rslt", ["NameError: name 'rslt' is not defined", "line 7", "`return rslt`"], ["line 7"]),
        (
            "    return input_tensor @ gate_projection",
            [
                "d_in] = [",
                "gate_projection is [d_ff, d_in] = ",
                "Dimension d_in is the last one of input_tensor, the second one of gate_projection",
            ],
            ["line 4", "gate_projection is [d_ff, d_in]"],
        ),
    ],
)
def test_sentences(grade: Grading, body: str, public: list[str], hidden: list[str]) -> None:
    """A public case says what is wrong with names and numbers; a hidden one with names alone."""
    given = grade(f"{HEAD}{body}\n")

    for text in public:
        assert text in first_failing(given, "public").message
    for text in hidden:
        assert text in first_failing(given, "hidden").message


def test_hidden_cases_hold_no_numbers(grade: Grading) -> None:
    """A hidden case has no detail, no time, and no digit in its message."""
    hidden = [
        case
        for case in grade(RIGHT.replace("return result", "return result * 1.01")).cases
        if case.visibility == "hidden"
    ]

    assert len(hidden) >= 32
    for case in hidden:
        assert (case.detail, case.time_ms) == (None, None)
        assert not any(sign.isdigit() for sign in case.message)


def test_only_first_hidden_failure_has_a_line(grade: Grading) -> None:
    """Only the first hidden case that fails tells type and line of an exception; none tells its text."""
    given = grade(f"{HEAD}    raise ValueError('canary', input_tensor.shape)\n")
    hidden = [case for case in given.cases if case.visibility == "hidden" and case.outcome != "passed"]

    assert "ValueError in line 4" in hidden[0].message
    assert not any("line" in case.message or "ValueError" in case.message for case in hidden[1:])
    assert not any("canary" in case.message for case in hidden)


def test_public_detail(grade: Grading) -> None:
    """A public case shows inputs, expected and actual values and the worst element, in JSON."""
    given = grade(RIGHT.replace("return result", "return result * float('nan')"))
    detail = json.loads(json.dumps(first_failing(given, "public").detail, allow_nan=False))

    assert detail.keys() == {"inputs", "expected", "actual", "worst", "mismatched", "truncated"}
    assert detail["inputs"].keys() >= {"input_tensor", "gate_projection", "up_projection"}
    assert detail["worst"].keys() == {"index", "expected", "actual", "error", "allowed"}
    assert detail["worst"]["actual"] == "NaN"
    assert detail["mismatched"] > 0


def test_syntax_error(grade: Grading) -> None:
    """A syntax error has its line and a caret."""
    given = grade("import torch\n\ndef situ_glu(x)\n    return x\n")

    assert given.error is not None
    assert (given.error.type, given.error.line) == ("SyntaxError", 3)
    assert given.error.traceback == "line 3\n    def situ_glu(x)\n                   ^"
    assert "line 3" in given.summary
    assert {case.outcome for case in given.cases} == {"not_run"}


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("def situGLU(a, b, c): ...", ["situ_glu", "situGLU"]),
        ("situ_glu = 3", ["situ_glu", "int"]),
        ("def situ_glu(a, b, c): ...", ["situ_glu(a, b, c)"]),
    ],
)
def test_signature(grade: Grading, source: str, texts: list[str]) -> None:
    """What was expected and what was found, for a missing function and for one that can't take the call."""
    given = grade(source)

    assert given.verdict == "compile_error"
    assert given.error is not None
    assert all(text in (given.error.message or "") for text in texts)


@pytest.mark.parametrize(
    ("source", "note"),
    [
        (RIGHT.replace("return result", "return result.detach()"), "detached"),
        (
            f"{RIGHT.replace('def situ_glu', 'def inner')}situ_glu = lambda x, *a, **k: inner(x.detach(), *a, **k)\n",
            "detached",
        ),
        (RIGHT.replace("return result", "return result + torch.sqrt((g * 0).nan_to_num())"), "nan_gradient"),
        (f"import torch\n{RIGHT}situ_glu = torch.compile(situ_glu)\n", "compiled_eagerly"),
        (f"print('x' * 200_000)\n{RIGHT}", "output_truncated"),
        (
            RIGHT.replace("g, u = ", "wide = input_tensor.dtype\n    g, u = ").replace(
                "return result", "return result if wide != torch.float64 else result.float().double()"
            ),
            "reduced_precision",
        ),
    ],
)
def test_notes(grade: Grading, source: str, note: str) -> None:
    """A note remarks on a right answer without changing its verdict."""
    given = grade(source)

    assert given.verdict == "accepted", given.summary
    assert note in {one.id for one in given.notes}


def test_gradients_of_a_wrong_answer(grade: Grading) -> None:
    """Nothing is said of the gradients of a result that is itself not a number."""
    given = grade(RIGHT.replace("return result", "return result * torch.nan"))

    assert given.verdict == "wrong_answer"
    assert "nan_gradient" not in {one.id for one in given.notes}


def test_right_answer_has_no_notes(grade: Grading) -> None:
    """A plain right answer is accepted without remarks, mistakes, errors or cases that were not run."""
    given = grade(RIGHT)

    assert (given.verdict, given.notes, given.diagnosis, given.error) == ("accepted", (), (), None)
    assert {case.outcome for case in given.cases} == {"passed"}
    assert given.passed == given.total == len(given.cases)


def test_record(grade: Grading) -> None:
    """The record has every key of the contract, whatever the verdict."""
    keys = (
        "id problem mode device subject metadata status queue events_url verdict summary passed total cases_version "
        "cases diagnosis notes error stdout stderr resources created_at finished_at"
    )
    for source in (RIGHT, "1 +"):
        record = submission_record(grade(source), id="1", problem="situ_glu")
        assert list(record) == keys.split()
        for case in record["cases"]:
            assert case.keys() - {"indicative"} == CASE_KEYS
    assert submission_record(None, status="queued")["verdict"] is None
