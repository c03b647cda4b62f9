"""Framed messages of supervisor and child: a length, then JSON one way, safetensors the other. No pickle.

A request is JSON. A reply is a safetensors blob whose metadata holds one JSON text, `report`. Before both stands their
length, eight bytes, little endian. Whoever reads says first how long a message may be.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import safetensors

LENGTH_BYTES = 8
ARENA_BYTES = 256 << 20  # of memory shared by supervisor and child, for all inputs of a run
DTYPES = {
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
}


class Malformed(ValueError):
    """Bytes that are no message of ours."""


def frame(payload: bytes) -> bytes:
    """A message ready to be written."""
    return len(payload).to_bytes(LENGTH_BYTES, "little") + payload


def request(message: Mapping[str, Any]) -> bytes:
    """A framed request."""
    return frame(json.dumps(message).encode())


def read_exactly(descriptor: int, count: int) -> bytes:
    """Blocks until `count` bytes came; EOFError if the other end closed first."""
    parts = []
    while count:
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def read_request(descriptor: int) -> dict[str, Any]:
    """The next request; the supervisor is trusted, so its length is not limited."""
    length = int.from_bytes(read_exactly(descriptor, LENGTH_BYTES), "little")
    message: dict[str, Any] = json.loads(read_exactly(descriptor, length))
    return message


class Tensor:
    """One tensor of a reply: name of the dtype as torch spells it, shape, raw bytes (contiguous, little endian)."""

    __slots__ = ("data", "dtype", "shape")

    def __init__(self, dtype: str, shape: tuple[int, ...], data: bytes) -> None:
        self.dtype, self.shape, self.data = dtype, shape, data


def parse_reply(blob: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The report and the tensors of a reply. Malformed, whatever is wrong with it."""
    try:
        tensors = {
            name: Tensor(DTYPES[entry["dtype"]], tuple(entry["shape"]), bytes(entry["data"]))
            for name, entry in safetensors.deserialize(blob)  # type: ignore[no-untyped-call]
        }
        header = json.loads(blob[LENGTH_BYTES : LENGTH_BYTES + int.from_bytes(blob[:LENGTH_BYTES], "little")])
        report = json.loads(header["__metadata__"]["report"])
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise Malformed(type(error).__name__) from error
    if not isinstance(report, dict):
        raise Malformed("no report")
    return report, tensors
