"""Who calls, and what they may do: API keys, tokens signed with them, events addresses, rate limits.

A key is `grader_<id>_<secret>`; only its SHA-256 is stored. A site mints short-lived tokens for its learners: JWT,
HS256, header `kid` = the key's id, signed with the hex SHA-256 of its key; claims `exp` (at most an hour away), `sub`,
`problem`, `origin` as it likes. What a token makes belongs to its key and its subject.
Where no key is needed (loopback by default) only programs of this machine, and pages of known origins, may call.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import jwt
from fastapi import Request
from psycopg import AsyncConnection
from psycopg.rows import class_row

from app.api.errors import ApiError, too_many
from app.db.connect import Pool
from app.records import Filter, Submission
from app.settings import Settings

TOKEN_LIFE_S = 3600
EVENTS_LIFE_S = 3600
MAX_CLAIM = 200
CLIENT, PUBLIC, ADMIN = "client", "public", "admin"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
KEY_COLUMNS = "id, name, role, key_hash, created_at, revoked_at"
UNAUTHORIZED = {"WWW-Authenticate": "Bearer"}


@dataclass(frozen=True, kw_only=True)
class Key:
    """A stored key; its secret is not."""

    id: str
    name: str
    role: str
    key_hash: str
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Principal:
    """Who calls. subject, problem: what a token is bound to, None for keys. client: whom limits count."""

    key_id: str
    role: str
    client: str
    subject: str | None = None
    problem: str | None = None

    def may_read(self, submission: Submission) -> bool:
        """Admins read all; others what their key (and their token's subject) made."""
        mine = submission.owner == self.key_id and self.subject in (None, submission.subject)
        return self.role == ADMIN or mine

    def listing(self, which: Filter) -> Filter:
        """Narrows a listing to what may be seen. Raises 403 for keys that lie in pages."""
        if self.role == PUBLIC:
            raise ApiError(403, "a public key may not list submissions; use a client key or a token of your site's")
        if self.role == ADMIN:
            return which
        return replace(which, owner=self.key_id, subject=which.subject if self.subject is None else self.subject)

    @property
    def scope(self) -> str:
        """What keeps idempotency keys apart."""
        return self.key_id if self.subject is None else f"{self.key_id}/{self.subject}"


# ---------------------------------------------------------------- keys at rest


def hash_key(key: str) -> str:
    """Also what tokens are signed with. Keys are 256 random bits: no slow hash is needed."""
    return hashlib.sha256(key.encode()).hexdigest()


async def create_key(connection: AsyncConnection[Any], name: str, role: str) -> tuple[str, str]:
    """Returns (id, key); the key is shown this once."""
    key_id = secrets.token_hex(4)
    key = f"grader_{key_id}_{secrets.token_urlsafe(32)}"
    await connection.execute(
        "INSERT INTO api_keys (id, name, role, key_hash) VALUES (%s, %s, %s, %s)", [key_id, name, role, hash_key(key)]
    )
    return key_id, key


async def list_keys(connection: AsyncConnection[Any]) -> list[Key]:
    """All keys, the oldest first."""
    async with connection.cursor(row_factory=class_row(Key)) as cursor:
        await cursor.execute(f"SELECT {KEY_COLUMNS} FROM api_keys ORDER BY created_at")
        return await cursor.fetchall()


async def revoke_key(connection: AsyncConnection[Any], key_id: str) -> bool:
    """False when there is no such key, or it was revoked before."""
    cursor = await connection.execute(
        "UPDATE api_keys SET revoked_at = now() WHERE id = %s AND revoked_at IS NULL", [key_id]
    )
    return cursor.rowcount == 1


# ---------------------------------------------------------------- limits


class Buckets:
    """Token buckets in this process's memory: so many calls at once, so many a second after."""

    def __init__(self, per_second: float, burst: int, remembered: int = 10_000) -> None:
        self._rate, self._burst, self._remembered = per_second, burst, remembered
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> float:
        """0.0 when the call may go on, else the seconds to wait."""
        now = time.monotonic()
        level, since = self._levels.pop(who, (float(self._burst), now))
        level = min(float(self._burst), level + (now - since) * self._rate)
        allowed = level >= 1.0
        self._levels[who] = (level - 1.0 if allowed else level, now)
        if len(self._levels) > self._remembered:
            self._levels.popitem(last=False)
        return 0.0 if allowed else (1.0 - level) / self._rate


# ---------------------------------------------------------------- the door


class Access:
    """Checks every call."""

    def __init__(self, settings: Settings, pool: Pool, events_secret: str) -> None:
        self._settings, self._pool, self._events_secret = settings, pool, events_secret
        self._buckets = Buckets(settings.rate_per_second, settings.rate_burst)

    async def principal(self, request: Request) -> Principal:
        """Who calls. Raises 401, 403 or 429."""
        address = request.client.host if request.client else "unknown"
        credential = _bearer(request)
        if credential is None:
            found = self._anonymous(request, address)
        elif credential.startswith("grader_"):
            found = await self._by_key(credential)
        else:
            found = await self._by_token(credential, request)
        self._count(found.client)
        return found

    def _count(self, client: str) -> None:
        if wait_s := self._buckets.take(client):
            raise too_many(429, f"too many calls: at most {self._settings.rate_per_second:g} a second", wait_s)

    async def listener(self, request: Request, submission_id: str, token: str | None) -> Principal | None:
        """For events: an `events_url` needs no header. None means that the token in the address is good."""
        if token is None:
            return await self.principal(request)
        try:
            claims = jwt.decode(token, self._events_secret, algorithms=["HS256"], options={"require": ["exp", "sub"]})
        except jwt.InvalidTokenError:
            raise ApiError(401, "this events address has expired; read the submission again for a new one") from None
        if claims["sub"] != submission_id:
            raise ApiError(401, "this events address belongs to another submission")
        self._count(f"events of {submission_id}")
        return None

    def events_token(self, submission_id: str) -> str:
        """Lets its holder listen to one submission for an hour."""
        return jwt.encode({"sub": submission_id, "exp": int(time.time()) + EVENTS_LIFE_S}, self._events_secret, "HS256")

    def _anonymous(self, request: Request, address: str) -> Principal:
        if self._settings.keys_needed:
            raise ApiError(401, "send an API key or a token: `Authorization: Bearer ...`", headers=UNAUTHORIZED)
        self._refuse_strange_pages(request)
        return Principal(key_id="", role=ADMIN, client=address)

    def _refuse_strange_pages(self, request: Request) -> None:
        """Without keys a page of any origin could make a browser call us; so could a name that resolves to loopback."""
        host = urlsplit(f"//{request.headers.get('host', '')}").hostname
        own = {self._settings.host, urlsplit(self._settings.public_url or "").hostname} | LOOPBACK_NAMES
        if self._settings.loopback and host not in own:
            raise ApiError(
                403, f"this service answers to localhost only, not to {host!r}; GRADER_PUBLIC_URL adds a name"
            )
        origin = request.headers.get("origin")
        if origin and urlsplit(origin).netloc != request.headers.get("host") and origin not in self._settings.origins:
            raise ApiError(403, f"pages of {origin} may not call this service; GRADER_ORIGINS allows them")

    async def _by_key(self, credential: str) -> Principal:
        key = await self._key(credential.split("_")[1] if credential.count("_") > 1 else "")
        if key is None or not hmac.compare_digest(key.key_hash, hash_key(credential)):
            raise ApiError(401, "no such API key, or it was revoked", headers=UNAUTHORIZED)
        return Principal(key_id=key.id, role=key.role, client=key.id)

    async def _by_token(self, credential: str, request: Request) -> Principal:
        try:
            key = await self._key(str(jwt.get_unverified_header(credential).get("kid", "")))
            if key is None or key.role == PUBLIC:
                raise jwt.InvalidTokenError("its `kid` names no key that may sign")
            claims = jwt.decode(credential, key.key_hash, algorithms=["HS256"], options={"require": ["exp"]})
            _check_claims(claims, request)
        except jwt.InvalidTokenError as error:
            raise ApiError(401, f"this token is not accepted: {error}", headers=UNAUTHORIZED) from None
        subject, problem = claims.get("sub"), claims.get("problem")
        return Principal(
            key_id=key.id,
            role=CLIENT if subject is not None else PUBLIC,
            client=f"{key.id}/{subject}",
            subject=subject,
            problem=problem,
        )

    async def _key(self, key_id: str) -> Key | None:
        if not (key_id.isascii() and key_id.isalnum()):  # as no key of ours; PostgreSQL takes no NUL
            return None
        async with self._pool.connection() as connection, connection.cursor(row_factory=class_row(Key)) as cursor:
            await cursor.execute(
                f"SELECT {KEY_COLUMNS} FROM api_keys WHERE id = %s AND revoked_at IS NULL",
                [key_id],
            )
            return await cursor.fetchone()


def _bearer(request: Request) -> str | None:
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    if not scheme:
        return None
    if scheme.lower() != "bearer" or not credential.strip():
        raise ApiError(401, "the Authorization header must read `Bearer <key or token>`", headers=UNAUTHORIZED)
    return credential.strip()


def _check_claims(claims: dict[str, Any], request: Request) -> None:
    if int(claims["exp"]) > time.time() + TOKEN_LIFE_S + 60:
        raise jwt.InvalidTokenError("it lives longer than an hour")
    for name in claims.keys() & {"sub", "problem", "origin"}:
        text = claims[name]
        if not (isinstance(text, str) and text.isprintable() and 0 < len(text) <= MAX_CLAIM):
            raise jwt.InvalidTokenError(f"its claim `{name}` must be 1 to {MAX_CLAIM} printable characters")
    if "origin" in claims and request.headers.get("origin") != claims["origin"]:
        raise jwt.InvalidTokenError("it was made for pages of another origin")
