"""`grader doctor --gpu`: grades one submission of each kind on a GPU, and says what came of it and how long it took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from grader import engine
from grader.cases.store import load_active
from grader.problem import folder as problem
from grader.problem.schema import Problem
from grader.records import Verdict
from grader.sandbox.base import Sandbox

SLUG = "situ_glu"
# each one wraps the accepted example, by what is appended to its source
_WRAPPED = """
_right = situ_glu
def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    result = _right(input_tensor, gate_projection, up_projection, gate_cap, up_cap)
"""
TRIALS = {
    Verdict.ACCEPTED: "    return result\n",
    Verdict.WRONG_DEVICE: "    return result.cpu()\n",
    Verdict.WRONG_ANSWER: "    return result * 1.01\n",
    Verdict.MUTATED_INPUT: "    input_tensor.data.zero_()\n    return result\n",
    # an index that only the device finds to be too large: nothing more can be computed in that process
    Verdict.RUNTIME_ERROR: "    return result + result.new_zeros(1)[torch.tensor([9], device=result.device)]\n",
    Verdict.MEMORY_LIMIT_EXCEEDED: "    torch.empty(1 << 44, device=result.device)\n    return result\n",
}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What was expected, what came, and the milliseconds that it took."""

    expected: Verdict
    actual: Verdict
    milliseconds: float
    summary: str


def trials(sandbox: Sandbox) -> Iterator[Trial]:
    """Grades all of them, and the first one again: what was stopped on the GPU must not reach the next one."""
    asked = problem.load(SLUG)
    cases = load_active(asked)
    for expected in (*TRIALS, Verdict.ACCEPTED):
        started = time.perf_counter()
        grade = engine.grade(asked, cases, source_of(asked, expected), sandbox, device="cuda")
        took = 1000 * (time.perf_counter() - started)
        yield Trial(expected=expected, actual=grade.verdict, milliseconds=took, summary=grade.summary)


def source_of(asked: Problem, expected: Verdict) -> str:
    """A submission that deserves this verdict."""
    accepted = next(one for one in problem.example_submissions(asked) if one.path.name == "textbook.py")
    return accepted.path.read_text(encoding="utf-8") + _WRAPPED + TRIALS[expected]
