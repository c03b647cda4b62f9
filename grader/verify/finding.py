"""What a check of a package finds, as a linter says it: file, what is wrong, how to mend it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from grader.errors import ProblemError

_PLACE = re.compile(r"^(?P<file>/[^:\n]+): (?P<what>.*)$", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that keeps a package from being verified. check: which check found it; file: below the package."""

    check: str
    file: str
    what: str
    mend: str

    def __str__(self) -> str:
        return f"{self.file}: [{self.check}] {self.what}: {self.mend}"


def from_error(error: ProblemError, root: Path, check: str) -> Finding:
    """A ProblemError ("FILE: what: how to mend") as a finding."""
    found = _PLACE.match(str(error))
    file, text = (found["file"], found["what"]) if found else (str(root), str(error))
    what, _, mend = text.rpartition(": ")
    path = Path(file)
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else file
    return Finding(check=check, file=shown, what=what or text, mend=mend if what else "see docs/problem-format.md")
