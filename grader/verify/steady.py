"""Checks that cases are the same everywhere: made twice here, and once with the plainest instruction set.

The second process is this file: `python -m grader.verify.steady FOLDER SEED OUT` writes inputs' digest and answers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from safetensors.numpy import load

from grader.cases.case import Case
from grader.cases.code import Code, load_code
from grader.cases.draw import in_double
from grader.cases.files import MANIFEST, pack, pack_answers, version_of
from grader.cases.make import draw_cases
from grader.problem import folder as problems
from grader.problem.schema import Problem
from grader.verify.finding import Finding

PLAIN = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
MEND = "draw inputs with `Draw` only, keep no state, use no random numbers and no sets' order"
SHARE = 0.1
"""Of the allowance: so much may expected values differ between instruction sets."""


class Elsewhere:
    """The cases made in another process with another instruction set, begun now and looked at later."""

    def __init__(self, problem: Problem, seed: bytes) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="grader-verify-")
        self._out = Path(self._folder.name) / "answers"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grader.verify.steady", str(problem.root), seed.hex(), str(self._out)],
            env=os.environ | PLAIN | {"OMP_NUM_THREADS": "1"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> Elsewhere:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def check(self, slug: str, cases: Sequence[Case]) -> Iterator[Finding]:
        """The same inputs came out, and nearly the same answers."""
        version, errors = self._process.communicate()
        if self._process.returncode != 0:
            last = (errors.strip().splitlines() or ["it died"])[-1]
            yield _finding(f"cases can't be made under {', '.join(PLAIN)}: {last}")
            return
        if version.strip() != digest(slug, cases):
            yield _finding("another instruction set (ATEN_CPU_CAPABILITY=default) gives other cases")
            return
        answers = load(self._out.read_bytes())
        for case in cases:
            if case.expected is not None and case.allowance is not None and case.expected.numel():
                other = torch.from_numpy(answers[f"{case.name}/expected"])
                if bool(((other - case.expected).abs() > SHARE * case.allowance).any()):
                    yield Finding(
                        check="determinism", file="reference.py",
                        what=f"case {case.name!r} has another answer with another instruction set",
                        mend="compute in float64 throughout, without cancellation",
                    )  # fmt: skip


def digest(slug: str, cases: Sequence[Case]) -> str:
    """What the version's name would be, whatever the sources."""
    return version_of(pack(slug, cases, {})[MANIFEST])


def check_again(problem: Problem, code: Code, seed: bytes, cases: Sequence[Case]) -> Iterator[Finding]:
    """The generator gives the same cases twice, the reference the same bits."""
    for case in cases:
        if case.expected is not None:
            args, kwargs = in_double(case.call)
            again = code.reference(*args, **kwargs)
            if again.shape != case.expected.shape or not torch.equal(again, case.expected):
                yield Finding(
                    check="determinism", file="reference.py", what=f"case {case.name!r}: two calls, two answers",
                    mend="let the answer depend on the arguments only, and leave them unchanged",
                )  # fmt: skip
    if digest(problem.slug, draw_cases(problem, code, seed)) != digest(problem.slug, cases):
        yield _finding("one seed gives other cases the second time")


def _finding(what: str) -> Finding:
    return Finding(check="determinism", file="cases.py", what=what, mend=MEND)


def main(folder: str, seed: str, out: str) -> None:
    """Makes the cases; prints their digest and writes their answers."""
    torch.set_num_threads(1)
    problem = problems.load(Path(folder))
    cases = draw_cases(problem, load_code(problem), bytes.fromhex(seed))
    Path(out).write_bytes(pack_answers(cases))
    print(digest(problem.slug, cases))


if __name__ == "__main__":
    main(*sys.argv[1:])
