"""Event streams and waiting: complete, in order, resumable, for many listeners at once, without polling."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from app.api.routes import MAX_LISTENERS
from app.db.store import CHANNEL
from tests.service.conftest import BROKEN, ENDLESS, RIGHT, WRONG
from tests.service.running import Running, wait_until
from tests.service.test_api import body, refused, submit

SLOW = RIGHT.replace("    gate, up", "    import time; time.sleep(0.02)\n    gate, up")


def parsed(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Events as {id, event, data}; comments are left out."""
    event: dict[str, Any] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if name in {"id", "event", "data"}:
            event[name] = json.loads(value) if name in {"id", "data"} else value
        elif not line and event:
            yield event
            event = {}


def listen(client: httpx.Client, address: str, last: int | None = None, stop_after: int | None = None) -> list[Any]:
    """The events of a stream, all of them or the first ones."""
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    found = []
    with client.stream("GET", address, headers=headers) as stream:
        assert stream.status_code == 200
        for event in parsed(stream.iter_lines()):
            found.append(event)
            if len(found) == stop_after:
                break
    return found


def test_a_stream_tells_everything_in_order(client: httpx.Client) -> None:
    """queued, running, each case as in the record, the verdict; ids without gaps."""
    made = client.post("/submissions", json=body(WRONG)).json()
    events = listen(client, f"/submissions/{made['id']}/events")
    record = client.get(f"/submissions/{made['id']}").json()
    assert [event["id"] for event in events] == list(range(len(events)))
    assert [event["data"] for event in events[:2]] == [{"status": "queued"}, {"status": "running"}]
    assert [event["data"] for event in events if event["event"] == "case"] == record["cases"]
    last = events[-1]
    assert (last["event"], last["data"]["verdict"]) == ("verdict", "wrong_answer")
    assert {k: v for k, v in last["data"].items() if k != "events_url"} == {
        k: v for k, v in record.items() if k != "events_url"
    }


def test_a_stream_resumes_where_it_was_cut(client: httpx.Client) -> None:
    """Cut while it runs and after it finished: together the parts are the whole, once each."""
    made = client.post("/submissions", json=body(SLOW)).json()
    address = f"/submissions/{made['id']}/events"
    first = listen(client, address, stop_after=6)
    second = listen(client, address, last=first[-1]["id"], stop_after=3)
    rest = listen(client, address, last=second[-1]["id"])
    whole = listen(client, address)
    strip = [(event["id"], event["event"]) for event in (*first, *second, *rest)]
    assert strip == [(event["id"], event["event"]) for event in whole]
    assert [e["data"] for e in (*first, *second, *rest)][:-1] == [e["data"] for e in whole][:-1]


def test_a_stream_that_was_read_to_its_end_is_not_repeated(client: httpx.Client) -> None:
    """A browser's EventSource comes again after the end, with the last id: 204 tells it to stop."""
    made = submit(client, WRONG)
    address = f"/submissions/{made['id']}/events"
    last = listen(client, address)[-1]
    again = client.get(address, headers={"Last-Event-ID": str(last["id"])})
    assert (again.status_code, again.content) == (204, b"")
    assert listen(client, address, last["id"] - 1) == [last | {"data": listen(client, address)[-1]["data"]}]


def test_cases_come_while_it_runs(client: httpx.Client) -> None:
    """A listener hears of the first case well before the verdict."""
    made = client.post("/submissions", json=body(SLOW)).json()
    heard: dict[str, float] = {}
    with client.stream("GET", f"/submissions/{made['id']}/events") as stream:
        for event in parsed(stream.iter_lines()):
            heard.setdefault(event["event"], time.monotonic())
    assert heard["verdict"] - heard["case"] > 0.2


def test_a_cancelled_one_ends_its_stream(client: httpx.Client) -> None:
    """The last event of a cancelled submission is its status."""
    made = client.post("/submissions", json=body(ENDLESS)).json()
    with ThreadPoolExecutor(1) as pool:
        listening = pool.submit(listen, client, f"/submissions/{made['id']}/events")
        client.delete(f"/submissions/{made['id']}")
        events = listening.result(20)
    assert events[-1]["data"] == {"status": "cancelled"}


