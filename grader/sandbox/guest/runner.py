"""Runs in the confined child: loads the source, calls it once for each request, answers with data.

Everything here shares an interpreter with the submission, so nothing that it says is believed: the supervisor checks
sizes and shapes, reads the inputs from shared memory, measures memory itself, and knows how long a call took at most.
It holds no expected value.
"""

from __future__ import annotations

import contextlib
import inspect
import linecache
import mmap
import os
import resource
import sys
import time
import types
from dataclasses import dataclass, field
from json import JSONEncoder
from typing import Any

import torch
from torch._subclasses import FakeTensor

from grader.sandbox.guest import fresh, raised, tensors, wire
from grader.sandbox.guest.fresh import FILE
from grader.sandbox.guest.imitation import Imitation

_RESERVE_BYTES = 64 << 20  # kept back from the memory limit, so that a full child can still say so
encode, _write, _flags, _clock = JSONEncoder().encode, os.write, set[str](), time.perf_counter
_flush = (sys.stdout.flush, sys.stderr.flush)


@dataclass(kw_only=True)
class Child:
    """The state of one run: pipes, shared memory, and what the submission defined."""

    requests: int
    replies: int
    arena: mmap.mmap
    device: str = "cpu"
    kind: str = "function"
    entry: Any = None
    arguments: list[Any] = field(default_factory=list)
    keywords: dict[str, Any] = field(default_factory=dict)
    layouts: dict[str, Any] = field(default_factory=dict)
    moved: dict[str, tensors.Pair] = field(default_factory=dict)
    instance: Any = None
    imitation: Imitation = field(default_factory=Imitation)


def eager_compile(model: Any = None, **_options: Any) -> Any:
    """Stands in for `torch.compile`: compiling takes half a minute here, so the function runs as it is."""
    _flags.add("compiled_eagerly")
    return model if model is not None else lambda function: function


def eager_module_compile(_module: torch.nn.Module, *_args: Any, **_options: Any) -> None:
    """Stands in for `torch.nn.Module.compile`."""
    _flags.add("compiled_eagerly")


def serve(child: Child) -> None:
    """Answers requests until the supervisor closes the pipe."""
    ourselves = os.getpid()
    while True:
        try:
            request = wire.read_request(child.requests)
        except EOFError:
            return
        report, found = handled(child, request)
        if os.getpid() != ourselves:  # a fork of the submission's that came back from its function too
            os._exit(0)
        _reply(child, report | {"ticket": request["ticket"]}, found)


