"""The frozen records that travel between the rooms, and the three vocabularies: state, outcome, verdict.

Standard library only: the API process, the engine and the supervisor of the sandbox share them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """What a submission deserved, gravest first: a submission's verdict is the first that applies to a case."""

    INTERNAL_ERROR = "internal_error"
    COMPILE_ERROR = "compile_error"
    SECURITY_VIOLATION = "security_violation"
    TIME_LIMIT_EXCEEDED = "time_limit_exceeded"
    MEMORY_LIMIT_EXCEEDED = "memory_limit_exceeded"
    OUTPUT_LIMIT_EXCEEDED = "output_limit_exceeded"
    RUNTIME_ERROR = "runtime_error"
    WRONG_TYPE = "wrong_type"
    WRONG_SHAPE = "wrong_shape"
    WRONG_DTYPE = "wrong_dtype"
    WRONG_DEVICE = "wrong_device"
    MUTATED_INPUT = "mutated_input"
    WRONG_ANSWER = "wrong_answer"
    ACCEPTED = "accepted"


PASSED = "passed"
NOT_RUN = "not_run"


class Outcome(StrEnum):
    """What the supervisor saw of one call (or of loading the source). Says nothing about right or wrong."""

    RETURNED = "returned"
    RAISED = "raised"
    DIED = "died"
    VIOLATION = "violation"
    MALFORMED = "malformed"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"


class Mode(StrEnum):
    """How a call's tensors are made: real ones, fake ones that claim to be on `cuda`, or `meta` ones."""

    REAL = "real"
    FAKE = "fake"
    META = "meta"


# ---------------------------------------------------------------- engine to sandbox


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a submission may use. Seconds and bytes; `memory_bytes` comes on top of an idle child."""

    wall_s: float = 20.0
    cpu_s: float = 10.0
    memory_bytes: int = 1 << 30
    processes: int = 64
    output_bytes: int = 1 << 20
    file_bytes: int = 16 << 20
    source_bytes: int = 64 << 10
    torch_threads: int = 1


@dataclass(frozen=True, kw_only=True)
class TensorValue:
    """A tensor as bytes: `data` is its whole storage, `strides` count elements, the offset is 0."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    data: bytes = field(repr=False)
    requires_grad: bool = False


Scalar = int | float | bool | str | None
Value = TensorValue | Scalar


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of the learner's function (or module); holds inputs only, never anything expected.

    same_memory: the previous call's tensors are filled with this call's values and passed again; a module is called
    again, with this call's weights.
    backward: afterwards the result's sum is differentiated, to see whether gradients flow and are finite;
        with `want_gradients` their bytes come back too.
    init, state: for modules: the constructor's arguments and the `state_dict` to load strictly.
    result_bytes: the largest result, in bytes, that is worth sending back.
    """

    args: tuple[Value, ...] = ()
    kwargs: Mapping[str, Value] = field(default_factory=dict)
    mode: Mode = Mode.REAL
    same_memory: bool = False
    backward: bool = False
    want_gradients: bool = False
    init: Mapping[str, Scalar] = field(default_factory=dict)
    state: Mapping[str, TensorValue] = field(default_factory=dict)
    result_bytes: int = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Job:
    """Everything that one child of the sandbox is told: a source, what to call in it, and how often.

    kind: "function" or "module". hidden_from: index of the first call of which no output may be shown.
    wanted: the child is not told of it: asked by the supervisor at least once a second; a no kills the run.
    """

    source: str
    name: str
    kind: str = "function"
    calls: tuple[Call, ...] = ()
    hidden_from: int = 1 << 30
    limits: Limits = field(default_factory=Limits)
    device: str = "cpu"
    wanted: Callable[[], bool] | None = field(default=None, repr=False, compare=False)


# ---------------------------------------------------------------- sandbox to engine


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """The operation of torch's that raised, on tensors without values.

    operands: device, number of dimensions and of elements of each tensor.
    """

    operation: str
    operands: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Raised:
    """An exception, as the child tells it. Untrusted text: cut and cleaned, but not believed.

    module: "builtins", "torch..." or anything else. line: 1-based, in the learner's source, None if none of its
    frames was reached. frames: (line, function) of the learner's frames, outermost first.
    column, text: for syntax errors. mixture: for an operation on tensors without values.
    """

    type: str
    module: str
    message: str
    line: int | None = None
    frames: tuple[tuple[int, str], ...] = ()
    column: int | None = None
    text: str | None = None
    mixture: Mixture | None = None


@dataclass(frozen=True, kw_only=True)
class Returned:
    """What came back from a call. `data` (contiguous, little endian) is None where it was not fetched.

    plain: one dense, strided, real tensor of class Tensor or Parameter; else `what` says what it is instead.
    differentiable: the result hangs on the autograd graph. finite_gradients: None where not asked or not possible.
    unreached: inputs (and parameters) that asked for a gradient and get none, where it was looked at.
    gradients: bytes by argument index ("0") or parameter name, when they were wanted.
    """

    plain: bool
    what: str = "Tensor"
    dtype: str = ""
    shape: tuple[int, ...] = ()
    device: str = "cpu"
    data: bytes | None = field(default=None, repr=False)
    differentiable: bool = False
    finite_gradients: bool | None = None
    unreached: tuple[str, ...] = ()
    gradients: Mapping[str, TensorValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """An input that is not what it was. argument: its position ("0") or keyword; what: values, shape, ..."""

    argument: str
    what: str
    index: tuple[int, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the child's whole tree used, as the supervisor measured it."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_memory_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class CaseReport:
    """What the supervisor saw of one call; `call` is its index in the job, -1 is loading the source.

    reason: a sentence for what ended the run (which limit, its value and the use; which signal; which system call).
    doubtful: on tensors without values something went otherwise than on a GPU.
    """

    call: int
    outcome: Outcome
    returned: Returned | None = None
    raised: Raised | None = None
    mutations: tuple[Mutation, ...] = ()
    seconds: float = 0.0
    reason: str = ""
    doubtful: bool = False


@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """The last thing a run yields, when the child's whole tree is dead.

    stdout, stderr: what was printed before the first hidden call. flags: what the child said of itself
    ("compiled_eagerly"). reached: limits that made a call fail, as sentences.
    """

    usage: Usage
    stdout: str = ""
    stderr: str = ""
    output_truncated: bool = False
    flags: frozenset[str] = frozenset()
    reached: tuple[str, ...] = ()


# ---------------------------------------------------------------- engine to everybody


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """One case of a submission record, ready to be shown (contract: `cases`)."""

    name: str
    visibility: str
    outcome: str
    message: str = ""
    dtype: str | None = None
    time_ms: float | None = None
    detail: Mapping[str, Any] | None = None
    indicative: bool = False


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """A named mistake that explains `explains` of the `of` failing cases in which it shows."""

    mistake: str
    title: str
    hint: str
    explains: int
    of: int


@dataclass(frozen=True, kw_only=True)
class Note:
    """A remark that changes no verdict."""

    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ErrorInfo:
    """The first failing case's exception (contract: `error`)."""

    type: str
    message: str | None
    line: int | None
    traceback: str | None


@dataclass(frozen=True, kw_only=True)
class Grade:
    """The engine's whole answer to one submission."""

    problem: str
    mode: str
    device: str
    verdict: Verdict
    summary: str
    passed: int
    total: int
    cases_version: str
    cases: tuple[CaseResult, ...] = ()
    diagnosis: tuple[Diagnosis, ...] = ()
    notes: tuple[Note, ...] = ()
    error: ErrorInfo | None = None
    stdout: str | None = None
    stderr: str | None = None
    usage: Usage | None = None
