"""The API: parse, store, present. No SQL, no torch."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from app.api.access import Principal
from app.api.errors import ApiError, AsciiJSON, too_many
from app.api.intake import accept, as_body, cancel, visible
from app.api.replies import Page, ProblemSummary, Record, ShownProblem, record
from app.api.state import Service, service
from app.db.connect import TROUBLE
from app.records import TERMINAL, Filter, Submission
from grader.errors import UsageError
from grader.problem import folder as problems
from grader.records import Verdict

log = logging.getLogger(__name__)

MAX_WAIT_S = 60.0
HEARTBEAT_S = 15
MAX_LISTENERS = 20
CANCELLED_ID = 1_000_000  # no submission meets so many cases
EVENT_ID = re.compile(r"\d{1,9}", re.ASCII)
PREFERENCE = re.compile(r"\bwait\s*=\s*\"?(\d{1,6})\b")

PROBLEM_SCHEMA = {"$ref": "#/components/schemas/ProblemDetails"}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"content": {"application/problem+json": {"schema": PROBLEM_SCHEMA}}, "description": said}
    for status, said in {
        400: "not JSON",
        401: "no key, or one that is not accepted",
        403: "not allowed with this key",
        404: "unknown, or another's",
        409: "it has ended",
        413: "larger than 1 MiB",
        422: "the request breaks the schema, or names what there is not",
        429: "too many calls",
        503: "try again later",
    }.items()
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documented errors of a call."""
    return {status: REFUSALS[status] for status in (401, 403, *statuses, 422, 429, 503)}


router = APIRouter(prefix="/api/v1")
Svc = Annotated[Service, Depends(service)]


async def principal(request: Request, svc: Svc) -> Principal:
    """Who calls."""
    return await svc.access.principal(request)


Caller = Annotated[Principal, Depends(principal)]
SubmissionId = Annotated[str, "a submission's id"]


@router.get("/problems", tags=["problems"], response_model=list[ProblemSummary])
def list_problems(svc: Svc) -> Response:
    """The catalogue."""
    return AsciiJSON([problems.present_short(problem) for problem in svc.catalogue.all()])


@router.get(
    "/problems/{slug}",
    tags=["problems"],
    response_model=ShownProblem,
    responses={404: REFUSALS[404], 422: REFUSALS[422]},
)
def show_problem(slug: str, svc: Svc) -> Response:
    """One problem: statement, theory, starter code, examples, hints, requirements, constraints, limits."""
    try:
        return AsciiJSON(problems.present(svc.catalogue.load(slug)))
    except UsageError as error:
        raise ApiError(404, str(error)) from None


