"""`grader doctor`: what this machine can do."""

from __future__ import annotations

import os

import typer

from grader.sandbox import choose, local


def examine() -> int:
    """Prints every finding; 0 where a sandbox can run, else 2."""
    findings = local.doctor()
    for finding in findings:
        typer.echo(f"{'ok     ' if finding.found else 'missing'}  {finding.what}: {finding.text}")
    return 2 if any(finding.needed and not finding.found for finding in findings) else 0


def try_gpu() -> int:
    """Grades on a GPU and prints each verdict; 0 if all are as expected, 1 if not. UsageError where there is no GPU."""
    from grader.gpu_trial import trials  # noqa: PLC0415

    bad = False
    for trial in trials(choose.make(os.environ.get("GRADER_SANDBOX"))):
        right = trial.expected is trial.actual
        bad |= not right
        said = "ok     " if right else f"expected {trial.expected}: {trial.summary}"
        typer.echo(f"{trial.milliseconds:9.1f} ms  {trial.actual:24}{said}")
    return 1 if bad else 0
