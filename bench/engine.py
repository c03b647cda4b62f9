"""`make bench`: milliseconds per submission through the engine, a cold process, and the bare floor, in one run."""

from __future__ import annotations

import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import torch

from grader import engine
from grader.cases.case import CaseSet
from grader.cases.store import load_active
from grader.problem import folder as problem
from grader.problem.schema import Problem
from grader.sandbox.local import LocalSandbox

WARM_UP, ONE_BY_ONE, AT_ONCE, COLD = 10, 100, 200, 5
IDLE_S = 2.0
REST_S = 0.15  # between two submissions, for new spares to get ready: the floor's child waits for its work too


def main() -> None:
    """Measures and prints everything."""
    torch.set_num_threads(1)
    cores = len(os.sched_getaffinity(0))
    asked = problem.load("situ_glu")
    cases = load_active(asked)
    source_file = asked.root / "submissions" / "accepted" / "textbook.py"
    sandbox = LocalSandbox(spares=cores)
    sandbox.start()
    try:
        print(f"bench: {asked.slug}, {len(cases.cases)} cases, {cores} cores, torch {torch.__version__}")
        figures(asked, cases, source_file, sandbox, cores)
    finally:
        sandbox.close()


def figures(asked: Problem, cases: CaseSet, source_file: Path, sandbox: LocalSandbox, cores: int) -> None:
    """All of them, each line as it is known."""
    source = source_file.read_text(encoding="utf-8")

    def grade(_: int = 0) -> float:
        started = time.perf_counter()
        result = engine.grade(asked, cases, source, sandbox)
        if result.verdict != "accepted":
            raise SystemExit(f"bench: {source_file.name} is {result.verdict}: {result.summary}")
        return 1000 * (time.perf_counter() - started)

    for _ in range(WARM_UP):
        grade()
    engine_ms = [rested(grade) for _ in range(ONE_BY_ONE)]
    show("engine, spares ready", engine_ms)
    show("engine, without a pause", [grade() for _ in range(ONE_BY_ONE)])
    print(f"{'engine, all cores':<28}{throughput(grade, cores):8.1f} submissions/s")
    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder) / "calls"
        calls.write_bytes(pickle.dumps([case.call for case in cases.cases]))
        command = [sys.executable, "-m", "bench.floor", str(calls), str(source_file), asked.entry.name]
        floor_ms, cold_ms = floor(command), [cold(command) for _ in range(COLD)]
    show("floor, a waiting child", floor_ms)
    show("cold python process", cold_ms)
    median = statistics.median(engine_ms)
    print(f"{'engine / floor':<28}{median / statistics.median(floor_ms):8.2f} times (goal: at most 2)")
    print(f"{'cold / engine':<28}{statistics.median(cold_ms) / median:8.1f} times (goal: at least 50)")
    time.sleep(IDLE_S)
    print(f"{'idle memory, all processes':<28}{idle_megabytes():8.0f} MB PSS (goal: under 700)")


def rested(grade: Callable[[], float]) -> float:
    """Milliseconds of a submission that comes after a pause."""
    time.sleep(REST_S)
    return grade()


def throughput(grade: Callable[[int], float], cores: int) -> float:
    """Submissions a second with as many at once as there are cores."""
    started = time.perf_counter()
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(grade, range(AT_ONCE)))
    return AT_ONCE / (time.perf_counter() - started)


def floor(command: list[str]) -> list[float]:
    """Milliseconds of the bare calls in a waiting child."""
    output = subprocess.run([*command, "spare", str(ONE_BY_ONE)], check=True, capture_output=True, text=True).stdout
    return [float(line) for line in output.split()]


def cold(command: list[str]) -> float:
    """Milliseconds of a whole process that imports torch and makes the same calls."""
    started = time.perf_counter()
    subprocess.run([*command, "cold"], check=True, stdout=subprocess.DEVNULL)
    return 1000 * (time.perf_counter() - started)


def idle_megabytes() -> float:
    """Proportional memory of this process (engine and supervisor) and of all its children (the guest)."""
    own = psutil.Process()
    return float(sum(process.memory_full_info().pss for process in (own, *own.children(recursive=True)))) / 1e6


def show(what: str, milliseconds: list[float]) -> None:
    """One line: median and 95th percentile."""
    p95 = statistics.quantiles(milliseconds, n=20)[-1]
    print(f"{what:<28}{statistics.median(milliseconds):8.1f} ms median {p95:8.1f} ms p95", flush=True)


if __name__ == "__main__":
    main()
