"""What the theory claims, as checks on the reference: True, or what does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.cases.draw import Draw

Function = Callable[..., Tensor]
GATE_UP, DOWN = "gate_up_proj.weight", "down_proj.weight"


def block(draw: Draw, spread: float = 2.0) -> tuple[Tensor, dict[str, Any]]:
    """12 tokens and a block with d_model = 5, d_ff = 8."""
    x, gate_up, down = (torch.from_numpy(draw.bell(shape, spread)) for shape in ((12, 5), (16, 5), (5, 8)))
    return x, {"init": {"d_model": 5, "d_ff": 8}, "state": {GATE_UP: gate_up, DOWN: down}}


def claim_permutation(f: Function, draw: Draw) -> bool:
    """Permuting the tokens permutes the result."""
    x, given = block(draw)
    return torch.allclose(f(x.flip(0), **given), f(x, **given).flip(0), rtol=1e-12, atol=1e-12)


def claim_splitting(f: Function, draw: Draw) -> bool:
    """Two blocks with half of the hidden units each add up to the whole."""
    x, given = block(draw)
    gate, up = given["state"][GATE_UP].chunk(2)
    down = given["state"][DOWN]
    total = torch.zeros_like(x)
    for part in (slice(0, 3), slice(3, 8)):
        state = {GATE_UP: torch.cat([gate[part], up[part]]), DOWN: down[:, part]}
        total = total + f(x, init=given["init"], state=state)
    return torch.allclose(total, f(x, **given), rtol=1e-12, atol=1e-10)


def claim_odd_in_up(f: Function, draw: Draw) -> bool:
    """Turning the up branch's weights round turns the result round."""
    x, given = block(draw)
    gate, up = given["state"][GATE_UP].chunk(2)
    turned = {GATE_UP: torch.cat([gate, -up]), DOWN: given["state"][DOWN]}
    return torch.allclose(f(x, init=given["init"], state=turned), -f(x, **given), rtol=1e-12, atol=1e-12)


def claim_bound(f: Function, draw: Draw) -> bool:
    """No output exceeds 100 times the sum of the absolute weights in its row of the projection down."""
    x, given = block(draw, 100.0)
    bound = 100.0 * given["state"][DOWN].abs().sum(dim=1)
    return bool((f(x, **given).abs() <= bound * (1 + 1e-12)).all())


def claim_limit(f: Function, draw: Draw) -> bool:
    """Huge caps give the block with SwiGLU."""
    x, given = block(draw)
    gate, up = (x @ given["state"][GATE_UP].T).chunk(2, dim=-1)
    swiglu = (gate * torch.sigmoid(gate) * up) @ given["state"][DOWN].T
    huge = {**given["init"], "beta": 1e7, "linear_beta": 1e7}
    return torch.allclose(f(x, init=huge, state=given["state"]), swiglu, rtol=1e-9, atol=1e-9)
