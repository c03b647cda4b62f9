"""The example submissions of tests/submissions with what their manifests say of them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "submissions"


@dataclass(frozen=True, kw_only=True)
class Expected:
    """One line of a manifest. mistakes: None where the manifest does not say."""

    path: Path
    verdicts: frozenset[str]
    mistakes: frozenset[str] | None
    forbidden: str | None
    after_check: str | None

    @property
    def id(self) -> str:
        """Folder and file."""
        return f"{self.path.parent.name}/{self.path.name}"


def expected(folder: str) -> list[Expected]:
    """All lines of one folder's manifest, in its order."""
    with (FOLDER / folder / "manifest.tsv").open(encoding="utf-8", newline="") as stream:
        return [line_of(folder, row) for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)]


def line_of(folder: str, row: dict[str, str]) -> Expected:
    """One line; "-" stands for nothing."""
    said = {key: None if value == "-" else value for key, value in row.items()}
    mistakes = frozenset((said["mistakes"] or "").split(",")) - {""} if "mistakes" in said else None
    return Expected(
        path=FOLDER / folder / row["path"],
        verdicts=frozenset(row["verdicts"].split(",")),
        mistakes=mistakes,
        forbidden=said.get("forbidden"),
        after_check=said.get("after_check"),
    )
