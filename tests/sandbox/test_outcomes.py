"""What comes of a run: values, exceptions, deaths, limits, trouble while loading, an early end."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from grader.records import Call, Job, Limits, Outcome
from grader.sandbox.base import Sandbox
from grader.sandbox.guest.walls import seccomp
from tests.sandbox.running import DOUBLE, LIMITS, PRELUDE, alone, calls, run, tensor, values

NUMBERS = seccomp.machine()[1]
BODY = PRELUDE + "def f(x):\n    "


@pytest.mark.single
def test_reports_in_order(box: Sandbox) -> None:
    """Loading is call -1, then one report for each call, in order, with the values that the function returned."""
    seen = run(box, DOUBLE, 3)

    assert [report.call for report in seen.reports] == [-1, 0, 1, 2]
    assert set(seen.outcomes) == {Outcome.RETURNED}
    assert [values(report)[0] for report in seen.reports[1:]] == [2.0, 4.0, 6.0]


def test_usage(box: Sandbox) -> None:
    """Time and memory are the run's own."""
    usage = run(box, DOUBLE + "y = bytearray(200 << 20)\nimport time\ntime.sleep(0.1)\n").end.usage

    assert 0.1 < usage.wall_s < LIMITS.wall_s
    assert 0 < usage.cpu_s < LIMITS.cpu_s
    assert 200 << 20 < usage.peak_memory_bytes < 2 << 30


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise ValueError('no')", ("ValueError", "builtins", "no")),
        ("sys.exit(0)", ("SystemExit", "builtins", "0")),
        ("raise KeyboardInterrupt", ("KeyboardInterrupt", "builtins", "")),
        ("raise type('Own', (BaseException,), {})('x')", ("Own", "submission", "x")),
        ("return torch.ones(2) @ torch.ones(3)", ("RuntimeError", "builtins", None)),
    ],
)
def test_an_exception_ends_its_call_only(box: Sandbox, body: str, told: tuple[str, str, str | None]) -> None:
    """Whatever is raised is told by type, module and text, with its line, and the next call is made."""
    seen = run(box, BODY + body, 2)

    assert seen.outcomes == [Outcome.RETURNED, Outcome.RAISED, Outcome.RAISED]
    raised = seen.reports[1].raised
    assert raised is not None
    assert (raised.type, raised.module, raised.message if told[2] is not None else None) == told
    assert raised.line == BODY.count("\n") + 1
    assert raised.frames == ((raised.line, "f"),)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("os._exit(0)", "exit status 0"),
        ("os._exit(9)", "exit status 9"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "SIGTERM"),
        ("os.abort()", "SIGABRT"),
        ("ctypes.string_at(8)", "SIGSEGV"),
    ],
)
def test_death(box: Sandbox, body: str, reason: str) -> None:
    """An exit or a deadly signal ends the run, names itself, and is no answer."""
    seen = run(box, BODY + body, 2)

    assert seen.outcomes == [Outcome.RETURNED, Outcome.DIED]
    assert reason in seen.last.reason


def test_sigsys_cant_be_sent(box: Sandbox) -> None:
    """No way to send SIGSYS to oneself works, so that it always means a violation."""
    ways = f"""
    told = []
    for way in (lambda: os.kill(os.getpid(), signal.SIGSYS), lambda: os.kill(0, signal.SIGSYS),
                lambda: signal.raise_signal(signal.SIGSYS), lambda: os.killpg(0, signal.SIGSYS),
                lambda: signal.pthread_kill(threading.get_ident(), signal.SIGSYS)):
        try:
            way()
            told.append('worked')
        except PermissionError:
            told.append('refused')
    print(told, syscall({NUMBERS["timer_create"]}, 0, 0, 0), syscall({NUMBERS["rt_sigqueueinfo"]}, os.getpid(), 31, 0))
    print(syscall({NUMBERS["fcntl"]}, 1, 10, 31))
    return x
"""
    seen = run(box, PRELUDE + "def f(x):" + ways)

    assert seen.last.outcome is Outcome.RETURNED, seen
    assert seen.end.stdout == f"{['refused'] * 5} EPERM EPERM\nEPERM\n"


def test_sigsys_of_a_child_that_ends(box: Sandbox) -> None:
    """A child whose end would be told by SIGSYS can't be made either."""
    seen = run(
        box,
        BODY
        + f"""
    if libc.syscall({NUMBERS["clone"]}, ctypes.c_long(31), 0, 0, 0, 0) == 0:
        os._exit(0)
    time.sleep(0.2)
    return x
""",
    )

    assert "foreign kind" not in seen.last.reason


