"""`grader cases`: hidden cases made anew, listed, rolled back; their contents are never shown."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Literal

import typer

from grader.problem import folder as problem

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Hidden cases: make anew, list, roll back.")

Problem = Annotated[str, typer.Argument(metavar="PROBLEM", help="The problem's slug, or the folder of a package.")]


@app.command()
def regenerate(
    slug: Problem,
    *,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same bytes; random if not given.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Make and check, but store and activate nothing.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Say which cases change.")] = False,
    stress: Annotated[int, typer.Option(min=0, metavar="N", help="First try N further seeds.")] = 0,
    sandbox: Annotated[
        Literal["local", "socket", "docker", "none"],
        typer.Option(envvar="GRADER_SANDBOX", help="Where submissions run; none: unconfined, with all your rights."),
    ] = "local",
) -> None:
    """Make the hidden cases anew, check them, activate them in one step. A failed check changes nothing and exits 1."""
    from grader.cli.regenerate import Wish, regenerate_cases  # noqa: PLC0415  (starts the sandbox, imports torch)

    wish = Wish(seed=seed, dry_run=dry_run, diff=diff, stress=stress, sandbox=sandbox)
    raise typer.Exit(regenerate_cases(problem.load(slug), wish))


@app.command("list")
def list_versions(
    slug: Problem, as_json: Annotated[bool, typer.Option("--json", help="One version a line.")] = False
) -> None:
    """Say which versions of the hidden cases there are."""
    from grader.cases import store  # noqa: PLC0415  (imports torch)

    versions = [asdict(version) for version in store.list_versions(problem.load(slug))]
    for version in versions:
        mark = "*" if version["active"] else " "
        told = f"{mark} {version['version']}  {version['created_at']}  {version['count']} hidden  {version['digest']}"
        typer.echo(json.dumps(version) if as_json else told)


@app.command()
def rollback(slug: Problem, version: Annotated[str, typer.Argument(metavar="VERSION")]) -> None:
    """Make an earlier version the active one."""
    from grader.cases import store  # noqa: PLC0415  (imports torch)

    asked = problem.load(slug)
    typer.echo(f"{asked.slug}: version {store.rollback(asked, version).version} is active")
