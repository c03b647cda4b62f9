"""A caller's own inputs as a case: closed literals, checked and sized before anything is computed."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from grader.cases.case import PUBLIC
from grader.cases.own import custom_case
from grader.errors import UsageError
from grader.judging.compare import compare
from grader.problem.folder import load
from grader.problem.inputs import LARGEST
from grader.problem.schema import Problem
from grader.records import TensorValue

SMALL = {"input_tensor": [[1.0, 2.0]], "gate_projection": [[1, 0], [0, 1], [1, 1]], "up_projection": [[2, 0]] * 3}


def test_literals_become_a_public_case(situ_glu: Problem) -> None:
    """Nested lists are float32 tensors; caps are optional; the expected answer is computed."""
    case = custom_case(situ_glu, SMALL | {"gate_cap": 3})
    assert case.visibility == PUBLIC and case.shape == (1, 3) and case.dims == ("T", "d_ff")
    assert dict(case.call.kwargs) == {"gate_cap": 3} and len(case.call.args) == 3
    expected = 3 * math.tanh(1 / 3) / (1 + math.exp(-1)) * 25 * math.tanh(2 / 25)
    assert case.expected is not None and float(case.expected[0, 0]) == pytest.approx(expected)
    assert compare(case.expected.float(), case) is None and compare(torch.zeros(1, 3), case) is not None


def test_a_dtype_can_be_given(situ_glu: Problem) -> None:
    """{dtype, values} asks for another dtype, the same for all tensors."""
    halves = {name: {"dtype": "bfloat16", "values": values} for name, values in SMALL.items()}
    case = custom_case(situ_glu, halves)
    assert case.result_dtype == "bfloat16" and all(isinstance(value, TensorValue) for value in case.call.args)


def test_nan_and_infinity_have_words(situ_glu: Problem) -> None:
    """NaN in gives NaN out, an infinite gate its cap."""
    words = SMALL | {
        "input_tensor": [["NaN", 1], ["Infinity", 1]],
        "gate_projection": [[1, 1]],
        "up_projection": [[1, 1]],
    }
    case = custom_case(situ_glu, words)
    assert case.expected is not None and math.isnan(case.expected[0, 0]) and float(case.expected[1, 0]) == 100.0
    assert compare(torch.tensor([[math.nan], [100.0]]), case) is None
    assert compare(torch.tensor([[100.0], [100.0]]), case) is not None
    assert compare(torch.tensor([[math.nan], [99.0]]), case) is not None


def test_inputs_without_elements_are_inputs(situ_glu: Problem) -> None:
    """A vector of no features is as good as any: its projections are zero."""
    empty = {"input_tensor": [], "gate_projection": [[], []], "up_projection": [[], []]}
    case = custom_case(situ_glu, empty)
    assert case.shape == (2,) and case.expected is not None and not case.expected.any()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"input_tensor": [[1.0, 2.0], [3.0]]}, "'input_tensor' is ragged"),
        ({"input_tensor": [["x"]]}, "'input_tensor' holds something that is no number"),
        ({"input_tensor": [[True, False]]}, "no number"),
        ({"input_tensor": [[None, 1]]}, "no number"),
        ({"input_tensor": {"values": [[1, 2]], "dtype": "int64"}}, "one of float32"),
        ({"input_tensor": {"values": [[1, 2]], "device": "cuda"}}, "{values, dtype}"),
        ({"input_tensor": {"values": [[1, 2]], "dtype": ["float32"]}}, "one of float32"),
        ({"input_tensor": {"values": [[1, 2]], "dtype": "float64"}}, "the same dtype"),
        (
            {"input_tensor": [[1.0, 2.0, 3.0]]},
            "'gate_projection' has the shape [3, 2], and [d_ff, d_in] is asked for, where d_in is 3 in input_tensor",
        ),
        (
            {"up_projection": [[1.0, 2.0]]},
            "'up_projection' has the shape [1, 2], and [d_ff, d_in] is asked for, where d_ff is 3",
        ),
        ({"input_tensor": 3.0}, "'input_tensor' has the shape [], and [..., d_in] is asked for"),
        ({"gate_projection": [1.0, 2.0]}, "'gate_projection' has the shape [2], and [d_ff, d_in] is asked for"),
        ({"input_tensor": [[0.0] * (LARGEST + 1)]}, f"more than {LARGEST}"),
        ({"input_tensor": "[[1, 2]]"}, "no number"),
        ({"input_tensor": [[10**400, 2]]}, "'input_tensor' holds a number that is too large"),
        ({"gate_cap": 10**400}, "'gate_cap' is too large for float64"),
        ({"gate_cap": "4"}, "'gate_cap' must be a number"),
        ({"gate_cap": True}, "'gate_cap' must be a number"),
        ({"gate_cap": 0}, "'gate_cap' must be above 0"),
        ({"gate_cap": -1.5}, "above 0"),
        ({"gate_cap": "NaN"}, "above 0"),
        ({"gate_cap": "Infinity"}, "above 0"),
        ({"gate_cap": [4.0]}, "must be a number"),
        ({"cap": 4}, "'cap' is no argument; there are: input_tensor"),
    ],
)
def test_what_is_no_such_thing_is_refused(situ_glu: Problem, change: dict[str, Any], said: str) -> None:
    """The error names the argument and what is wrong with it."""
    with pytest.raises(UsageError) as caught:
        custom_case(situ_glu, SMALL | change)
    assert said in str(caught.value)


def test_a_missing_argument_is_named(situ_glu: Problem) -> None:
    """Required arguments have to be there."""
    with pytest.raises(UsageError, match="'up_projection' is missing"):
        custom_case(situ_glu, {name: SMALL[name] for name in ("input_tensor", "gate_projection")})


def test_a_result_that_would_be_too_large_is_refused(situ_glu: Problem) -> None:
    """Small inputs can make a large result: its size is limited too."""
    many = [[0.5]] * 3000
    with pytest.raises(UsageError, match="the result has more than"):
        custom_case(situ_glu, {"input_tensor": many, "gate_projection": many, "up_projection": many})


def test_deep_nesting_is_refused(situ_glu: Problem) -> None:
    """Lists nested deeper than any tensor are an error of the caller, not of ours."""
    deep: Any = 1.0
    for _ in range(500):
        deep = [deep]
    with pytest.raises(UsageError, match="input_tensor"):
        custom_case(situ_glu, SMALL | {"input_tensor": deep})


WEIGHTS = {"gate_up_proj.weight": [[2.0], [2.0]], "down_proj.weight": [[10.0]]}
MODULE = {"x": [1.0], "init": {"d_model": 1, "d_ff": 1}, "state": WEIGHTS}


def test_a_module_is_called_with_a_state() -> None:
    """For a module, the constructor's arguments and the weights are given as objects."""
    case = custom_case(load("dense_ffn"), MODULE)
    assert case.call.init == {"d_model": 1, "d_ff": 1}
    assert case.expected is not None
    assert round(float(case.expected), 3) == 32.493


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"state": {}}, "'state' must have exactly gate_up_proj.weight, down_proj.weight"),
        ({"state": [1]}, "'state' must be an object"),
        ({"init": 3}, "'init' must be an object"),
        ({"init": {}}, "'init.d_model' is missing"),
        (
            {"init": {"d_model": 10**9, "d_ff": 1}},
            r"'state.gate_up_proj.weight' has the shape \[2, 1\].*where d_model is 1000000000 in init",
        ),
        (
            {"state": {**WEIGHTS, "down_proj.weight": [10.0]}},
            r"'state.down_proj.weight' has the shape \[1\], and \[d_model, d_ff\] is asked for",
        ),
    ],
)
def test_a_module_with_another_state_is_refused(change: dict[str, object], said: str) -> None:
    """What the constructor or strict loading would refuse is refused at the door, by name."""
    with pytest.raises(UsageError, match=said):
        custom_case(load("dense_ffn"), MODULE | change)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": [[1.0, 2.0]]}, "'x' has the shape .*where d_model is 1 in init"),
        ({"state": {**WEIGHTS, "gate_up_proj.weight": [[2.0]]}}, r"2\*d_ff is a multiple of 2"),
        ({"init": {"d_model": 1.0, "d_ff": 1}}, "'init.d_model' must be an integer"),
    ],
)
def test_a_modules_dimensions_fit_each_other(change: dict[str, object], said: str) -> None:
    """Weights, constructor and call are held against the same dimensions."""
    with pytest.raises(UsageError, match=said):
        custom_case(load("dense_ffn"), MODULE | change)
