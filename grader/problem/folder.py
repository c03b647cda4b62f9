"""A problem package, read from its folder: `problem.toml`, the texts, the starter; and how it is presented.

Nothing here imports torch or runs a package's code: the API process uses this module. The schema is in schema.py;
docs/problem-format.md explains every key and file.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.errors import ProblemError, UsageError
from grader.problem.schema import (
    Entry,
    Example,
    ExampleSubmission,
    Expectation,
    Manifest,
    MistakeInfo,
    Parameter,
    Problem,
    State,
)
from grader.problem.toml import not_readable, parse, read_text, read_toml
from grader.records import Verdict

__all__ = [
    "Entry",
    "Example",
    "ExampleSubmission",
    "MistakeInfo",
    "Parameter",
    "Problem",
    "State",
    "catalogue",
    "example_submissions",
    "is_package",
    "load",
    "not_readable",
    "present",
    "present_short",
]

NOT_SHOWN = {"format", "public_seed", "root", "statements", "theories", "mistakes"}
SLUG = re.compile(r"[a-z][a-z0-9_]{0,63}")


def problems_root() -> Path:
    """The folder of all packages: GRADER_PROBLEMS, or `problems` beside the grader package."""
    return Path(os.environ.get("GRADER_PROBLEMS") or Path(__file__).resolve().parents[2] / "problems")


def catalogue(on_broken: Callable[[ProblemError], None] | None = None) -> tuple[Problem, ...]:
    """Every package there is, by slug. One that breaks the format is left out and given to `on_broken`.

    Without `on_broken` the first of them is raised.
    """
    sound = []
    for folder in package_folders():
        try:
            sound.append(load_folder(folder))
        except ProblemError as error:
            if on_broken is None:
                raise
            on_broken(error)
    return tuple(sound)


def package_folders() -> tuple[Path, ...]:
    """The folders of all packages, by name; what has no problem.toml is not one. ProblemError if we may not look."""
    root = problems_root()
    try:
        return tuple(folder for folder in sorted(root.iterdir()) if is_package(folder))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise not_readable(root, error) from None


def is_package(folder: Path) -> bool:
    """One that we may not look into is taken for one, so that somebody is told."""
    try:
        return stat.S_ISREG((folder / "problem.toml").stat().st_mode)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False


def load(problem: str | Path) -> Problem:
    """A package by its slug, or by the path of its folder. Raises UsageError where there is none, ProblemError."""
    return load_folder(find(problem))


def find(problem: str | Path) -> Path:
    """The folder of a package, by its slug or its path. Raises UsageError where there is none."""
    is_slug = isinstance(problem, str) and SLUG.fullmatch(problem)
    folder = problems_root() / problem if is_slug else Path(problem)
    if not is_package(folder):
        known = ", ".join(path.name for path in package_folders()) or "none"
        raise UsageError(f"no problem {str(problem)[:80]!r}: give the slug of one of those here ({known}) or a folder")
    return folder.resolve()


def load_folder(folder: Path) -> Problem:
    """Reads and checks one package."""
    if not SLUG.fullmatch(folder.name):
        raise ProblemError(f"{folder}: name the folder in lower-case letters, digits and underscores: it is the slug")
    manifest = parse(folder / "problem.toml", Manifest, read_toml(folder / "problem.toml"))
    return Problem(
        **{key: getattr(manifest, key) for key in Manifest.model_fields},
        slug=folder.name,
        root=folder,
        starter=read_text(folder / "starter.py"),
        statements=read_languages(folder, "statement", manifest.language),
        theories=read_languages(folder, "theory", manifest.language),
    )


def example_submissions(problem: Problem) -> tuple[ExampleSubmission, ...]:
    """The package's example submissions in the order of their paths, with what is expected of each."""
    said = read_expectations(problem)
    base = problem.root / "submissions"
    found = {path.relative_to(base).as_posix(): path for path in sorted(base.glob("*/*.py"))}
    for key in said.keys() - found.keys():
        raise ProblemError(
            f"{problem.root / 'submissions.toml'}: key `{key}`: no such file in submissions/: mend the name"
        )
    return tuple(example_submission(path, said.get(key, Expectation())) for key, path in found.items())


def read_expectations(problem: Problem) -> dict[str, Expectation]:
    """submissions.toml, {} where there is none."""
    file = problem.root / "submissions.toml"
    tables = read_toml(file) if file.exists() else {}
    return {key: parse(file, Expectation, table, where=key) for key, table in tables.items()}


def example_submission(path: Path, said: Expectation) -> ExampleSubmission:
    """One example with its verdicts. Raises ProblemError where its folder is named after no verdict."""
    if path.parent.name not in list(Verdict):
        raise ProblemError(f"{path.parent}: no such verdict: name the folder after one of {', '.join(Verdict)}")
    verdicts = said.verdicts or (Verdict(path.parent.name),)
    return ExampleSubmission(path=path, verdicts=verdicts, mistakes=said.mistakes)


def present(problem: Problem) -> dict[str, Any]:
    """One problem as JSON, for pages: everything that a learner may see."""
    return {
        **present_short(problem),
        **problem.model_dump(mode="json", exclude=NOT_SHOWN),
        "statement": problem.statement,
        "theory": problem.theory,
        "translations": translations(problem),
        "mistakes": [{"id": mistake.id, "title": mistake.title} for mistake in problem.mistakes],
    }


def present_short(problem: Problem) -> dict[str, Any]:
    """One problem as JSON, for lists."""
    shown = problem.model_dump(mode="json", include={"slug", "title", "summary", "difficulty", "language", "tags"})
    return {**shown, "kind": problem.entry.kind, "languages": list(problem.languages)}


def translations(problem: Problem) -> dict[str, dict[str, str]]:
    """The texts in the other languages: {"fr": {"statement": ..., "theory": ...}}."""
    others = [language for language in problem.languages if language != problem.language]
    texts = {"statement": problem.statements, "theory": problem.theories}
    return {
        lang: {name: by_language[lang] for name, by_language in texts.items() if lang in by_language} for lang in others
    }


def read_languages(folder: Path, name: str, own: str) -> dict[str, str]:
    """`statement.md` and all `statement.<language>.md` by language."""
    texts = {own: read_text(folder / f"{name}.md")}
    for path in sorted(folder.glob(f"{name}.*.md")):
        language = path.name.split(".")[1]
        if language == own:
            raise ProblemError(f"{path}: `language` is {own!r}, whose text is {name}.md: take one of the two out")
        texts[language] = read_text(path)
    return texts
