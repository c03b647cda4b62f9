"""Every way to a guest shows the engine the same: on this machine, as a service, and in both kinds of container."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from grader.records import Outcome
from grader.sandbox.base import Sandbox
from grader.sandbox.container import Options
from grader.sandbox.docker import DockerSandbox
from grader.sandbox.local import LocalSandbox
from tests.containers.conformance import DOUBLES, EXPECTATIONS, Expectation, fake_job, job, run


def conforms(sandbox: Sandbox, expected: Expectation) -> str:
    """What is wrong with how a sandbox meets an expectation; "" if nothing."""
    reports, end = run(sandbox, job(expected.source, expected.limits))
    last = reports[-1]
    allowed = expected.outcome if isinstance(expected.outcome, tuple) else (expected.outcome,)
    if last.outcome not in allowed:
        return f"{expected.name}: {last.outcome} ({last.reason or last.raised}), not {expected.outcome}"
    return "" if expected.check(last, end) else f"{expected.name}: {last}, {end}"


@pytest.mark.parametrize("expected", EXPECTATIONS, ids=lambda one: one.name)
def test_local(sandbox: LocalSandbox, expected: Expectation) -> None:
    """The guest as a process of this machine meets the expectation."""
    assert conforms(sandbox, expected) == ""


def test_in_container(sandbox_in_container: Sandbox) -> None:
    """A guest in a container meets every expectation, one after the other, restarts in between included."""
    assert [told for one in EXPECTATIONS if (told := conforms(sandbox_in_container, one))] == []


def test_in_containers_of_their_own(options: Options) -> None:
    """The same with a container for each run; some expectations will do, since each takes a start."""
    some = [one for one in EXPECTATIONS if one.name in {"values", "memory", "namespace", "files"}]
    with contextlib.closing(DockerSandbox(replace(options, policy="single"))) as single:
        single.start()
        assert [told for one in some if (told := conforms(single, one))] == []


def test_side_by_side_in_container(sandbox_in_container: Sandbox) -> None:
    """Several runs at once all get their own values."""
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda _: run(sandbox_in_container, job(DOUBLES, calls=2)), range(12)))

    assert all([report.outcome for report in reports] == [Outcome.RETURNED] * 3 for reports, _ in ends)


def test_fake_tensors_in_container(sandbox_in_container: Sandbox) -> None:
    """Tensors without values work there too: device rules are judged by them."""
    reports, _ = run(sandbox_in_container, fake_job())

    assert reports[-1].returned is not None, reports[-1]
    assert reports[-1].returned.device.startswith("cuda")
