"""What tests share: a data folder of their own, and one started sandbox."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from grader import engine
from grader.cases.case import CaseSet
from grader.cases.store import load_active
from grader.problem import folder as problem
from grader.problem.schema import Problem
from grader.records import Grade
from grader.sandbox.local import LocalSandbox

torch.set_num_threads(1)
pytest_plugins = ["tests.containers.engines"]


@pytest.fixture(scope="session", autouse=True)
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder for the whole run: no test sees the person's own."""
    folder = tmp_path_factory.mktemp("data")
    os.environ["GRADER_DATA_DIR"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def situ_glu() -> Problem:
    """The package situ_glu."""
    return problem.load("situ_glu")


@pytest.fixture(scope="session")
def case_set(situ_glu: Problem, data_dir: Path) -> CaseSet:
    """Its active cases, from a random seed."""
    return load_active(situ_glu)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[LocalSandbox]:
    """A started sandbox with real confinement."""
    started = LocalSandbox()
    started.start()
    yield started
    started.close()


@pytest.fixture(scope="session")
def grade(situ_glu: Problem, case_set: CaseSet, sandbox: LocalSandbox) -> Callable[..., Grade]:
    """Grades a source of situ_glu."""

    def graded(source: str, **options: object) -> Grade:
        return engine.grade(situ_glu, case_set, source, sandbox, **options)  # type: ignore[arg-type]

    return graded
