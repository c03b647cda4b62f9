"""From what was seen to the verdict: the order of checks, and the rulings of the contract."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from grader.cases.case import Case
from grader.judging.judge import judge, loading_verdict
from grader.records import Call, CaseReport, Mixture, Mode, Mutation, Outcome, Raised, Returned, Verdict

EXPECTED = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)


def make_case(**changes: object) -> Case:
    """A case whose answer is EXPECTED in float32."""
    known: dict[str, object] = {
        "name": "case",
        "visibility": "public",
        "kind": "values",
        "dtype": "float32",
        "tags": frozenset(),
        "call": Call(),
        "shape": (2, 2),
        "dims": ("T", "d_ff"),
        "result_dtype": "float32",
        "expected": EXPECTED,
        "allowance": torch.full((2, 2), 1e-3, dtype=torch.float64),
    }
    return Case(**{**known, **changes})  # type: ignore[arg-type]


def device_case(mode: Mode) -> Case:
    """A case on tensors without values."""
    return make_case(kind="device", call=Call(mode=mode), expected=None, allowance=None)


def returned(**changes: object) -> Returned:
    """A right result."""
    data = EXPECTED.float().numpy().tobytes()
    known: dict[str, object] = {"plain": True, "dtype": "float32", "shape": (2, 2), "data": data}
    return Returned(**{**known, **changes})  # type: ignore[arg-type]


def verdict(case: Case | None = None, *, mutations: tuple[Mutation, ...] = (), **changes: object) -> Verdict:
    """The verdict of a right result with some changes."""
    report = CaseReport(call=0, outcome=Outcome.RETURNED, returned=returned(**changes), mutations=mutations)
    return judge(case or make_case(), report, "cpu").verdict


def raised(kind: str, message: str = "", module: str = "builtins", line: int | None = 1) -> CaseReport:
    """An exception."""
    return CaseReport(
        call=0, outcome=Outcome.RAISED, raised=Raised(type=kind, module=module, message=message, line=line)
    )


WITHOUT_AN_ANSWER = (Outcome.DIED, Outcome.TIME_LIMIT, Outcome.MEMORY_LIMIT, Outcome.OUTPUT_LIMIT)
CHANGED = (Mutation(argument="0", what="values", index=(0,)),)
WRONG = torch.zeros(4).numpy().tobytes()


def test_right() -> None:
    """A right result passes."""
    assert verdict() is Verdict.ACCEPTED


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"plain": False, "shape": (9,), "dtype": "x", "device": "y", "data": None}, Verdict.WRONG_TYPE),
        ({"dtype": "int64", "shape": (9,)}, Verdict.WRONG_TYPE),
        ({"shape": (2, 3), "dtype": "float64", "data": None}, Verdict.WRONG_SHAPE),
        ({"dtype": "float64", "device": "cuda:0", "data": None}, Verdict.WRONG_DTYPE),
        ({"device": "cuda:0", "data": None}, Verdict.WRONG_DEVICE),
        ({"data": WRONG}, Verdict.MUTATED_INPUT),
    ],
)
def test_order_of_checks(changes: dict[str, object], expected: Verdict) -> None:
    """Type, shape, dtype, device and mutation are judged in this order, all before values."""
    assert verdict(mutations=CHANGED, **changes) is expected


def test_wrong_values() -> None:
    """Values outside the allowance are a wrong answer, and the worst is known."""
    report = CaseReport(call=0, outcome=Outcome.RETURNED, returned=returned(data=WRONG))
    judged = judge(make_case(), report, "cpu")

    assert judged.verdict is Verdict.WRONG_ANSWER
    assert judged.mismatch is not None
    assert (judged.mismatch.count, judged.mismatch.index) == (4, (1, 1))


@pytest.mark.parametrize("data", [None, b"", b"123", WRONG + b"\0"])
def test_bytes_that_are_not_the_result(data: bytes | None) -> None:
    """A result described as right whose bytes are missing, too few or too many is never accepted."""
    assert verdict(data=data) is Verdict.SECURITY_VIOLATION


def test_nothing_to_compare() -> None:
    """A result without elements needs no bytes."""
    empty = torch.empty((0, 2), dtype=torch.float64)

    assert (
        verdict(make_case(shape=(0, 2), expected=empty, allowance=empty), shape=(0, 2), data=None) is Verdict.ACCEPTED
    )


@pytest.mark.parametrize(
    ("outcome", "expected", "loading"),
    [
        (Outcome.DIED, Verdict.RUNTIME_ERROR, Verdict.COMPILE_ERROR),
        (Outcome.VIOLATION, Verdict.SECURITY_VIOLATION, Verdict.SECURITY_VIOLATION),
        (Outcome.MALFORMED, Verdict.SECURITY_VIOLATION, Verdict.SECURITY_VIOLATION),
        (Outcome.TIME_LIMIT, Verdict.TIME_LIMIT_EXCEEDED, Verdict.TIME_LIMIT_EXCEEDED),
        (Outcome.MEMORY_LIMIT, Verdict.MEMORY_LIMIT_EXCEEDED, Verdict.MEMORY_LIMIT_EXCEEDED),
        (Outcome.OUTPUT_LIMIT, Verdict.OUTPUT_LIMIT_EXCEEDED, Verdict.OUTPUT_LIMIT_EXCEEDED),
    ],
)
def test_endings(outcome: Outcome, expected: Verdict, loading: Verdict) -> None:
    """A death while loading is a compile error; limits and violations are the same everywhere."""
    report = CaseReport(call=0, outcome=outcome)

    assert judge(make_case(), report, "cpu").verdict is expected
    assert loading_verdict(report) is loading


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (raised("NameError"), Verdict.RUNTIME_ERROR),
        (raised("MemoryError"), Verdict.MEMORY_LIMIT_EXCEEDED),
        (raised("OutOfMemoryError", module="torch"), Verdict.MEMORY_LIMIT_EXCEEDED),
        (
            raised("RuntimeError", "DefaultCPUAllocator: can't allocate memory: you tried"),
            Verdict.MEMORY_LIMIT_EXCEEDED,
        ),
        (raised("RuntimeError", "mat1 and mat2 shapes cannot be multiplied"), Verdict.RUNTIME_ERROR),
    ],
)
def test_exceptions(report: CaseReport, expected: Verdict) -> None:
    """An allocation that failed is a memory limit; every other exception a runtime error."""
    assert judge(make_case(), report, "cpu").verdict is expected


def test_parser_out_of_stack() -> None:
    """A MemoryError that comes from no line of the source is the parser's, and no memory limit."""
    assert loading_verdict(raised("MemoryError", line=None)) is Verdict.COMPILE_ERROR
    assert loading_verdict(raised("MemoryError", line=3)) is Verdict.MEMORY_LIMIT_EXCEEDED


