"""`grader doctor`: what this machine can do."""

from __future__ import annotations

import os
from contextlib import closing

import typer

from grader import doctor
from grader.errors import UsageError
from grader.sandbox import choose


def examine() -> int:
    """Prints every finding; 0 where a sandbox can run, else 2."""
    lacking = False
    for finding in doctor.findings():
        _print(finding)
        lacking |= finding.needed and not finding.found
    return 2 if lacking else 0


def _print(finding: doctor.Finding) -> None:
    word = "ok" if finding.found else "missing" if finding.needed else "absent"
    typer.echo(f"{word:9}{finding.what}: {finding.text}")


def try_gpu() -> int:
    """Grades on a GPU and prints each verdict; 0 if all are as expected, 1 if not, 2 if no child gets the GPU."""
    from grader.cli.gpu_trial import trials  # noqa: PLC0415

    if "cuda" not in (sandbox := choose.make(os.environ.get("GRADER_SANDBOX"))).devices:
        raise UsageError("no GPU to try: GRADER_GPUS names those that submissions may use, for example GRADER_GPUS=0")
    _print(doctor.gpus())
    with closing(sandbox):
        typer.echo(f"ok       a child with a GPU: {doctor.run_one_line(sandbox, 'cuda')}")
        bad = False
        for trial in trials(sandbox):
            right = trial.expected is trial.actual
            bad |= not right
            said = "ok     " if right else f"expected {trial.expected}: {trial.summary}"
            typer.echo(f"{trial.milliseconds:9.1f} ms  {trial.actual:24}{said}")
    return 1 if bad else 0
