"""The whole API, called as a web IDE would, on a real database with a real worker."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.api.replies import ProblemSummary, Record, ShownProblem
from grader.problem import folder as problem
from grader.problem.folder import catalogue
from grader.records import Verdict
from tests.service.conftest import BROKEN, ENDLESS, RIGHT, WRONG
from tests.service.running import Running, wait_until

WAIT = {"Prefer": "wait=50"}
INPUTS = {"input_tensor": [[1.0, 2.0]], "gate_projection": [[1.0, 0.0]], "up_projection": [[0.0, 1.0]]}
PROBLEMS = sorted(problem.slug for problem in catalogue())


def body(source: str = RIGHT, **more: Any) -> dict[str, Any]:
    """A request for situ_glu."""
    return {"problem": "situ_glu", "source": source, **more}


def submit(client: httpx.Client, source: str = RIGHT, **more: Any) -> dict[str, Any]:
    """The finished record of a source."""
    answer = client.post("/submissions", json=body(source, **more), headers=WAIT)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def refused(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The problem details of a refusal."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == status
    assert found["detail"]
    return dict(found)


@pytest.mark.parametrize(
    ("source", "verdict"), [(RIGHT, "accepted"), (WRONG, "wrong_answer"), (BROKEN, "compile_error")]
)
def test_waiting_gives_the_verdict(client: httpx.Client, source: str, verdict: str) -> None:
    """A waiting POST answers 200 with a finished record that keeps to the schema, every key there."""
    record = submit(client, source, subject="learner-7", metadata={"page": 3})
    Record.model_validate(record)
    assert (record["status"], record["verdict"]) == ("finished", verdict)
    assert (record["subject"], record["metadata"]) == ("learner-7", {"page": 3})
    assert set(record) == set(Record.model_fields) - {"history"}
    assert record["total"] == len(record["cases"])


def test_diagnosis_travels(client: httpx.Client) -> None:
    """A named mistake is in the record."""
    assert [one["mistake"] for one in submit(client, WRONG)["diagnosis"]] == ["sigmoid_on_up"]


def test_without_waiting_the_record_comes_at_once(client: httpx.Client) -> None:
    """202, Location, the place in the queue; the record can be read there until it is finished."""
    answer = client.post("/submissions", json=body())
    assert answer.status_code == 202
    assert answer.json()["status"] in {"queued", "running"}
    found = client.get(answer.headers["location"].removeprefix("/api/v1"))
    assert found.status_code == 200
    assert found.json()["id"] == answer.json()["id"]


def test_wait_as_a_parameter(client: httpx.Client) -> None:
    """?wait=SECONDS does what the header does."""
    assert client.post("/submissions?wait=50", json=body()).status_code == 200


def test_hidden_cases_show_nothing(client: httpx.Client) -> None:
    """A hidden case has no detail, no time, and no message with a number in it, also when it fails."""
    hidden = [case for case in submit(client, WRONG)["cases"] if case["visibility"] == "hidden"]
    assert any(case["outcome"] == "wrong_answer" for case in hidden)
    for case in hidden:
        assert (case["detail"], case["time_ms"]) == (None, None)
        assert not any(character.isdigit() for character in case["message"] or "")


def test_run_mode_meets_public_cases_only(client: httpx.Client) -> None:
    """mode run grades the public cases."""
    record = submit(client, mode="run")
    assert record["verdict"] == "accepted"
    assert {case["visibility"] for case in record["cases"]} == {"public"}


def test_own_inputs_are_one_public_case(client: httpx.Client) -> None:
    """Inputs of the caller's are answered with the expected and the actual values."""
    record = submit(client, WRONG, mode="run", inputs=INPUTS)
    assert record["total"] == 1
    assert record["cases"][0]["detail"]["expected"] is not None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"input_tensor": [[1.0, 2.0, 3.0]]},
            "/inputs/gate_projection: has the shape [1, 2], and [d_ff, d_in] is asked for, "
            "where d_in is 3 in input_tensor",
        ),
        ({"input_tensor": 3.0}, "/inputs/input_tensor: has the shape [], and [..., d_in] is asked for"),
        ({"gate_cap": "NaN"}, "/inputs/gate_cap: must be above 0 and finite"),
        ({"gate_cap": True}, "/inputs/gate_cap: must be a number"),
        ({"gate_cap": None}, "/inputs/gate_cap: must be a number"),
        ({"input_tensor": {"dtype": "float64", "values": [[1, 2]]}}, "/inputs: give all tensors the same dtype"),
        ({"input_tensor": [[10**900, 1]]}, "/inputs/input_tensor: holds a number that is too large for float64"),
    ],
)
def test_inputs_that_do_not_fit_are_told(client: httpx.Client, change: dict[str, Any], said: str) -> None:
    """422 says which argument is wrong and what would fit."""
    answer = client.post("/submissions", json=body(mode="run", inputs=INPUTS | change))
    assert refused(answer, 422)["detail"] == said


