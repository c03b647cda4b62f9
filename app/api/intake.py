"""Takes a submission in, or says why not; finds one for a caller; cancels one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from psycopg import Rollback
from pydantic import ValidationError

from app import callbacks
from app.api.access import Principal
from app.api.errors import ApiError, too_many
from app.api.requests import NewSubmissionBody, body_digest, parse_json
from app.api.state import Service
from app.db import queue
from app.records import IdempotencyKey, NewSubmission, Submission
from grader.errors import UsageError
from grader.problem.inputs import InputError, read_arguments
from grader.problem.schema import Problem

RETRY_AFTER_S = 5.0
SHOWN = 200
OWN_WORDS = {
    "extra_forbidden": "there is no such key",
    "missing": "is missing",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "string_type": "must be a string",
    "string_unicode": "must be text without lone surrogates",
}


def as_body(raw: bytes) -> tuple[Any, NewSubmissionBody]:
    """The parsed JSON and the checked body. Raises 400 and 422, each saying what to mend."""
    try:
        parsed = parse_json(raw)
    except ValueError as error:
        raise ApiError(400, f"the body is not JSON: {error}") from None
    try:
        return parsed, NewSubmissionBody.model_validate(parsed)
    except ValidationError as error:
        raise unprocessable([{"at": _place(one["loc"]), "message": said(one)} for one in error.errors()]) from None


def said(fault: Mapping[str, Any]) -> str:
    """One of pydantic's faults in words that need no knowledge of pydantic."""
    if fault["type"] in OWN_WORDS:
        return OWN_WORDS[fault["type"]]
    return str(fault["msg"]).removeprefix("Value error, ")


def _place(location: tuple[int | str, ...]) -> str:
    return "/" + "/".join(str(part).encode("utf-8", "replace").decode()[:SHOWN] for part in location)


def unprocessable(errors: list[dict[str, Any]]) -> ApiError:
    """422 with every fault that was found."""
    first = errors[0]
    return ApiError(422, f"{first['at']}: {first['message']}", errors=errors[:20])


def one_fault(at: str, message: str) -> ApiError:
    """422 for one key."""
    return unprocessable([{"at": at, "message": message}])


async def accept(
    svc: Service, caller: Principal, asked: tuple[NewSubmissionBody, Any], idempotency_key: str | None
) -> Submission:
    """Stores a submission and its job in one transaction; the same idempotency key and body: the first one again."""
    body, parsed = asked
    key = None
    if idempotency_key:
        key = IdempotencyKey(scope=caller.scope, key=idempotency_key, digest=body_digest(parsed))
    async with svc.store.pool.connection() as connection:
        known = await svc.store.remembered(connection, key) if key else None
    if key and known:
        return await _replayed(svc, known, key)
    new = await _checked(svc, caller, body)
    stored = await _insert(svc, new, key)
    if stored is None:  # another call with this key was faster
        return await accept(svc, caller, asked, idempotency_key)
    svc.backlog.count_one()
    return stored


async def _replayed(svc: Service, known: tuple[UUID, bytes], key: IdempotencyKey) -> Submission:
    stored = await svc.store.get(known[0])
    if known[1] != key.digest or stored is None:
        raise ApiError(422, "this Idempotency-Key was used with another body; use a new key for a new submission")
    return stored


async def _insert(svc: Service, new: NewSubmission, key: IdempotencyKey | None) -> Submission | None:
    stored = None
    async with svc.store.pool.connection() as connection, connection.transaction() as transaction:
        job_id = await queue.defer(svc.queue, connection, queue.grading(new.id, new.device, new.mode))
        stored = await svc.store.insert(connection, new, job_id)
        if key and not await svc.store.remember(connection, key, new.id):
            stored = None
            raise Rollback(transaction)
    return stored


async def _checked(svc: Service, caller: Principal, body: NewSubmissionBody) -> NewSubmission:
    """All that JSON Schema can't say. Raises 403, 422, 429 and 503."""
    problem = _problem(svc, body.problem)
    if caller.problem not in (None, body.problem):
        raise ApiError(403, f"this token is for the problem {caller.problem!r}")
    if caller.subject is not None and body.subject not in (None, caller.subject):
        raise ApiError(403, "this token is for another subject")
    inputs = _inputs(problem, body)
    await _check_device(svc, body.device)
    if body.callback_url is not None:
        callbacks.check_url(svc.settings, body.callback_url)
    await _check_room(svc, caller)
    return NewSubmission(
        id=uuid4(), owner=caller.key_id, client=caller.client, problem=body.problem, source=body.source,
        mode=body.mode, device=body.device, priority=queue.PRIORITIES[body.mode],
        subject=body.subject if caller.subject is None else caller.subject,
        inputs=inputs, metadata=body.metadata, callback_url=body.callback_url,
    )  # fmt: skip


def _problem(svc: Service, slug: str) -> Problem:
    try:
        return svc.catalogue.load(slug)
    except UsageError as error:
        raise one_fault("/problem", str(error)) from None


def _inputs(problem: Problem, body: NewSubmissionBody) -> dict[str, Any] | None:
    """The inputs as they were sent, once they are known to fit the problem's arguments."""
    if body.inputs is None:
        return None
    if body.mode != "run":
        raise one_fault("/inputs", "is for mode `run` only")
    try:
        read_arguments(problem.entry, body.inputs)
    except InputError as error:
        raise one_fault(f"/inputs/{error.argument}" if error.argument else "/inputs", error.said) from None
    return body.inputs


async def _check_device(svc: Service, device: str) -> None:
    """`cpu` is what every worker has, so it may wait for one to come."""
    if device != "cpu":
        live = await svc.fleet.devices(svc.settings.claim_timeout_s)
        if device not in live:
            raise one_fault("/device", f"no worker has it; there are: {', '.join(sorted(live | {'cpu'}))}")


async def _check_room(svc: Service, caller: Principal) -> None:
    limits = svc.settings
    if await svc.store.open_of(caller.client, limits.client_backlog) >= limits.client_backlog:
        raise too_many(429, f"{limits.client_backlog} of your submissions are waiting; let some finish", RETRY_AFTER_S)
    if await svc.backlog.size() >= limits.backlog:
        raise too_many(503, "the queue is full; try again a little later", RETRY_AFTER_S)


async def visible(svc: Service, caller: Principal | None, submission_id: str) -> Submission:
    """A submission that the caller may read; 404 for all others. None: whoever asks was let in by an events address."""
    try:
        stored = await svc.store.get(UUID(submission_id))
    except ValueError:
        stored = None
    if stored is None or (caller is not None and not caller.may_read(stored)):
        raise ApiError(404, "no such submission")
    return stored


async def cancel(svc: Service, stored: Submission) -> Submission:
    """Cancels; 409 when it has ended."""
    async with svc.store.pool.connection() as connection, connection.transaction():
        job_id = await svc.store.cancel(connection, stored.id)
        if job_id is not None:
            await queue.stop_job(connection, job_id)
    if job_id is None:
        raise ApiError(409, "it has ended already")
    return await svc.store.get(stored.id) or stored
