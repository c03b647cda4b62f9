"""The API process: create_app(), what it opens, the table from error to HTTP status. Imports no torch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import psycopg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi_offline import FastAPIOffline
from procrastinate.exceptions import ConnectorException
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import logs, metrics
from app.api import rejudge as admin
from app.api import routes
from app.api.access import Access
from app.api.errors import ApiError, from_error, problem_response
from app.api.hub import Hub
from app.api.intake import said
from app.api.page import add_page
from app.api.replies import ProblemDetails
from app.api.requests import NewSubmissionBody
from app.api.state import Backlog, Catalogue, Service
from app.db import connect as database
from app.db import queue
from app.db.connect import TROUBLE
from app.db.fleet import Fleet
from app.db.store import Store
from app.settings import Settings, from_environment
from grader.errors import GraderError, ProblemError

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 1 << 20
DISCARDED_BYTES = 32 << 20
CANARY_AGE_S = 180.0
DESCRIPTION = """Grades PyTorch coding challenges. POST a submission, get its verdict.

```
curl -s -H 'Prefer: wait=30' -H 'Content-Type: application/json' {base}/api/v1/submissions -d @- <<'END'
{{"problem": "situ_glu", "source": "def situ_glu(x, g, u, gate_cap=4.0, up_cap=25.0): ..."}}
END
```

With `Prefer: wait=SECONDS` the answer is the finished record (200) or, when time ran out, the record as it stands
(202); `events_url` streams its progress as server-sent events. Errors are RFC 9457 problem details whose `detail` says
what to mend.
"""

@asynccontextmanager
async def opened(settings: Settings, url: str) -> AsyncIterator[Service]:
    """Connections and the listening one; closed again afterwards."""
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(database.pool(url))
        hub = Hub(url)
        await hub.start()
        stack.push_async_callback(hub.stop)
        store = Store(pool)
        access = Access(settings, pool, await store.secret("events"))
        yield Service(
            settings=settings,
            store=store,
            fleet=Fleet(pool),
            queue=await queue.open_queue(pool, url),
            hub=hub,
            access=access,
            catalogue=Catalogue(),
            backlog=Backlog(store, settings.backlog),
        )


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application; settings come from the environment unless given."""
    settings = settings or from_environment()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        url = await asyncio.to_thread(database.await_migrated, settings)
        async with opened(settings, url) as app.state.service:
            yield

    app = FastAPIOffline(
        title="grader",
        version="1",
        lifespan=lifespan,
        description=DESCRIPTION.format(base=_base(settings)),
        redoc_url=None,
    )  # /docs comes from our own files: it can be read without internet
    app.include_router(routes.router)
    app.include_router(admin.router)
    _add_root_routes(app)
    add_page(app, settings)
    _add_errors(app)
    app.add_middleware(BodyLimit)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(settings.origins), allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Prefer"],
            expose_headers=["Location", "Preference-Applied", "Retry-After"],
        )  # fmt: skip
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _base(settings: Settings) -> str:
    return settings.public_url or settings.address


def _openapi(app: FastAPI) -> dict[str, object]:
    """FastAPI's own, with the body that routes parse themselves."""
    if not app.openapi_schema:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        body = NewSubmissionBody.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas = schema["components"]["schemas"]
        schemas.update({**body.pop("$defs", {}), "NewSubmissionBody": body})
        schemas["ProblemDetails"] = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas["ProblemDetails"].pop("$defs", None)
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        schemes = schema["components"].setdefault("securitySchemes", {})
        schemes["key"] = {"type": "http", "scheme": "bearer", "description": "an API key, or a token signed with one"}
        schema["security"] = [{}, {"key": []}]
        app.openapi_schema = schema
    return app.openapi_schema


def _add_root_routes(app: FastAPI) -> None:
    @app.get("/healthz", tags=["operations"])
    def healthz() -> dict[str, str]:
        """The process is alive."""
        return {"status": "alive"}

    @app.get("/readyz", tags=["operations"], responses={503: {"description": "not ready"}})
    async def readyz(request: Request) -> JSONResponse:
        """Ready to take submissions and to grade them: the database answers, and a live worker graded its canaries."""
        svc: Service = request.app.state.service
        try:
            graded = await svc.fleet.canaries(svc.settings.claim_timeout_s, CANARY_AGE_S)
        except TROUBLE:
            return JSONResponse({"status": "not ready", "database": False, "worker": False}, 503)
        return JSONResponse(
            {"status": "ready" if graded else "not ready", "database": True, "worker": graded}, 200 if graded else 503
        )

    @app.get("/metrics", tags=["operations"], response_class=PlainTextResponse)
    async def show_metrics(request: Request) -> Response:
        """Prometheus."""
        svc: Service = request.app.state.service
        text = await metrics.exposition(svc.store, svc.fleet, svc.settings.claim_timeout_s)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_errors(app: FastAPI) -> None:
    """From error to HTTP status."""

    @app.exception_handler(ApiError)
    async def api_error(_: Request, error: ApiError) -> JSONResponse:
        return from_error(error)

    @app.exception_handler(RequestValidationError)
    async def bad_parameters(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = [{"at": "/".join(str(part) for part in one["loc"]), "message": said(one)} for one in error.errors()]
        return problem_response(422, f"{faults[0]['at']}: {faults[0]['message']}", errors=faults)

    @app.exception_handler(HTTPException)
    async def http_error(_: Request, error: HTTPException) -> JSONResponse:
        return problem_response(error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(psycopg.OperationalError)
    async def no_database(_: Request, error: Exception) -> JSONResponse:
        log.warning("the database does not answer: %s", error)
        return problem_response(503, "the database does not answer; try again", {"Retry-After": "2"})

    @app.exception_handler(ProblemError)
    async def broken_package(_: Request, error: ProblemError) -> JSONResponse:
        log.error("a problem package is broken: %s", error)
        return problem_response(
            503, "this problem's package is broken; the service's log says how", {"Retry-After": "60"}
        )

    @app.exception_handler(ConnectorException)
    @app.exception_handler(GraderError)
    @app.exception_handler(Exception)
    async def our_fault(request: Request, error: Exception) -> JSONResponse:
        if database.is_away(error):
            return await no_database(request, error)
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return problem_response(500, "the service failed; its log says how")


class BodyLimit:
    """413 for a body over 1 MiB, whether its length is declared or not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > MAX_BODY_BYTES:
            await discard(receive)
            await too_large()(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > MAX_BODY_BYTES:
                if message.get("more_body"):
                    await discard(receive)
                raise ApiError(413, TOO_LARGE)
            return message

        await self._app(scope, counted, send)


TOO_LARGE = "the body is larger than 1 MiB"


async def discard(receive: Receive) -> None:
    """Reads a refused body on, within reason: who is cut off while sending sees a reset instead of the answer."""
    size, more = 0, True
    while more and size < DISCARDED_BYTES:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)


def too_large() -> JSONResponse:
    """The answer to a body that says itself that it is too large."""
    return problem_response(413, TOO_LARGE)


def serve_api() -> None:
    """Entry of the API process: `python -m app.api.main`."""
    import uvicorn  # noqa: PLC0415

    logs.configure()
    settings = from_environment()
    uvicorn.run(
        create_app(settings), host=settings.host, port=settings.port, log_config=None, access_log=False,
        timeout_graceful_shutdown=3, timeout_keep_alive=75, server_header=False,
    )  # fmt: skip


if __name__ == "__main__":
    serve_api()
