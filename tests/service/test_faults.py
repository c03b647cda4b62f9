"""Nothing that was accepted is lost and nothing gets two verdicts, whatever dies meanwhile."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from app.db import connect as database
from app.db import embedded as postgres
from app.db import queue
from app.db.store import MAX_FAILURES, Store
from app.records import Finished, NewSubmission
from app.settings import Settings
from tests.service.conftest import BROKEN, ENDLESS, RIGHT, WRONG, make_database, own_folder, wheel
from tests.service.running import Running, wait_until
from tests.service.test_api import body

SUBMISSIONS = 500
KINDS = [(RIGHT, "accepted"), (WRONG, "wrong_answer"), *[(BROKEN, "compile_error")] * 6]
KILLS, KILL_AFTER_S = 4, 1.5
END = Finished(verdict="accepted", cases_version="v", grade="{}")


@pytest.fixture
def own_cluster() -> Iterator[postgres.Cluster]:
    """A PostgreSQL that may be restarted."""
    with own_folder() as folder:
        started = postgres.cluster(Settings(data_dir=folder, postgres_bin=wheel()))
        started.start()
        yield started
        started.stop()


@pytest.fixture
def fragile(own_cluster: postgres.Cluster, cases_dir: Path) -> Iterator[Running]:
    """An API and two workers of one slot each that lose their claims after 5 s."""
    extra = {"GRADER_CLAIM_TIMEOUT_S": "5", "GRADER_WORKER_SLOTS": "1"}
    started = Running(url=own_cluster.url(), data_dir=cases_dir, extra=extra)
    try:
        started.start_worker("fragile-0")
        started.start_api("fragile-api")
        started.wait_ready()
        started.start_worker("fragile-1")
        yield started
    finally:
        started.stop()


def kill_at_work(fragile: Running, name: str, done: threading.Event) -> None:
    """SIGKILLs a worker a few seconds after it has begun to work, and starts another in its place."""
    before = len(finished_in(fragile.log(name)))
    while len(finished_in(fragile.log(name))) < before + 3 and not done.wait(0.2):
        pass
    if not done.wait(KILL_AFTER_S):
        fragile.processes[name].send_signal(signal.SIGKILL)
        fragile.processes[name].wait()
        fragile.start_worker(name)


def insist(client: httpx.Client, number: int) -> str:
    """POSTs until it is accepted, as a careful client would: the same key each time. The submission's id."""
    key = {"Idempotency-Key": f"fault-{number}"}
    for _ in range(120):
        try:
            answer = client.post("/api/v1/submissions", json=body(KINDS[number % len(KINDS)][0]), headers=key)
        except httpx.TransportError:
            answer = None
        if answer is not None and answer.status_code == 202:
            return str(answer.json()["id"])
        assert answer is None or answer.status_code == 503, answer.text
        time.sleep(0.25)
    raise AssertionError("never accepted")


def test_kills_and_a_restart_lose_nothing(fragile: Running, own_cluster: postgres.Cluster) -> None:
    """500 submissions; a worker SIGKILLed every few seconds, PostgreSQL restarted once: each gets its one verdict."""
    done = threading.Event()

    def trouble() -> None:
        for number in range(KILLS):
            name = f"fragile-{number % 2}"
            kill_at_work(fragile, name, done)
            if number == 1:
                own_cluster.stop()
                own_cluster.start()

    with ThreadPoolExecutor(9) as pool, httpx.Client(base_url=fragile.address, timeout=30) as client:
        troubling = pool.submit(trouble)
        ids = list(pool.map(lambda number: insist(client, number), range(SUBMISSIONS)))
        wait_until(lambda: unfinished(own_cluster) == 0, "all have ended", 150)
        done.set()
        troubling.result()
    assert len(set(ids)) == SUBMISSIONS
    with psycopg.connect(own_cluster.url()) as connection:
        rows = connection.execute("SELECT id::text, status, verdict FROM submissions").fetchall()
        jobs = connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchone()
    assert dict.fromkeys(ids) == {row[0]: None for row in sorted(rows, key=lambda row: ids.index(row[0]))}
    expected = {made: KINDS[number % len(KINDS)][1] for number, made in enumerate(ids)}
    assert {row[0]: row[2] for row in rows} == expected
    written = Counter(finished_in(fragile.log("fragile-0")) + finished_in(fragile.log("fragile-1")))
    assert max(written.values()) == 1, "a verdict was written twice"
    assert jobs is not None
    wait_until(lambda: jobs_left(own_cluster) == 0, "finished jobs are deleted", 30)


