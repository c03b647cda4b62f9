"""Where in a public case a result goes wrong, in the package's own words: "only where |gate| > gate_cap"."""

from __future__ import annotations

import torch

from grader.case import Case
from grader.compare import right_elements
from grader.texts import and_list


def where(case: Case, actual: torch.Tensor) -> str:
    """A sentence or two on the elements that are wrong; "" where nothing can be said that does not hold of all."""
    if not case.quantities and not case.regions:
        return ""
    wrong = ~torch.from_numpy(right_elements(actual, case)).reshape(case.shape)
    if not bool(wrong.any()) or bool(wrong.all()):
        return ""
    region = _smallest(case, wrong)
    return " ".join(sentence for sentence in (region, _ranges(case, wrong)) if sentence)


def _smallest(case: Case, wrong: torch.Tensor) -> str:
    """The smallest of the package's regions that holds every wrong element and not all elements."""
    holding = {
        words: int(mask.sum())
        for words, mask in case.regions.items()
        if bool((mask | ~wrong).all()) and not bool(mask.all())
    }
    if not holding:
        return ""
    words = min(holding, key=lambda one: holding[one])
    count, size = int(wrong.sum()), holding[words]
    share = "and everywhere there" if count == size else f"in {count} of the {size} elements there"
    return f"Wrong only where {words}, {share}."


def _ranges(case: Case, wrong: torch.Tensor) -> str:
    """Between which numbers the package's quantities lie at the wrong elements."""
    spans = [
        f"{name} is between {float(values[wrong].min()):.4g} and {float(values[wrong].max()):.4g}"
        if int(wrong.sum()) > 1
        else f"{name} is {float(values[wrong].item()):.4g}"
        for name, values in case.quantities.items()
    ]
    many = "In the wrong elements" if int(wrong.sum()) > 1 else "In the wrong element"
    return f"{many}, {and_list(spans)}." if spans else ""
