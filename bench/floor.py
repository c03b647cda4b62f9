"""The bare calls of a submission, with nothing around them: no sandbox, no comparison, inputs already there.

`python -m bench.floor CALLS SOURCE NAME cold` makes them once, as a cold process would. `... spare N` makes them N
times, each time in a forked child that waited with torch imported, and prints the milliseconds from "go" to the last
byte.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch._subclasses import FakeTensorMode

from grader.records import Call, Mode, TensorValue, Value


def main() -> None:
    """See the module's docstring."""
    calls_file, source_file, name, how, *count = sys.argv[1:]
    torch.set_num_threads(1)
    calls: Sequence[Call] = pickle.loads(Path(calls_file).read_bytes())
    source = Path(source_file).read_text(encoding="utf-8")
    if how == "cold":
        answer(source, name, calls, sys.stdout.buffer.write)
        return
    answer(source, name, calls, len)  # warm, as spares are
    for _ in range(int(count[0])):
        print(f"{1000 * spare(source, name, calls):.3f}", flush=True)


def spare(source: str, name: str, calls: Sequence[Call]) -> float:
    """Seconds from telling a waiting child to go until its last byte is read."""
    go_read, go_write = os.pipe()
    data_read, data_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(data_read)
        os.read(go_read, 1)
        answer(source, name, calls, lambda data: os.write(data_write, data))
        os._exit(0)
    os.close(data_write)
    time.sleep(0.02)  # it is waiting by then
    started = time.perf_counter()
    os.write(go_write, b"!")
    while os.read(data_read, 1 << 20):
        pass
    seconds = time.perf_counter() - started
    os.waitpid(child, 0)
    for descriptor in (go_read, go_write, data_read):
        os.close(descriptor)
    return seconds


def answer(source: str, name: str, calls: Sequence[Call], write: Callable[[bytes], Any]) -> None:
    """Loads the source and makes all calls; the results' bytes go to `write`."""
    scope: dict[str, Any] = {"__name__": "submission"}
    exec(compile(source, "submission.py", "exec"), scope)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for call in calls:
        with FakeTensorMode() if call.mode is Mode.FAKE else torch.enable_grad():
            given = [made(value, call.mode) for value in call.args]
            if call.same_memory:
                refill(args, given)
            else:
                args, kwargs = given, {key: made(value, call.mode) for key, value in call.kwargs.items()}
            result = scope[name](*args, **kwargs)
            if call.backward and result.requires_grad:
                leaves = [value for value in args if isinstance(value, torch.Tensor) and value.requires_grad]
                torch.autograd.grad(result.sum(), leaves, allow_unused=True)
        if call.mode is Mode.REAL:
            write(bytes(result.detach().contiguous().view(-1).view(torch.uint8).numpy()))


def made(value: Value, mode: Mode) -> Any:
    """An argument, on fresh memory."""
    if not isinstance(value, TensorValue):
        return value
    dtype = getattr(torch, value.dtype)
    if mode is not Mode.REAL:
        device = "cuda" if mode is Mode.FAKE else "meta"
        tensor = torch.empty_strided(value.shape, value.strides, dtype=dtype, device=device)
    elif value.data:
        tensor = torch.frombuffer(bytearray(value.data), dtype=dtype).as_strided(value.shape, value.strides)
    else:
        tensor = torch.empty(value.shape, dtype=dtype)
    return tensor.requires_grad_() if value.requires_grad else tensor


def refill(old: list[Any], new: list[Any]) -> None:
    """New values in the same memory."""
    with torch.no_grad():
        for there, value in zip(old, new, strict=True):
            if isinstance(there, torch.Tensor):
                there.data.copy_(value)


if __name__ == "__main__":
    main()
