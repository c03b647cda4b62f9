"""The page: the bundle that web/build.py makes, with the headers that keep it to itself.

The page's own addresses (`/`, `/problems/<slug>`) all answer with index.html, whose `<base>` says where the root is, so
that the service may stand below any path. Files in assets/ have their content's hash in their names and never change.
"""

from __future__ import annotations

import logging
import mimetypes
from collections.abc import Mapping
from os import PathLike, fspath, stat_result
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import Headers
from starlette.types import Scope

from app.settings import Settings

log = logging.getLogger(__name__)

BUNDLE = Path(__file__).parents[1] / "bundle"
BASE = '<base href="./" />'
FOR_EVER = "public, max-age=31536000, immutable"
NOT_BUILT = "the page is not built: run `make setup` where npm's packages can be reached"
WITHOUT_PAGE = f"""<!doctype html><meta charset="utf-8"><title>grader</title><h1>grader</h1>
<p>Grades PyTorch coding challenges. <a href="docs">The API and a page to try it</a>,
<a href="api/v1/problems">the problems</a>, <a href="readyz">readiness</a>, <a href="metrics">metrics</a>.</p>
<p>There is an IDE too, but {NOT_BUILT}.</p>"""


def add_page(app: FastAPI, settings: Settings, bundle: Path = BUNDLE) -> None:
    """Serves the page; where there is no bundle, an HTML page that says so, and a line in the log."""
    headers = security_headers(settings)
    if not (bundle / "index.html").is_file():
        log.warning(NOT_BUILT)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    def home() -> HTMLResponse:
        return HTMLResponse(page(bundle, "./"), headers=headers)

    @app.api_route("/problems/{slug}", methods=["GET", "HEAD"], include_in_schema=False)
    def problem(slug: str) -> HTMLResponse:
        return HTMLResponse(page(bundle, "../"), headers=headers)

    @app.api_route("/third-party.txt", methods=["GET", "HEAD"], include_in_schema=False)
    def third_party() -> PlainTextResponse:
        notices = bundle / "third-party.txt"
        return PlainTextResponse(notices.read_text() if notices.is_file() else NOT_BUILT, headers=headers)

    app.mount("/assets", Assets(bundle / "assets", headers))


def page(bundle: Path, root: str) -> str:
    """index.html with its root, or what stands for it. It is read anew each time: the bundle may be built meanwhile."""
    index = bundle / "index.html"
    return index.read_text().replace(BASE, BASE.replace("./", root)) if index.is_file() else WITHOUT_PAGE


def security_headers(settings: Settings) -> dict[str, str]:
    """Nothing from elsewhere, no inline script; `wasm-unsafe-eval` is for Ruff, inline styles are for KaTeX."""
    policy = {
        "default-src": "'self'",
        "script-src": "'self' 'wasm-unsafe-eval'",
        "style-src": "'self' 'unsafe-inline'",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'none'",
        "frame-ancestors": " ".join(["'self'", *settings.frame_ancestors]),
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {sources}" for name, sources in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-cache",
    }


class Assets(StaticFiles):
    """Files that never change, compressed ahead where whoever asks takes that."""

    def __init__(self, folder: Path, headers: Mapping[str, str]) -> None:
        super().__init__(directory=folder, check_dir=False)
        self._headers = {**headers, "Cache-Control": FOR_EVER, "Vary": "Accept-Encoding"}

    async def check_config(self) -> None:
        """The folder may be missing, and be built while the service runs."""

    def file_response(
        self, full_path: str | PathLike[str], stat_result: stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """The file, or its compressed twin."""
        kind = mimetypes.guess_type(fspath(full_path))[0] or "application/octet-stream"
        headers = dict(self._headers)
        twin = Path(f"{fspath(full_path)}.gz")
        if "gzip" in Headers(scope=scope).get("accept-encoding", "") and twin.is_file():
            full_path, stat_result = twin, twin.stat()
            headers["Content-Encoding"] = "gzip"
        return FileResponse(full_path, status_code, headers, kind, stat_result=stat_result)
