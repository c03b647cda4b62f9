"""What a submission may write where results are expected: it is no more than data, and nothing breaks the judge."""

from __future__ import annotations

import json
import random
import struct
from contextlib import suppress
from typing import Any

import pytest

from grader.records import Call, Limits, Outcome
from grader.sandbox.base import Sandbox
from grader.sandbox.guest import wire
from grader.sandbox.host.replies import Reply, parse
from tests.sandbox.running import DOUBLE, PRELUDE, run, tensor, values

SHORT = Limits(wall_s=0.7, cpu_s=2.0)
RETURNED = {"plain": True, "what": "Tensor", "dtype": "float32", "shape": [3], "device": "cpu"}
# a reply of the submission's own making in place of the runner's, for the request that is under way
FORGE = (
    PRELUDE
    + """
import json, gc
def ticket():
    frame = sys._getframe()
    while frame:
        request = frame.f_locals.get('request')
        if isinstance(request, dict) and 'ticket' in request:
            return request['ticket']
        frame = frame.f_back
def blob(report, tensors=None, **more):
    header, data = {'__metadata__': {'report': report if isinstance(report, str) else json.dumps(report)}}, b''
    for name, (dtype, shape, values) in (tensors or {}).items():
        header[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header | more).encode()
    return len(text).to_bytes(8, 'little') + text + data
def send(payload, length=None):
    payload = (len(payload) if length is None else length).to_bytes(8, 'little') + payload
    while payload:
        payload = payload[os.write(4, payload):]
def report(**more):
    returned = {'plain': True, 'what': 'Tensor', 'dtype': 'float32', 'shape': [3], 'device': 'cpu'}
    return {'flags': [], 'ticket': ticket(), 'returned': returned} | more
nine = {'result': ('F32', [3], bytes(12))}
def wait():
    while True: time.sleep(60)
"""
)


def forged(box: Sandbox, body: str, made: int = 2) -> Any:
    """The run of a source whose first call does this and never returns."""
    return run(box, f"{FORGE}def f(x):\n    {body}\n    wait()", made)


# guest and supervisor are the same however the guest was started: one way of starting it is enough here
once = pytest.mark.ways("local")

# ---------------------------------------------------------------- a reply is data


@once
def test_a_well_formed_reply_is_a_value(box: Sandbox) -> None:
    """A forged reply that fits is believed as a value, which the engine then finds to be wrong; it says no more."""
    source = f"{FORGE}def f(x):\n    if x[0] == 1:\n        send(blob(report(), nine)); os._exit(0)\n    return x"
    seen = run(box, source, 2)

    assert seen.outcomes == [Outcome.RETURNED, Outcome.RETURNED, Outcome.DIED]
    assert values(seen.reports[1]) == (0, 0, 0)


@once
def test_a_call_took_no_longer_than_we_waited(box: Sandbox) -> None:
    """The time that a reply tells is believed only as far as it can be true."""
    seen = forged(box, "send(blob(report(seconds=99999.0), nine)); os._exit(0)")

    assert 0 < seen.reports[1].seconds < 999