def test_a_result_that_would_be_too_large_is_told(client: httpx.Client) -> None:
    """Small inputs can make a large result."""
    many = dict.fromkeys(INPUTS, [[0.5]] * 3000)
    found = refused(client.post("/submissions", json=body(mode="run", inputs=many)), 422)
    assert found["detail"] == "/inputs: the result has more than 10000 elements"


def test_a_modules_own_inputs(client: httpx.Client) -> None:
    """A module takes `init` and `state` beside the arguments of its call."""
    asked = problem.load("dense_ffn")
    accepted = next(one for one in problem.example_submissions(asked) if one.verdicts == (Verdict.ACCEPTED,))
    state = {"gate_up_proj.weight": [[2.0], [2.0]], "down_proj.weight": [[10.0]]}
    inputs = {"x": [1.0], "init": {"d_model": 1, "d_ff": 1}, "state": state}
    given = {"problem": "dense_ffn", "source": accepted.path.read_text(), "mode": "run", "inputs": inputs}
    record = client.post("/submissions", json=given, headers=WAIT).json()
    assert (record["verdict"], record["total"]) == ("accepted", 1)
    assert record["cases"][0]["detail"]["inputs"]["init"] == {"d_model": 1, "d_ff": 1}


@pytest.mark.parametrize(
    ("bad", "at"),
    [
        ({"source": 7}, "/source"),
        ({"unknown": 1}, "/unknown"),
        ({"mode": "fast"}, "/mode"),
        ({"problem": "no_such_problem"}, "/problem"),
        ({"problem": "../situ_glu"}, "/problem"),
        ({"device": "abacus"}, "/device"),
        ({"inputs": {}}, "/inputs"),
        ({"mode": "run", "inputs": {"nonsense": 1}}, "/inputs/nonsense"),
        ({"mode": "run", "inputs": {"input_tensor": [[1], [1, 2]]}}, "/inputs/input_tensor"),
        ({"mode": "run", "inputs": {"input_tensor": {"values": [1], "more": 1}}}, "/inputs/input_tensor"),
        ({"mode": "run", "inputs": {"input_tensor": [0.5] * 20_000}}, "/inputs/input_tensor"),
        ({"metadata": {"text": "x" * 20_000}}, "/metadata"),
        ({"metadata": [1]}, "/metadata"),
        ({"subject": "a\u0000b"}, "/subject"),
        ({"callback_url": "https://example.com/"}, "/callback_url"),
    ],
)
def test_bad_bodies_are_named(client: httpx.Client, bad: dict[str, Any], at: str) -> None:
    """422 names the key that is wrong."""
    found = refused(client.post("/submissions", json=body() | bad), 422)
    assert any(error["at"].startswith(at) for error in found["errors"]), found


@pytest.mark.parametrize("missing", ["problem", "source"])
def test_missing_keys_are_named(client: httpx.Client, missing: str) -> None:
    """422 names what is missing."""
    found = refused(client.post("/submissions", json={k: v for k, v in body().items() if k != missing}), 422)
    assert found["errors"][0]["at"] == f"/{missing}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{broken",
        b'{"problem": NaN}',
        b"\xff\xfe",
        b'{"a": ' + b"9" * 10_000 + b"}",
        b"[" * 100_000,
        b'{"metadata": {"n": 1e400}}',
    ],
)
def test_what_is_not_json_is_400(client: httpx.Client, content: bytes) -> None:
    """Malformed JSON of any kind is 400."""
    refused(client.post("/submissions", content=content), 400)


@pytest.mark.parametrize("content", [b"[]", b"null", b"7", b'"text"'])
def test_json_that_is_no_object_is_422(client: httpx.Client, content: bytes) -> None:
    """JSON of another shape breaks the schema."""
    refused(client.post("/submissions", content=content), 422)


def test_large_bodies_are_refused(client: httpx.Client) -> None:
    """10 MB are 413, with a declared length and without one."""
    large = b'{"source": "' + b"x" * 10_000_000 + b'"}'
    refused(client.post("/submissions", content=large), 413)
    chunks = (large[at : at + 65536] for at in range(0, len(large), 65536))
    refused(client.post("/submissions", content=chunks), 413)


