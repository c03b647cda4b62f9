"""Writes torch-names.json: what the editor completes after a dot. Run it after changing torch's pin."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from types import ModuleType

import torch
from torch import linalg, nn
from torch.nn import functional

FILE = Path(__file__).with_name("torch-names.json")
CLASSES = {"Generator", "Size", "Tensor", "device", "dtype", "finfo", "iinfo"}
SELDOM = re.compile(r"_copy$|quant|^(sym|parse|import)_|^(set|get|is|use|are)_.*(enabled|mode|algorithms|threads)$")


def torch_names() -> dict[str, list[str]]:
    """Public functions, classes and dtypes by module, and the methods of tensors."""
    modules = {"torch": torch, "torch.nn": nn, "torch.nn.functional": functional, "torch.linalg": linalg}
    methods = [name for name in dir(torch.Tensor) if is_public(name)]
    return {**{name: members(module) for name, module in modules.items()}, "Tensor": methods}


def members(module: ModuleType) -> list[str]:
    """Names that code would use: documented functions, layers, dtypes and submodules."""
    return [name for name in dir(module) if is_public(name) and is_useful(module, name)]


def is_public(name: str) -> bool:
    """In-place variants are left out: no solution may change its inputs."""
    return not name.startswith("_") and not name.endswith("_")


def is_useful(module: ModuleType, name: str) -> bool:
    """torch itself also holds its own machinery: classes in capitals and functions that no documentation knows."""
    value = getattr(module, name)
    if SELDOM.search(name):
        return False
    if inspect.ismodule(value):
        return value.__name__ in {"torch.nn", "torch.nn.functional", "torch.linalg"}
    if isinstance(value, torch.dtype) or name in CLASSES:
        return True
    documented = bool(value.__doc__) or hasattr(functional, name)
    return callable(value) and documented and (module is nn or name[0].islower())


if __name__ == "__main__":
    FILE.write_text(json.dumps(torch_names(), indent=0) + "\n")
