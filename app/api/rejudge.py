"""Rejudging over HTTP, for admin keys only; `grader rejudge` does the same from a shell."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from app.api.access import ADMIN, Principal
from app.api.errors import ApiError
from app.api.routes import Svc, principal, refusals
from app.api.state import Service
from app.db.rejudging import Rejudgings
from grader.errors import UsageError

router = APIRouter(prefix="/api/v1", tags=["admin"])


class Replacement(BaseModel):
    """A verdict that changes."""

    id: UUID
    subject: str | None
    old: str
    new: str


class Rejudging(BaseModel):
    """How far it is, and which verdicts change; complete once `done` equals `total`."""

    id: UUID
    problem: str
    total: int
    done: int
    applied: bool
    changes: list[Replacement]


def admin(caller: Annotated[Principal, Depends(principal)]) -> None:
    """Lets admins pass."""
    if caller.role != ADMIN:
        raise ApiError(403, "this needs an admin key")


@router.post(
    "/problems/{slug}/rejudgings",
    status_code=202,
    dependencies=[Depends(admin)],
    response_model=Rejudging,
    responses=refusals(404),
)
async def start_rejudging(slug: str, svc: Svc) -> dict[str, Any]:
    """Grades every stored submission of a problem again, behind everything else; replaces nothing yet."""
    try:
        asked = svc.catalogue.load(slug)
    except UsageError as error:
        raise ApiError(404, str(error)) from None
    return await _shown(svc, await Rejudgings(svc.store.pool).start(svc.queue, asked.slug))


@router.get(
    "/rejudgings/{rejudging_id}", dependencies=[Depends(admin)], response_model=Rejudging, responses=refusals(404, 422)
)
async def show_rejudging(rejudging_id: UUID, svc: Svc) -> dict[str, Any]:
    """How far it is."""
    return await _shown(svc, rejudging_id)


@router.post(
    "/rejudgings/{rejudging_id}/apply",
    dependencies=[Depends(admin)],
    response_model=Rejudging,
    responses=refusals(404, 409, 422),
)
async def apply_rejudging(rejudging_id: UUID, svc: Svc) -> dict[str, Any]:
    """Replaces the verdicts that change, all in one step; the old ones go to each record's `history`."""
    before = await _shown(svc, rejudging_id)
    if before["done"] < before["total"]:
        raise ApiError(409, f"{before['total'] - before['done']} are not graded again yet")
    await Rejudgings(svc.store.pool).apply(rejudging_id)
    return {**before, "applied": True}


async def _shown(svc: Service, rejudging_id: UUID) -> dict[str, Any]:
    rejudgings = Rejudgings(svc.store.pool)
    state = await rejudgings.state(rejudging_id)
    if state is None:
        raise ApiError(404, "no such rejudging")
    changes = [] if state.applied else await rejudgings.changes(rejudging_id)
    told = [{"id": one.submission_id, "subject": one.subject, "old": one.old, "new": one.new} for one in changes]
    return {"id": rejudging_id, **vars(state), "changes": told}
