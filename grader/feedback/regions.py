"""Where in a public case a result goes wrong, in the package's own words: "only where |gate| > 4"."""

from __future__ import annotations

import numpy as np
import torch

from grader.cases.case import Case
from grader.judging.compare import right_elements, to_numbers
from grader.text import and_list

LARGE = 0.1
"""An error is a large one from this share of the worst."""


def where(case: Case, actual: torch.Tensor) -> str:
    """A sentence or two on the elements that are wrong; "" where nothing can be said that does not hold of all."""
    if not case.quantities and not case.regions:
        return ""
    wrong = ~torch.from_numpy(right_elements(actual, case)).reshape(case.shape)
    if not bool(wrong.any()):
        return ""
    region = _smallest(case, wrong, "Wrong") or _smallest(case, _far_off(case, actual), "Far off")
    return " ".join(sentence for sentence in (region, _ranges(case, wrong)) if sentence)


def _far_off(case: Case, actual: torch.Tensor) -> torch.Tensor:
    """Flags of the elements with large errors; none where an error is not finite."""
    assert case.expected is not None
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(to_numbers(actual, case.result_dtype) - case.expected.numpy().ravel())
    large = error > LARGE * error.max() if np.isfinite(error).all() else np.ones_like(error, dtype=bool)
    return torch.from_numpy(large).reshape(case.shape)


def _smallest(case: Case, wrong: torch.Tensor, what: str) -> str:
    """The smallest of the package's regions that holds every wrong element and not all elements."""
    holding = {
        words: int(mask.sum())
        for words, mask in sorted(case.regions.items(), key=lambda item: (len(item[0]), item[0]))
        if bool((mask | ~wrong).all()) and not bool(mask.all())
    }
    if not holding:
        return ""
    words = min(holding, key=lambda one: holding[one])
    count, size = int(wrong.sum()), holding[words]
    share = "and everywhere there" if count == size else f"in {count} of the {size} elements there"
    return f"{what} only where {words}, {share}."


def _ranges(case: Case, wrong: torch.Tensor) -> str:
    """Between which numbers the package's quantities lie at the wrong elements, unless all are wrong."""
    count = int(wrong.sum())
    if count == wrong.numel() and count > 1:
        return ""
    spans = [
        f"{name} is {_span(float(values[wrong].min()), float(values[wrong].max()))}"
        for name, values in sorted(case.quantities.items())
    ]
    return f"In the wrong element{'s' * (count > 1)}, {and_list(spans)}." if spans else ""


def _span(low: float, high: float) -> str:
    """ "between 4.1 and 9.2", or the one number where both look the same."""
    least, most = f"{low:.4g}", f"{high:.4g}"
    return least if least == most else f"between {least} and {most}"
