"""The arguments of one call as exact values, before they are rounded and laid out. No torch: the API reads them too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from grader.records import Scalar

DTYPES = ("float32", "float64", "float16", "bfloat16")
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Array:
    """A tensor argument: exact values, the dtype that they are rounded to, and how they lie in memory.

    layout: "contiguous"; "transposed": the last two dimensions are swapped in memory; "strided": every second element
    of a storage of twice the size; "expanded": the first dimension has stride 0, so `values` must repeat along it.
    """

    values: Numbers
    dtype: str = "float32"
    layout: str = "contiguous"
    requires_grad: bool = False


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What one call is made with. init, state: for modules, the constructor's arguments and the `state_dict`."""

    args: tuple[Array | Scalar, ...] = ()
    kwargs: Mapping[str, Array | Scalar] = field(default_factory=dict)
    init: Mapping[str, Scalar] = field(default_factory=dict)
    state: Mapping[str, Array] = field(default_factory=dict)
