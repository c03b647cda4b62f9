"""What the API takes: the only place with a request's field names. Closed: an unknown key is an error."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, PlainValidator, WithJsonSchema

from app.records import ascii_json
from grader.problem.arguments import DTYPES

METADATA_BYTES = 16 << 10
MAX_DIGITS = 1000

EXAMPLE_SOURCE = """import torch

def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    gate = input_tensor @ gate_projection.T
    up = input_tensor @ up_projection.T
    return gate_cap * torch.tanh(gate / gate_cap) * torch.sigmoid(gate) * up_cap * torch.tanh(up / up_cap)
"""
TENSOR_SCHEMA = {
    "type": "object",
    "properties": {
        "dtype": {"type": "string", "enum": list(DTYPES), "default": DTYPES[0]},
        "values": {"description": 'numbers, "NaN", "Infinity" or "-Infinity" in nested lists, which give the shape'},
    },
    "required": ["values"],
    "additionalProperties": False,
}
INPUTS_SCHEMA = {
    "type": "object",
    "description": "arguments by name: a number, nested lists (a float32 tensor), or {dtype, values}; for a module "
    "`init` and `state` are objects of such",
    "additionalProperties": {"anyOf": [{"type": ["number", "string", "boolean", "array", "null"]}, TENSOR_SCHEMA,
                                       {"type": "object"}]},
}  # fmt: skip


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


class Closed(BaseModel):
    """A request or a part of one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
    inputs: Annotated[dict[str, Any], WithJsonSchema(INPUTS_SCHEMA)] | None = Field(
        None, description="mode run only: they are answered as one public case"
    )
    subject: ShortText | None = Field(None, description="opaque id of the learner at the embedding site")
    metadata: Annotated[dict[str, JsonValue], AfterValidator(_small)] = Field(default_factory=dict)
    callback_url: Annotated[str, Field(max_length=2000), AfterValidator(_plain)] | None = Field(
        None, description="the finished record is POSTed here, signed; only to hosts that the operator allows"
    )


def parse_json(body: bytes) -> Any:
    """Strict JSON: no NaN, no number that is too large, no bottomless nesting. Raises ValueError."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    def whole(digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise ValueError(f"a number has more than {MAX_DIGITS} digits")
        return int(digits)

    def real(digits: str) -> float:
        if math.isinf(value := float(digits)):
            raise ValueError("a number is too large for float64")
        return value

    try:
        return json.loads(body.decode("utf-8"), parse_constant=refuse, parse_int=whole, parse_float=real)
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
