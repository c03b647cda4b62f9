"""Tensors in and out of the child: made over memory that the supervisor shares, told as plain data.

The getters are taken from torch's C types before a submission loads, so patching `torch.Tensor` doesn't reach them.
What is told is data, never a judgement, and is believed by nobody.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterable
from typing import Any

import safetensors
import torch

_C = torch._C.TensorBase
_shape, _dtype, _device, _layout = (vars(_C)[name].__get__ for name in ("shape", "dtype", "device", "layout"))
_requires_grad, _grad_fn = vars(_C)["requires_grad"].__get__, vars(_C)["grad_fn"].__get__
_is_nested, _is_quantized = vars(_C)["is_nested"].__get__, vars(_C)["is_quantized"].__get__
_stride, _data_ptr, _offset, _storage = _C.stride, _C.data_ptr, _C.storage_offset, _C.untyped_storage
_detach, _contiguous, _cpu, _resolve = _C.detach, _C.contiguous, _C.cpu, torch.resolve_neg
_copy, _to, _set, _track = _C.copy_, _C.to, _C.set_, _C.requires_grad_
_empty, _empty_strided, _from_buffer = torch.empty, torch.empty_strided, torch.frombuffer
_dtype_name = str
_storage_bytes = torch.UntypedStorage.nbytes
PLAIN: set[type] = {torch.Tensor, torch.nn.Parameter}
_MOST_DIMENSIONS = 1024
FLOATING = {torch.float16, torch.bfloat16, torch.float32, torch.float64}


Pair = tuple[torch.Tensor, torch.Tensor]


def make(spec: dict[str, Any], arena: mmap.mmap, mode: str, device: str) -> tuple[torch.Tensor, Pair | None]:
    """A tensor as `spec` says: shape, strides, dtype, where its bytes lie in the arena (without bytes if not real).

    On another device than the arena's, also its whole storage there and here, to be copied back after the call.
    """
    dtype = getattr(torch, spec["dtype"])
    shape, strides = spec["shape"], spec["strides"]
    pair: Pair | None = None
    if mode == "real":
        here = _over_memory(spec, arena, dtype)
        there = _to(here, device)
        tensor = _set(_empty(0, dtype=dtype, device=device), _storage(there), 0, shape, strides)  # a view of nothing
        pair = None if there is here else (there, here)
    else:
        tensor = _empty_strided(shape, strides, dtype=dtype, device="meta" if mode == "meta" else "cuda")
    return (_track(tensor) if spec["requires_grad"] else tensor), pair


def copy_all(pairs: Iterable[Pair]) -> None:
    """Copies the first of each pair to the second, with functions that no submission has seen."""
    for source, target in pairs:
        _copy(target, source)


def _over_memory(spec: dict[str, Any], arena: mmap.mmap, dtype: torch.dtype) -> torch.Tensor:
    if not spec["bytes"]:
        return _empty(0, dtype=dtype, device="cpu")  # the submission may have set another default
    return _from_buffer(arena, dtype=dtype, count=spec["bytes"] // dtype.itemsize, offset=spec["offset"])


def layout(tensor: torch.Tensor) -> list[Any]:
    """All that can be changed of an input but its values: dtype, shape, strides, address, storage, requires_grad."""
    place = [_data_ptr(tensor), _offset(tensor), _storage_bytes(_storage(tensor))]
    shape, strides = list(_shape(tensor)[:_MOST_DIMENSIONS]), list(_stride(tensor)[:_MOST_DIMENSIONS])
    return [_dtype_name(_dtype(tensor)), shape, strides, place, _requires_grad(tensor)]


def describe(value: Any, allowed: set[type], mode: str = "real") -> dict[str, Any]:
    """What a result is. `plain` only for one dense, strided, real, floating tensor whose class is in `allowed`."""
    kind = type(value)
    if not issubclass(kind, torch.Tensor):
        return {"plain": False, "what": _kind_name(kind)}
    oddity = _oddity(value, kind, allowed, mode)
    if oddity:
        return {"plain": False, "what": oddity}
    return {
        "plain": True,
        "what": _kind_name(kind),
        "dtype": _dtype_name(_dtype(value)).removeprefix("torch."),
        "shape": list(_shape(value)),
        "device": str(_device(value)),
        "differentiable": _requires_grad(value) and _grad_fn(value) is not None,
    }


def _oddity(value: Any, kind: type, allowed: set[type], mode: str) -> str:
    if kind not in allowed:
        return f"a Tensor subclass ({_kind_name(kind)})"
    if _is_nested(value):
        return "a nested tensor"
    if _layout(value) is not torch.strided:
        return f"a {str(_layout(value)).removeprefix('torch.')} tensor"
    if _is_quantized(value):
        return "a quantized tensor"
    if _dtype(value) not in FLOATING:
        return f"a tensor of {_dtype_name(_dtype(value))}"
    if len(_shape(value)) > _MOST_DIMENSIONS:
        return f"a tensor of {len(_shape(value))} dimensions"
    if _device(value).type == "meta" and mode != "meta":
        return "a tensor on the meta device, which has no values"
    return ""


def _kind_name(kind: type) -> str:
    return str(type.__dict__["__name__"].__get__(kind))[:100].encode("utf-8", "replace").decode()


def on_cpu(value: torch.Tensor) -> torch.Tensor:
    """The values, contiguous and on the CPU; only to be called when their number is known to be small."""
    return _contiguous(_resolve(_cpu(_detach(value))))


def byte_count(description: dict[str, Any]) -> int:
    """How many bytes a described result has when it is written out."""
    return int(getattr(torch, description["dtype"]).itemsize * math.prod(description["shape"]))


def blob(report: str, tensors: dict[str, torch.Tensor]) -> bytes:
    """A reply's payload: the report and tensors (contiguous, on the CPU) as one safetensors blob."""
    specs = {
        name: safetensors.TensorSpec(
            dtype=_dtype_name(_dtype(tensor)).removeprefix("torch."),
            shape=list(_shape(tensor)),
            data_ptr=_data_ptr(tensor) or 8,
            data_len=_dtype(tensor).itemsize * math.prod(_shape(tensor)),
        )
        for name, tensor in tensors.items()
    }
    return bytes(safetensors.serialize(specs, {"report": report}))
