"""`grader doctor`: what this machine can do."""

from __future__ import annotations

import typer

from grader.sandbox import local


def examine() -> int:
    """Prints every finding; 0 where a sandbox can run, else 2."""
    findings = local.doctor()
    for finding in findings:
        typer.echo(f"{'ok     ' if finding.found else 'missing'}  {finding.what}: {finding.text}")
    return 2 if any(finding.needed and not finding.found for finding in findings) else 0
