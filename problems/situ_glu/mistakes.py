"""The named mistakes of SiTU-GLU as switches of one formula, so that two of them combine.

`explanations` computes, for one call, every mistake in every disguise and every pair that makes sense, in float64, each
with a unit of rounding like that of the reference: how far rounding may move what such code returns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from typing import Any

import torch
from torch import Tensor

WIDE = torch.finfo(torch.float32).eps
FACTOR = 8


@dataclass(frozen=True, kw_only=True)
class Formula:
    """What to do at each step; the defaults are the right thing.

    transposed: which matrices are turned; hardcoded: which caps are 4 and 25 whatever was asked (both: "both", "gate",
    "up"). arrangement: which cap goes where ("own", "gate" for both, "up" for both, "swapped"). gate_bound, up_bound:
    "soft", "hard" (a clamp), "top" (a clamp of one side), "after" (a clamp of gate times sigmoid), "tanh" (the tanh
    comes first, and the cap cancels), "tanh_over", "tanh_times" (it does not), "none". gate_scale, up_scale: whether
    the cap is multiplied back. sigmoid: of "gate", "up", "both" or "none"; capped: it sees the "bounded" value, or its
    "tanh", or the one that is "used", without its scale. joint: what sees the product of the branches ("all", the
    "gate" or the "up" branch, the "bounds" but not the sigmoid), or, with joint_sigmoid, the cap of its only bound
    ("gate", "up", "product"); joint_sigmoid: of the "gate", of the "product", "inside" the bound, or inside a "clamp".
    added: "after" the sigmoid or "before" it.
    """

    transposed: str = ""
    swapped: bool = False
    hardcoded: str = ""
    arrangement: str = "own"
    gate_bound: str = "soft"
    up_bound: str = "soft"
    gate_scale: bool = True
    up_scale: bool = True
    sigmoid: str = "gate"
    capped: str = ""
    joint: str = ""
    joint_sigmoid: str = ""
    added: str = ""


Change = dict[str, Any]
Error = tuple[Tensor, Tensor | float]


def bounds(kind: str) -> tuple[Change, ...]:
    """A kind of bound for both branches, or for one."""
    return {"gate_bound": kind, "up_bound": kind}, {"gate_bound": kind}, {"up_bound": kind}


CAPS, SEEN = ("gate", "up", "product"), ("gate", "product", "inside")
JOINT = tuple({"joint": cap, "joint_sigmoid": seen} for cap, seen in product(CAPS, SEEN))
CLAMPS: tuple[Change, ...] = (
    {"gate_bound": "top", "up_bound": "hard"},
    {"gate_bound": "top", "up_bound": "top"},
    {"gate_bound": "top"},
    {"gate_bound": "after", "up_bound": "hard"},
    {"gate_bound": "after"},
    {"joint": "product", "joint_sigmoid": "clamp"},
)

MISTAKES: dict[str, tuple[Change, ...]] = {
    "sigmoid_on_up": ({"sigmoid": "up"}, {"sigmoid": "both"}),
    "hard_clipping": (*bounds("hard"), *CLAMPS),
    "shared_cap": ({"arrangement": "gate"}, {"arrangement": "up"}),
    "tanh_before_divide": (*bounds("tanh"), *bounds("tanh_over"), *bounds("tanh_times")),
    "multiply_before_nonlinearity": (*({"joint": seen} for seen in ("all", "gate", "up", "bounds")), *JOINT),
    "swapped_caps": ({"arrangement": "swapped"},),
    "hardcoded_caps": ({"hardcoded": "both"}, {"hardcoded": "gate"}, {"hardcoded": "up"}),
    "missing_gate_cap": ({"gate_bound": "none"},),
    "missing_up_cap": ({"up_bound": "none"},),
    "missing_sigmoid": ({"sigmoid": "none"},),
    "sigmoid_of_capped_gate": tuple({"capped": seen} for seen in ("bounded", "used", "tanh")),
    "missing_outer_scale": ({"gate_scale": False, "up_scale": False}, {"gate_scale": False}, {"up_scale": False}),
    "swapped_projections": ({"swapped": True},),
    "transposed_projection": tuple({"transposed": turned} for turned in ("both", "gate", "up")),
    "sum_instead_of_product": ({"added": "after"}, {"added": "before"}),
}
"""Each mistake's plain form first, then its disguises. The order of the mistakes decides between equals."""

BOUNDS = ("soft", "hard", "after", "top", "tanh", "tanh_over", "tanh_times", "none")


@cache
def formulas() -> tuple[tuple[tuple[str, ...], Formula], ...]:
    """Every formula with the mistakes in it, those to prefer first: singles, then pairs, in the list's order.

    A formula that an earlier one equals is left out.
    """
    found: dict[Formula, tuple[str, ...]] = {Formula(): ()}
    for names, formula in [*singles(), *pairs()]:
        found.setdefault(formula, names)
    return tuple((names, formula) for formula, names in found.items() if names)


