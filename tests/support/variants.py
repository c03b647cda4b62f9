"""Right ways to write SiTU-GLU, as plain functions: what the cases must accept."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

Variant = Callable[..., Tensor]


def situ(g: Tensor, u: Tensor, gate_cap: float, up_cap: float) -> Tensor:
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))


def wide(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))


def through(project: Callable[[Tensor, Tensor], Tensor], activate: Variant = situ) -> Variant:
    """A variant by the way it projects and what it makes of both projections."""

    def variant(x: Tensor, wg: Tensor, wu: Tensor, gate_cap: float = 4.0, up_cap: float = 25.0) -> Tensor:
        return activate(project(x, wg), project(x, wu), gate_cap, up_cap).to(x.dtype)

    return variant


def matmul(x: Tensor, w: Tensor) -> Tensor:
    return x @ w.T


def cast(dtype: torch.dtype | None) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, w: x.to(dtype or wide(x).dtype) @ w.to(dtype or wide(x).dtype).T


def packed(x: Tensor, wg: Tensor, wu: Tensor, gate_cap: float = 4.0, up_cap: float = 25.0) -> Tensor:
    g, u = (x @ torch.cat([wg, wu]).t()).chunk(2, dim=-1)
    return situ(g, u, gate_cap, up_cap)


def token_loop(x: Tensor, wg: Tensor, wu: Tensor, gate_cap: float = 4.0, up_cap: float = 25.0) -> Tensor:
    rows = [situ(wg @ row, wu @ row, gate_cap, up_cap) for row in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).reshape(*x.shape[:-1], -1) if rows else x.new_zeros(*x.shape[:-1], wg.shape[0])


def column_loop(x: Tensor, wg: Tensor, wu: Tensor, gate_cap: float = 4.0, up_cap: float = 25.0) -> Tensor:
    columns = [situ((x * a).sum(-1), (x * b).sum(-1), gate_cap, up_cap) for a, b in zip(wg, wu, strict=True)]
    return torch.stack(columns, dim=-1)


def flat(x: Tensor, wg: Tensor, wu: Tensor, gate_cap: float = 4.0, up_cap: float = 25.0) -> Tensor:
    rows = x.reshape(-1, x.shape[-1])
    return situ(torch.mm(rows, wg.T), torch.mm(rows, wu.T), gate_cap, up_cap).reshape(*x.shape[:-1], wg.shape[0])


def in_numpy(x: Tensor, wg: Tensor, wu: Tensor, gate_cap: float = 4.0, up_cap: float = 25.0) -> Tensor:
    import numpy as np  # noqa: PLC0415

    a, b, c = (t.detach().double().numpy() for t in (x, wg, wu))
    g, u = a @ b.T, a @ c.T
    with np.errstate(over="ignore"):
        y = gate_cap * np.tanh(g / gate_cap) / (1 + np.exp(-g)) * up_cap * np.tanh(u / up_cap)
    return torch.as_tensor(y).to(x.dtype)


def tensor_caps(x: Tensor, wg: Tensor, wu: Tensor, gate_cap: float = 4.0, up_cap: float = 25.0) -> Tensor:
    caps = torch.tensor([gate_cap, up_cap], dtype=x.dtype)
    return situ(x @ wg.T, x @ wu.T, caps[0], caps[1])  # type: ignore[arg-type]


def exp_sigmoid(g: Tensor, u: Tensor, gate_cap: float, up_cap: float) -> Tensor:
    return gate_cap * torch.tanh(g / gate_cap) * up_cap * torch.tanh(u / up_cap) / (1 + torch.exp(-g))


def stable_exp(g: Tensor, u: Tensor, gate_cap: float, up_cap: float) -> Tensor:
    e = torch.exp(-g.abs())
    return gate_cap * torch.tanh(g / gate_cap) * torch.where(g >= 0, 1, e) / (1 + e) * up_cap * torch.tanh(u / up_cap)


def tanh_by_sigmoid(g: Tensor, u: Tensor, gate_cap: float, up_cap: float) -> Tensor:
    def tanh(z: Tensor) -> Tensor:
        return 2 * torch.sigmoid(2 * z) - 1

    return gate_cap * tanh(g / gate_cap) * torch.sigmoid(g) * up_cap * tanh(u / up_cap)


def sigmoid_by_tanh(g: Tensor, u: Tensor, gate_cap: float, up_cap: float) -> Tensor:
    return gate_cap * torch.tanh(g / gate_cap) * 0.5 * (1 + torch.tanh(g / 2)) * up_cap * torch.tanh(u / up_cap)


def by_softplus(g: Tensor, u: Tensor, gate_cap: float, up_cap: float) -> Tensor:
    return gate_cap * torch.tanh(g / gate_cap) * torch.exp(-F.softplus(-g)) * up_cap * torch.tanh(u / up_cap)


def by_expm1(g: Tensor, u: Tensor, gate_cap: float, up_cap: float) -> Tensor:
    def tanh(z: Tensor) -> Tensor:
        e = torch.expm1(-2 * z.abs())
        return -e / (e + 2) * z.sign()

    return gate_cap * tanh(g / gate_cap) * torch.sigmoid(g) * up_cap * tanh(u / up_cap)


def by_silu(g: Tensor, u: Tensor, gate_cap: float, up_cap: float) -> Tensor:
    def ratio(z: Tensor) -> Tensor:
        near = z.abs() < 1e-4
        safe = torch.where(near, 1.0, z)
        return torch.where(near, 1 - z * z / 3, torch.tanh(safe) / safe)

    return F.silu(g) * ratio(g / gate_cap) * (u * ratio(u / up_cap))


def in_place(g: Tensor, u: Tensor, gate_cap: float, up_cap: float) -> Tensor:
    with torch.no_grad():
        s = torch.sigmoid(g)
        return s.mul_(g.div_(gate_cap).tanh_().mul_(gate_cap)).mul_(u.div_(up_cap).tanh_().mul_(up_cap))


def up_first(g: Tensor, u: Tensor, gate_cap: float, up_cap: float) -> Tensor:
    return (up_cap * gate_cap) * (torch.tanh(u / up_cap) * (torch.sigmoid(g) * torch.tanh(g / gate_cap)))


def reciprocals(g: Tensor, u: Tensor, gate_cap: float, up_cap: float) -> Tensor:
    return torch.tanh(g * (1 / gate_cap)) * gate_cap * torch.sigmoid(g) * (torch.tanh(u * (1 / up_cap)) * up_cap)


def released(x: Tensor, w: Tensor) -> Tensor:
    """Projects in the input's dtype, then goes on in float32, float64 inputs included."""
    return (x @ w.T).float()


