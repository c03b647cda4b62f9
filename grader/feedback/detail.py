"""What a public case shows as data: inputs, expected, actual, the worst element; cut to what a page can show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from grader.cases.case import DEVICE, Case
from grader.feedback.shapes import arguments
from grader.judging.judge import Judged, expected_device
from grader.problem.schema import Entry
from grader.records import TensorValue, Value

SHOWN_ELEMENTS = 256


def detail(entry: Entry, judged: Judged, device: str) -> Mapping[str, Any]:
    """The record's `detail` object; every key is always there."""
    case = judged.case
    inputs = {parameter.name: shown_value(value) for parameter, value in arguments(entry, case.call)}
    if entry.kind == "module":
        state = {name: shown_value(value) for name, value in case.call.state.items()}
        inputs |= {"init": dict(case.call.init), "state": state}
    expected, actual = shown_expected(case, device), shown_actual(judged)
    every = [*inputs.values(), *inputs.get("state", {}).values(), expected, actual]
    return {
        "inputs": inputs,
        "expected": expected,
        "actual": actual,
        "worst": worst(judged),
        "mismatched": judged.mismatch.count if judged.mismatch else None if judged.actual is None else 0,
        "truncated": any(isinstance(value, dict) and value.get("truncated") for value in every),
    }


def shown_value(value: Value) -> Any:
    """An argument: a number as it is, a tensor as an object."""
    if not isinstance(value, TensorValue):
        return finite(value) if isinstance(value, float) else value
    if not value.data:
        return described(value.dtype, value.shape, None, truncated=False)
    storage = torch.frombuffer(bytearray(value.data), dtype=getattr(torch, value.dtype))
    return shown_tensor(storage.as_strided(value.shape, value.strides))


def shown_expected(case: Case, device: str) -> Any:
    """What must come back; of device cases only shape, dtype and device."""
    if case.expected is None:
        place = {"device": expected_device(case, device)} if case.kind == DEVICE else {}
        return described(case.result_dtype, case.shape, None, truncated=False) | place
    return shown_tensor(case.expected) | {"dtype": case.result_dtype}


def shown_actual(judged: Judged) -> Any:
    """What came back: its values if it had the right shape, else its description; null for no tensor at all."""
    returned = judged.report.returned
    if judged.actual is not None:
        return shown_tensor(judged.actual)
    if returned is None or not returned.plain:
        return None
    return described(returned.dtype, returned.shape[:12], None, truncated=False) | {"device": returned.device[:20]}


def shown_tensor(tensor: torch.Tensor) -> dict[str, Any]:
    """A tensor with its first values in every dimension, as many as can be shown."""
    edge = shown_edge(tuple(tensor.shape))
    kept = tensor[tuple(slice(0, edge) for _ in tensor.shape)] if tensor.dim() else tensor
    dtype = str(tensor.dtype).removeprefix("torch.")
    return described(dtype, tuple(tensor.shape), nested(kept.tolist()), truncated=kept.numel() < tensor.numel())


def shown_edge(shape: tuple[int, ...]) -> int:
    """The largest edge of a corner of at most SHOWN_ELEMENTS elements."""
    edge = min(max(shape, default=1), SHOWN_ELEMENTS)
    while edge > 1 and math.prod(min(size, edge) for size in shape) > SHOWN_ELEMENTS:
        edge -= 1
    return edge


def described(dtype: str, shape: tuple[int, ...], values: Any, *, truncated: bool) -> dict[str, Any]:
    """A tensor in JSON. `values` is null where there are none to show."""
    return {"dtype": dtype, "shape": list(shape), "values": values, "truncated": truncated}


def nested(values: Any) -> Any:
    """Nested lists with numbers that JSON has."""
    return [nested(value) for value in values] if isinstance(values, list) else finite(values)


def finite(value: float) -> float | str:
    """JSON has no NaN and no infinities: they are told as strings."""
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def worst(judged: Judged) -> dict[str, Any] | None:
    """The worst element of a mismatch."""
    mismatch = judged.mismatch
    if mismatch is None:
        return None
    return {
        "index": list(mismatch.index),
        "expected": finite(mismatch.expected),
        "actual": finite(mismatch.actual),
        "error": finite(mismatch.error),
        "allowed": finite(mismatch.allowed),
    }