@once
@pytest.mark.parametrize(
    "body",
    [
        "send(blob(report(), nine)); send(blob(report(), nine))",
        "send(blob(report(ticket=''), nine))",
        "send(blob(report(ticket='0' * 16), nine))",
        "os.write(4, bytes(8) + b'x')",
        "send(b'')\n    os.write(4, b'1')",
        "send(b'x')",
        "send(b'', 1 << 62)",
        "send(b'', (1 << 64) - 1)",
        "os.write(4, b'\\xff' * 9999)",
        "send(bytes(100))",
        "send(blob('null'))",
        "send(blob('[]'))",
        "send(blob('not json'))",
        "send(blob('[' * 100_000))",
        "send(blob('{\"a\":' * 50_000))",
        "send(blob(json.dumps(report()).replace('[3]', '[' * 900 + ']' * 900), nine))",
        "send(blob(json.dumps(report(seconds=7)).replace('7', 'NaN'), nine))",
        "send(blob(json.dumps(report(seconds=7)).replace('7', 'Infinity'), nine))",
        "send(blob(json.dumps(report(seconds=7)).replace('7', '9' * 4000), nine))",
        "send(blob(json.dumps(report(seconds=7)).replace('7', '9' * 5000), nine))",
        "send(blob(report(seconds=-1), nine))",
        "send(blob(report(seconds='1'), nine))",
        "send(blob(report(verdict='accepted'), nine))",
        "send(blob(report(flags=['x'] * 99), nine))",
        "send(blob(report(flags=['x' * 999]), nine))",
        "send(blob(report(returned={'plain': False, 'what': 'Tensor'}), nine))",
        "send(blob(report(returned={'plain': 1, 'what': 'Tensor'}), nine))",
        "send(blob(report(returned=None), nine))",
        "send(blob(report(returned=None)))",
        "send(blob(report(), {'result': ('F32', [4], bytes(16))}))",
        "send(blob(report(), {'result': ('F64', [3], bytes(24))}))",
        "send(blob(report(), {'result': ('F32', [3], bytes(8))}))",
        "send(blob(report(), {'result': ('F8_E4M3', [3], bytes(3))}))",
        "send(blob(report(), {'result': ('F32', [1 << 62, 3], bytes(12))}))",
        "send(blob(report(), {'result': ('F32', [-3], bytes(12))}))",
        "send(blob(report(), nine, result={'dtype': 'F32', 'shape': [3], 'data_offsets': [0, 1 << 40]}))",
        "send(blob(report(changed={'0': [['a'] * 5] * 3}), nine))",
        "send(blob(report(changed={'0': [['a'] * 4] * 2}), nine))",
        "send(blob(report(changed={'0': [[[[1]]] * 5] * 2}), nine))",
        "send(blob(report(changed={str(i): [['a'] * 5] * 2 for i in range(99)}), nine))",
        "send(blob(report(raised={'type': 'E', 'module': 'm', 'message': 'x', 'frames': [['x', 'f']]})))",
        "send(blob(report(raised={'type': 'E', 'module': 'm', 'message': 'x', 'frames': [[1]]})))",
        "send(blob(report(raised={'type': 'E', 'module': 'm', 'message': 'x' * 99_999})))",
        "send(blob(report(raised={'type': 'E', 'module': 'm', 'message': 'x', 'column': 1 << 90})))",
        "send(blob(report(raised={'type': 'E', 'module': 'm', 'message': '\\ud800'})))",
        "send(blob(report(), {f't{i}': ('F32', [9 << i], bytes(8)) for i in range(9)}))",
    ],
)
def test_malformed(box: Sandbox, body: str) -> None:
    """Excess, contradiction and nonsense in a reply end the run as MALFORMED, and the next submission is as before."""
    seen = forged(box, body)

    assert seen.last.outcome is Outcome.MALFORMED, seen


@once
def test_duplicate_keys(box: Sandbox) -> None:
    """Of a key that comes twice one counts, everywhere the same."""
    body = "send(blob(json.dumps(report()).replace('[3]', '[3], \"shape\": [4]'), nine)); os._exit(0)"

    assert forged(box, body).last.outcome is Outcome.MALFORMED


@once
def test_an_unfinished_reply_is_a_death(box: Sandbox) -> None:
    """A process that ends in the middle of a reply has died, whatever it began to say."""
    for body in ("os.write(4, b'1'); os._exit(0)", "send(b'xx', 1000); os._exit(0)", "send(b'', 100)\n    os.abort()"):
        assert forged(box, body).last.outcome is Outcome.DIED


@once
def test_no_reply_before_its_request(box: Sandbox) -> None:
    """Replies to calls that have not been made yet are no replies."""
    body = "[send(blob(report(), nine)) for _ in range(9)]"

    outcomes = forged(box, body, 9).outcomes

    assert outcomes[-1] is Outcome.MALFORMED  # with the first reply or after it, as they happen to be read
    assert len(outcomes) <= 3


@once
def test_a_flood_of_replies_while_a_request_is_written(box: Sandbox) -> None:
    """A child that does not read its requests, and floods the replies, ends MALFORMED and fills no memory of ours."""
    flood = """
def f(x):
    import fcntl
    fcntl.fcntl(3, 1031, 4096)  # F_SETPIPE_SZ
    send(blob(report(), nine))
    while True:
        os.write(4, bytes(1 << 16))
"""
    many = Call(args=tuple(tensor(float(number), shape=(1,)) for number in range(200)))
    seen = run(box, FORGE + flood.replace("(x)", "(*x)"), [many, many, many])

    assert seen.last.outcome is Outcome.MALFORMED, seen


@once
def test_memory_that_flickers(box: Sandbox) -> None:
    """An input that changes while it is compared is mutated or not, and breaks nothing."""
    source = f"""{PRELUDE}
def flicker(address):
    byte = ctypes.c_ubyte.from_address(address)
    while True:
        byte.value ^= 1
def f(x):
    for _ in range(2):
        if os.fork() == 0:
            flicker(x.data_ptr() + x.numel() * 4 - 1)
    return x[:3] * 2
"""
    big = Call(args=(tensor(*[1.0] * 20_000),))
    seen = run(box, source, [big] * 12)

    assert set(seen.outcomes) == {Outcome.RETURNED}
    assert all(m.what == "values" and m.index == (19_999,) for report in seen.reports for m in report.mutations)


