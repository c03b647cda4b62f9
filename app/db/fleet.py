"""The workers as the database sees them: who lives, what they have, whether they grade rightly, what they counted."""

from __future__ import annotations

from uuid import UUID

from app.db.connect import Pool, execute, one_row


class Fleet:
    """All workers of one database."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def seen(self, worker: UUID, host: str, devices: tuple[str, ...], slots: int) -> None:
        """A worker's sign of life."""
        await execute(
            self.pool,
            "INSERT INTO workers (id, host, devices, slots) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (id) DO UPDATE SET seen_at = now()",
            [worker, host, list(devices), slots],
        )

    async def canary_sang(self, worker: UUID) -> None:
        """A worker graded its canaries rightly."""
        await execute(self.pool, "UPDATE workers SET canary_at = now() WHERE id = %s", [worker])

    async def gone(self, worker: UUID) -> None:
        """A worker left."""
        await execute(self.pool, "DELETE FROM workers WHERE id = %s", [worker])

    async def forget_workers(self, after_s: float) -> None:
        """Removes workers that were not seen for long."""
        await execute(self.pool, "DELETE FROM workers WHERE seen_at < now() - make_interval(secs => %s)", [after_s])

    async def live_workers(self, within_s: float) -> int:
        """How many workers were seen lately."""
        found = await one_row(
            self.pool, "SELECT count(*) FROM workers WHERE seen_at > now() - make_interval(secs => %s)", [within_s]
        )
        return int(found[0]) if found else 0

    async def devices(self, within_s: float) -> frozenset[str]:
        """Devices of the workers that were seen lately."""
        found = await one_row(
            self.pool,
            "SELECT array_agg(DISTINCT device) FROM workers, unnest(devices) AS device"
            " WHERE seen_at > now() - make_interval(secs => %s)",
            [within_s],
        )
        return frozenset((found[0] if found else None) or ())

    async def canaries(self, seen_s: float, canary_s: float) -> bool:
        """Whether a live worker has lately graded an accepted and a wrong answer rightly."""
        found = await one_row(
            self.pool,
            "SELECT 1 FROM workers WHERE seen_at > now() - make_interval(secs => %s)"
            " AND canary_at > now() - make_interval(secs => %s) LIMIT 1",
            [seen_s, canary_s],
        )
        return found is not None

    async def metric_rows(self) -> list[tuple[str, str, float]]:
        """(name, labels as JSON, value) of all that workers counted."""
        async with self.pool.connection() as connection:
            cursor = await connection.execute("SELECT name, labels, value FROM metrics ORDER BY name, labels")
            return [(name, labels, value) for name, labels, value in await cursor.fetchall()]
