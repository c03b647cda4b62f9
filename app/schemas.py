"""JSON in and out: the only place with the API's field names. Requests are closed: an unknown key is an error."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, PlainValidator, WithJsonSchema

from app.store import Submission, ascii_json
from grader.present import submission_record

METADATA_BYTES = 16 << 10
INPUT_ELEMENTS = 10_000
INPUT_DEPTH = 8
MAX_DIGITS = 1000
NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})

EXAMPLE_SOURCE = """import torch

def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    gate = input_tensor @ gate_projection.T
    up = input_tensor @ up_projection.T
    return gate_cap * torch.tanh(gate / gate_cap) * torch.sigmoid(gate) * up_cap * torch.tanh(up / up_cap)
"""


def _any_text(value: object) -> str:
    """Any JSON string: what no Python file may hold (NUL, lone surrogates) is judged, not refused."""
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def _small(value: dict[str, Any]) -> dict[str, Any]:
    if len(ascii_json(value)) > METADATA_BYTES:
        raise ValueError(f"is larger than {METADATA_BYTES >> 10} KiB")
    return value


def _plain(value: str) -> str:
    if not value.isprintable():
        raise ValueError("must be printable characters")
    return value


def _shape(value: object) -> tuple[int, ...]:
    """The shape of nested lists of numbers, () for a number. Raises ValueError for anything else."""
    if isinstance(value, list):
        if len(value) == 0:
            return (0,)
        shapes = {_shape(part) for part in value}
        if len(shapes) > 1:
            raise ValueError("lists beside each other must have equal lengths")
        return (len(value), *shapes.pop())
    if isinstance(value, bool) or not (isinstance(value, int | float) or value in NUMBERS):
        raise ValueError('elements must be numbers, "NaN", "Infinity" or "-Infinity"')
    return ()


def _depth(value: object) -> int:
    depth, level = 0, [value]
    while level and depth <= INPUT_DEPTH:
        level = [part for item in level if isinstance(item, list) for part in item]
        depth += 1
    return depth


def _tensor(value: Any) -> Any:
    values = value.values if isinstance(value, TensorLiteral) else value
    if isinstance(values, list):
        if _depth(values) > INPUT_DEPTH:
            raise ValueError(f"has more than {INPUT_DEPTH} dimensions")
        count = 1
        for size in _shape(values):
            count *= size
        if count > INPUT_ELEMENTS:
            raise ValueError(f"has {count} elements; at most {INPUT_ELEMENTS} are taken")
    return value


class Closed(BaseModel):
    """A request or a part of one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TensorLiteral(Closed):
    """A tensor written out."""

    dtype: Literal["float16", "bfloat16", "float32", "float64", "int64", "int32", "bool"] = "float32"
    values: list[Any] | float = Field(description="numbers in nested lists; they give the shape")


Literal_ = Annotated[TensorLiteral | list[Any] | float | None, AfterValidator(_tensor)]
Source = Annotated[str, PlainValidator(_any_text), WithJsonSchema({"type": "string"})]
ShortText = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_plain)]