def singles() -> Iterator[tuple[tuple[str, ...], Formula]]:
    """Every form of every mistake, in the list's order."""
    for name, changes in MISTAKES.items():
        yield from (((name,), simplified(replace(Formula(), **change))) for change in changes)


def pairs() -> Iterator[tuple[tuple[str, ...], Formula]]:
    """Two mistakes at once: those in their plain forms first, then with one disguise, then with two; in list order."""
    for disguises in (0, 1, 2):
        for (first, ours), (second, theirs) in combinations(MISTAKES.items(), 2):
            for a, b in product(ours, theirs):
                both = merged(a, b)
                if both is not None and (a is not ours[0]) + (b is not theirs[0]) == disguises:
                    yield (first, second), simplified(replace(Formula(), **both))


def merged(a: Change, b: Change) -> Change | None:
    """Both changes. Of two bounds for one branch the one further from the truth stays; None if they can't combine."""
    clashes = {key for key in a.keys() & b.keys() if a[key] != b[key]}
    if not all(key.endswith("_bound") for key in clashes) or {**a, **b}.get("joint", "all") != "all":
        return None
    return {**a, **b, **{key: max(a[key], b[key], key=BOUNDS.index) for key in clashes}}


def simplified(formula: Formula) -> Formula:
    """Without a missing scale where there is none to miss: tanh(x) without its cap is tanh(x) / cap."""
    changes: Change = {}
    for branch in ("gate", "up"):
        if not getattr(formula, f"{branch}_scale") and (instead := UNSCALED.get(getattr(formula, f"{branch}_bound"))):
            changes |= {f"{branch}_bound": instead, f"{branch}_scale": True}
    if formula.capped in ("used", "tanh"):
        changes |= {"capped": {"used": "bounded", "tanh": "tanh"}[formula.capped] if formula.gate_scale else "used"}
    return replace(formula, **changes)


UNSCALED = {"tanh": "tanh_over", "tanh_over": "tanh_over", "tanh_times": "tanh", "none": "none"}


def explanations(
    input_tensor: Tensor,
    gate_projection: Tensor,
    up_projection: Tensor,
    gate_cap: float = 4.0,
    up_cap: float = 25.0,
    *,
    dtype: str,
) -> Iterator[tuple[tuple[str, ...], Tensor | None, Tensor | None]]:
    """For each formula the mistakes in it, its output and one unit of rounding, float64 [..., d_ff].

    Both are None where such code raises. The unit is infinite where such code overflows the dtype.
    """
    straight = projected(input_tensor, gate_projection, up_projection)
    square = gate_projection.shape[0] == gate_projection.shape[1]
    turned = projected(input_tensor, gate_projection.T, up_projection.T) if square else None
    mixed = {"gate": (turned[0], straight[1]), "up": (straight[0], turned[1])} if turned else {}
    pairs_of = {"": straight, "both": turned, **mixed}
    for names, formula in formulas():
        taken = pairs_of.get(formula.transposed)
        yield names, *(Pass(formula, taken, (gate_cap, up_cap), dtype).run() if taken else (None, None))


def projected(x: Tensor, gate_projection: Tensor, up_projection: Tensor) -> tuple[tuple[Tensor, Tensor], ...]:
    """(x W^T, |x| |W|^T) of both projections."""
    return tuple((x @ w.T, x.abs() @ w.abs().T) for w in (gate_projection, up_projection))


