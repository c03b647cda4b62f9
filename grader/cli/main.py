"""The command line. Exit codes: 0 done and good, 1 done and bad, 2 could not answer (one line on stderr says why).

Torch is imported by those commands only that need it, while the sandbox starts. Commands of other packages (the
service's) come in through the entry point group `grader.commands`, loaded when they are called.
"""

from __future__ import annotations

import logging
import os
import sys
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from grader.cli import cases as cli_cases
from grader.cli import problem as cli_problem
from grader.errors import GraderError

GROUP = "grader.commands"
DONE, NO_ANSWER, INTERRUPTED = 0, 2, 130


class Commands(TyperGroup):
    """Our commands, and those that entry points add; each of these is a Typer app or a command of one."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Own ones first."""
        return [*super().list_commands(ctx), *sorted(added())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Loads an added command only when it is asked for."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        entry = added().get(cmd_name)
        return get_command(entry.load()) if entry else None


def added() -> dict[str, EntryPoint]:
    """The commands of other installed packages, by name."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Grades PyTorch coding challenges in a sandbox.",
)
app.add_typer(cli_cases.app, name="cases")
app.add_typer(cli_problem.app, name="problem")


@app.command()
def grade(  # noqa: PLR0917  (Typer's way)
    problem: Annotated[str, typer.Argument(help="The problem's slug, or the folder of a package.")],
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Sources to grade; - is standard input.")],
    json: Annotated[bool, typer.Option("--json", help="One submission record a line, in the order given.")] = False,
    sandbox: Annotated[
        Literal["local", "socket", "docker", "none"],
        typer.Option(envvar="GRADER_SANDBOX", help="Where code runs; none: unconfined, with all your rights."),
    ] = "local",
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="Where tensors live.")] = "cpu",
    public_only: Annotated[bool, typer.Option("--public-only", help="Only the public cases.")] = False,
) -> None:
    """Grade files and say what is wrong with them. Exits 0 if all are accepted, 1 if not."""
    from grader.cli.grade import grade_files  # noqa: PLC0415  (starts the sandbox before it imports torch)

    mode = "run" if public_only else "submit"
    raise typer.Exit(grade_files(problem, files, as_json=json, sandbox=sandbox, device=device, mode=mode))


@app.command()
def doctor(
    gpu: Annotated[bool, typer.Option("--gpu", help="Grade a submission of each kind on a GPU, too.")] = False,
) -> None:
    """Say what this machine can do and what it lacks. Exits 2 where no sandbox can run."""
    from grader.cli.doctor import examine, try_gpu  # noqa: PLC0415

    raise typer.Exit(try_gpu() if gpu else examine())


def main() -> NoReturn:
    """Runs the command that sys.argv names, and exits."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Runs a command; its exit code. Errors become one line on stderr."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    logging.basicConfig(level=logging.WARNING if os.environ.get("GRADER_TRACEBACK") else logging.CRITICAL)
    try:
        result = app(arguments, prog_name="grader", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else DONE
    except typer.TyperException as error:
        return refused(error)
    except GraderError as error:
        return say(str(error), NO_ANSWER)
    except (KeyboardInterrupt, typer.Abort):
        return say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; nothing more can be said
        return NO_ANSWER
    except Exception as error:
        if os.environ.get("GRADER_TRACEBACK"):
            raise
        return say(f"the grader failed: {type(error).__name__}: {error} (GRADER_TRACEBACK=1 shows where)", NO_ANSWER)


def refused(error: typer.TyperException) -> int:
    """A call that Typer does not take: what is wrong with it, or the help where nothing was asked for."""
    message, context = error.format_message(), getattr(error, "ctx", None)
    if message.startswith("Usage:"):
        print(message)
        return NO_ANSWER
    hint = f": see {context.command_path} --help" if context else ""
    return say(message.rstrip(".") + hint, NO_ANSWER)


def say(message: str, code: int) -> int:
    """One line on stderr."""
    print(f"grader: {' '.join(message.split())}", file=sys.stderr)
    return code
