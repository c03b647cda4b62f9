"""A new problem package, made of the one in `my_problem/`, which is a complete small package itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from grader.errors import UsageError
from grader.problem.folder import SLUG, problems_root

NAME, TITLE = "my_problem", "My problem"


def make(slug: str) -> Path:
    """The folder of a new package of that name, in the folder of all packages. Raises UsageError."""
    if not SLUG.fullmatch(slug):
        raise UsageError(f"{slug[:80]!r} is no slug: use lower-case letters, digits and underscores, at most 64")
    root = problems_root()
    place, fresh = root / slug, root / f".{slug}.new"
    if place.exists():
        raise UsageError(f"{place} is there already: choose another slug, or remove it")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(Path(__file__).with_name(NAME), fresh, ignore=shutil.ignore_patterns("__pycache__"))
        for path in fresh.rglob("*.*"):
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(NAME, slug).replace(TITLE, slug.replace("_", " ").capitalize()))
        fresh.rename(place)
    except OSError as error:
        raise UsageError(
            f"{place}: {error.strerror}: GRADER_PROBLEMS has to name a folder that can be written to "
            "(how in a container: docs/containers.md, A new problem)"
        ) from error
    return place