def unfinished(cluster: postgres.Cluster) -> int:
    """How many submissions are open; many while the database is away."""
    try:
        with psycopg.connect(cluster.url()) as connection:
            row = connection.execute("SELECT count(*) FILTER (WHERE verdict IS NULL) FROM submissions").fetchone()
        return int(row[0]) if row else 1
    except (psycopg.OperationalError, OSError):
        return 1


def jobs_left(cluster: postgres.Cluster) -> int:
    """How many jobs the queue holds."""
    with psycopg.connect(cluster.url()) as connection:
        row = connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchone()
    return int(row[0]) if row else 0


def finished_in(log: str) -> list[str]:
    """Ids of the submissions whose verdict a worker says it wrote."""
    lines = (json.loads(line) for line in log.splitlines() if line.startswith("{"))
    return [line["submission"] for line in lines if line["message"] == "finished"]


def test_sigterm_hands_back_what_does_not_end(cluster: postgres.Cluster, cases_dir: Path) -> None:
    """A worker that is told to stop hands endless runs back at once, rejudging too; nothing counts against them."""
    extra = {"GRADER_SHUTDOWN_S": "0.5", "GRADER_WORKER_SLOTS": "2"}
    running = Running(url=make_database(cluster, "sigterm"), data_dir=cases_dir, extra=extra)
    try:
        worker = running.start_worker("sigterm-worker")
        running.start_api("sigterm-api")
        running.wait_ready()
        made = httpx.post(running.address + "/api/v1/submissions", json=body(ENDLESS)).json()["id"]
        with psycopg.connect(running.url) as connection:
            connection.execute(
                "INSERT INTO submissions (id, owner, client, problem, mode, device, priority, source, metadata, status,"
                " verdict) VALUES (gen_random_uuid(), '', '', 'situ_glu', 'submit', 'cpu', 10, %s, '{}', 'finished',"
                " 'accepted')",
                [ENDLESS.encode()],
            )
        httpx.post(running.address + "/api/v1/problems/situ_glu/rejudgings").raise_for_status()
        jobs = "SELECT task_name, status::text FROM procrastinate_jobs ORDER BY task_name"
        state = "SELECT status, failures, verdict FROM submissions WHERE id = %s"
        with psycopg.connect(running.url, autocommit=True) as connection:

            def now() -> object:
                return connection.execute(state, [made]).fetchone()

            wait_until(lambda: now() == ("running", 0, None), "it runs", 20)
            doing = [("grade", "doing"), ("rejudge", "doing")]
            wait_until(lambda: connection.execute(jobs).fetchall() == doing, "both are under way", 20)
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(10) == 0
            assert now() == ("queued", 0, None)
            assert connection.execute(jobs).fetchall() == [("grade", "todo"), ("rejudge", "todo")]
            assert connection.execute("SELECT count(*) FROM workers").fetchone() == (0,)
    finally:
        running.stop()


# ---------------------------------------------------------------- the state machine itself


@pytest.fixture(scope="module")
def store_url(cluster: postgres.Cluster) -> str:
    """A migrated database without workers."""
    url = make_database(cluster, "store")
    database.migrate(url)
    return url


async def stored(url: str, work: object) -> object:
    """Runs work(store, app) on an open pool."""
    async with database.pool(url) as pool:
        return await work(Store(pool), await queue.open_queue(pool, url))  # type: ignore[operator]


async def queued(store: Store, app: object) -> UUID:
    """A new submission with its job."""
    new = NewSubmission(id=uuid4(), owner="", client="test", problem="situ_glu", source=RIGHT)
    async with store.pool.connection() as connection, connection.transaction():
        job_id = await queue.defer(app, connection, queue.grading(new.id, new.device, new.mode))  # type: ignore[arg-type]
        await store.insert(connection, new, job_id)
    return new.id


async def finish(store: Store, claim: object) -> bool:
    """Whether the verdict was written."""
    async with store.pool.connection() as connection, connection.transaction():
        return (await store.finish(connection, claim, END))[0]  # type: ignore[arg-type]


def test_only_the_latest_claim_may_write(store_url: str) -> None:
    """A worker that lost its claim can neither report, release nor finish; the verdict is written once."""

    async def work(store: Store, app: object) -> None:
        made = await queued(store, app)
        lost, current = await store.claim(made), await store.claim(made)
        assert lost is not None
        assert current is not None
        assert not await store.report(lost, 0, ["{}"])
        assert not await store.release(lost, failed=True)
        assert not await finish(store, lost)
        assert await store.report(current, 0, ["{}"])
        assert await finish(store, current)
        assert not await finish(store, current)
        assert await store.claim(made) is None

    asyncio.run(stored(store_url, work))