@once
def test_patched_runner(box: Sandbox) -> None:
    """Whoever replaces functions of the runner, the encoder or torch only breaks his own replies."""
    source = f"""{PRELUDE}
for name, module in list(sys.modules.items()):
    if name.startswith('grader'):
        for key, value in list(vars(module).items()):
            if callable(value) and not isinstance(value, type):
                setattr(module, key, lambda *a, **k: print('VERDICT accepted'))
{DOUBLE}"""
    seen = run(box, source, 2)

    assert seen.last.outcome in {Outcome.DIED, Outcome.MALFORMED, Outcome.RAISED}, seen


@once
@pytest.mark.parametrize(
    "body",
    [
        "os.close(4)",
        "os.close(3)",
        "os.closerange(0, 99)",
        "os.dup2(1, 4)",
        "os.dup2(os.open('/dev/null', os.O_RDWR), 4)",
        "os.dup2(os.open('own', os.O_RDWR | os.O_CREAT), 3)",
        "os.set_blocking(3, False)",
        "signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005); signal.signal(14, lambda *a: 1 / 0)",
        "libc.syscall(15)",
        "libc.munmap(ctypes.c_void_p(x.data_ptr() & ~4095), ctypes.c_size_t(1 << 20))",
        "libc.mprotect(ctypes.c_void_p(x.data_ptr() & ~4095), ctypes.c_size_t(1 << 20), 0)",
        "gc.get_referrers; [o.close() for o in gc.get_objects() if isinstance(o, mmap.mmap)]",
        "sys.setrecursionlimit(1 << 30); (lambda g: g(g))(lambda g: g(g))",
        "sys.settrace(lambda *a: 1 / 0)",
        "sys.modules.clear()",
        "import builtins; vars(builtins).clear()",
        "import atexit; atexit.register(print, 'VERDICT'); sys.exit(0)",
        "threading.Thread(target=lambda: [os.write(4, b'late') for _ in range(99)]).start()",
    ],
)
def test_sabotage(box: Sandbox, body: str) -> None:
    """Sabotage of one's own process ends in some outcome of one's own, in time, and the sandbox goes on."""
    seen = run(box, f"import gc\n{PRELUDE}def f(x):\n    {body}\n    return x * 2", 3, limits=SHORT)

    assert len(seen.reports) <= 4
    assert set(run(box, DOUBLE, 2).outcomes) == {Outcome.RETURNED}


# ---------------------------------------------------------------- the door itself


def reply(report: Any, header: dict[str, Any] | None = None, data: bytes = b"") -> bytes:
    """A blob as the child would send it."""
    text = json.dumps({"__metadata__": {"report": json.dumps(report)}, **(header or {})}).encode()
    return struct.pack("<Q", len(text)) + text + data


def test_fuzz_parse() -> None:
    """Bytes with random damage are parsed, or Malformed: never any other exception."""
    entry = {"result": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}
    changed = {"0": [["float32", [3], [1], [1, 0, 12], False], ["float32", [3], [1], [2, 0, 12], True]]}
    good = reply({"flags": [], "ticket": "t", "returned": RETURNED, "changed": changed}, entry, bytes(12))
    assert isinstance(parse(good), Reply)

    chance = random.Random(7)
    for _ in range(3000):
        damaged = bytearray(good)
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(damaged))
            match chance.randrange(4):
                case 0:
                    damaged[place] = chance.randrange(256)
                case 1:
                    del damaged[place : place + chance.randrange(9)]
                case 2:
                    damaged[place:place] = chance.choice(
                        (b"[", b"{", b'"', b"-", b"1e999", b"NaN", b"\\ud800", b"null,")
                    )
                case _:
                    damaged[place : place + 1] = b"9" * chance.randrange(40)
        with suppress(wire.Malformed):
            parse(bytes(damaged))


@pytest.mark.parametrize("depth", [*range(100, 1100, 50), 5000])
def test_nesting_at_the_door(depth: int) -> None:
    """No depth of nesting is too deep to be refused."""
    nested = "[" * depth + "]" * depth
    report = json.dumps({"flags": [], "ticket": "t", "changed": {"0": [["", 7, [], [], True]] * 2}}).replace(
        "7", nested
    )
    text = json.dumps({"__metadata__": {"report": report}}).encode()
    with pytest.raises(wire.Malformed):
        parse(struct.pack("<Q", len(text)) + text)
