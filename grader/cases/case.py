"""The records of cases: what is called, what must come back, and how exact it must be."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from grader.records import Call

if TYPE_CHECKING:
    from grader.cases.mistakes import Explanations

PUBLIC = "public"
HIDDEN = "hidden"
VALUES = "values"
DEVICE = "device"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call and what must come back from it.

    visibility: "public" or "hidden". kind: "values" (real tensors, compared) or "device" (fake or meta tensors; only
    shape, dtype and device count, and the result is indicative). tags: the ingredients that the case carries.
    shape, dims: of the result; dims are names for messages, such as ("B", "T", "d_ff").
    expected, allowance: float64 of that shape; None for "device". |actual - expected| <= allowance is right: the
    accepted factor is already in it. gradients: of the result's sum, where they are judged: by argument or parameter,
    (expected, allowance). quantities, regions: of public cases, what the package says of each element: numbers by name
    ("gate"), and flags by the words for a region ("|gate| > gate_cap").
    """

    name: str
    visibility: str
    kind: str
    dtype: str
    tags: frozenset[str]
    call: Call
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    result_dtype: str
    expected: torch.Tensor | None = field(repr=False, compare=False)
    allowance: torch.Tensor | None = field(repr=False, compare=False)
    gradients: Mapping[str, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict, repr=False, compare=False)
    quantities: Mapping[str, torch.Tensor] = field(default_factory=dict, repr=False, compare=False)
    regions: Mapping[str, torch.Tensor] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class CaseSet:
    """The cases of one version, public ones first, device cases last.

    order_key: a hash of the secret seed; not the seed. load_explanations: what the named mistakes answer in these
    cases, read when it is first asked for.
    """

    problem: str
    version: str
    cases: tuple[Case, ...]
    order_key: bytes = field(repr=False)
    load_explanations: Callable[[], Explanations] = field(repr=False, compare=False)

    def ordered(self, source: str | bytes) -> tuple[Case, ...]:
        """The cases in the order in which this source meets them.

        Public ones as they stand, hidden ones by a keyed hash of the source, device cases last. A case with
        `same_memory` stays behind the one before it.
        """
        text = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        key = hmac.digest(self.order_key, text, "sha256")
        groups = sorted(_groups(self.cases), key=lambda group: _place(group, key))
        return tuple(case for group in groups for case in group)


def _groups(cases: Sequence[Case]) -> list[list[Case]]:
    groups: list[list[Case]] = []
    for case in cases:
        if case.call.same_memory and groups:
            groups[-1].append(case)
        else:
            groups.append([case])
    return groups


def _place(group: list[Case], key: bytes) -> tuple[int, bytes]:
    first = group[0]
    if first.kind == DEVICE:
        return 2, b""
    if first.visibility == PUBLIC:
        return 0, b""
    return 1, hashlib.blake2b(first.name.encode(), key=key).digest()


@dataclass(frozen=True, kw_only=True)
class Version:
    """What may be said of a stored version. created_at: ISO 8601, UTC. count: of hidden cases. digest: sha256."""

    version: str
    active: bool
    created_at: str
    count: int
    digest: str
