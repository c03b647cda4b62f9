"""Hidden and public cases of a problem: what is called, what must come back, and how exact it must be.

Cases are made from a package's `cases.py` (see `draw`), checked and given expected values by `case_maker`, and kept on
disk by `case_store`. This module holds the records and the few calls that other rooms need.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from grader.records import Call

if TYPE_CHECKING:
    from grader.problem import Problem

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
    accepted factor is already in it.
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


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A mistake or a pair of them in one case: `output` and `allowance`, float64 of the case's result, flattened.

    Of a large result only every `step`-th element is kept.
    """

    mistakes: tuple[str, ...]
    output: torch.Tensor = field(repr=False)
    allowance: torch.Tensor = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class CaseSet:
    """The cases of one version, public ones first, device cases last.

    order_key: keyed hash of the secret seed; not the seed. source: the stored version, for what is loaded lazily.
    """

    problem: str
    version: str
    cases: tuple[Case, ...]
    order_key: bytes = field(repr=False)

    def ordered(self, source: str | bytes) -> tuple[Case, ...]:
        """The cases in the order in which this source meets them.

        Public ones as they stand, hidden ones by a keyed hash of the source, device cases last. A case with
        `same_memory` stays behind the one before it.
        """
        text = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        key = hmac.digest(self.order_key, text, "sha256")
        return tuple(case for group in sorted(_groups(self.cases), key=lambda group: _place(group, key)) for case in group)


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


def load_active(problem: Problem) -> CaseSet:
    """The active cases; made on first use with a random secret seed, and anew (same seed) when the package changed."""
    raise NotImplementedError


def regenerate(
    problem: Problem, seed: int | None = None, *, check: Callable[[CaseSet], None] | None = None
) -> CaseSet:
    """Makes the cases anew (a random seed if none is given), lets `check` look at them, then activates them.

    What `check` raises is passed on, and the old cases stay active. Raises CasesError.
    """
    raise NotImplementedError


def list_versions(problem: Problem) -> tuple[Version, ...]:
    """Stored versions, newest first."""
    raise NotImplementedError


def rollback(problem: Problem, version: str) -> CaseSet:
    """Makes an earlier version the active one. Raises UsageError where there is no such version."""
    raise NotImplementedError


def custom_case(problem: Problem, literals: Mapping[str, Any]) -> Case:
    """A public case made of a caller's own inputs: argument name -> number, or tensor literal.

    A tensor literal is {"dtype": "float32", "values": nested lists}, or the nested lists alone (float32). Raises
    UsageError, naming the argument, for what is no such thing or is too large.
    """
    raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Version:
    """What may be said of a stored version. created_at: ISO 8601, UTC. count: of hidden cases. digest: sha256."""

    version: str
    active: bool
    created_at: str
    count: int
    digest: str
