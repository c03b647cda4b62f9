"""Sources for the device cases, from short bodies: see right.txt."""

from __future__ import annotations

import re
from pathlib import Path

_TOP = """
import contextlib, copy, functools
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

def situ(g, u, b1, b2):
    return b1 * torch.tanh(g / b1) * torch.sigmoid(g) * b2 * torch.tanh(u / b2)
"""
_DEF = """
def situ_glu(x, wg, wu, gate_cap=4.0, up_cap=25.0):
    b1, b2, (f, d), one = gate_cap, up_cap, wg.shape, 1.0
"""
_WORDS = {
    "LAYERS": "lg, lu = nn.Linear(d, f, bias=False), nn.Linear(d, f, bias=False)",
    "CALLS": "g, u = lg(x), lu(x)",
    "PLAIN": "g, u = x @ wg.T, x @ wu.T",
    "TIMES": "g, u = x @ wg.T, x @ wu.T; return (one * situ(g, u, b1, b2)).to(x.dtype)",
}


def styles(name: str) -> dict[str, str]:
    """Whole sources by their names, of "right" or "faulty"."""
    text = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8")
    sections = re.findall(r"(?ms)^# (.+?)\n(.*?)(?=^# |\Z)", text)
    return {title: _source(body.strip().splitlines()) for title, body in sections}


def _source(lines: list[str]) -> str:
    top = [line[2:] for line in lines if line.startswith("| ")]
    body = [re.sub(r"\b[A-Z]+\b", _meaning, line) for line in lines if not line.startswith("| ")]
    return "\n".join([_TOP, *top, _DEF, *(f"    {line}" for line in [*body, "return situ(g, u, b1, b2)"])])


def _meaning(word: re.Match[str]) -> str:
    return _WORDS.get(word[0], word[0])
