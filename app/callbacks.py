"""Callbacks: the finished record, POSTed to a host that the operator allows.

Guards: the host is on GRADER_CALLBACK_HOSTS; HTTPS (plain HTTP to loopback only, with GRADER_CALLBACK_LOOPBACK); the
name is resolved once, every address must be a public one, and the connection goes to that very address; redirects are
not followed and the answer's body is not read. Signed: `X-Grader-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256 of
"<t>.<body>">` with GRADER_CALLBACK_SECRET. Five attempts with growing pauses, each kept in the table `callbacks`.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import logging
import socket
import time
from typing import Any
from urllib.parse import SplitResult, urlsplit
from uuid import UUID

import httpx

from app.api.errors import ApiError
from app.api.replies import record
from app.db.connect import Pool
from app.db.queue import TryAgain
from app.db.store import Store
from app.settings import Settings

log = logging.getLogger(__name__)

ATTEMPTS = 5
TIMEOUT_S = 10.0


def check_url(settings: Settings, url: str) -> None:
    """Raises 422 when this address may not be called."""
    if reason := _refusal(settings, url):
        raise ApiError(422, f"/callback_url: {reason}", errors=[{"at": "/callback_url", "message": reason}])


def _refusal(settings: Settings, url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address"
    if not settings.callback_secret or host not in settings.callback_hosts:
        return "its host is not allowed; the operator sets GRADER_CALLBACK_HOSTS and GRADER_CALLBACK_SECRET"
    if parts.username or parts.password:
        return "must not hold a password"
    if parts.scheme != "https" and not (parts.scheme == "http" and settings.callback_loopback):
        return "must be https"
    return None


def _address(settings: Settings, parts: SplitResult) -> str:
    """The one address to connect to. Raises OSError when any that the name has is an internal one."""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = {str(entry[4][0]) for entry in socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)}
    for text in found:
        address = ipaddress.ip_address(text.partition("%")[0])
        address = getattr(address, "ipv4_mapped", None) or address
        allowed = address.is_loopback if parts.scheme == "http" else address.is_global and not address.is_multicast
        if not (allowed or (address.is_loopback and settings.callback_loopback)):
            raise OSError("its name leads to an internal address")
    return min(found)


def signature(secret: str, at: int, body: bytes) -> str:
    """What the receiver computes too, to know who calls."""
    return f"t={at},v1={hmac.new(secret.encode(), f'{at}.'.encode() + body, hashlib.sha256).hexdigest()}"


async def post(settings: Settings, url: str, body: bytes) -> int:
    """One attempt; returns the status. Raises OSError or httpx.HTTPError."""
    if reason := _refusal(settings, url):
        raise OSError(reason)
    parts = urlsplit(url)
    address = await asyncio.to_thread(_address, settings, parts)
    target = httpx.URL(url).copy_with(host=address)
    headers = {
        "Host": parts.netloc, "Content-Type": "application/json",
        "X-Grader-Signature": signature(settings.callback_secret or "", int(time.time()), body),
    }  # fmt: skip
    extensions = {"sni_hostname": parts.hostname}
    async with (
        asyncio.timeout(2 * TIMEOUT_S),
        httpx.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False, trust_env=False) as client,
        client.stream("POST", target, content=body, headers=headers, extensions=extensions) as answer,
    ):
        return answer.status_code


async def deliver(settings: Settings, pool: Pool, submission_id: UUID, attempt: int) -> None:
    """The task: one attempt, recorded. Raises TryAgain while there are attempts left."""
    store = Store(pool)
    stored = await store.get(submission_id)
    url = await store.callback_url(submission_id)
    if stored is None or url is None:
        return
    status, error = None, None
    try:
        status = await post(settings, url, json.dumps(record(stored)).encode())
    except (OSError, httpx.HTTPError, httpx.InvalidURL) as trouble:
        error = f"{type(trouble).__name__}: {trouble}"[:500]
    await store.record_callback(submission_id, attempt, status, error)
    done = status is not None and 200 <= status < 300
    fields: dict[str, Any] = {"submission": str(submission_id), "attempt": attempt, "status": status, "error": error}
    log.log(logging.INFO if done else logging.WARNING, "callback %s", "delivered" if done else "failed", extra=fields)
    if not done and attempt < ATTEMPTS:
        raise TryAgain(settings.callback_backoff_s * 4.0 ** (attempt - 1))
