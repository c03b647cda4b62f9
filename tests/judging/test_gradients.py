"""Gradients of a module's weights and input are judged where a problem asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from grader import engine
from grader.cases.case import CaseSet
from grader.cases.store import load_active
from grader.judging.gradients import fault
from grader.problem import folder as problem
from grader.problem.schema import Problem
from grader.records import Grade, Returned, TensorValue
from grader.sandbox.local import LocalSandbox

SUBMISSIONS = problem.load("dense_ffn").root / "submissions"


@pytest.fixture(scope="module")
def dense_ffn() -> Problem:
    """The package dense_ffn."""
    return problem.load("dense_ffn")


@pytest.fixture(scope="module")
def dense_cases(dense_ffn: Problem, data_dir: Path) -> CaseSet:
    """Its active cases."""
    return load_active(dense_ffn)


@pytest.fixture
def graded(dense_ffn: Problem, dense_cases: CaseSet, sandbox: LocalSandbox) -> Callable[[str], Grade]:
    """Grades a source of dense_ffn."""
    return lambda source: engine.grade(dense_ffn, dense_cases, source, sandbox)


def right() -> str:
    return (SUBMISSIONS / "accepted" / "two_layers.py").read_text()


def message(grade: Grade, case: str) -> str:
    return next(one.message for one in grade.cases if one.name == case)


def test_cases_hold_expected_gradients(dense_cases: CaseSet) -> None:
    """A case whose gradients are judged has one for each weight, and for the input where it requires one."""
    told = {case.name: set(case.gradients) for case in dense_cases.cases if case.gradients}
    weights = {"gate_up_proj.weight", "down_proj.weight"}
    assert told["other-caps"] == weights
    assert told["input-with-gradient"] == {"0", *weights}
    assert all(case.call.want_gradients == bool(case.gradients) for case in dense_cases.cases)


def test_right_gradients_are_accepted(graded: Callable[[str], Grade]) -> None:
    """A module that autograd follows is accepted."""
    assert graded(right()).verdict == "accepted"


@pytest.mark.parametrize(
    ("old", "new", "case", "said"),
    [
        ("torch.sigmoid(gate)", "torch.sigmoid(gate.detach())", "other-caps", "gate_up_proj.weight has wrong values"),
        ("(left * right)", "((left * right).detach())", "other-caps", "gate_up_proj.weight is missing"),
        ("self.gate_up_proj(x)", "self.gate_up_proj(x.detach())", "input-with-gradient", "x is missing"),
        ("        return self", "        torch.set_grad_enabled(False)\n        return self", "other-caps", "cut off"),
        ("(left * right)", "(left * right + 0 * torch.sqrt(up - up))", "other-caps", "is not finite"),
    ],
)  # fmt: skip
def test_wrong_gradients_are_wrong_answers(
    graded: Callable[[str], Grade], old: str, new: str, case: str, said: str
) -> None:
    """Values that are right do not help where a gradient is missing, wrong or not finite; the message names whose."""
    source = right()
    assert old in source
    grade = graded(source.replace(old, new))
    assert grade.verdict == "wrong_answer"
    assert said in message(grade, case)
    assert grade.diagnosis == ()


def test_hidden_cases_tell_no_numbers(graded: Callable[[str], Grade]) -> None:
    """A hidden case says whose gradient is wrong, and no more."""
    grade = graded(right().replace("torch.sigmoid(gate)", "torch.sigmoid(gate.detach())"))
    hidden = message(grade, "given-caps-float32")
    assert hidden == "The values are right, but the gradient of gate_up_proj.weight is not right."


def test_state_and_constructor_are_shown(graded: Callable[[str], Grade]) -> None:
    """A public case of a module shows the constructor's arguments and the weights."""
    detail = next(one.detail for one in graded(right()).cases if one.name == "first-example")
    assert detail is not None
    assert detail["inputs"]["init"] == {"d_model": 4, "d_ff": 5}
    assert detail["inputs"]["state"]["down_proj.weight"]["shape"] == [4, 5]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dtype": "int64", "data": bytes(8 * 35)}, "is of no floating dtype"),
        ({"shape": (20,)}, "has another shape than the tensor itself"),
        ({"data": bytes(4)}, "has another shape than the tensor itself"),
        ({"data": bytes(4 * 35)}, "has wrong values"),
        ({"data": b"\xff" * (4 * 35)}, "is not finite"),
    ],
)
def test_gradients_that_a_child_makes_up_are_looked_at(
    dense_cases: CaseSet, change: dict[str, object], said: str
) -> None:
    """Whatever a child sends as a gradient is compared as data; what does not fit is wrong, and breaks nothing."""
    case = next(case for case in dense_cases.cases if case.name == "other-caps")
    name = "down_proj.weight"
    expected, allowance = case.gradients[name]
    sent = TensorValue(dtype="float32", shape=tuple(expected.shape), strides=(1, 1), data=bytes(4 * 35))
    only = replace(case, gradients={name: (expected, allowance)})
    answer = Returned(plain=True, differentiable=True, gradients={name: replace(sent, **change)})  # type: ignore[arg-type]
    found = fault(only, answer)
    assert found[0] == name
    assert said in found[1]