@router.post(
    "/submissions", status_code=202, tags=["submissions"], response_model=Record,
    responses={200: {"model": Record, "description": "finished in time"}, **refusals(400, 413, 422)},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewSubmissionBody"}}},
        }
    },
)  # fmt: skip
async def create_submission(  # noqa: PLR0917  (FastAPI's way)
    request: Request,
    caller: Caller,
    svc: Svc,
    wait: Annotated[float | None, Query(ge=0, description="seconds to wait for the verdict, at most 60")] = None,
    prefer: Annotated[str | None, Header(description="`wait=SECONDS`, RFC 7240")] = None,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Response:
    """Takes a submission. 202 with the record; 200 when a wait was asked for and it is finished in time."""
    parsed, body = as_body(await request.body())
    wait_s = _wait_s(wait, prefer)
    stored = await accept(svc, caller, (body, parsed), idempotency_key)
    if wait_s:
        stored = await _ended(svc, stored, wait_s)
    return await _answer(request, svc, stored, waited=bool(wait_s), prefer=prefer)


def _wait_s(wait: float | None, prefer: str | None) -> float:
    match = PREFERENCE.search(prefer or "")
    asked = wait if wait is not None else float(match[1]) if match else 0.0
    return min(asked, MAX_WAIT_S)


async def _ended(svc: Service, stored: Submission, wait_s: float) -> Submission:
    """The submission once it has ended, or as it stands when the time is over. Waits for notifications, never polls."""
    with svc.hub.subscribe(str(stored.id)) as wake, suppress(TimeoutError, *TROUBLE):
        async with asyncio.timeout(wait_s):
            while (stored := await svc.store.get(stored.id) or stored).status not in TERMINAL:
                await wake.ended.wait()
                wake.ended.clear()
    return stored


async def _answer(request: Request, svc: Service, stored: Submission, *, waited: bool, prefer: str | None) -> Response:
    headers = {"Location": str(request.url_for("show_submission", submission_id=stored.id).path)}
    if waited and prefer and "wait" in prefer:
        headers["Preference-Applied"] = "wait"
    done = waited and stored.status in TERMINAL
    return AsciiJSON(await present(request, svc, stored), status_code=200 if done else 202, headers=headers)


async def present(request: Request, svc: Service, stored: Submission) -> dict[str, Any]:
    """The record, with its place in the queue while it waits."""
    queue = await _queue_place(svc, stored) if stored.status == "queued" else None
    return record(stored, queue=queue, events_url=events_url(request, svc, stored))


async def _queue_place(svc: Service, stored: Submission) -> dict[str, int] | None:
    """None while the database is away: a 503 for what is stored already would make its sender send it again."""
    try:
        return {"position": await svc.store.ahead(stored), "waiting_ms": svc.age_ms(stored)}
    except TROUBLE:
        return None


def events_url(request: Request, svc: Service, stored: Submission) -> str:
    """Usable for an hour without any header."""
    path = request.url_for("submission_events", submission_id=stored.id)
    base = svc.settings.public_url.rstrip("/") + path.path if svc.settings.public_url else str(path)
    return f"{base}?token={svc.access.events_token(str(stored.id))}"


@router.get("/submissions", tags=["submissions"], response_model=Page, responses=refusals(422))
async def list_submissions(  # noqa: PLR0917  (FastAPI's way)
    request: Request,
    caller: Caller,
    svc: Svc,
    problem: Annotated[str | None, Query(max_length=200)] = None,
    verdict: Annotated[Verdict | None, Query()] = None,
    subject: Annotated[str | None, Query(max_length=200)] = None,
    cursor: Annotated[int | None, Query(ge=0, lt=1 << 63)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Response:
    """The newest first. `next_cursor` is null on the last page."""
    texts = [text.replace("\0", "\ufffd") if text else None for text in (problem, subject)]
    which = caller.listing(Filter(problem=texts[0], subject=texts[1], verdict=verdict, before=cursor))
    found = await svc.store.listed(which, limit + 1)
    items = [await present(request, svc, stored) for stored in found[:limit]]
    return AsciiJSON({"items": items, "next_cursor": str(found[limit - 1].seq) if len(found) > limit else None})


@router.get("/submissions/{submission_id}", tags=["submissions"], response_model=Record, responses=refusals(404))
async def show_submission(request: Request, submission_id: SubmissionId, caller: Caller, svc: Svc) -> Response:
    """The record as it stands."""
    return AsciiJSON(await present(request, svc, await visible(svc, caller, submission_id)))


@router.delete(
    "/submissions/{submission_id}", tags=["submissions"], response_model=Record, responses=refusals(404, 409)
)
async def cancel_submission(request: Request, submission_id: SubmissionId, caller: Caller, svc: Svc) -> Response:
    """Cancels one that has not finished."""
    stored = await cancel(svc, await visible(svc, caller, submission_id))
    return AsciiJSON(await present(request, svc, stored))


@router.get(
    "/submissions/{submission_id}/events", tags=["submissions"], response_class=EventSourceResponse,
    responses={
        200: {"content": {"text/event-stream": {}}},
        204: {"description": "all of it was received, says `Last-Event-ID`"},
        **refusals(404, 422),
    },
)  # fmt: skip
async def submission_events(
    request: Request,
    submission_id: SubmissionId,
    svc: Svc,
    token: str | None = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Server-sent events: `status`, `case`, `verdict`; then the stream ends. Resumes after `Last-Event-ID`."""
    caller = await svc.access.listener(request, submission_id, token)
    stored = await visible(svc, caller, submission_id)
    after = int(last_event_id) if last_event_id and EVENT_ID.fullmatch(last_event_id) else -1
    if _all_received(stored, after):
        return Response(status_code=204)  # to browsers this says not to come again
    if svc.hub.listeners(str(stored.id)) >= MAX_LISTENERS:
        raise too_many(429, f"{MAX_LISTENERS} listen to this submission already", HEARTBEAT_S)
    url = events_url(request, svc, stored)
    return EventSourceResponse(_stream(svc, stored.id, after + 1, url), ping=HEARTBEAT_S)


def _all_received(stored: Submission, after: int) -> bool:
    last = len(record(stored)["cases"]) + 2 if stored.status == "finished" else CANCELLED_ID
    return stored.status in TERMINAL and after >= last


async def _stream(svc: Service, submission_id: UUID, sent: int, url: str) -> AsyncIterator[ServerSentEvent]:
    """The events from number `sent` on. A database that goes away ends them: the listener comes again and goes on."""
    try:
        async for event in _events(svc, submission_id, sent, url):
            yield event
    except TROUBLE as error:
        log.warning("an event stream ends early: %s", error, extra={"submission": str(submission_id)})


async def _events(svc: Service, submission_id: UUID, sent: int, url: str) -> AsyncIterator[ServerSentEvent]:
    """Event 0 is `status` queued, 1 `status` running, 2 + n the n-th case, then the verdict, or CANCELLED_ID."""
    with svc.hub.subscribe(str(submission_id)) as wake:
        while True:
            wake.changed.clear()
            seen = await svc.store.progress(submission_id, max(0, sent - 2))
            if seen is None:  # removed
                return
            if sent == 0:
                yield _event(0, "status", '{"status":"queued"}')
                sent = 1
            ended = seen.submission
            final = record(ended, events_url=url) if ended else None
            cases = [json.dumps(case) for case in final["cases"][max(0, sent - 2) :]] if final else seen.cases
            if sent == 1 and (cases or seen.status in {"running", "finished"}):
                yield _event(1, "status", '{"status":"running"}')
                sent = 2
            for case in cases:
                yield _event(sent, "case", case)
                sent += 1
            if final and final["status"] == "finished":
                yield _event(sent, "verdict", json.dumps(final))
                return
            if final:
                yield _event(CANCELLED_ID, "status", '{"status":"cancelled"}')
                return
            await wake.changed.wait()


def _event(number: int, name: str, data: str) -> ServerSentEvent:
    return ServerSentEvent(data, event=name, id=str(number))
