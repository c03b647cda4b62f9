"""Which cases differ between two sets, told by name; never what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from grader.cases.case import Case


def difference(before: Sequence[Case], after: Sequence[Case]) -> Iterator[str]:
    """A line for each case that was added (+), removed (-) or changed (~), then how many stayed the same."""
    old, new = ({case.name: case for case in cases} for cases in (before, after))
    yield from (f"- {name}" for name in old if name not in new)
    same = 0
    for name, case in new.items():
        what = changes(old[name], case) if name in old else ""
        same += name in old and not what
        if name not in old:
            yield f"+ {name}"
        elif what:
            yield f"~ {name}: {what}"
    yield f"{same} cases stay the same"


def changes(before: Case, after: Case) -> str:
    """What of a case is different, in words; "" if nothing is."""
    parts = {
        "inputs": before.call != after.call,
        "what is expected": not (_same(before.expected, after.expected) and before.shape == after.shape),
        "the allowance": not _same(before.allowance, after.allowance),
        "tags": before.tags != after.tags,
        "kind": (before.visibility, before.kind, before.dtype) != (after.visibility, after.kind, after.dtype),
    }
    return ", ".join(part for part, changed in parts.items() if changed)


def _same(before: torch.Tensor | None, after: torch.Tensor | None) -> bool:
    if before is None or after is None:
        return before is after
    return torch.equal(before, after)