def test_a_refusal_is_heard_by_who_sends_everything_first(running: Running) -> None:
    """The standard library's client reads no answer before all is sent: it gets the 413, not a reset connection."""
    for _ in range(3):
        connection = HTTPConnection("127.0.0.1", running.port, timeout=30)
        connection.request("POST", "/api/v1/submissions", b" " * 10_000_000)
        assert connection.getresponse().status == 413
        connection.close()


@pytest.mark.parametrize("source", ["x = 1\x00", "x = '\ud800'", "x = 1\n" * 20_000])
def test_sources_that_no_file_could_be(client: httpx.Client, source: str) -> None:
    """NUL, a lone surrogate, too long: judged as compile_error, not refused."""
    answer = client.post("/submissions", content=json.dumps(body(source)).encode(), headers=WAIT)
    assert answer.status_code == 200, answer.text
    assert answer.json()["verdict"] == Verdict.COMPILE_ERROR


def test_metadata_may_hold_any_text(client: httpx.Client) -> None:
    """NUL and lone surrogates in metadata come back as they were."""
    metadata = {"odd": "\x00 \ud800 \u202e <script>"}
    answer = client.post("/submissions", content=json.dumps(body(metadata=metadata)).encode())
    assert answer.status_code in {202, 422}
    if answer.status_code == 202:
        assert json.loads(answer.content)["metadata"] == metadata


@pytest.mark.parametrize("unknown", [str(uuid4()), "not-an-id", "%00"])
def test_unknown_ids_are_404(client: httpx.Client, unknown: str) -> None:
    """Reading, listening and cancelling what there is not."""
    for call in (client.get, client.delete):
        refused(call(f"/submissions/{unknown}"), 404)
    refused(client.get(f"/submissions/{unknown}/events"), 404)


def test_unknown_paths_and_methods(client: httpx.Client) -> None:
    """Also what the framework refuses is a problem detail."""
    refused(client.get("/nothing"), 404)
    refused(client.put("/submissions"), 405)


def test_idempotency(client: httpx.Client) -> None:
    """The same key and body answer with the same submission; another body is 422; another key is another submission."""
    key = {"Idempotency-Key": str(uuid4())}
    first = client.post("/submissions", json=body(metadata={"n": 1}), headers=key)
    again = client.post(
        "/submissions",
        content=json.dumps({"metadata": {"n": 1.0}, "source": RIGHT, "problem": "situ_glu"}),
        headers=key,
    )
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["id"] == again.json()["id"]
    refused(client.post("/submissions", json=body(metadata={"n": 2}), headers=key), 422)
    other = client.post("/submissions", json=body(metadata={"n": 1}), headers={"Idempotency-Key": str(uuid4())})
    assert other.json()["id"] != first.json()["id"]


def test_one_key_at_once_makes_one_submission(client: httpx.Client) -> None:
    """Twelve calls at the same moment with one key make one submission."""
    key = {"Idempotency-Key": str(uuid4())}
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: client.post("/submissions", json=body(), headers=key), range(12)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_cancelling(client: httpx.Client) -> None:
    """One that has not finished is cancelled, without a verdict; cancelling again, or a finished one, is 409."""
    made = client.post("/submissions", json=body(ENDLESS)).json()
    cancelled = client.delete(f"/submissions/{made['id']}")
    assert cancelled.status_code == 200
    assert (cancelled.json()["status"], cancelled.json()["verdict"]) == ("cancelled", None)
    refused(client.delete(f"/submissions/{made['id']}"), 409)
    refused(client.delete(f"/submissions/{submit(client)['id']}"), 409)
    assert client.get(f"/submissions/{made['id']}").json()["status"] == "cancelled"


def test_a_cancelled_run_is_killed(client: httpx.Client) -> None:
    """Endless runs that were cancelled leave the worker free at once, not when their time is over."""
    for _ in range(4):
        made = client.post("/submissions", json=body(ENDLESS)).json()
        wait_until(lambda made=made: client.get(f"/submissions/{made['id']}").json()["status"] == "running", "it runs")
        client.delete(f"/submissions/{made['id']}")
    began = time.monotonic()
    assert submit(client)["verdict"] == "accepted"
    assert time.monotonic() - began < 8


