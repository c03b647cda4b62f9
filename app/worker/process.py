"""A worker process: takes jobs and has them done (tasks.py).

It has `slots` gradings at once, each in a thread, and calls back beside them: a slow receiver delays no verdict. After
SIGTERM it takes nothing new, finishes what is under way, and hands back what does not end in time. The sandbox starts
before anything else is imported: it needs some seconds to get ready.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from contextlib import AsyncExitStack
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from app import logs
from app.settings import Settings, from_environment
from grader.errors import GraderError

if TYPE_CHECKING:
    import procrastinate

    from app.worker.grading import Gradings

log = logging.getLogger(__name__)

CALLBACKS_AT_ONCE = 8
RETRY_PAUSE_S = 1.0


async def work(settings: Settings, url: str, gradings: Gradings) -> None:
    """Works until SIGTERM or SIGINT."""
    from app.db import connect as database  # noqa: PLC0415
    from app.db import queue  # noqa: PLC0415
    from app.worker.tasks import Worker  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        size = settings.worker_slots + CALLBACKS_AT_ONCE + 6
        pool = await stack.enter_async_context(database.pool(url, size, durable=False, custom_plans=True))
        worker = Worker(settings, pool, gradings)
        app = await queue.open_queue(pool, url)
        worker.add_tasks(app)
        await worker.alive()
        loops = worker.loops()
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        try:
            await asyncio.gather(
                _take_jobs(app, settings, [*gradings.devices], settings.worker_slots, stopping),
                _take_jobs(app, settings, [queue.CALLBACKS], CALLBACKS_AT_ONCE, stopping),
            )
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await worker.leave()


async def _take_jobs(
    app: procrastinate.App, settings: Settings, queues: list[str], slots: int, stopping: asyncio.Event
) -> None:
    """procrastinate's worker, started anew when the database went away under it."""
    stop = asyncio.create_task(stopping.wait())
    pulse_s = settings.claim_timeout_s / 4
    while not stopping.is_set():
        running = asyncio.create_task(
            app.run_worker_async(
                queues=queues, concurrency=slots, install_signal_handlers=False,
                delete_jobs="always", update_heartbeat_interval=pulse_s,
                stalled_worker_timeout=settings.claim_timeout_s,
                fetch_job_polling_interval=2.0, abort_job_polling_interval=2.0,
                shutdown_graceful_timeout=settings.shutdown_s,
            )
        )  # fmt: skip
        await asyncio.wait({running, stop}, return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        try:
            await running
        except asyncio.CancelledError:
            continue
        except Exception:
            log.exception("the queue could not be read; trying again")
        await asyncio.sleep(RETRY_PAUSE_S)


def run_worker(settings: Settings) -> None:
    """A worker in this process, until it is told to stop. The sandbox starts while the rest is imported here."""
    from grader.sandbox import choose  # noqa: PLC0415

    if settings.sandbox == "none":
        log.warning("GRADER_SANDBOX=none: submissions run unconfined, with all your rights")
    sandbox = choose.make(settings.sandbox)
    try:
        sandbox.start()
        from app.db import connect as database  # noqa: PLC0415
        from app.worker.cases import CaseStore  # noqa: PLC0415
        from app.worker.grading import Gradings  # noqa: PLC0415

        url = database.await_migrated(settings)
        gradings = Gradings(sandbox, CaseStore(url))
        gradings.prepare()
        threading.Thread(target=gradings.prepare_others, daemon=True).start()
        asyncio.run(work(settings, url, gradings))
    finally:
        sandbox.close()


def main() -> NoReturn:
    """Entry of a worker process: `python -m app.worker.process`, `grader worker`."""
    logs.configure()
    signal.signal(signal.SIGTERM, _leave)
    code = 0
    try:
        run_worker(from_environment())
    except GraderError as error:
        print(f"grader: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        pass
    logging.shutdown()
    os._exit(code)  # a thread may still be in a grading that nobody waits for any more


def _leave(_number: int, _frame: FrameType | None) -> None:
    """SIGTERM before the first job is taken: as Ctrl-C, so that the sandbox is closed."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
