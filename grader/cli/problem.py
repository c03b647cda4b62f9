"""`grader problem`: what there is, whether it is sound, and new ones. Only `verify` imports torch."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from grader.errors import ProblemError
from grader.problem import folder as problem

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Problem packages: list, show, verify, new.")

Json = Annotated[bool, typer.Option("--json", help="As JSON, one problem a line.")]


@app.command("list")
def list_problems(as_json: Json = False) -> None:
    """Say which problems there are. Exits 2 if one of them can't be read."""
    broken: list[ProblemError] = []
    for found in problem.catalogue(broken.append):
        shown = problem.present_short(found)
        typer.echo(json.dumps(shown) if as_json else f"{shown['slug']}  {shown['title']}: {shown['summary']}")
    for error in broken:
        typer.echo(f"grader: {error}", err=True)
    raise typer.Exit(2 if broken else 0)


@app.command()
def show(slug: Annotated[str, typer.Argument(metavar="PROBLEM")], as_json: Json = False) -> None:
    """Print a problem's statement and starter code."""
    found = problem.load(slug)
    typer.echo(json.dumps(problem.present(found)) if as_json else f"{found.statement}\n```python\n{found.starter}```")


@app.command()
def verify(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="PROBLEM...", help="All, if none is given.")] = None,
    as_json: Json = False,
    seed: Annotated[int | None, typer.Option(help="Of the hidden cases; always the same one if not given.")] = None,
    without: Annotated[str, typer.Option(metavar="TAG", help="As if no case carried this ingredient.")] = "",
    sandbox: Annotated[
        Literal["local", "socket", "docker", "none"],
        typer.Option(envvar="GRADER_SANDBOX", help="Where submissions run; none: unconfined, with all your rights."),
    ] = "local",
) -> None:
    """Check whole packages: texts, reference, cases, mistakes, example submissions. Exits 1 if anything is wrong."""
    from grader.cli.verify import verify_packages  # noqa: PLC0415  (starts the sandbox before it imports torch)

    raise typer.Exit(verify_packages(slugs or (), as_json=as_json, seed=seed, without=without, sandbox=sandbox))


@app.command()
def new(slug: Annotated[str, typer.Argument(metavar="SLUG", help="The new problem's name: my_problem.")]) -> None:
    """Make a small package that passes `verify`, as an example to change."""
    from grader import skeleton  # noqa: PLC0415  (seldom needed)

    place = skeleton.make(slug)
    typer.echo(f"{place}: change it file by file; docs/problem-format.md explains each")
    typer.echo(f"grader problem verify {slug} says what is missing")
