"""The named mistakes as code: one function each, named by its id, in float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, sigmoid, tanh

State = Mapping[str, Tensor]
Init = Mapping[str, Any]


def gate_and_up(x: Tensor, state: State) -> tuple[Tensor, ...]:
    return (x @ state["gate_up_proj.weight"].T).chunk(2, dim=-1)


def caps(init: Init) -> tuple[float, float]:
    return init.get("beta", 4.0), init.get("linear_beta", 25.0)


def down(hidden: Tensor, state: State) -> Tensor:
    return hidden @ state["down_proj.weight"].T


def smooth(value: Tensor, cap: float) -> Tensor:
    return cap * tanh(value / cap)


def exchanged_halves(x: Tensor, *, init: Init, state: State) -> Tensor:
    (up, gate), (b, c) = gate_and_up(x, state), caps(init)
    return down(smooth(gate, b) * sigmoid(gate) * smooth(up, c), state)


def hard_clipping(x: Tensor, *, init: Init, state: State) -> Tensor:
    (gate, up), (b, c) = gate_and_up(x, state), caps(init)
    return down(gate.clamp(-b, b) * sigmoid(gate) * up.clamp(-c, c), state)


def swapped_caps(x: Tensor, *, init: Init, state: State) -> Tensor:
    (gate, up), (b, c) = gate_and_up(x, state), caps(init)
    return down(smooth(gate, c) * sigmoid(gate) * smooth(up, b), state)


def fixed_caps(x: Tensor, *, init: Init, state: State) -> Tensor:
    gate, up = gate_and_up(x, state)
    return down(smooth(gate, 4.0) * sigmoid(gate) * smooth(up, 25.0), state)


def missing_caps(x: Tensor, *, init: Init, state: State) -> Tensor:
    gate, up = gate_and_up(x, state)
    return down(gate * sigmoid(gate) * up, state)


def missing_sigmoid(x: Tensor, *, init: Init, state: State) -> Tensor:
    (gate, up), (b, c) = gate_and_up(x, state), caps(init)
    return down(smooth(gate, b) * smooth(up, c), state)


def sigmoid_of_capped_gate(x: Tensor, *, init: Init, state: State) -> Tensor:
    (gate, up), (b, c) = gate_and_up(x, state), caps(init)
    return down(smooth(gate, b) * sigmoid(smooth(gate, b)) * smooth(up, c), state)