def test_lost_claims_are_counted(store_url: str) -> None:
    """Each claim of a running submission counts as a failure of the one before; a hand-back does not."""

    async def work(store: Store, app: object) -> None:
        made = await queued(store, app)
        first = await store.claim(made)
        assert first is not None
        await store.release(first, failed=False)
        found = [await store.claim(made) for _ in range(MAX_FAILURES + 2)]
        assert [claim.failures for claim in found if claim] == list(range(MAX_FAILURES + 2))

    asyncio.run(stored(store_url, work))


def test_a_submission_without_a_job_gets_one(store_url: str) -> None:
    """Whatever became of its job, an open submission is found and queued again."""

    async def work(store: Store, app: object) -> None:
        made = await queued(store, app)
        async with store.pool.connection() as connection:
            await connection.execute("DELETE FROM procrastinate_jobs WHERE args->>'submission_id' = %s", [str(made)])
            await connection.execute("UPDATE submissions SET created_at = now() - interval '1 minute'")
        assert await queue.find_lost(app, store.pool) >= 1  # type: ignore[arg-type]
        async with store.pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT count(*) FROM procrastinate_jobs JOIN submissions ON job_id = procrastinate_jobs.id"
                " WHERE submissions.id = %s",
                [made],
            )
            assert await cursor.fetchone() == (1,)

    asyncio.run(stored(store_url, work))


def test_jobs_that_ended_do_not_stay(store_url: str) -> None:
    """procrastinate leaves a job that was cancelled while it was put back: it is removed."""

    async def work(store: Store, app: object) -> None:
        made = await queued(store, app)
        async with store.pool.connection() as connection:
            await connection.execute("UPDATE procrastinate_jobs SET status = 'failed'")
        await queue.find_lost(app, store.pool)  # type: ignore[arg-type]
        async with store.pool.connection() as connection:
            cursor = await connection.execute("SELECT count(*) FROM procrastinate_jobs WHERE status = 'failed'")
            assert await cursor.fetchone() == (0,)
            await store.cancel(connection, made)

    asyncio.run(stored(store_url, work))


def test_cancelling_leaves_nothing(store_url: str) -> None:
    """The cases that were told of go with it; a listener of a submission that was removed hears that it is gone."""

    async def work(store: Store, app: object) -> None:
        made = await queued(store, app)
        claim = await store.claim(made)
        assert claim is not None
        assert await store.report(claim, 0, ["{}", "{}"])
        async with store.pool.connection() as connection:
            assert await store.cancel(connection, made)
            cursor = await connection.execute("SELECT count(*) FROM progress WHERE submission_id = %s", [made])
            assert await cursor.fetchone() == (0,)
            assert not await store.report(claim, 2, ["{}"])
            await connection.execute("DELETE FROM submissions WHERE id = %s", [made])
        assert await store.progress(made, 0) is None

    asyncio.run(stored(store_url, work))


def test_priorities(store_url: str) -> None:
    """run goes before submit, submit before rejudging, whatever came first."""

    async def work(store: Store, app: object) -> None:
        ids = {name: uuid4() for name in ("rejudge", "submit", "run")}
        async with store.pool.connection() as connection:
            await connection.execute("DELETE FROM procrastinate_jobs")
            await queue.defer(app, connection, queue.rejudging(uuid4(), ids["rejudge"], "cpu"))  # type: ignore[arg-type]
            await queue.defer(app, connection, queue.grading(ids["submit"], "cpu", "submit"))  # type: ignore[arg-type]
            await queue.defer(app, connection, queue.grading(ids["run"], "cpu", "run"))  # type: ignore[arg-type]
        manager = app.job_manager  # type: ignore[attr-defined]
        worker_id = await manager.register_worker()
        taken = [await manager.fetch_job(queues=["cpu"], worker_id=worker_id) for _ in ids]
        assert [UUID(job.task_kwargs["submission_id"]) for job in taken] == [ids["run"], ids["submit"], ids["rejudge"]]

    asyncio.run(stored(store_url, work))


def test_retention(store_url: str) -> None:
    """Old submissions go, with their idempotency keys; young and open ones stay."""

    async def work(store: Store, app: object) -> None:
        old, young, waiting = [await queued(store, app) for _ in range(3)]
        for made in (old, young):
            claim = await store.claim(made)
            assert await finish(store, claim)
        async with store.pool.connection() as connection:
            await connection.execute(
                "UPDATE submissions SET created_at = now() - interval '9 days',"
                " finished_at = finished_at - interval '8 days' WHERE id = ANY(%s)",
                [[old, waiting]],
            )
        assert await store.remove_older(7) == 1
        assert [await store.get(made) is None for made in (old, young, waiting)] == [True, False, False]

    asyncio.run(stored(store_url, work))
