"""`grader problem`: what there is. Nothing here imports torch."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from grader import problem

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Problem packages: list, show.")

Json = Annotated[bool, typer.Option("--json", help="As JSON, one problem a line.")]


@app.command("list")
def list_problems(as_json: Json = False) -> None:
    """Say which problems there are."""
    for found in problem.catalogue():
        shown = problem.present_short(found)
        typer.echo(json.dumps(shown) if as_json else f"{shown['slug']}  {shown['title']}: {shown['summary']}")


@app.command()
def show(slug: Annotated[str, typer.Argument(metavar="PROBLEM")], as_json: Json = False) -> None:
    """Print a problem's statement and starter code."""
    found = problem.load(slug)
    typer.echo(json.dumps(problem.present(found)) if as_json else f"{found.statement}\n```python\n{found.starter}```")