def handled(child: Child, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """The report on a request, and the tensors that go with it."""
    try:
        return _load(child, request) if request["do"] == "load" else _call(child, request)
    except BaseException as error:  # whatever a submission raises, SystemExit and KeyboardInterrupt too
        told = _tell(error) | child.imitation.mixture(error)
        return {"raised": told} | child.imitation.settled(error), {}
    finally:
        for flush in _flush:
            with contextlib.suppress(Exception):
                flush()


def _reply(child: Child, report: dict[str, Any], found: dict[str, torch.Tensor]) -> None:
    payload = wire.frame(tensors.blob(encode(report | {"flags": sorted(_flags)}), found))
    while payload:
        payload = payload[_write(child.replies, payload) :]


# ---------------------------------------------------------------- loading


def _load(child: Child, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    _lower_limits(request["limits"])
    torch.set_num_threads(request["limits"]["torch_threads"])
    if request["imitate"]:
        child.imitation.begin()
    fresh.seed(child.device)
    source = request["source"]
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    module = types.ModuleType("submission")
    module.__file__ = FILE
    sys.modules["submission"] = module
    exec(compile(source, FILE, "exec", dont_inherit=True), module.__dict__)
    child.kind = request["kind"]
    child.entry = module.__dict__.get(request["name"])
    return {"problem": _what_is_wrong(child, request)}, {}


def _lower_limits(limits: dict[str, Any]) -> None:
    data = limits["data_bytes"]
    resource.setrlimit(resource.RLIMIT_DATA, (data, data + _RESERVE_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"], limits["file_bytes"]))
    cpu = int(limits["cpu_s"]) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))


def _what_is_wrong(child: Child, request: dict[str, Any]) -> dict[str, Any] | None:
    """None if the source defines what was asked for and it takes the calls; else what was expected and found."""
    name, entry = request["name"], child.entry
    if entry is None or not callable(entry) or (child.kind == "module" and not isinstance(entry, type)):
        names = [raised.clean(n) for n, v in vars(sys.modules["submission"]).items() if type(n) is str and callable(v)]
        found = raised.class_text(type(entry), "__name__") if entry is not None else None
        return {"missing": name, "found": found, "defined": [n for n in names if not n.startswith("_")][:50]}
    try:
        signature = inspect.signature(entry)
    except (ValueError, TypeError):
        return None  # a scripted function, say: the calls themselves will show
    for count, keywords in request["patterns"]:
        try:
            signature.bind(*[None] * count, **dict.fromkeys(keywords))
        except TypeError as error:
            return {
                "signature": raised.clean(f"{name}{signature}", 500),
                "reason": raised.clean(str(error), 500),
                "count": count,
                "keywords": keywords,
            }
    return None


# ---------------------------------------------------------------- calling


def _call(child: Child, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    mode = request["mode"]
    with child.imitation.calling(mode):
        _set_arguments(child, request)
        function = _instance(child, request) if child.kind == "module" else child.entry
        inputs = _inputs(child)
        child.layouts = before = _layouts(inputs, mode)
        started = _clock()
        result = function(*child.arguments, **child.keywords)
        seconds = _clock() - started
        tensors.copy_all(child.moved.values())
        changed = _layouts(inputs, mode)
        report: dict[str, Any] = {
            "seconds": seconds,
            "changed": {name: [before[name], now] for name, now in changed.items() if before[name] != now},
            "returned": tensors.describe(result, tensors.PLAIN | ({FakeTensor} if mode == "fake" else set()), mode),
        }
        if mode != "real":
            return _without_values(report, result) | child.imitation.settled(), {}
        return report, _fetched(request, report["returned"], result, _leaves(inputs, function))


def _set_arguments(child: Child, request: dict[str, Any]) -> None:
    """New tensors; for a call in the same memory the last ones again, but for those that were turned or resized."""
    kept = {
        n: t for n, t in _inputs(child).items() if request["same_memory"] and child.layouts.get(n) == tensors.layout(t)
    }
    child.moved = {name: pair for name, pair in child.moved.items() if name in kept}
    tensors.copy_all((there, here) for here, there in child.moved.values())
    named = [(str(position), value) for position, value in enumerate(request["args"])]
    mode = request["mode"]
    child.arguments = [kept[name] if name in kept else _value(child, name, value, mode) for name, value in named]
    child.keywords = {
        name: kept[name] if name in kept else _value(child, name, value, mode)
        for name, value in request["kwargs"].items()
    }


def _value(child: Child, name: str, value: Any, mode: str) -> Any:
    if not isinstance(value, dict):
        return value
    tensor, pair = tensors.make(value, child.arena, mode, child.device)
    if pair:
        child.moved[name] = pair
    return tensor


def _instance(child: Child, request: dict[str, Any]) -> Any:
    """A new module with the weights; for a call in the same memory the last one again, with other weights."""
    kept, child.instance = child.instance if request["same_memory"] else None, None
    module = child.instance = child.entry(**request["init"]) if kept is None else kept
    values = "fake" if request["mode"] == "fake" else "real"
    state = {name: tensors.make(spec, child.arena, values, child.device)[0] for name, spec in request["state"].items()}
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{child.entry.__name__} is no torch.nn.Module")
    if state:
        module.to(device=child.device, dtype=next(iter(state.values())).dtype)
        torch.nn.Module.load_state_dict(module, state, strict=True)
    return module if request["mode"] == "real" else module.to("meta" if request["mode"] == "meta" else "cuda")


def _inputs(child: Child) -> dict[str, torch.Tensor]:
    named = {str(position): value for position, value in enumerate(child.arguments)} | child.keywords
    return {name: value for name, value in named.items() if isinstance(value, torch.Tensor)}


def _layouts(inputs: dict[str, torch.Tensor], mode: str) -> dict[str, Any]:
    """What the inputs look like, for real ones: the others have no memory that could be looked at."""
    return {name: tensors.layout(tensor) for name, tensor in inputs.items()} if mode == "real" else {}


def _leaves(inputs: dict[str, torch.Tensor], function: Any) -> dict[str, torch.Tensor]:
    parameters = dict(function.named_parameters()) if isinstance(function, torch.nn.Module) else {}
    return {name: tensor for name, tensor in (inputs | parameters).items() if tensor.requires_grad}


def _without_values(report: dict[str, Any], result: Any) -> dict[str, Any]:
    if report["returned"]["plain"]:
        report["returned"]["device"] = str(result.device)
    return report


def _fetched(
    request: dict[str, Any], returned: dict[str, Any], result: Any, leaves: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """The result's values if they are few enough to be wanted, and gradients if they are."""
    if not returned["plain"] or tensors.byte_count(returned) > request["result_bytes"]:
        return {}
    found = {"result": tensors.on_cpu(result)}
    if request["backward"] and returned["differentiable"] and leaves:
        found |= _gradients(request, returned, result, leaves)
    return found


def _gradients(
    request: dict[str, Any], returned: dict[str, Any], result: Any, leaves: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Differentiates the result's sum; notes what is not reached and if all is finite, or that it failed."""
    try:
        found = torch.autograd.grad(result.sum(), list(leaves.values()), allow_unused=True)
    except Exception as error:
        returned["gradient_error"] = _tell(error)
        return {}
    named = {name: gradient for name, gradient in zip(leaves, found, strict=True) if gradient is not None}
    returned["unreached"] = [name for name in leaves if name not in named][:64]
    returned["finite_gradients"] = all(bool(gradient.isfinite().all()) for gradient in named.values())
    if not request["want_gradients"]:
        return {}
    return {f"gradient.{name}": tensors.on_cpu(gradient) for name, gradient in named.items()}


def _tell(error: BaseException) -> dict[str, Any]:
    """An exception as data. A child that is full gets its reserve first, or it could not even say so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    limit = raised.limit_of(error)
    if limit is not None:
        _flags.add(limit)
    return raised.tell(error, FILE)
