"""`grader problem verify`: packages checked one after the other in one sandbox; findings as a linter prints them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from grader import source as files
from grader.cli.grade import started


def verify_packages(slugs: Sequence[str], *, as_json: bool, seed: int | None, without: str, sandbox: str) -> int:
    """Verifies the packages and prints what was found; 0 if nothing was, else 1."""
    from grader.verify.package import SEED, Options, folders, verify  # noqa: PLC0415  (imports torch)

    verdicts: dict[str, bool] = {}
    console = Console(highlight=False)
    asked = folders(slugs)
    own = SEED if seed is None else b"seed %d" % seed
    with started(sandbox, "cpu") as ready:
        for folder in asked:
            with bar(folder.name) as progress:
                report = verify(folder, ready, Options(seed=own, without=without, progress=progress))
            verdicts[report.slug] = report.verified
            if as_json:
                print(json.dumps(report.to_json(), allow_nan=False), flush=True)
                continue
            from grader.cli.findings import shown  # noqa: PLC0415

            console.print(shown(report))
            for finding in report.findings:
                file = files.shown(folder / finding.file)
                console.print(str(replace(finding, file=file)), markup=False, soft_wrap=True)
    if len(verdicts) > 1 and not as_json:
        bad = [slug for slug, good in verdicts.items() if not good]
        console.print(
            f"\n{len(verdicts) - len(bad)} of {len(verdicts)} verified" + (f"; not: {', '.join(bad)}" if bad else "")
        )
    return 0 if all(verdicts.values()) else 1


@contextmanager
def bar(title: str) -> Iterator[Tell]:
    """A progress bar on stderr, for people only."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield Tell(progress, title)


class Tell:
    """Called with what is being done, how much of it is done, and of how much."""

    def __init__(self, progress: Progress, title: str) -> None:
        self._progress, self._title = progress, title
        self._task = progress.add_task(title, total=None)

    def __call__(self, what: str, done: int, total: int) -> None:
        self._progress.update(self._task, description=f"{self._title}: {what}", completed=done, total=total)

    def close(self) -> None:
        """Takes the bar away."""
        self._progress.stop()
