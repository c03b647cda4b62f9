"""Prometheus metrics of the whole service, from one scrape of any API process.

Workers count in a registry of their own and add what is new to the table `metrics` with each sign of life; the API
shows that table and what it can see of the queue.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from app.db.connect import Pool
from app.db.fleet import Fleet
from app.db.store import Store

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, float("inf"))
COUNTED = 1_000_000


class WorkerMetrics:
    """What one worker process counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.phase = Histogram(
            "grader_phase_seconds", "Time by phase: queue, grade, store", ["phase"],
            registry=self.registry, buckets=BUCKETS,
        )  # fmt: skip
        self.verdicts = Counter("grader_verdicts", "Verdicts given", ["problem", "verdict"], registry=self.registry)
        self.retries = Counter("grader_retries", "Attempts that failed or were lost", registry=self.registry)
        self.restarts = Counter("grader_sandbox_restarts", "Sandboxes started anew", registry=self.registry)
        self._told: dict[tuple[str, str], float] = {}

    def samples(self) -> dict[tuple[str, str], float]:
        """(name, labels as JSON) -> value, without the times at which series began."""
        return {
            (sample.name, json.dumps(sample.labels, sort_keys=True)): sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if not sample.name.endswith("_created")
        }

    async def flush(self, pool: Pool) -> None:
        """Adds what came since the last time."""
        now = self.samples()
        new = [
            (*key, value - self._told.get(key, 0.0)) for key, value in now.items() if value != self._told.get(key, 0.0)
        ]
        if not new:
            return
        async with pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
            await cursor.executemany(
                "INSERT INTO metrics (name, labels, value) VALUES (%s, %s, %s)"
                " ON CONFLICT (name, labels) DO UPDATE SET value = metrics.value + excluded.value",
                sorted(new),
            )
        self._told = now


class _Ready(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)


async def exposition(store: Store, fleet: Fleet, live_s: float) -> bytes:
    """The text that Prometheus scrapes."""
    registry = CollectorRegistry()
    registry.register(_Ready([*await _gauges(store, fleet, live_s), *await _counted(fleet)]))
    return generate_latest(registry)


async def _gauges(store: Store, fleet: Fleet, live_s: float) -> list[Metric]:
    depth, age_s = await store.queue(COUNTED)
    values = {
        "grader_queue_depth": ("Submissions that wait", depth),
        "grader_queue_age_seconds": ("How long the oldest of them has waited", age_s),
        "grader_workers": ("Workers that gave a sign of life lately", await fleet.live_workers(live_s)),
    }
    return [GaugeMetricFamily(name, said, value=value) for name, (said, value) in values.items()]


async def _counted(fleet: Fleet) -> list[Metric]:
    stored = [(name, json.loads(labels), value) for name, labels, value in await fleet.metric_rows()]
    families: list[Metric] = []
    for family in WorkerMetrics().registry.collect():
        kind = HistogramMetricFamily if family.type == "histogram" else CounterMetricFamily
        made = kind(family.name, family.documentation)
        for name, labels, value in stored:
            if name.startswith(family.name):
                made.add_sample(name, labels, value)
        families.append(made)
    return families
