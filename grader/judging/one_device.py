"""Which of torch's operations need all their tensors on one device: by torch's own list, that its code is made from."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import torch

_LIST = Path("torchgen", "packaged", "ATen", "native", "native_functions.yaml")
_ENTRY = re.compile(r"(?m)^- func: (\w+)")
_ON_CUDA = re.compile(r"(?m)^    [\w, ]*\bCUDA\b[\w, ]*:|^  structured_delegate:")
_ITERATED = re.compile(r"device_check: NoCheck\s*# TensorIterator")
_UNCHECKED = re.compile(r"device_check: NoCheck(?!\s*# TensorIterator)")
# TensorIterator checks what they made of their tensors, indices moved to the others, say
_MOVING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index_put", "bernoulli", "bernoulli_"}
_MADE_OF_SUCH = {"matmul", "linear", "stack", "mv", "dot", "vdot", "embedding", "masked_fill"}


def needs_one_device(operation: str) -> bool:
    """Whether a GPU refuses it when one of its tensors has dimensions and elements and lies elsewhere."""
    return operation in _checked() or operation in _MADE_OF_SUCH


@cache
def _checked() -> frozenset[str]:
    """Those whose code for CUDA has a check of all devices generated into it, or leaves that to TensorIterator."""
    _, *parts = _ENTRY.split((Path(torch.__file__).parents[1] / _LIST).read_text(encoding="utf-8"))
    entries = list(zip(parts[::2], parts[1::2], strict=True))
    unchecked = {name for name, entry in entries if _UNCHECKED.search(entry)}
    checked = {name for name, entry in entries if _ITERATED.search(entry) or _ON_CUDA.search(entry)}
    return frozenset(checked - unchecked - _MOVING)