@pytest.mark.parametrize(
    ("mode", "changes", "expected"),
    [
        (Mode.FAKE, {"device": "cuda:0"}, Verdict.ACCEPTED),
        (Mode.FAKE, {"device": "cpu"}, Verdict.WRONG_DEVICE),
        (Mode.META, {"device": "meta"}, Verdict.ACCEPTED),
        (Mode.META, {"device": "meta", "shape": (4,)}, Verdict.WRONG_SHAPE),
        (Mode.META, {"device": "meta", "dtype": "float64"}, Verdict.WRONG_DTYPE),
    ],
)
def test_device_results(mode: Mode, changes: dict[str, object], expected: Verdict) -> None:
    """On tensors without values shape, dtype and device are certain."""
    assert verdict(device_case(mode), data=None, **changes) is expected


def mixed(home: str, *others: tuple[str, int, int], operation: str = "mul") -> CaseReport:
    """An operation that raised, on a matrix at home and other tensors: device, dimensions, elements."""
    mixture = Mixture(operation=operation, operands=((home, 2, 6), *others))
    what = Raised(type="RuntimeError", module="builtins", message="", line=1, mixture=mixture)
    return CaseReport(call=0, outcome=Outcome.RAISED, raised=what)


TO_NUMPY = "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
ONE = ("cpu", 1, 1)


@pytest.mark.parametrize(
    ("mode", "report", "certain"),
    [
        (Mode.FAKE, mixed("cuda", ONE), True),
        (Mode.META, mixed("meta", ONE), True),
        (Mode.FAKE, mixed("cuda", ("cpu", 0, 1)), False),  # a number
        (Mode.FAKE, mixed("cuda", ("cpu", 1, 0)), False),
        (Mode.FAKE, mixed("cuda", ("meta", 1, 1)), False),
        (Mode.FAKE, mixed("cuda", ("cuda", 1, 1)), False),
        (Mode.META, mixed("cuda", ONE), False),  # kept from a call on fake tensors
        (Mode.FAKE, mixed("cuda", ONE, operation="addmm"), True),
        (Mode.FAKE, mixed("cuda", ONE, operation="linear"), True),
        (Mode.FAKE, mixed("cuda", ONE, operation="copy_"), False),
        (Mode.FAKE, mixed("cuda", ONE, operation="index"), False),
        (Mode.FAKE, mixed("cuda", ONE, operation="_foreach_mul"), False),
        (Mode.FAKE, raised("RuntimeError", "Expected query, key, and value to have the same device type, but"), True),
        (Mode.META, raised("TypeError", TO_NUMPY.format("meta")), True),
        (Mode.FAKE, raised("TypeError", TO_NUMPY.format("cuda:0")), True),
        (Mode.FAKE, raised("FakeTensorDeviceMismatchError", module="torch"), False),  # of no operation that we saw
        (Mode.META, raised("NotImplementedError", "Cannot copy out of meta tensor; no data!"), False),
        (Mode.FAKE, raised("DataDependentOutputException", module="torch"), False),
        (Mode.FAKE, raised("MemoryError"), False),
        *((Mode.FAKE, CaseReport(call=0, outcome=outcome), False) for outcome in WITHOUT_AN_ANSWER),
    ],
)
def test_device_exceptions(mode: Mode, report: CaseReport, certain: bool) -> None:
    """Only a stranger with elements in an operation that needs one device, and a bare .numpy(), are certain."""
    judged = judge(device_case(mode), report, "cpu")

    assert judged.verdict is (Verdict.RUNTIME_ERROR if certain else Verdict.ACCEPTED)
    assert judged.unsure is not certain


@pytest.mark.parametrize(
    "report",
    [
        mixed("cuda", ONE),
        raised("TypeError", TO_NUMPY.format("cuda:0")),
        CaseReport(call=0, outcome=Outcome.RETURNED, returned=returned(data=None, device="cpu")),
        CaseReport(call=0, outcome=Outcome.RETURNED, returned=returned(data=None, device="cuda:0", shape=(4,))),
    ],
)
def test_device_doubts(report: CaseReport) -> None:
    """Where something went otherwise than on a GPU, nothing counts."""
    judged = judge(device_case(Mode.FAKE), replace(report, doubtful=True), "cpu")

    assert (judged.verdict, judged.unsure) == (Verdict.ACCEPTED, True)


@pytest.mark.parametrize("outcome", [Outcome.VIOLATION, Outcome.MALFORMED])
def test_device_violations(outcome: Outcome) -> None:
    """What is forbidden is forbidden everywhere."""
    report = CaseReport(call=0, outcome=outcome, doubtful=True)

    assert judge(device_case(Mode.FAKE), report, "cpu").verdict is Verdict.SECURITY_VIOLATION