class Pass:
    """One evaluation of a formula. Remembers where a rounding error enters, to ask autograd how far it carries."""

    def __init__(self, formula: Formula, projections: Any, caps: tuple[float, float], dtype: str) -> None:
        info = torch.finfo(getattr(torch, dtype))
        (gate, gate_size), (up, up_size) = reversed(projections) if formula.swapped else projections
        self.formula, self.caps, self.info = formula, arranged(formula, caps), info
        self.eps = max(info.eps, WIDE)
        self.gate, self.up = gate.clone().requires_grad_(), up.clone().requires_grad_()
        self.gate_size, self.up_size = gate_size, up_size
        self.errors: list[Error] = [(self.gate, self.eps * gate_size), (self.up, self.eps * up_size)]

    def run(self) -> tuple[Tensor, Tensor]:
        """The output and one unit of rounding."""
        output, size = self.joint() if self.formula.joint_sigmoid else self.branches()
        inputs = [leaf for leaf, _ in self.errors]
        slopes = torch.autograd.grad(output.sum(), inputs, allow_unused=True)
        unit = (
            self.eps * size.detach()
            + 2 * max(1.0, self.caps[0] * self.caps[1]) * self.info.smallest_normal * self.info.eps
        )
        for slope, (_, error) in zip(slopes, self.errors, strict=True):
            if slope is not None:
                unit = unit + torch.nan_to_num(slope.abs() * error, nan=0.0)
        return output.detach(), torch.where(self.overflows(output.detach()), torch.inf, unit)

    def overflows(self, output: Tensor) -> Tensor:
        """Where such code leaves the dtype's range, and may return an infinity or NaN."""
        largest = torch.stack([self.gate.abs(), self.up.abs(), output.abs()]).amax(0).detach()
        if self.formula.joint:
            largest = torch.maximum(largest, (self.gate * self.up).detach().abs())
        return largest > self.info.max

    def branches(self) -> tuple[Tensor, Tensor]:
        """Both branches and what they make together, with the size of what was rounded last."""
        formula, (gate_cap, up_cap) = self.formula, self.caps
        gate, up, gate_size, up_size = self.gate, self.up, self.gate_size, self.up_size
        if formula.joint:
            both, size = self.gate * self.up, gate_size * self.up.abs() + up_size * self.gate.abs()
            gate, gate_size = (gate, gate_size) if formula.joint == "up" else (both, size)
            up, up_size = (up, up_size) if formula.joint == "gate" else (both, size)
        left = self.bound(gate, gate_cap, formula.gate_bound, gate_size)
        right = self.bound(up, up_cap, formula.up_bound, up_size)
        seen = (self.gate, self.up) if formula.joint == "bounds" else (gate, up)
        if formula.capped == "bounded":
            seen = self.seen(gate, gate_cap, formula.gate_bound, left), self.seen(up, up_cap, formula.up_bound, right)
        if formula.capped == "tanh":
            seen = left / gate_cap, right / up_cap
        left, right = left if formula.gate_scale else left / gate_cap, right if formula.up_scale else right / up_cap
        weights = self.weights(*((left, right) if formula.capped == "used" else seen))
        if formula.added == "before":
            return (left + right) * weights, (left.abs() + right.abs()) * weights
        left = left * weights
        if formula.gate_bound == "after":
            left = self.bound(left, gate_cap, "hard", gate_size)
        if formula.added == "after":
            return left + right, left.abs() + right.abs()
        return left * right, (left * right).abs()

    def seen(self, value: Tensor, cap: float, kind: str, bound: Tensor) -> Tensor:
        """What a sigmoid of the capped branch sees, also where the branch itself goes on without its cap."""
        return self.bound(value, cap, "soft", value) if kind == "none" else bound

    def weights(self, gate: Tensor, up: Tensor) -> Tensor | float:
        """The sigmoid's factor, of whatever the formula gives it to see."""
        seen = {"gate": (gate,), "up": (up,), "both": (gate, up), "none": ()}[self.formula.sigmoid]
        return math.prod(self.sigmoid(value) for value in seen)

    def joint(self) -> tuple[Tensor, Tensor]:
        """The product of the branches, bound once."""
        gate_cap, up_cap = self.caps
        cap = {"gate": gate_cap, "up": up_cap, "product": gate_cap * up_cap}[self.formula.joint]
        both = self.gate * self.up
        match self.formula.joint_sigmoid:
            case "clamp":
                size = self.gate_size * self.up.abs() + self.up_size * self.gate.abs()
                output = self.bound(both * self.sigmoid(self.gate), cap, "hard", size)
            case "inside":
                output = cap * self.tanh(both * self.sigmoid(self.gate) / cap)
            case "product":
                output = cap * self.tanh(both / cap) * self.sigmoid(both)
            case _:
                output = cap * self.tanh(both / cap) * self.sigmoid(self.gate)
        return output, output.abs()

    def bound(self, value: Tensor, cap: float, kind: str, size: Tensor) -> Tensor:
        """One branch, bound in the way named."""
        match kind:
            case "soft":
                return cap * self.tanh(value / cap)
            case "hard":
                return clamp(value, -cap, cap, FACTOR * self.eps * size)
            case "top":
                return clamp(value, -torch.inf, cap, FACTOR * self.eps * size)
            case "none" | "after":
                return value
            case _:
                return {"tanh": 1.0, "tanh_over": 1 / cap, "tanh_times": cap}[kind] * self.tanh(value)

    def tanh(self, value: Tensor) -> Tensor:
        """tanh with room for an absolute error."""
        return torch.tanh(value) + self.room(value, WIDE)

    def sigmoid(self, value: Tensor) -> Tensor:
        """sigmoid with room for an absolute error."""
        return torch.sigmoid(value) + self.room(value, max(WIDE, self.eps / 8) + 1 / self.info.max)

    def room(self, value: Tensor, error: float) -> Tensor:
        leaf = torch.zeros_like(value, requires_grad=True)
        self.errors.append((leaf, error))
        return leaf


def clamp(value: Tensor, low: float, high: float, margin: Tensor) -> Tensor:
    """A hard clip whose slope is 1 as far beyond its ends as rounding may reach."""
    inside = ((value > low - margin) & (value < high + margin)).detach()
    return torch.where(inside, value - value.detach(), 0.0) + value.detach().clamp(low, high)


def arranged(formula: Formula, caps: tuple[float, float]) -> tuple[float, float]:
    """The two caps that such code uses."""
    gate = 4.0 if formula.hardcoded in ("both", "gate") else caps[0]
    up = 25.0 if formula.hardcoded in ("both", "up") else caps[1]
    return {"own": (gate, up), "gate": (gate, gate), "up": (up, up), "swapped": (up, gate)}[formula.arrangement]
