"""The case sets that a worker grades with: by version, from memory, from this machine's files, or from the database."""

from __future__ import annotations

import threading

from app.db.shelf import Shelf
from grader.cases import code as package
from grader.cases import store as case_store
from grader.cases.case import CaseSet
from grader.problem.schema import Problem

KEPT_SETS = 8


class CaseStore:
    """Case sets by version, the ones that were used last kept ready."""

    def __init__(self, url: str) -> None:
        self._shelf = Shelf(url)
        self._sets: dict[tuple[str, str], CaseSet] = {}
        self._prepared: dict[str, object] = {}
        self._lock = threading.Lock()

    def _prepare(self, problem: Problem) -> CaseSet:
        """Has the active version ready: made where there is none, and anew where the package has changed since."""
        state = package.state(problem)  # before: what changes meanwhile is seen next time
        case_set = case_store.load_active(problem)
        with self._lock:
            self._sets[problem.slug, case_set.version] = case_set
            self._prepared[problem.slug] = state
        return case_set

    def active(self, problem: Problem, known: str | None = None) -> CaseSet:
        """The version to grade with: the active one, made anew where the package's files are not those we prepared.

        known: which one is active, for who knows.
        """
        if self._prepared.get(problem.slug) != package.state(problem):
            return self._prepare(problem)
        version = known or self._active(problem.slug)
        return self.version(problem, version) if version else self._prepare(problem)

    def _active(self, slug: str) -> str | None:
        active = self._shelf.active(slug)
        return active.version if active else None

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
