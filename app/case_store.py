"""The case sets that a worker grades with: by version, from memory, from this machine's files, or from the database."""

from __future__ import annotations

import threading

from app.shelf import Shelf
from grader import case_store
from grader.case import CaseSet
from grader.schema import Problem

KEPT_SETS = 8


class CaseStore:
    """Case sets by version, the ones that were used last kept ready."""

    def __init__(self, url: str) -> None:
        self._shelf = Shelf(url)
        self._sets: dict[tuple[str, str], CaseSet] = {}
        self._lock = threading.Lock()

    def prepare(self, problem: Problem) -> None:
        """Has the active version ready: made where there is none, and anew where the package has changed since."""
        case_set = case_store.load_active(problem)
        with self._lock:
            self._sets[problem.slug, case_set.version] = case_set

    def active(self, problem: Problem) -> CaseSet:
        """The database's active version."""
        found = [version for version, active in self._shelf.versions(problem.slug).items() if active]
        if found:
            return self.version(problem, found[0])
        return case_store.load_active(problem)

    def version(self, problem: Problem, version: str) -> CaseSet:
        """One version, from memory, from this machine's files, or from the database."""
        with self._lock:
            key = (problem.slug, version)
            if key not in self._sets:
                self._sets[key] = self._load(problem, version)
                while len(self._sets) > KEPT_SETS:
                    del self._sets[next(iter(self._sets))]
            return self._sets[key]

    def _load(self, problem: Problem, version: str) -> CaseSet:
        return case_store.stored_version(problem, version) or case_store.import_version(
            problem, version, self._shelf.fetch(problem.slug, version), activate=False
        )
