"""The memory that a supervisor shares with one child: inputs are put into it, and looked at again after the call."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.errors import SandboxFailed
from grader.records import Call, Mutation, TensorValue, Value

ALIGNMENT = 64
_ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
_LAYOUT = ("dtype", "shape", "strides", "storage", "requires_grad")


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A tensor of the current call, and where its bytes lie."""

    value: TensorValue
    offset: int


class Memory:
    """Each call's tensors get addresses that no call had before, unless it asks for the same memory again."""

    def __init__(self, arena: mmap.mmap) -> None:
        self._arena = arena
        self._end = 0
        self._inputs: dict[str, Placed] = {}

    def place(self, call: Call) -> dict[str, Any]:
        """Writes the call's tensors; returns its request, in which a tensor is told by layout and offset."""
        named = {str(position): value for position, value in enumerate(call.args)} | dict(call.kwargs)
        offsets = {name: placed.offset for name, placed in self._inputs.items()} if call.same_memory else {}
        self._inputs = {
            name: self._put(value, offsets.get(name)) for name, value in named.items() if isinstance(value, TensorValue)
        }
        state = {name: _spec(self._put(value, None)) for name, value in call.state.items()}
        return {
            "args": [self._told(str(position), value) for position, value in enumerate(call.args)],
            "kwargs": {name: self._told(name, value) for name, value in call.kwargs.items()},
            "init": dict(call.init),
            "state": state,
            "mode": str(call.mode),
            "same_memory": call.same_memory,
            "backward": call.backward,
            "want_gradients": call.want_gradients,
            "result_bytes": call.result_bytes,
        }

    def _told(self, name: str, value: Value) -> Any:
        return _spec(self._inputs[name]) if isinstance(value, TensorValue) else value

    def _put(self, value: TensorValue, offset: int | None) -> Placed:
        if offset is None:
            offset = self._end
            self._end += -(-len(value.data) // ALIGNMENT) * ALIGNMENT
        if offset + len(value.data) > len(self._arena):
            raise SandboxFailed(
                f"the inputs of this problem need more than the {len(self._arena)} bytes of shared memory"
            )
        self._arena[offset : offset + len(value.data)] = value.data
        return Placed(value=value, offset=offset)

    def mutations(self, changed: Mapping[str, list[list[Any]]]) -> tuple[Mutation, ...]:
        """What became of the inputs: values as they lie in memory, the rest as the child tells it."""
        found = []
        for name, placed in self._inputs.items():
            if name in changed:
                before, after = changed[name]
                found += [
                    Mutation(argument=name, what=what)
                    for what, a, b in zip(_LAYOUT, before, after, strict=True)
                    if a != b
                ]
            now = self._arena[
                placed.offset : placed.offset + len(placed.value.data)
            ]  # once: the child may go on writing
            if now != placed.value.data:
                index = _first_difference(placed.value, now)
                found.append(Mutation(argument=name, what="values", index=index))
        return tuple(found)

    def close(self) -> None:
        """Lets go of the memory."""
        self._arena.close()


def _first_difference(sent: TensorValue, now: bytes) -> tuple[int, ...]:
    """The index of the first element, in memory order, whose bytes are not what was sent."""
    differs = np.frombuffer(now, dtype=np.uint8) != np.frombuffer(sent.data, dtype=np.uint8)
    element = int(np.flatnonzero(differs)[0]) // _ITEM_BYTES[sent.dtype]
    index = [0] * len(sent.strides)
    for axis in sorted(range(len(index)), key=lambda axis: -sent.strides[axis]):
        if sent.strides[axis]:
            index[axis], element = divmod(element, sent.strides[axis])
    return tuple(index)


def _spec(placed: Placed) -> dict[str, Any]:
    value = placed.value
    return {
        "dtype": value.dtype,
        "shape": value.shape,
        "strides": value.strides,
        "offset": placed.offset,
        "bytes": len(value.data),
        "requires_grad": value.requires_grad,
    }
