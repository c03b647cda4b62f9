"""Runs what a package's theory claims as checks: the functions `claim_...` of its `claims.py`, if it has one.

A claim is called with the reference and a `Draw`; its docstring is the sentence that it stands for. It returns True, or
False or a text that says what does not hold; an exception says so too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.cases.code import Code, run_file
from grader.cases.draw import Draw
from grader.verify.finding import Finding

if TYPE_CHECKING:
    from grader.problem.schema import Problem

FILE = "claims.py"
PREFIX = "claim_"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """name: without the prefix. says: the docstring's first line. fault: "" if it holds."""

    name: str
    says: str
    fault: str


def run_claims(problem: Problem, code: Code) -> tuple[Claim, ...]:
    """Every claim, tried; () where the package states none. Raises ProblemError where the file can't be run."""
    path = problem.root / FILE
    if not path.exists():
        return ()
    functions = {name: value for name, value in vars(run_file(problem, path)).items() if name.startswith(PREFIX)}
    return tuple(_try(name.removeprefix(PREFIX), function, code) for name, function in functions.items())


def _try(name: str, function: Callable[..., object], code: Code) -> Claim:
    says = (function.__doc__ or "").strip().partition("\n")[0]
    try:
        answer = function(code.reference, Draw(b"claim", name.encode()))
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    fault = "" if answer is True else answer if isinstance(answer, str) and answer else "it does not hold"
    return Claim(name=name, says=says, fault=fault)


def check_claims(claims: tuple[Claim, ...]) -> Iterator[Finding]:
    """Each claim holds and says what it claims."""
    for claim in claims:
        if not claim.says:
            yield Finding(
                check="claims", file=FILE, what=f"{PREFIX}{claim.name} has no docstring", mend="say what it claims"
            )
        if claim.fault:
            yield Finding(
                check="claims", file=FILE, what=f"{claim.says or claim.name} {claim.fault}",
                mend="mend the reference, or what the theory says",
            )  # fmt: skip
