"""What an author writes cases with: recipes, a deterministic stream of numbers, and tensors in any layout.

A package's `cases.py` has one function, `recipes()`, which yields `Recipe`s. Each recipe's `arguments` is called with a
`Draw` of its own, seeded by a hash of (seed, problem, case name): a new case shifts no other.

Bytes are the same on every machine: the bits come from NumPy's counter-based Philox, the numbers are exact dyadic
rationals (k / 2^m) and sums of them, and rounding to a dtype is IEEE's. `torch.randn` and every transcendental function
differ between instruction sets, so none is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from grader.problem.arguments import DTYPES, Arguments, Array, Numbers
from grader.records import Call, Mode, Scalar, TensorValue

__all__ = ["DTYPES", "Arguments", "Array", "Draw", "Numbers", "Recipe"]

FILLER = 3.0
"""What stands between the elements of a strided tensor: read by nobody who reads the tensor as it is."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How one case is made. The fields are those of `cases.Case` and `records.Call`.

    name: in lower-case words; a hidden case's name is shown, so it holds neither sizes nor values.
    tags: the ingredients that it carries. same_memory: as in `records.Call`; the recipe before it must make arguments
    of the same dtypes, shapes and layouts.
    """

    name: str
    arguments: Callable[[Draw], Arguments]
    dtype: str = "float32"
    visibility: str = "hidden"
    kind: str = "values"
    tags: frozenset[str] = frozenset()
    mode: Mode = Mode.REAL
    same_memory: bool = False
    backward: bool = False
    stream: str = ""


class Draw:
    """A stream of numbers that depends on its seed and on nothing else."""

    def __init__(self, *seed: bytes) -> None:
        digest = hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in seed)).digest()
        self._bits = np.random.Philox(key=int.from_bytes(digest[:16], "little"))

    def whole(self, shape: tuple[int, ...], bits: int = 16) -> Numbers:
        """Whole numbers in [0, 2^bits), bits <= 32; each equally likely."""
        count = int(np.prod(shape, dtype=np.int64))
        raw = np.asarray(self._bits.random_raw(count), dtype=np.uint64)
        return (raw >> np.uint64(64 - bits)).astype(np.float64).reshape(shape)

    def uniform(self, shape: tuple[int, ...], low: float = -1.0, high: float = 1.0, bits: int = 16) -> Numbers:
        """Evenly spread in (low, high): the midpoints of 2^bits equal parts, so 0 never comes up in (-1, 1)."""
        return np.asarray(low + (high - low) * (2 * self.whole(shape, bits) + 1) / 2.0 ** (bits + 1))

    def bell(self, shape: tuple[int, ...], spread: float = 1.0) -> Numbers:
        """Bell-shaped around 0, within +-3.5 `spread`, about the standard deviation: a sum of 4 uniforms."""
        first, second, third, fourth = self.uniform((4, *shape))
        return np.asarray(spread * 0.875 * (first + second + third + fourth))

    def signs(self, shape: tuple[int, ...]) -> Numbers:
        """-1 and 1, equally likely."""
        return np.asarray(2 * self.whole(shape, 1) - 1)

    def spread_signs(self, shape: tuple[int, ...], low: float, high: float) -> Numbers:
        """Magnitudes evenly spread in (low, high), signs at random."""
        return np.asarray(self.signs(shape) * self.uniform(shape, low, high))


def to_value(argument: Array | Scalar) -> TensorValue | Scalar:
    """An argument as it travels."""
    return tensor_value(argument) if isinstance(argument, Array) else argument


def tensor_value(array: Array) -> TensorValue:
    """Rounds the values to the dtype and lays them out in a storage of their own."""
    rounded = torch.from_numpy(np.array(array.values, order="C")).to(getattr(torch, array.dtype))
    laid = _LAY[array.layout](rounded)
    return TensorValue(
        dtype=array.dtype,
        shape=np.shape(array.values),
        strides=tuple(laid.stride()),
        data=storage_bytes(laid),
        requires_grad=array.requires_grad,
    )


def storage_bytes(tensor: torch.Tensor) -> bytes:
    """The whole storage of a tensor that starts where its storage does."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.as_strided((size,), (1,)).view(torch.uint8).numpy().tobytes()


def _contiguous(values: torch.Tensor) -> torch.Tensor:
    return values.clone(memory_format=torch.contiguous_format)


def _transposed(values: torch.Tensor) -> torch.Tensor:
    return values.mT.clone(memory_format=torch.contiguous_format).mT


def _strided(values: torch.Tensor) -> torch.Tensor:
    storage = values.new_full((*values.shape, 2), FILLER)
    storage[..., 0] = values
    return storage[..., 0]


def _expanded(values: torch.Tensor) -> torch.Tensor:
    if not bool((values == values[:1]).all()):
        raise ValueError("an expanded tensor's values must repeat along the first dimension")
    return values[:1].clone().expand(values.shape)


_LAY = {"contiguous": _contiguous, "transposed": _transposed, "strided": _strided, "expanded": _expanded}


def to_tensor(value: TensorValue) -> torch.Tensor:
    """The tensor that a value describes, strides and all, over a fresh copy of its bytes."""
    dtype = getattr(torch, value.dtype)
    storage = torch.frombuffer(bytearray(value.data), dtype=dtype) if value.data else torch.empty(0, dtype=dtype)
    tensor = storage.as_strided(value.shape, value.strides)
    return tensor.requires_grad_(value.requires_grad)


def to_double(value: Any) -> Any:
    """A tensor value as float64, contiguous, without a graph; anything else as it is."""
    if not isinstance(value, TensorValue):
        return value
    return to_tensor(replace(value, requires_grad=False)).to(torch.float64).contiguous()


def in_double(call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call's arguments as the package's functions take them."""
    kwargs = {name: to_double(value) for name, value in call.kwargs.items()}
    if call.init or call.state:
        kwargs |= {"init": dict(call.init), "state": {name: to_double(value) for name, value in call.state.items()}}
    return tuple(to_double(value) for value in call.args), kwargs
