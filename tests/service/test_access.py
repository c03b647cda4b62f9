"""Keys, tokens, roles, limits, callbacks: who may do what, on an API that listens with keys on."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import jwt
import psycopg
import pytest

from app import callbacks
from app.api import access
from app.api.access import Buckets, hash_key
from app.api.errors import ApiError
from app.settings import Settings
from tests.service.conftest import BROKEN, CALLBACK_SECRET, RIGHT
from tests.service.running import Running, free_port, wait_until
from tests.service.test_api import body, refused


@dataclass
class Receiver:
    """An embedding site's callback address: refuses the first call, takes the second."""

    port: int
    calls: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    """A site on loopback."""
    found = Receiver(free_port())

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.calls.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(500 if len(found.calls) == 1 else 204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", found.port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def keyed(running: Running, receiver: Receiver) -> Iterator[Running]:
    """A second API on the same database: keys on, low limits."""
    extra = {
        "GRADER_AUTH": "on",
        "GRADER_CLIENT_BACKLOG": "3",
        "GRADER_ORIGINS": "https://course.example",
    }
    started = Running(url=running.url, data_dir=running.data_dir, extra=running.extra | extra)
    try:
        started.start_api("keyed-api")
        yield started
    finally:
        started.stop()


def make_key(running: Running, role: str) -> tuple[str, str]:
    """(id, key)."""

    async def make() -> tuple[str, str]:
        async with await psycopg.AsyncConnection.connect(running.url, autocommit=True) as connection:
            return await access.create_key(connection, "a test's", role)

    return asyncio.run(make())


@pytest.fixture(scope="module")
def keys(keyed: Running) -> dict[str, tuple[str, str]]:
    """One key of each role, and another client's."""
    return {
        name: make_key(keyed, name.removeprefix("other ")) for name in ("client", "other client", "public", "admin")
    }


def bearer(keyed: Running, credential: str | None, **headers: str) -> httpx.Client:
    """A client with that key or token."""
    given = {"Authorization": f"Bearer {credential}"} if credential else {}
    return httpx.Client(base_url=keyed.address + "/api/v1", headers={**given, **headers}, timeout=60)


def token(key: tuple[str, str], life_s: float = 600, **claims: Any) -> str:
    """What an embedding site mints with its key."""
    return jwt.encode({"exp": int(time.time() + life_s), **claims}, hash_key(key[1]), "HS256", {"kid": key[0]})


def test_keys_are_hashed_at_rest(keyed: Running, keys: dict[str, tuple[str, str]]) -> None:
    """No row of the database holds a key."""
    with psycopg.connect(keyed.url) as connection:
        rows = connection.execute("SELECT api_keys::text FROM api_keys").fetchall()
    assert len(rows) >= 4
    assert not any(key.split("_", 2)[2] in row[0] for row in rows for _, key in keys.values())


@pytest.mark.parametrize("credential", [None, "nonsense", "grader_ab_cd", "grader_" + "0" * 8 + "_x", "a.b.c"])
def test_no_key_no_answer(keyed: Running, credential: str | None) -> None:
    """Without a key, or with a wrong one: 401 for every call on submissions."""
    with bearer(keyed, credential) as client:
        refused(client.post("/submissions", json=body()), 401)
        refused(client.get("/submissions"), 401)


def test_a_client_sees_its_own_only(keyed: Running, keys: dict[str, tuple[str, str]]) -> None:
    """Another client gets 404 and an empty list; an admin sees it."""
    with bearer(keyed, keys["client"][1]) as mine, bearer(keyed, keys["other client"][1]) as other:
        made = mine.post("/submissions?wait=50", json=body()).json()
        assert mine.get(f"/submissions/{made['id']}").status_code == 200
        refused(other.get(f"/submissions/{made['id']}"), 404)
        refused(other.delete(f"/submissions/{made['id']}"), 404)
        refused(other.get(f"/submissions/{made['id']}/events"), 404)
        assert made["id"] not in [item["id"] for item in other.get("/submissions").json()["items"]]
        assert made["id"] in [item["id"] for item in mine.get("/submissions").json()["items"]]
    with bearer(keyed, keys["admin"][1]) as admin:
        assert admin.get(f"/submissions/{made['id']}").status_code == 200


def test_a_public_key_may_not_list(keyed: Running, keys: dict[str, tuple[str, str]]) -> None:
    """It creates, and reads by id what it made."""
    with bearer(keyed, keys["public"][1]) as page:
        made = page.post("/submissions?wait=50", json=body()).json()
        assert page.get(f"/submissions/{made['id']}").json()["verdict"] == "accepted"
        refused(page.get("/submissions"), 403)


def test_tokens_bind_subject_problem_and_origin(keyed: Running, keys: dict[str, tuple[str, str]]) -> None:
    """What a learner's token makes is the learner's; other learners of the same site do not see it."""
    origin = "https://course.example"
    ada = token(keys["client"], sub="ada", problem="situ_glu", origin=origin)
    with bearer(keyed, ada, Origin=origin) as hers, bearer(keyed, token(keys["client"], sub="bob")) as his:
        made = hers.post("/submissions?wait=50", json=body()).json()
        assert made["subject"] == "ada"
        assert [item["id"] for item in hers.get("/submissions").json()["items"]] == [made["id"]]
        refused(his.get(f"/submissions/{made['id']}"), 404)
        refused(hers.post("/submissions", json=body(subject="bob")), 403)
    with bearer(keyed, ada, Origin="https://evil.example") as elsewhere:
        refused(elsewhere.get("/submissions"), 401)
    with bearer(keyed, token(keys["client"], sub="ada", problem="another")) as bound:
        refused(bound.post("/submissions", json=body()), 403)


@pytest.mark.parametrize("bad", ["expired", "long-lived", "public", "forged", "unsigned"])
def test_bad_tokens(keyed: Running, keys: dict[str, tuple[str, str]], bad: str) -> None:
    """Expired, for days, signed with a page's key, with no key of ours, or not at all: 401."""
    made = {
        "expired": token(keys["client"], life_s=-10, sub="x"),
        "long-lived": token(keys["client"], life_s=86_400, sub="x"),
        "public": token(keys["public"], sub="x"),
        "forged": token((keys["client"][0], "another key"), sub="x"),
        "unsigned": jwt.encode({"exp": 1 << 33, "sub": "x"}, "", "none", {"kid": keys["client"][0]}),
    }
    with bearer(keyed, made[bad]) as client:
        refused(client.get("/submissions"), 401)


@pytest.mark.parametrize(
    "claims",
    [{"sub": "a\x00b"}, {"sub": ""}, {"sub": "\ud800"}, {"sub": "x" * 201}, {"problem": "\x00"}, {"exp": str(1 << 33)}],
)
def test_claims_that_no_record_can_hold(
    keyed: Running, keys: dict[str, tuple[str, str]], claims: dict[str, object]
) -> None:
    """What the body's `subject` may not hold, a token may not either; a date may be a text.

    An empty subject would be everybody's: its holder saw the submissions of all learners of the site.
    """
    with bearer(keyed, token(keys["client"], **claims)) as client:
        refused(client.post("/submissions", json=body()), 401)
        refused(client.get("/submissions"), 401)


@pytest.mark.parametrize("name", ["\ud800", "\x00", "' OR 1=1", "", "\u00e9"])
def test_names_that_no_key_has(keyed: Running, name: str) -> None:
    """A token that names a strange key is refused before PostgreSQL sees the name."""
    forged = jwt.encode({"exp": 1 << 33}, "x" * 32, "HS256", {"kid": name})
    with bearer(keyed, forged) as client:
        refused(client.get("/submissions"), 401)


def test_revoking(keyed: Running) -> None:
    """A revoked key is worthless at once, and so are its tokens."""
    key = make_key(keyed, "client")
    with bearer(keyed, key[1]) as client, bearer(keyed, token(key, sub="x")) as learner:
        assert client.get("/submissions").status_code == learner.get("/submissions").status_code == 200

        async def revoke() -> bool:
            async with await psycopg.AsyncConnection.connect(keyed.url, autocommit=True) as connection:
                return await access.revoke_key(connection, key[0])

        assert asyncio.run(revoke())
        refused(client.get("/submissions"), 401)
        refused(learner.get("/submissions"), 401)


def test_cors_for_configured_origins(keyed: Running) -> None:
    """A page of a configured origin may ask; another gets no such header."""
    ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    allowed = httpx.options(keyed.address + "/api/v1/submissions", headers={"Origin": "https://course.example", **ask})
    assert allowed.headers["access-control-allow-origin"] == "https://course.example"
    other = httpx.options(keyed.address + "/api/v1/submissions", headers={"Origin": "https://evil.example", **ask})
    assert "access-control-allow-origin" not in other.headers


def test_a_clients_backlog_is_limited(keyed: Running, keys: dict[str, tuple[str, str]]) -> None:
    """The fourth waiting submission of one client is 429 with Retry-After, while another client goes on."""
    slow = RIGHT.replace("    gate, up", "    import time; time.sleep(0.1)\n    gate, up")
    with bearer(keyed, token(keys["client"], sub="eager")) as eager:
        made = [eager.post("/submissions", json=body(slow)) for _ in range(3)]
        answer = eager.post("/submissions", json=body())
        refused(answer, 429)
        assert int(answer.headers["retry-after"]) >= 1
        with bearer(keyed, token(keys["client"], sub="patient")) as patient:
            assert patient.post("/submissions?wait=50", json=body(mode="run")).status_code == 200
        for one in made:
            eager.delete(f"/submissions/{one.json()['id']}")


def test_buckets() -> None:
    """So many calls at once, then none, then again after a while."""
    buckets = Buckets(per_second=20, burst=3)
    assert [buckets.take("a") for _ in range(3)] == [0.0, 0.0, 0.0]
    assert buckets.take("a") > 0
    assert buckets.take("b") == 0.0
    time.sleep(0.1)
    assert buckets.take("a") == 0.0


def test_callbacks_are_signed_and_tried_again(
    keyed: Running, keys: dict[str, tuple[str, str]], receiver: Receiver
) -> None:
    """The finished record arrives, signed, after a first attempt that failed; both attempts are kept."""
    url = f"http://localhost:{receiver.port}/done?x=1"
    with bearer(keyed, keys["client"][1]) as client:
        made = client.post("/submissions?wait=50", json=body(callback_url=url)).json()
    wait_until(lambda: len(receiver.calls) >= 2, "the callback is delivered", 20)
    headers, sent = receiver.calls[-1]
    at, given = (part.partition("=")[2] for part in headers["X-Grader-Signature"].split(","))
    assert given == hmac.new(CALLBACK_SECRET.encode(), f"{at}.".encode() + sent, hashlib.sha256).hexdigest()
    record = json.loads(sent)
    assert (record["id"], record["verdict"]) == (made["id"], "accepted")

    def kept() -> list[Any]:
        with psycopg.connect(keyed.url) as connection:
            query = "SELECT attempt, status FROM callbacks WHERE submission_id = %s ORDER BY attempt"
            return connection.execute(query, [made["id"]]).fetchall()

    wait_until(lambda: kept() == [(1, 500), (2, 204)], "both attempts are recorded", 10)


@contextmanager
def silent() -> Iterator[tuple[int, list[socket.socket]]]:
    """A receiver that takes every connection and never answers: its port, and the connections."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listening:

        def take() -> None:
            with suppress(OSError):
                while True:
                    taken.append(listening.accept()[0])

        threading.Thread(target=take, daemon=True).start()
        try:
            yield listening.getsockname()[1], taken
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            for connection in taken:
                connection.close()


def test_a_silent_receiver_delays_no_verdict(keyed: Running, keys: dict[str, tuple[str, str]]) -> None:
    """While more callbacks than the worker has slots wait for an answer, submissions are graded."""
    attempts = "SELECT count(*) FROM callbacks WHERE submission_id = ANY(%s)"
    with (
        bearer(keyed, keys["client"][1]) as client,
        silent() as (port, taken),
        psycopg.connect(keyed.url) as connection,
    ):
        calls = (os.cpu_count() or 1) + 1
        given = body(BROKEN, callback_url=f"http://localhost:{port}/")
        ids = [client.post("/submissions?wait=50", json=given).json()["id"] for _ in range(calls)]
        wait_until(lambda: len(taken) == calls, "all of them are called", 30)
        assert client.post("/submissions?wait=50", json=body()).json()["verdict"] == "accepted"
        assert connection.execute(attempts, [ids]).fetchone() == (0,), "a call has ended already"


@pytest.mark.parametrize(
    "url",
    [
        "https://elsewhere.example/",
        "ftp://hooks.example/",
        "http://hooks.example/",
        "https://user:password@hooks.example/",
        "https://hooks.example:99999/",
        "nonsense",
    ],
)
def test_callback_addresses_that_are_refused(url: str) -> None:
    """Another host, another scheme, plain HTTP, a password, no address: 422."""
    settings = Settings(callback_hosts=("hooks.example",), callback_secret=CALLBACK_SECRET)
    with pytest.raises(ApiError) as refusal:
        callbacks.check_url(settings, url)
    assert refusal.value.status == 422


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "[::1]", "[::ffff:10.0.0.1]", "0.0.0.0", "[fe80::1]"],
)
def test_internal_addresses_are_never_called(host: str) -> None:
    """An allowed name that leads to an internal address is not called."""
    settings = Settings(callback_hosts=(host.strip("[]"),), callback_secret=CALLBACK_SECRET)
    with pytest.raises(OSError, match="internal"):
        asyncio.run(callbacks.post(settings, f"https://{host}/", b"{}"))


def test_rejudging_needs_an_admin(keyed: Running, keys: dict[str, tuple[str, str]]) -> None:
    """Clients are refused; an admin starts it, sees what would change, and applies it once all is graded."""
    with bearer(keyed, keys["client"][1]) as client:
        refused(client.post("/problems/situ_glu/rejudgings"), 403)
        made = client.post("/submissions?wait=50", json=body("def situ_glu(:")).json()
    with psycopg.connect(keyed.url) as connection:
        connection.execute("UPDATE submissions SET problem = 'set_aside' WHERE id <> %s", [made["id"]])
        connection.execute("UPDATE submissions SET verdict = 'accepted' WHERE id = %s", [made["id"]])
    with bearer(keyed, keys["admin"][1]) as admin:
        refused(admin.post("/problems/nothing/rejudgings"), 404)
        refused(admin.get(f"/rejudgings/{made['id']}"), 404)
        started = admin.post("/problems/situ_glu/rejudgings").json()
        address = f"/rejudgings/{started['id']}"
        wait_until(lambda: admin.get(address).json()["done"] == 1, "it is graded again", 30)
        assert [one["new"] for one in admin.get(address).json()["changes"]] == ["compile_error"]
        assert admin.post(f"{address}/apply").json()["applied"] is True
        record = admin.get(f"/submissions/{made['id']}").json()
        assert (record["verdict"], record["history"][0]["verdict"]) == ("compile_error", "accepted")
    with psycopg.connect(keyed.url) as connection:
        connection.execute("UPDATE submissions SET problem = 'situ_glu'")
