"""All that verifying one package showed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from grader.cases.case import HIDDEN, Case
from grader.verify.claims import Claim
from grader.verify.finding import Finding
from grader.verify.inputs import Coverage
from grader.verify.kills import Killed
from grader.verify.trial import Trial


@dataclass(frozen=True, kw_only=True)
class Margin:
    """The error that is nearest to the wrong side, in allowances: of what, and in which case."""

    of: str = ""
    case: str = ""
    error: float | None = None


@dataclass(frozen=True, kw_only=True)
class Ingredient:
    """What only the cases that carry one tag catch. cases: how many carry it."""

    tag: str
    cases: int
    mistakes: tuple[str, ...] = ()
    submissions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Report:
    """A package's findings (none: verified) and what was measured. loaded: its files could be read."""

    slug: str
    folder: str
    loaded: bool = False
    findings: tuple[Finding, ...] = ()
    cases: tuple[Case, ...] = ()
    trials: tuple[Trial, ...] = ()
    killed: tuple[Killed, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    ingredients: tuple[Ingredient, ...] = ()
    claims: tuple[Claim, ...] = ()
    worst_accepted: Margin = Margin()
    best_mistake: Margin = Margin()
    slowest: tuple[str, float, float] | None = None
    seconds: float = 0.0

    @property
    def verified(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        """One record for the command line's --json."""
        names = [case.name for case in self.cases]
        hidden = [case.name for case in self.cases if case.visibility == HIDDEN]
        slowest = dict(zip(("submission", "cpu_s", "limit_s"), self.slowest, strict=True)) if self.slowest else None
        return {
            "problem": self.slug,
            "verified": self.verified,
            "findings": [asdict(finding) for finding in self.findings],
            "cases": {"public": len(self.cases) - len(hidden), "hidden": len(hidden)},
            "submissions": [_trial(trial) for trial in self.trials],
            "kills": [
                {"mistake": one.mistake, "form": one.form, "cases": [n for n in names if n in one.cases]}
                for one in self.killed
            ],
            "margins": {"worst_accepted": _margin(self.worst_accepted), "best_mistake": _margin(self.best_mistake)},
            "arguments": [
                {"argument": one.argument, "values": len(one.values), "by_position": one.positional,
                 "by_keyword": one.keyword, "left_out": one.absent}
                for one in self.coverage
            ],
            "ingredients": [asdict(one) for one in self.ingredients],
            "claims": [asdict(one) for one in self.claims],
            "slowest": slowest,
            "seconds": round(self.seconds, 1),
        }  # fmt: skip


def _margin(margin: Margin) -> dict[str, Any]:
    return asdict(margin) | {"error": None if margin.error is None or margin.error == float("inf") else margin.error}


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "file": trial.file,
        "verdict": str(trial.grade.verdict),
        "expected": [str(verdict) for verdict in trial.example.verdicts] if trial.example else [],
        "mistakes": [one.mistake for one in trial.grade.diagnosis],
        "passed": trial.grade.passed,
        "total": trial.grade.total,
    }


def worst(margins: Iterable[Margin]) -> Margin:
    """The largest error."""
    return max(margins, key=lambda one: one.error or 0.0, default=Margin())


def ingredients(report: Report, tags: Iterable[str]) -> tuple[Ingredient, ...]:
    """For each tag, what the other cases would let pass."""
    return tuple(_ingredient(report, tag) for tag in tags)


def _ingredient(report: Report, tag: str) -> Ingredient:
    carrying = frozenset(case.name for case in report.cases if tag in case.tags)
    return Ingredient(
        tag=tag,
        cases=len(carrying),
        mistakes=tuple(one.name for one in report.killed if one.cases and one.cases <= carrying),
        submissions=tuple(trial.file for trial in report.trials if passes_without(trial, carrying)),
    )


def passes_without(trial: Trial, names: frozenset[str]) -> bool:
    """Whether a failing example would pass if these cases were not there; no, where it ended before all were run."""
    return bool(trial.failed) and trial.failed <= names
