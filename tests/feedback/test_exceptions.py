"""What an exception is taken for: by names that are there, without asking torch to import anything."""

from __future__ import annotations

import pytest
import torch

from grader.feedback.exceptions import is_allocation_failure, known_type
from grader.records import Raised


def raised(kind: str, module: str, message: str = "") -> Raised:
    """An exception as a child tells it."""
    return Raised(type=kind, module=module, message=message)


def test_known_types() -> None:
    """Names of Python's and torch's own exceptions; other classes, other modules' and other things are none."""
    assert known_type(raised("KeyError", "builtins")) == "KeyError"
    assert known_type(raised("OutOfMemoryError", "torch")) == "OutOfMemoryError"
    assert [known_type(raised(*one)) for one in (("Tensor", "torch"), ("KeyError", "mine"), ("print", "builtins"))] == [
        None
    ] * 3


def test_a_name_imports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch imports some of its modules when they are asked for; a submission's word for a class is no reason."""

    def asked(name: str) -> object:
        raise AssertionError(f"torch was asked for {name}")

    monkeypatch.setattr(torch, "__getattr__", asked)
    assert known_type(raised("_put_off", "torch")) is None


@pytest.mark.parametrize(
    "message",
    [
        "CUDA out of memory. Tried to allocate 20.00 GiB",
        "CUDA error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ],
)
def test_a_gpu_without_memory(message: str) -> None:
    """An allocation that failed on a GPU is the memory limit."""
    assert is_allocation_failure(raised("RuntimeError", "builtins", message))
    assert not is_allocation_failure(raised("RuntimeError", "builtins", "CUDA error: device-side assert triggered"))
