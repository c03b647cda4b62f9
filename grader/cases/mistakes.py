"""What every named mistake, and every pair of them, answers in every case: made with the cases, read by the diagnosis.

All results are laid end to end, so that one comparison looks at many formulas. Of a large result evenly spaced elements
are kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.numpy import load, save

from grader.cases.case import VALUES, Case
from grader.cases.code import FACTOR, Code, Explained
from grader.cases.draw import in_double

Answer = tuple[tuple[str, ...], torch.Tensor, torch.Tensor]

KEPT = 256
"""Elements kept of one case's result."""

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Explanations:
    """Formulas with mistakes in them, those to prefer first.

    mistakes: of each formula, one or two ids. places: case name -> (its number, start, stop) in the columns.
    output, allowance: [formulas, columns]; a mistake's output is met when |actual - output| <= allowance; an infinite
    allowance: such code overflows there and may return anything; a NaN is met by a NaN. defined, differs: [formulas,
    cases]: such code returns something; it would be wrong there.
    """

    mistakes: tuple[tuple[str, ...], ...] = ()
    places: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    output: Numbers = field(repr=False, default_factory=lambda: np.empty((0, 0)))
    allowance: Numbers = field(repr=False, default_factory=lambda: np.empty((0, 0)))
    defined: Flags = field(repr=False, default_factory=lambda: np.empty((0, 0), dtype=bool))
    differs: Flags = field(repr=False, default_factory=lambda: np.empty((0, 0), dtype=bool))


def kept(size: int) -> slice:
    """Which elements of a flattened result are kept."""
    return slice(0, None, max(1, -(-size // KEPT)))


def explain(code: Code, cases: Sequence[Case]) -> Explanations:
    """Computes every formula in every case that compares values and has any."""
    told = [case for case in cases if case.kind == VALUES and case.expected is not None and case.expected.numel()]
    columns = [_explain_case(code, case) for case in told]
    if not columns or not columns[0][0]:
        return Explanations()
    places, start = {}, 0
    for number, (case, (_, output, _, _)) in enumerate(zip(told, columns, strict=True)):
        places[case.name] = (number, start, start + output.shape[1])
        start += output.shape[1]
    output, allowance = (np.concatenate([column[i] for column in columns], axis=1) for i in (1, 2))
    return Explanations(
        mistakes=columns[0][0],
        places=places,
        output=output,
        allowance=allowance,
        defined=np.stack([~np.isnan(column[2]).all(axis=1) for column in columns], axis=1),
        differs=np.stack([column[3] for column in columns], axis=1),
    )


def _explain_case(code: Code, case: Case) -> tuple[tuple[tuple[str, ...], ...], Numbers, Numbers, Flags]:
    """(mistakes, output, allowance, differs) of each formula in one case; NaN where the formula has no answer."""
    assert case.expected is not None and case.allowance is not None
    args, kwargs = in_double(case.call)
    answers = list(code.explanations(*args, dtype=case.dtype, **kwargs))
    empty = torch.full_like(case.expected, torch.nan)
    fitting = [_or_nothing(answer, empty) for answer in answers]
    wrong = np.array([_differs(answer, case.expected, case.allowance) for answer in fitting])
    keep = kept(empty.numel())
    outputs = np.array([output.numpy().ravel()[keep] for _, output, _ in fitting])
    units = np.array([unit.numpy().ravel()[keep] for _, _, unit in fitting])
    return tuple(names for names, _, _ in fitting), outputs, FACTOR * units, wrong


def _or_nothing(answer: Explained, empty: torch.Tensor) -> Answer:
    """NaN for output and unit where the formula has no answer; elsewhere the unit is a number, also of a NaN."""
    names, output, unit = answer
    if output is None or unit is None or output.shape != empty.shape:
        return names, empty, empty
    beyond = torch.where(output.isnan(), 0.0, torch.inf).to(unit.dtype)
    return names, output, torch.where(unit.isnan(), beyond, unit)


def _differs(answer: Answer, expected: torch.Tensor, allowance: torch.Tensor) -> bool:
    """Whether the formula answers and is wrong somewhere: too far off, or NaN where the right answer is not."""
    _, output, unit = answer
    off = ((output - expected).abs() > allowance) | (output.isnan() != expected.isnan())
    return bool((off & ~unit.isnan()).any())


def to_bytes(explanations: Explanations) -> bytes:
    """As a safetensors file."""
    arrays = {name: getattr(explanations, name) for name in ("output", "allowance", "defined", "differs")}
    index = json.dumps({"mistakes": explanations.mistakes, "places": explanations.places}, sort_keys=True)
    return save(arrays, metadata={"index": index})


def from_bytes(data: bytes) -> Explanations:
    """Reads what `to_bytes` wrote."""
    size = int.from_bytes(data[:8], "little")
    index: dict[str, Any] = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["index"])
    return Explanations(
        mistakes=tuple(tuple(names) for names in index["mistakes"]),
        places={name: (number, start, stop) for name, (number, start, stop) in index["places"].items()},
        **load(data),
    )