def test_listing(client: httpx.Client) -> None:
    """Newest first, filtered, in pages that neither skip nor repeat."""
    subject = str(uuid4())
    made = [submit(client, source, subject=subject)["id"] for source in (RIGHT, BROKEN, RIGHT, BROKEN, RIGHT)]
    found, cursor = [], None
    while True:
        cursor_part = {"cursor": cursor} if cursor else {}
        page = client.get("/submissions", params={"subject": subject, "limit": 2, **cursor_part}).json()
        found += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == made[::-1]
    wrong = client.get("/submissions", params={"subject": subject, "verdict": "compile_error", "problem": "situ_glu"})
    assert [item["id"] for item in wrong.json()["items"]] == [made[3], made[1]]
    refused(client.get("/submissions", params={"verdict": "splendid"}), 422)


def test_problems(client: httpx.Client) -> None:
    """The catalogue and one problem, without its mistakes' hints' answers or any expected value."""
    listed = client.get("/problems").json()
    assert sorted(one["slug"] for one in listed) == PROBLEMS
    assert all(set(one) == set(ProblemSummary.model_fields) for one in listed)
    shown = client.get("/problems/situ_glu").json()
    ShownProblem.model_validate_json(json.dumps(shown))
    for key in ("statement", "theory", "starter", "examples", "hints", "requirements", "constraints", "limits"):
        assert shown[key], key
    refused(client.get("/problems/nothing"), 404)


def test_health_metrics_and_home(running: Running, client: httpx.Client) -> None:
    """The calls at the root."""
    submit(client)
    assert httpx.get(running.address + "/healthz").json() == {"status": "alive"}
    assert httpx.get(running.address + "/readyz").json()["status"] == "ready"
    assert "<title>grader</title>" in httpx.get(running.address + "/").text

    text = httpx.get(running.address + "/metrics").text
    for name in ("grader_queue_depth", "grader_queue_age_seconds", "grader_phase_seconds_bucket", "grader_workers 1.0"):
        assert name in text


def test_docs_need_no_internet(running: Running) -> None:
    """The page of the API's documentation loads everything from this service."""
    page = httpx.get(running.address + "/docs").text
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)

    assert loaded
    assert all(httpx.get(running.address + address).status_code == 200 for address in loaded)


def test_openapi_examples_work_when_pasted(running: Running, client: httpx.Client) -> None:
    """The example in /openapi.json is a submission that gets accepted."""
    schema = httpx.get(running.address + "/openapi.json").json()
    example = schema["components"]["schemas"]["NewSubmissionBody"]["examples"][0]
    answer = client.post("/submissions", json=example, headers=WAIT)
    assert answer.json()["verdict"] == "accepted"


def test_strange_pages_may_not_call(running: Running) -> None:
    """Without keys a page of another origin, or a name that was bent to loopback, is refused."""
    url = running.address + "/api/v1/submissions"
    refused(httpx.post(url, json=body(), headers={"Origin": "https://evil.example"}), 403)
    refused(httpx.get(url, headers={"Host": "evil.example"}), 403)
    assert httpx.get(url, headers={"Origin": running.address}).status_code == 200


def test_openapi_tells_what_refusals_look_like(running: Running) -> None:
    """Every error of every call under /api is a problem document, and nothing else, as the service sends it."""
    found = httpx.get(f"{running.address}/openapi.json").json()
    for path, methods in found["paths"].items():
        for method, call in methods.items() if path.startswith("/api") else ():
            for status, answer in call["responses"].items():
                if status >= "400":
                    assert list(answer["content"]) == ["application/problem+json"], (method, path, status)
                    schema = answer["content"]["application/problem+json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/ProblemDetails"}
    shown = found["paths"]["/api/v1/problems/{slug}"]["get"]["responses"]["200"]["content"]["application/json"][
        "schema"
    ]
    assert shown == {"$ref": "#/components/schemas/ShownProblem"}
    assert "HTTPValidationError" not in found["components"]["schemas"]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ([], "/: must be an object"),
        (body(nope=1), "/nope: there is no such key"),
        (body(subject="\x00"), "/subject: must be printable characters"),
        (body() | {"problem": "nope"}, f"/problem: no such problem; there are: {', '.join(PROBLEMS)}"),
        ({"problem": "situ_glu"}, "/source: is missing"),
    ],
)
def test_refusals_are_in_plain_words(client: httpx.Client, sent: object, said: str) -> None:
    """What to mend, without the words of the library that found it."""
    assert client.post("/submissions", json=sent).json()["detail"] == said
