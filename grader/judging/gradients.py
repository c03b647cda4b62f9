"""Gradients of a result's sum where a problem judges them: what they must be, and whether they are.

Expected ones come from autograd over the float64 reference. Their allowance is measured as that of a result is
(`package.measured_rounding`), and no smaller than rounding at the tensor's largest gradient: where a function has
levelled off, its slope is a difference of nearly equal numbers and only known so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from grader.cases.code import FACTOR, WIDE, measured_rounding
from grader.cases.draw import in_double
from grader.judging.compare import to_numbers
from grader.problem.arguments import DTYPES
from grader.records import Call, Returned, TensorValue

if TYPE_CHECKING:
    from grader.cases.case import Case

Reference = Callable[..., torch.Tensor]


def expected_gradients(reference: Reference, call: Call, dtype: str) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """(expected, allowance), float64, by argument position, keyword or parameter name."""
    found = {}
    eps = max(torch.finfo(getattr(torch, dtype)).eps, WIDE)
    for name in differentiated(call):

        def gradient(*args: Any, _name: str = name, **kwargs: Any) -> torch.Tensor:
            return _gradient(reference, args, kwargs, _name)

        args, kwargs = in_double(call)
        expected = gradient(*args, **kwargs)
        unit = measured_rounding(gradient)(*args, dtype=dtype, **kwargs)
        floor = eps * expected.abs().max() if expected.numel() else 0.0
        found[name] = (expected.contiguous(), FACTOR * (unit + floor).contiguous())
    return found


def differentiated(call: Call) -> list[str]:
    """The tensors whose gradients are judged: arguments that require grad, and all parameters of a module."""
    named = {str(position): value for position, value in enumerate(call.args)} | dict(call.kwargs)
    asked = [name for name, value in named.items() if isinstance(value, TensorValue) and value.requires_grad]
    return [*asked, *call.state]


def _gradient(reference: Reference, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> torch.Tensor:
    """d sum(reference) / d (the named tensor)."""
    args = tuple(value.clone() if isinstance(value, torch.Tensor) else value for value in args)
    state = kwargs.get("state", {})
    leaf = state[name] if name in state else args[int(name)] if name.isdecimal() else kwargs[name]
    leaf = leaf.detach().clone().requires_grad_()
    if name in state:
        kwargs = kwargs | {"state": {**state, name: leaf}}
    elif name.isdecimal():
        args = (*args[: int(name)], leaf, *args[int(name) + 1 :])
    else:
        kwargs = kwargs | {name: leaf}
    (gradient,) = torch.autograd.grad(reference(*args, **kwargs).sum(), [leaf], allow_unused=True)
    return torch.zeros_like(leaf) if gradient is None else gradient.detach()


def fault(case: Case, returned: Returned) -> tuple[str, str]:
    """(the argument or parameter, what is wrong with its gradient); two empty texts if all are right."""
    if not case.gradients:
        return "", ""
    if not returned.differentiable:
        return next(iter(case.gradients)), "is missing: the result is cut off the autograd graph"
    for name, (expected, allowance) in case.gradients.items():
        what = _compare(returned.gradients, name, expected.numpy(), allowance.numpy())
        if what:
            return name, what
    return "", ""


def _compare(found: Mapping[str, TensorValue], name: str, expected: Any, allowance: Any) -> str:
    if name not in found:
        return "is missing: the backward pass failed, or it does not reach this tensor"
    gradient = found[name]
    if gradient.dtype not in DTYPES:
        return "is of no floating dtype"
    if gradient.shape != expected.shape:
        return "has another shape than the tensor itself"
    actual = to_numbers(gradient.data, gradient.dtype)
    if actual.size != expected.size:
        return "has another shape than the tensor itself"
    if not np.isfinite(actual).all():
        return "is not finite"
    with np.errstate(invalid="ignore", over="ignore"):
        right = np.abs(actual - expected.ravel()) <= allowance.ravel()
    return "" if right.all() else f"has wrong values ({int((~right).sum())} of {right.size})"
