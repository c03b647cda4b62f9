"""`python -m bench.sandboxes`: milliseconds per submission in each kind of sandbox, beside a cold container, in one go.

Needs a Docker Engine and the image grader-sandbox. Goals: shared and socket at most 1.5 times local; single, from its
pool, under 300 ms; all at least 20 times faster than a container that starts cold and imports torch.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import docker  # type: ignore[import-untyped]
import torch

from grader import engine
from grader.cases.case import CaseSet
from grader.cases.store import load_active
from grader.problem import folder as problem
from grader.problem.schema import Problem
from grader.sandbox.base import Sandbox
from grader.sandbox.docker import leftovers
from grader.sandbox.docker.options import Options, creation
from grader.sandbox.docker.sandbox import DockerSandbox
from grader.sandbox.local import LocalSandbox
from grader.sandbox.socket import SocketSandbox

WARM_UP, EACH, FROM_POOL, COLD = 10, 60, 10, 3
_COLD = "import torch; x = torch.ones(2, 3); (torch.tanh(x @ x.T) * torch.sigmoid(x @ x.T)).sum()"


def main() -> None:
    """Measures and prints everything."""
    torch.set_num_threads(1)
    asked = problem.load("situ_glu")
    cases, options = load_active(asked), Options()
    source = (asked.root / "submissions" / "accepted" / "textbook.py").read_text(encoding="utf-8")
    print(f"bench: {asked.slug}, {len(cases.cases)} cases, {len(os.sched_getaffinity(0))} cores, containers")
    cold_ms = statistics.median(cold(options.image) for _ in range(COLD))
    print(f"{'cold container':<16}{cold_ms:8.1f} ms")
    local_ms = None
    for name, sandbox in sandboxes(options):
        grade = grading(asked, cases, source, sandbox)
        if name.endswith("single"):
            times = [grade() for _ in range(FROM_POOL) if is_full(sandbox)]
        else:
            times = [grade() for _ in range(WARM_UP + EACH)][WARM_UP:]
        median = statistics.median(times)
        local_ms = local_ms or median
        print(
            f"{name:<16}{median:8.1f} ms median {max(times):8.1f} ms worst{median / local_ms:8.2f} times local"
            f"{cold_ms / median:8.0f} times faster than cold",
            flush=True,
        )


def is_full(sandbox: Sandbox) -> bool:
    """True, once all containers of the pool are ready."""
    while isinstance(sandbox, DockerSandbox) and not sandbox.is_full():
        time.sleep(0.1)
    return True


def sandboxes(options: Options) -> Iterator[tuple[str, Sandbox]]:
    """Each sandbox, started."""
    with closing(LocalSandbox()) as local:
        local.start()
        yield "local", local
    with service(options) as sandbox:
        yield "socket", sandbox
    with closing(DockerSandbox(options)) as shared:
        shared.start()
        yield "docker, shared", shared
    # two runs a submission, one for real and one for fake tensors
    with closing(DockerSandbox(replace(options, policy="single", pool=2))) as single:
        single.start()
        yield "docker, single", single


@contextmanager
def service(options: Options) -> Iterator[SocketSandbox]:
    """The guest as a service of its own, as compose starts it."""
    client = docker.from_env()
    with tempfile.TemporaryDirectory(prefix="grader-bench-") as folder:
        Path(folder).chmod(0o770)
        body = creation(options, gpu=None, name="grader-bench", labels={leftovers.KIND: "bench"}, source=folder)
        client.api.create_container_from_config(body, "grader-bench")
        container = client.containers.get("grader-bench")
        try:
            container.start()
            with closing(SocketSandbox(Path(folder))) as sandbox:
                sandbox.start()
                yield sandbox
        finally:
            container.remove(force=True)
            client.close()


def grading(asked: Problem, cases: CaseSet, source: str, sandbox: Sandbox) -> Callable[[], float]:
    """A function that grades once and returns the milliseconds."""

    def grade() -> float:
        started = time.perf_counter()
        result = engine.grade(asked, cases, source, sandbox)
        if result.verdict != "accepted":
            raise SystemExit(f"bench: {result.verdict}: {result.summary}")
        return 1000 * (time.perf_counter() - started)

    return grade


def cold(image: str) -> float:
    """Milliseconds of a container that starts, imports torch, computes once and is removed."""
    command = ["docker", "run", "--rm", "--network=none", "--entrypoint=/srv/venv/bin/python", image, "-I", "-c", _COLD]
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return 1000 * (time.perf_counter() - started)


if __name__ == "__main__":
    main()
