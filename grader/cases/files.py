"""A version of a problem's cases as files, and back.

manifest.json         every case (what is called, tags, sha256), and the sha256 of the sources that made them and of
                      inputs.safetensors. The version is its hash: the same seed and sources give the same bytes on any
                      machine.
inputs.safetensors    the storage of every tensor that is passed, as bytes: "<case>/<argument>"
derived.json          when and of which seed it was made, and the sha256 of the two files below, which may differ in the
                      last bits between machines
expected.safetensors  "<case>/expected", "<case>/allowance", float64; where gradients are judged the same below
                      "<case>/gradient/<argument>"; of public cases "<case>/quantity/<name>", "<case>/region/<words>"
mistakes.safetensors  what every named mistake answers, see `explain`
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load, save

from grader.cases.case import Case
from grader.errors import CasesError
from grader.records import Call, Mode, TensorValue

MANIFEST, INPUTS, DERIVED = "manifest.json", "inputs.safetensors", "derived.json"
EXPECTED, MISTAKES = "expected.safetensors", "mistakes.safetensors"
FORMAT = 1


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def to_json(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode()


def version_of(manifest: bytes) -> str:
    """The name of the version: the first 16 digits of its manifest's sha256."""
    return sha256(manifest)[:16]


def pack(slug: str, cases: Sequence[Case], sources: Mapping[str, str]) -> dict[str, bytes]:
    """manifest.json and inputs.safetensors."""
    tensors: dict[str, bytes] = {}
    entries = [_pack_case(case, tensors) for case in cases]
    inputs = save({key: np.frombuffer(data, dtype=np.uint8) for key, data in tensors.items()})
    manifest = {
        "format": FORMAT,
        "problem": slug,
        "sources": dict(sources),
        "files": {INPUTS: sha256(inputs)},
        "cases": entries,
    }
    return {MANIFEST: to_json(manifest), INPUTS: inputs}


def _pack_case(case: Case, tensors: dict[str, bytes]) -> dict[str, Any]:
    own: dict[str, bytes] = {}
    call = _pack_call(case, own)
    plain = ("name", "visibility", "kind", "dtype", "shape", "dims", "result_dtype")
    entry = {name: getattr(case, name) for name in plain} | {"tags": sorted(case.tags), "call": call}
    tensors |= own
    return entry | {"sha256": case_digest(entry, own)}


def case_digest(entry: Mapping[str, Any], tensors: Mapping[str, bytes]) -> str:
    """sha256 of all that makes one case: its manifest entry and its tensors' bytes."""
    whole = {key: value for key, value in entry.items() if key != "sha256"}
    return sha256(to_json([whole, {key: sha256(data) for key, data in tensors.items()}]))


def _pack_call(case: Case, tensors: dict[str, bytes]) -> dict[str, Any]:
    call = case.call

    def pack_value(value: Any, place: str) -> Any:
        if not isinstance(value, TensorValue):
            return value
        tensors[f"{case.name}/{place}"] = value.data
        return {"tensor": f"{case.name}/{place}"} | asdict(replace(value, data=b"")) | {"data": None}

    return {
        "args": [pack_value(value, str(i)) for i, value in enumerate(call.args)],
        "kwargs": {name: pack_value(value, name) for name, value in call.kwargs.items()},
        "init": dict(call.init),
        "state": {name: pack_value(value, f"state/{name}") for name, value in call.state.items()},
        "mode": call.mode.value,
        "same_memory": call.same_memory,
        "backward": call.backward,
        "want_gradients": call.want_gradients,
        "result_bytes": call.result_bytes,
    }


def pack_answers(cases: Sequence[Case]) -> bytes:
    """expected.safetensors."""
    arrays = {}
    for case in cases:
        if case.expected is not None and case.allowance is not None:
            arrays[f"{case.name}/expected"] = case.expected.numpy()
            arrays[f"{case.name}/allowance"] = case.allowance.numpy()
        for name, (expected, allowance) in case.gradients.items():
            arrays[f"{case.name}/gradient/{name}/expected"] = expected.numpy()
            arrays[f"{case.name}/gradient/{name}/allowance"] = allowance.numpy()
        arrays |= {f"{case.name}/quantity/{name}": values.numpy() for name, values in case.quantities.items()}
        arrays |= {f"{case.name}/region/{words}": mask.numpy() for words, mask in case.regions.items()}
    return save(arrays)


def _below(answers: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {key.removeprefix(prefix): value for key, value in answers.items() if key.startswith(prefix)}


def _gradients(answers: Mapping[str, torch.Tensor], name: str) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    found = _below(answers, f"{name}/gradient/")
    names = [key.removesuffix("/expected") for key in found if key.endswith("/expected")]
    return {one: (found[f"{one}/expected"], found[f"{one}/allowance"]) for one in names}


def unpack(files: Mapping[str, bytes], where: str) -> tuple[Case, ...]:
    """The cases in manifest.json, inputs.safetensors and expected.safetensors, which were checked already.

    Raises CasesError for a case whose own sum is wrong.
    """
    manifest = json.loads(files[MANIFEST])
    inputs = {key: array.tobytes() for key, array in load(files[INPUTS]).items()}
    answers = {key: torch.from_numpy(array) for key, array in load(files[EXPECTED]).items()}
    return tuple(_unpack_case(entry, inputs, answers, where) for entry in manifest["cases"])


def _unpack_case(
    entry: dict[str, Any], inputs: Mapping[str, bytes], answers: Mapping[str, torch.Tensor], where: str
) -> Case:
    name, own = entry["name"], {}

    def unpack_value(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        own[value["tensor"]] = inputs[value["tensor"]]
        return TensorValue(
            dtype=value["dtype"],
            shape=tuple(value["shape"]),
            strides=tuple(value["strides"]),
            data=own[value["tensor"]],
            requires_grad=value["requires_grad"],
        )

    raw = entry["call"]
    call = Call(
        args=tuple(unpack_value(value) for value in raw["args"]),
        kwargs={key: unpack_value(value) for key, value in raw["kwargs"].items()},
        init=raw["init"],
        state={key: unpack_value(value) for key, value in raw["state"].items()},
        mode=Mode(raw["mode"]),
        **{key: raw[key] for key in ("same_memory", "backward", "want_gradients", "result_bytes")},
    )
    if case_digest(entry, own) != entry["sha256"]:
        raise CasesError(f"{where}: case {name!r} was altered: run `grader cases regenerate`, or roll back")
    return Case(
        **{key: entry[key] for key in ("name", "visibility", "kind", "dtype", "result_dtype")},
        tags=frozenset(entry["tags"]),
        call=call,
        shape=tuple(entry["shape"]),
        dims=tuple(entry["dims"]),
        expected=answers.get(f"{name}/expected"),
        allowance=answers.get(f"{name}/allowance"),
        gradients=_gradients(answers, name),
        quantities=_below(answers, f"{name}/quantity/"),
        regions=_below(answers, f"{name}/region/"),
    )