class NewSubmissionBody(Closed):
    """The body of POST /submissions."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={"examples": [{"problem": "situ_glu", "source": EXAMPLE_SOURCE, "mode": "submit"}]},
    )

    problem: ShortText
    source: Source = Field(description="the learner's file, as text; over the problem's limit it is a compile_error")
    device: ShortText = "cpu"
    mode: Literal["submit", "run"] = Field("submit", description="run: public cases only, and sooner")
    inputs: dict[ShortText, Literal_] | None = Field(
        None, description="mode run only: arguments by name; they are answered as one public case"
    )
    subject: ShortText | None = Field(None, description="opaque id of the learner at the embedding site")
    metadata: Annotated[dict[str, JsonValue], AfterValidator(_small)] = Field(default_factory=dict)
    callback_url: Annotated[str, Field(max_length=2000), AfterValidator(_plain)] | None = Field(
        None, description="the finished record is POSTed here, signed; only to hosts that the operator allows"
    )


def parse_json(body: bytes) -> Any:
    """Strict JSON: no NaN, no numbers of thousands of digits, no bottomless nesting. Raises ValueError."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    def whole(digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise ValueError(f"a number has more than {MAX_DIGITS} digits")
        return int(digits)

    try:
        return json.loads(body.decode("utf-8"), parse_constant=refuse, parse_int=whole)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def body_digest(parsed: object) -> bytes:
    """Equal for bodies that are equal as JSON, whatever their key order, spaces and ways to write a number."""
    return hashlib.sha256(json.dumps(_numbers(parsed), sort_keys=True).encode()).digest()


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_numbers(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


# ---------------------------------------------------------------- what comes out


class Reply(BaseModel):
    """A part of a reply; every key is always there."""

    model_config = ConfigDict(extra="forbid")


class Worst(Reply):
    """The element that is farthest out."""

    index: list[int]
    actual: JsonValue
    expected: JsonValue
    error: JsonValue
    allowed: JsonValue


class Detail(BaseModel):
    """Of public cases only; numbers that JSON has not are the strings "NaN", "Infinity", "-Infinity"."""

    model_config = ConfigDict(extra="allow")

    inputs: JsonValue = None
    expected: JsonValue = None
    actual: JsonValue = None
    worst: JsonValue = None
    mismatched: JsonValue = None
    truncated: JsonValue = None


class PublicCase(BaseModel):
    """A case whose inputs and values may be seen."""

    model_config = ConfigDict(extra="allow")

    name: str
    visibility: Literal["public"]
    outcome: str
    message: str | None
    dtype: str | None
    time_ms: float | None
    detail: Detail | None


class HiddenCase(Reply):
    """A case of which nothing but name, dtype, outcome and a message without values is told."""

    name: str
    visibility: Literal["hidden"]
    outcome: str
    message: str | None
    dtype: str | None
    time_ms: None
    detail: None
    indicative: bool = False


class Mistake(Reply):
    """A named mistake that explains `explains` of `of` failing cases."""

    mistake: str
    title: str
    hint: str
    explains: int
    of: int


class Remark(Reply):
    """A remark that changes no verdict."""

    id: str
    text: str


class Fault(Reply):
    """The first failing case's exception; for a hidden one without message and traceback."""

    type: str
    message: str | None
    line: int | None
    traceback: str | None


class Resources(Reply):
    """What the whole run used."""

    wall_ms: float
    cpu_ms: float
    peak_memory_bytes: int


class Place(Reply):
    """Where a waiting submission stands. position: how many come before it, counted up to 1000."""

    position: int
    waiting_ms: int


class Record(Reply):
    """The submission record."""

    id: UUID
    problem: str
    mode: Literal["submit", "run"]
    device: str
    subject: str | None
    metadata: dict[str, JsonValue]
    status: Literal["queued", "running", "finished", "cancelled"]
    queue: Place | None
    events_url: str | None
    verdict: str | None
    summary: str | None
    passed: int | None
    total: int | None
    cases_version: str | None
    cases: list[PublicCase | HiddenCase]
    diagnosis: list[Mistake]
    notes: list[Remark]
    error: Fault | None
    stdout: str | None
    stderr: str | None
    resources: Resources | None
    created_at: datetime
    finished_at: datetime | None
    history: list[dict[str, JsonValue]] = Field(default=[], description="verdicts that rejudging replaced, if any")


class Page(Reply):
    """A page of submissions, the newest first."""

    items: list[Record]
    next_cursor: str | None


class ProblemDetails(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, JsonValue]] | None = None


def record(stored: Submission, *, queue: dict[str, int] | None = None, events_url: str | None = None) -> dict[str, Any]:
    """A stored submission as the contract's record."""
    bare = submission_record(
        None, id=str(stored.id), problem=stored.problem, mode=stored.mode, device=stored.device, status=stored.status,
        subject=stored.subject, metadata=json.loads(stored.metadata), queue=queue, events_url=events_url,
        created_at=stored.created_at.isoformat(), finished_at=stored.finished_at and stored.finished_at.isoformat(),
    )  # fmt: skip
    graded = json.loads(stored.grade) if stored.grade else {}
    history = json.loads(stored.history)
    kept = {"verdict": stored.verdict, "cases_version": stored.cases_version}
    return {**bare, **graded, **kept, **({"history": history} if history else {})}