def test_a_cancelled_one_is_not_repeated(client: httpx.Client) -> None:
    """A browser that heard of the end comes again, and is told to stop, as after a verdict."""
    made = client.post("/submissions", json=body(ENDLESS)).json()
    client.delete(f"/submissions/{made['id']}")
    address = f"/submissions/{made['id']}/events"
    last = listen(client, address)[-1]
    assert client.get(address, headers={"Last-Event-ID": str(last["id"])}).status_code == 204
    assert listen(client, address, last=1)[-1] == last


@pytest.mark.parametrize("last", ["9" * 5000, "-1", "x", "\u0664", ""])
def test_any_last_event_id_is_taken(client: httpx.Client, last: str) -> None:
    """What is no number of ours means: from the beginning."""
    made = submit(client, BROKEN)
    headers = {"Last-Event-ID": last.encode()}
    assert client.get(f"/submissions/{made['id']}/events", headers=headers).text.count("event: verdict") == 1


def test_listeners_of_one_submission_are_limited(running: Running, client: httpx.Client) -> None:
    """The hundred and first is told to come later; the others go on listening."""
    made = client.post("/submissions", json=body(ENDLESS)).json()
    address = f"/submissions/{made['id']}/events"
    with ExitStack() as open_streams:
        streams = [open_streams.enter_context(client.stream("GET", address)) for _ in range(MAX_LISTENERS)]
        lines = [stream.iter_lines() for stream in streams]
        assert {next(each) for each in lines} == {"id: 0"}
        refused(httpx.get(f"{running.address}/api/v1{address}"), 429)
    client.delete(f"/submissions/{made['id']}")


def test_events_url_needs_no_header(running: Running, client: httpx.Client) -> None:
    """The address in the record works as it is; for another submission it does not."""
    one, other = submit(client), submit(client)
    assert listen(client, running.address + one["events_url"].removeprefix(running.address))[-1]["event"] == "verdict"
    token = one["events_url"].partition("?")[2]
    refused(client.get(f"/submissions/{other['id']}/events?{token}"), 401)
    refused(client.get(f"/submissions/{one['id']}/events?token=nonsense"), 401)


def test_notifications_are_few(running: Running, client: httpx.Client) -> None:
    """One submission of 48 slow cases sends at most one notification in 50 ms, and the last one."""
    with psycopg.connect(running.url, autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}".encode())
        began = time.monotonic()
        record = submit(client, SLOW)
        took_s = time.monotonic() - began
        heard = [note.payload for note in connection.notifies(timeout=0.5) if record["id"] in note.payload]
    assert 2 <= len(heard) <= took_s / 0.05 + 1
    assert heard[-1].endswith("finished")


def test_two_hundred_wait_at_once(running: Running) -> None:
    """200 waiting calls get their verdicts over one listening connection, and leave nothing behind."""

    async def all_of_them() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(base_url=running.address, timeout=90, limits=limits) as client:
            calls = [client.post("/api/v1/submissions?wait=60", json=body(BROKEN)) for _ in range(200)]
            return await asyncio.gather(*calls)

    answers = asyncio.run(all_of_them())
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["verdict"] for answer in answers} == {"compile_error"}
    assert len({answer.json()["id"] for answer in answers}) == 200
    listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN grader_submissions%'"
    with psycopg.connect(make_conninfo(running.url)) as connection:
        assert connection.execute(listening.encode()).fetchone() == (1,)


def test_a_listener_that_leaves_costs_nothing(running: Running, client: httpx.Client) -> None:
    """After fifty listeners left, the API holds no more descriptors than before."""
    api = psutil.Process(running.processes["api"].pid)
    made = client.post("/submissions", json=body(ENDLESS)).json()
    before = api.num_fds()
    for _ in range(50):
        with httpx.Client(base_url=running.address + "/api/v1") as leaving:
            listen(leaving, f"/submissions/{made['id']}/events", stop_after=1)
    client.delete(f"/submissions/{made['id']}")
    wait_until(lambda: api.num_fds() <= before + 2, "descriptors of those who left are closed", 10)