@pytest.mark.parametrize(
    ("limits", "body", "outcome", "reason"),
    [
        (Limits(wall_s=0.5), "time.sleep(60)", Outcome.TIME_LIMIT, "0.5 s are allowed"),
        (Limits(wall_s=20, cpu_s=0.3), "\n    while True: pass", Outcome.TIME_LIMIT, "0.3 s are allowed"),
        (Limits(wall_s=0.5), "os.kill(os.getpid(), signal.SIGSTOP)", Outcome.TIME_LIMIT, "0.5 s are allowed"),
        alone(LIMITS, "a = [bytearray(64 << 20) for _ in range(99)]", Outcome.MEMORY_LIMIT, "512 MiB"),
        (LIMITS, "return torch.ones(1 << 40)", Outcome.MEMORY_LIMIT, "512 MiB"),
        (LIMITS, "\n    while True: print('x' * 1000)", Outcome.OUTPUT_LIMIT, "1024 KiB"),
        (LIMITS, "\n    while True: os.write(2, bytes(9999))", Outcome.OUTPUT_LIMIT, "1024 KiB"),
    ],
)
def test_limits(box: Sandbox, limits: Limits, body: str, outcome: Outcome, reason: str) -> None:
    """A limit ends the run and is named with its value."""
    seen = run(box, BODY + body, 2, limits=limits)

    assert seen.outcomes[-1] is outcome, seen
    assert len(seen.reports) == 2
    assert reason in seen.last.reason


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("raise ValueError", Outcome.RAISED),
        ("import sys; sys.exit(0)", Outcome.RAISED),
        ("def f(", Outcome.RAISED),
        ("def g(x): return x", Outcome.RAISED),
        ("f = 3", Outcome.RAISED),
        ("def f(): pass", Outcome.RAISED),
        ("import os; os._exit(0)", Outcome.DIED),
        ("while True: pass", Outcome.TIME_LIMIT),
        ("a = bytearray(4 << 30)", Outcome.RAISED),
        ("while True: print('x' * 999)", Outcome.OUTPUT_LIMIT),
        (f"import ctypes; ctypes.CDLL(None).syscall({NUMBERS['ptrace']}, 0, 0, 0, 0)", Outcome.VIOLATION),
    ],
)
def test_trouble_while_loading(box: Sandbox, source: str, outcome: Outcome) -> None:
    """What goes wrong while importing is reported of call -1, and no call is made."""
    seen = run(box, source, 2, limits=replace(LIMITS, cpu_s=0.5))

    assert [(report.call, report.outcome) for report in seen.reports] == [(-1, outcome)]


@pytest.mark.parametrize(
    "source",
    [
        "x = ('" + "a" * 20_000,
        "if True:\nreturn " + "1 + " * 10_000,
        f"def {'long' * 100}(x): return x",
        "class f(metaclass=type('M', (type,), {'__call__': None})): pass",
        "raise SyntaxError('m', ('f', -3, -4, 'text' * 9999))",
        "raise SyntaxError('m', ('f', 1 << 80, 1 << 80, 7))",
        "raise SyntaxError(['m'] * 9999)",
        "globals()[1] = print",
        "globals()['\\ud800'] = print",
        "raise type('N' * 5000, (Exception,), {'__module__': 'm' * 5000})('\\ud800\\x00' * 5000)",
        "f = type('t' * 5000, (), {})()",
    ],
)
def test_an_odd_source_is_no_violation(box: Sandbox, source: str) -> None:
    """Long lines, long names and odd exceptions are told as what they are: the source raised, nobody forged."""
    seen = run(box, source, 1)

    assert seen.outcomes == [Outcome.RAISED], seen


def test_several_at_once(box: Sandbox) -> None:
    """Runs in several threads don't meet."""
    results: list[float] = []

    def one(number: float) -> None:
        call = Call(args=(tensor(number),))
        results.extend(values(run(box, DOUBLE, [call]).last))

    threads = [threading.Thread(target=one, args=(float(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(results) == [0.0, 2.0, 4.0, 6.0]


def test_left_early(box: Sandbox) -> None:
    """Whoever leaves a run early finds the sandbox as good as before."""
    for taken in range(3):
        running = box.run(Job(source=BODY + "time.sleep(0.01); return x", name="f", calls=calls(3), limits=LIMITS))
        for _ in range(taken):
            next(running)
        running.close()

    assert set(run(box, DOUBLE, 2).outcomes) == {Outcome.RETURNED}
