"""`grader doctor --gpu`, as far as a machine without a GPU allows: it refuses; its sources deserve their verdicts."""

from __future__ import annotations

from contextlib import closing

import pytest
import torch

from grader import engine
from grader.cases.case import CaseSet
from grader.cli.gpu_trial import TRIALS, source_of
from grader.cli.main import run
from grader.errors import SandboxFailed
from grader.problem.schema import Problem
from grader.records import Call, Job, Verdict
from grader.sandbox.local import LocalSandbox

ON_CPU = {Verdict.WRONG_DEVICE: {Verdict.ACCEPTED, Verdict.WRONG_DEVICE}}


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and the variable that names GPUs."""
    monkeypatch.delenv("GRADER_GPUS", raising=False)
    monkeypatch.delenv("GRADER_SANDBOX", raising=False)

    assert run(["doctor", "--gpu"]) == 2
    assert "GRADER_GPUS" in capsys.readouterr().err


@pytest.mark.parametrize("expected", TRIALS)
def test_trials_deserve_their_verdicts(
    expected: Verdict, situ_glu: Problem, case_set: CaseSet, sandbox: LocalSandbox
) -> None:
    """On the CPU the same sources get the same verdicts, but for the one that only a GPU can settle."""
    grade = engine.grade(situ_glu, case_set, source_of(situ_glu, expected), sandbox)

    assert grade.verdict in ON_CPU.get(expected, {expected}), grade.summary


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_not_pretended() -> None:
    """A guest on a GPU where there is none gives no child: nothing is graded on the CPU in its place."""
    asked = Job(source="def f(): return 1", name="f", calls=(Call(),), device="cuda")
    with closing(LocalSandbox(gpus=("0",))) as there, pytest.raises(SandboxFailed, match="before it was ready"):
        list(there.run(asked))