RIGHT: dict[str, Variant] = {
    "native": through(matmul),
    "linear": through(F.linear),
    "einsum": through(lambda x, w: torch.einsum("...i,oi->...o", x, w)),
    "tensordot": through(lambda x, w: torch.tensordot(x, w, dims=([-1], [1]))),
    "broadcast": through(lambda x, w: (x.unsqueeze(-2) * w).sum(-1)),
    "released": through(released),
    "float32": through(cast(torch.float32)),
    "at_least_float32": through(cast(None)),
    "float64": through(cast(torch.float64)),
    "packed": packed,
    "token_loop": token_loop,
    "column_loop": column_loop,
    "flat": flat,
    "numpy": in_numpy,
    "tensor_caps": tensor_caps,
    "exp": through(matmul, exp_sigmoid),
    "exp_float32": through(cast(torch.float32), exp_sigmoid),
    "stable_exp": through(matmul, stable_exp),
    "tanh_by_sigmoid": through(cast(None), tanh_by_sigmoid),
    "tanh_by_sigmoid_float32": through(cast(torch.float32), tanh_by_sigmoid),
    "sigmoid_by_tanh_native": through(matmul, sigmoid_by_tanh),
    "sigmoid_by_tanh": through(cast(None), sigmoid_by_tanh),
    "sigmoid_by_tanh_float32": through(cast(torch.float32), sigmoid_by_tanh),
    "softplus": through(matmul, by_softplus),
    "expm1": through(cast(None), by_expm1),
    "silu": through(cast(None), by_silu),
    "in_place": through(matmul, in_place),
    "up_first": through(matmul, up_first),
    "reciprocals": through(matmul, reciprocals),
}
