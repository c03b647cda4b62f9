"""What the API refuses, as exceptions that become RFC 9457 problem details."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi.responses import JSONResponse


class AsciiJSON(JSONResponse):
    """JSON in which any text that Python holds can travel, lone surrogates included."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


class ApiError(Exception):
    """One refusal. detail: a sentence that says what to mend. errors: (place, sentence) of each thing that is wrong."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        headers: dict[str, str] | None = None,
        errors: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers, self.errors = status, detail, headers or {}, errors or []


def too_many(status: int, detail: str, retry_after_s: float) -> ApiError:
    """429 or 503 with Retry-After."""
    return ApiError(status, detail, headers={"Retry-After": str(max(1, round(retry_after_s)))})


def problem_response(status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> JSONResponse:
    """An application/problem+json answer."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **more}
    return AsciiJSON(body, status_code=status, headers=headers, media_type="application/problem+json")


def from_error(error: ApiError) -> JSONResponse:
    """The answer to a refusal."""
    return problem_response(
        error.status, error.detail, error.headers, **({"errors": error.errors} if error.errors else {})
    )
