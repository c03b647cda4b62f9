"""Inputs arrive as they were described, one call at a time."""

from __future__ import annotations

import pytest

from grader.records import Call, Mode
from grader.sandbox.base import Sandbox
from grader.sandbox.guest.walls import seccomp
from tests.sandbox.running import DOUBLE, PRELUDE, alone, calls, run, tensor, values

NUMBERS = seccomp.machine()[1]
BODY = PRELUDE + "def f(x):\n    "


def test_same_memory(box: Sandbox) -> None:
    """A call in the same memory gets the same tensors with other values; others get addresses never seen before."""
    made = [
        *calls(2),
        Call(args=(tensor(7, 8, 9),), same_memory=True),
        Call(args=(tensor(1, 1, 1),)),
    ]
    seen = run(box, "def f(x):\n    print(x.data_ptr(), id(x))\n    return x.clone()", made)
    first, second, third, fourth = seen.end.stdout.splitlines()

    assert second == third
    assert len({line.split()[0] for line in (first, second, fourth)}) == 3
    assert values(seen.reports[3]) == (7, 8, 9)


def test_inputs_as_described(box: Sandbox) -> None:
    """Strides, expanded dimensions, empty shapes and `requires_grad` arrive as told; numbers too."""
    made = [
        Call(args=(tensor(1, 2, 3, 4, 5, 6, shape=(2, 3), strides=(1, 2)), 4), kwargs={"cap": 2.5}),
        Call(args=(tensor(1, 2, shape=(3, 2), strides=(0, 1)), 4), kwargs={"cap": 2}),
        Call(args=(tensor(shape=(0, 3), strides=(3, 1)), 4), kwargs={"cap": 2}),
        Call(args=(tensor(5, shape=(), strides=()), 4), kwargs={"cap": 2}),
        Call(args=(tensor(5, requires_grad=True), 4), kwargs={"cap": None}),
    ]
    told = "list(x.shape), x.stride(), x.tolist(), x.requires_grad, n, cap"
    seen = run(box, f"def f(x, n, cap):\n    print({told})\n    return x", made)

    assert seen.end.stdout.splitlines() == [
        "[2, 3] (1, 2) [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]] False 4 2.5",
        "[3, 2] (0, 1) [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]] False 4 2",
        "[0, 3] (3, 1) [] False 4 2",
        "[] () 5.0 False 4 2",
        "[1] (1,) [5.0] True 4 None",
    ]


@pytest.mark.parametrize(("mode", "device"), [alone(Mode.FAKE, "cuda"), (Mode.META, "meta")])
def test_tensors_without_values(box: Sandbox, mode: Mode, device: str) -> None:
    """Fake tensors claim to be on a GPU, meta tensors have no values; what comes of them is described."""
    seen = run(box, DOUBLE, [Call(args=(tensor(1, 2, 3),), mode=mode)])

    assert seen.last.returned is not None
    assert seen.last.returned.plain
    assert seen.last.returned.device.partition(":")[0] == device
    assert seen.last.returned.shape == (3,)


def test_no_later_input_is_in_memory(box: Sandbox) -> None:
    """While a call runs, nothing of a later call lies in the memory that is shared with the supervisor."""
    source = """
import gc, mmap
arena = max((o for o in gc.get_objects() if isinstance(o, mmap.mmap)), key=len, default=None)
def f(x):
    found = [i for i in range(0, 1 << 16, 4) if arena[i:i + 4] != bytes(4)] if arena else []
    print(len(found))
    return x
"""
    assert run(box, source, 3).end.stdout == "3\n6\n9\n"
