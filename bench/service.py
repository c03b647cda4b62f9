"""`python -m bench.service`: what the service adds to the engine, both measured in one run.

POST to verdict (`Prefer: wait`) for one client, throughput for 16, beside the engine alone on the same cores; then both
again with GRADER_BENCH_STORED (1,000,000) finished submissions and GRADER_BENCH_QUEUED (100,000) waiting ones, for a
device that no worker has, in the database. The service is what `grader serve` starts, on a database of its own.
"""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg

from app.db import embedded as postgres
from app.settings import Settings

ONE_BY_ONE, AT_ONCE, CLIENTS = 60, 320, 16
READY = re.compile(r"ready after ([\d.]+) s: (\S+)")
STORED = (
    "INSERT INTO submissions (id, owner, client, problem, mode, device, priority, source, metadata, status, verdict,"
    " grade, finished_at, created_at) SELECT gen_random_uuid(), '', 'bench', 'situ_glu', 'submit', 'cpu', 10, '', '{}',"
    " 'finished', 'accepted', '{}', now(), now() FROM generate_series(1, %s)"
)
QUEUED = (
    "WITH jobs AS (INSERT INTO procrastinate_jobs (queue_name, task_name, priority, args)"
    " SELECT 'cuda', 'grade', 10, '{}' FROM generate_series(1, %s) RETURNING id)"
    " INSERT INTO submissions (id, owner, client, problem, mode, device, priority, source, metadata, job_id)"
    " SELECT gen_random_uuid(), '', 'bench', 'situ_glu', 'submit', 'cuda', 10, '', '{}', id FROM jobs"
)


def main() -> None:
    """Measures and prints everything."""
    with tempfile.TemporaryDirectory(prefix="grader-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        os.environ["GRADER_DATA_DIR"] = name
        source, engine_ms, engine_rate = engine_alone()
        print(f"{'engine, one by one':<34}{summary(engine_ms)}")
        print(f"{'engine, all cores':<34}{engine_rate:8.1f} submissions/s", flush=True)
        with served(folder) as (address, ready_s):
            print(f"{'serve, ready with cases present':<34}{ready_s:8.1f} s (goal: at most 10)", flush=True)
            figures(address, source, engine_ms, engine_rate)
            fill(folder)
            figures(address, source, engine_ms, engine_rate)


def engine_alone() -> tuple[str, list[float], float]:
    """(source, milliseconds one by one, submissions a second), in a process of its own that ends before the rest."""
    code = "import json; from bench import service; print(json.dumps(service.measure_engine()))"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    source, milliseconds, rate = json.loads(shown.splitlines()[-1])
    return source, milliseconds, rate


def measure_engine() -> tuple[str, list[float], float]:
    """The engine without the service."""
    import torch  # noqa: PLC0415

    from grader import engine  # noqa: PLC0415
    from grader.cases.store import load_active  # noqa: PLC0415
    from grader.problem import folder as problem  # noqa: PLC0415
    from grader.sandbox.local import LocalSandbox  # noqa: PLC0415

    torch.set_num_threads(1)
    cores = len(os.sched_getaffinity(0))
    asked = problem.load("situ_glu")
    cases = load_active(asked)
    source = (asked.root / "submissions" / "accepted" / "textbook.py").read_text(encoding="utf-8")
    sandbox = LocalSandbox(spares=cores)
    sandbox.start()

    def grade(_: int) -> None:
        if engine.grade(asked, cases, source, sandbox).verdict != "accepted":
            raise SystemExit("bench: the textbook answer is not accepted")

    try:
        milliseconds = [timed(grade) for _ in range(ONE_BY_ONE + 10)][10:]
        return source, milliseconds, rate(grade, cores)
    finally:
        sandbox.close()


def timed(work: Callable[[int], None]) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    work(0)
    return 1000 * (time.perf_counter() - began)


def rate(work: Callable[[int], None], at_once: int) -> float:
    """Calls a second."""
    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(work, range(AT_ONCE)))
    return AT_ONCE / (time.perf_counter() - began)


def summary(milliseconds: list[float]) -> str:
    """Median and 95th percentile."""
    p95 = statistics.quantiles(milliseconds, n=20)[-1]
    return f"{statistics.median(milliseconds):8.1f} ms median {p95:8.1f} ms p95"


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, float]]:
    """`grader serve`: (address, seconds until it was ready)."""
    log = folder / "serve.log"
    environ = {**os.environ, "GRADER_PORT": "0", "GRADER_RATE_BURST": "1000000", "GRADER_BACKLOG": "200000"}
    command = [sys.executable, "-c", "from grader.cli.main import main; main()", "serve"]
    with log.open("wb") as said:
        process = subprocess.Popen(command, env=environ, stdout=said, stderr=said)
    try:
        while not (found := READY.search(log.read_text())):
            if process.poll() is not None:
                raise SystemExit(f"bench: serve ended: {log.read_text()}")
            time.sleep(0.05)
        yield found[2], float(found[1])
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def figures(address: str, source: str, engine_ms: list[float], engine_rate: float) -> None:
    """One client, then sixteen."""
    client = httpx.Client(base_url=address, timeout=60, limits=httpx.Limits(max_connections=CLIENTS))
    request = {"problem": "situ_glu", "source": source}

    def post(_: int) -> None:
        answer = client.post("/api/v1/submissions", json=request, headers={"Prefer": "wait=50"})
        if answer.status_code != 200 or answer.json()["verdict"] != "accepted":
            raise SystemExit(f"bench: {answer.status_code} {answer.text[:300]}")

    with client:
        milliseconds = [timed(post) for _ in range(ONE_BY_ONE + 10)][10:]
        throughput = rate(post, CLIENTS)
    over = statistics.median(milliseconds) - statistics.median(engine_ms)
    print(f"{'POST to verdict, one client':<34}{summary(milliseconds)}")
    print(f"{'  over the engine':<34}{over:8.1f} ms (goal: under 25)")
    print(f"{'POST to verdict, 16 clients':<34}{throughput:8.1f} submissions/s")
    print(f"{'  of the engine alone':<34}{100 * throughput / engine_rate:8.0f} % (goal: at least 80)", flush=True)


def fill(folder: Path) -> None:
    """Submissions that are stored and jobs that wait, as after a long time and in a rush."""
    stored = int(os.environ.get("GRADER_BENCH_STORED", "1000000"))
    queued = int(os.environ.get("GRADER_BENCH_QUEUED", "100000"))
    url = postgres.running_url(Settings(data_dir=folder))
    assert url is not None
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(STORED.encode(), [stored])
        connection.execute(QUEUED.encode(), [queued])
        connection.execute("ANALYZE")
    print(f"with {stored} submissions stored and {queued} waiting:", flush=True)


if __name__ == "__main__":
    main()
