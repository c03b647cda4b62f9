"""What a submission finds in its process is what a Python that was just started has, on every day and machine."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest
import torch

from grader.records import Outcome
from grader.sandbox.base import Sandbox
from grader.sandbox.guest import fresh
from tests.sandbox.conftest import REPOSITORY
from tests.sandbox.running import DOUBLE, run

IMPORTS = """
import asyncio, contextvars, datetime, decimal, faulthandler, gc, inspect, linecache, locale, logging, multiprocessing
import os, random, signal, sys, tempfile, threading, time, warnings
import numpy as np
import torch
"""
# in the child, and what it must be
FOUND = {
    "folder for temporary files": ("tempfile.gettempdir() == os.getcwd() == os.environ['TMPDIR']", True),
    "a temporary file": ("tempfile.NamedTemporaryFile().write(b'x')", 1),
    "a temporary folder": ("tempfile.TemporaryDirectory().cleanup()", None),
    "command line": ("(sys.argv, sys.orig_argv[1:])", (["submission.py"], ["submission.py"])),
    "__main__": ("[k for k in vars(sys.modules['__main__']) if not k.startswith('__')]", []),
    "__main__'s file": ("hasattr(sys.modules['__main__'], '__file__')", False),
    "the module itself": ("(__name__, sys.modules['submission'].__dict__ is globals())", ("submission", True)),
    "finders": ("[f for f in (*sys.meta_path, *sys.path_hooks) if 'editable' in str(f.__module__)]", []),
    "paths": (
        f"[p for p in (*sys.path, *sys.path_importer_cache) if p.startswith({REPOSITORY!r}) and '-packages' not in p]",
        [],
    ),
    "sources": ("[name for name in linecache.cache if name != 'submission.py']", []),
    "files of modules": ("[name for name in inspect.modulesbyfile.values() if 'grader' in name]", []),
    "locale": ("(locale.setlocale(locale.LC_NUMERIC), locale.setlocale(locale.LC_CTYPE))", ("C", "C.UTF-8")),
    "encodings": ("{sys.stdout.encoding, sys.getfilesystemencoding(), locale.getpreferredencoding()}", {"utf-8"}),
    "time zone": (
        "(os.environ['TZ'], time.tzname, datetime.datetime.fromtimestamp(0).hour)",
        ("UTC", ("UTC", "UTC"), 0),
    ),
    "warnings": ("[f for f in warnings.filters if f[0] in ('error', 'module')] + list(warnings.onceregistry)", []),
    "signals": ("signal.getsignal(signal.SIGINT) is signal.default_int_handler", True),
    "other signals": (
        "sorted(s.name for s in signal.Signals if signal.getsignal(s) not in (signal.SIG_DFL, None))",
        ["SIGINT", "SIGPIPE", "SIGXFSZ"],  # as Python sets them
    ),
    "signal mask": ("(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.set_wakeup_fd(-1))", (set(), -1)),
    "logging": ("(logging.root.handlers, logging.root.level, logging.root.manager.disable)", ([], 30, 0)),
    "threads": ("(threading.active_count(), threading.main_thread() is threading.current_thread())", (1, True)),
    "main thread": ("threading.main_thread().ident == threading.get_ident()", True),
    "garbage collector": ("(gc.isenabled(), gc.get_debug(), gc.callbacks, gc.garbage)", (True, 0, [], [])),
    "umask": ("os.umask(0o77)", 0o77),
    "working folder": ("(os.listdir(), os.environ['HOME'] == os.getcwd())", ([], True)),
    "standard input": ("(sys.stdin.read(), sys.stdin.isatty())", ("", False)),
    "hooks": ("(sys.gettrace(), sys.getprofile(), sys.excepthook is sys.__excepthook__)", (None, None, True)),
    "recursion": ("sys.getrecursionlimit()", 1000),
    "faulthandler": ("faulthandler.is_enabled()", False),
    "contexts": ("(list(contextvars.copy_context()), decimal.getcontext().prec)", ([], 28)),
    "event loop": ("asyncio._get_running_loop()", None),
    "processes": ("(multiprocessing.current_process().name, multiprocessing.active_children())", ("MainProcess", [])),
    "torch's dtype and device": (
        "(str(torch.get_default_dtype()), str(torch.get_default_device()))",
        ("torch.float32", "cpu"),
    ),
    "torch's threads": ("torch.get_num_threads()", 1),
    "torch's gradients": ("(torch.is_grad_enabled(), torch.is_inference_mode_enabled())", (True, False)),
    "torch's checks": ("(torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled())", (False, False)),
    "torch's modes": ("(torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack())", (0, 0)),
    "torch's autocast": ("(torch.is_autocast_enabled('cpu'), torch.is_autocast_enabled('cuda'))", (False, False)),
    "NumPy's errors": ("(np.geterr()['over'], np.get_printoptions()['precision'])", ("warn", 8)),
}


@pytest.fixture(scope="session")
def found(box: Sandbox) -> dict[str, object]:
    """All of it, from one submission."""
    lines = [f"print(repr({expression}))" for expression, _expected in FOUND.values()]
    seen = run(box, "\n".join([IMPORTS, *lines, DOUBLE]))
    assert seen.last.outcome is Outcome.RETURNED, seen
    return dict(zip(FOUND, map(eval, seen.end.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("what", FOUND)
def test_found(found: dict[str, object], what: str) -> None:
    """As in a process that was just started."""
    assert found[what] == FOUND[what][1]


def test_chance_is_fixed(box: Sandbox) -> None:
    """Generators start from the same seed in every submission, also after some that drew from them."""
    source = f"{IMPORTS}print([random.random(), np.random.rand(), torch.rand(1).item(), hash('a')])\n{DOUBLE}"
    told = {run(box, source).end.stdout for _ in range(3)}
    hashed = subprocess.run(
        [sys.executable, "-c", "print(hash('a'))"], env={"PYTHONHASHSEED": "0"}, capture_output=True, check=True
    )
    torchs = torch.rand(1, generator=torch.Generator().manual_seed(fresh.SEED)).item()
    numbers = [random.Random(fresh.SEED).random(), np.random.RandomState(fresh.SEED).rand(), torchs, int(hashed.stdout)]

    assert [eval(text) for text in told] == [numbers]


def test_chance_can_be_had(box: Sandbox) -> None:
    """Whoever asks the system for it gets chance."""
    asked = "(os.urandom(8), random.SystemRandom().random(), np.random.default_rng().random(), torch.seed())"
    first, second = (eval(run(box, f"{IMPORTS}print({asked})\n{DOUBLE}").end.stdout) for _ in range(2))

    assert all(one != other for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("warn", "told"),
    [
        ("import warnings; warnings.warn('mine', UserWarning)", "UserWarning: mine"),
        ("torch.ones(3).T", "deprecated"),  # of those that torch gives once in a process
    ],
)
def test_warnings_come_each_time(box: Sandbox, warn: str, told: str) -> None:
    """What an earlier submission was warned of is told to the next one too."""
    source = f"import torch\n{warn}\n{DOUBLE}"

    assert all(told in run(box, source).end.stderr for _ in range(2))


def test_an_interrupt_is_an_exception(box: Sandbox) -> None:
    """Interrupts are not ignored."""
    source = (
        "import signal\ndef f(x):\n    try: signal.raise_signal(signal.SIGINT)\n    except KeyboardInterrupt: return x"
    )

    assert run(box, source).last.outcome is Outcome.RETURNED


def test_nothing_is_run_at_the_end(box: Sandbox) -> None:
    """What is registered for the end of the process never runs."""
    assert run(box, f"import atexit\natexit.register(print, 'late')\n{DOUBLE}").end.stdout == ""


@pytest.mark.parametrize(
    "make", ["os.mkdir('a')", "os.makedirs('a/b/c')", "tempfile.mkdtemp()", "os.mkdir('a', 0o711)"]
)
def test_folders_are_no_limit(box: Sandbox, make: str) -> None:
    """A submission may make folders, and files in them, also while it is looked at."""
    write = (
        "os.chdir(max((path for path, _folders, _files in os.walk('.')), key=len)); open('f', 'w').write('x' * 9999)"
    )
    seen = run(box, f"import os, tempfile, time\n{make}\n{write}\ntime.sleep(0.1)\n{DOUBLE}", 2)

    assert set(seen.outcomes) == {Outcome.RETURNED}, seen


def test_files_in_folders_count(box: Sandbox) -> None:
    """What lies in a folder that is only its owner's is limited all the same."""
    write = "import os, time\nos.mkdir('a', 0o700)\nfor i in range(99): open(f'a/{i}', 'wb').write(bytes(1 << 20))"
    seen = run(box, f"{write}\ntime.sleep(2)\n{DOUBLE}")

    assert seen.last.outcome in {Outcome.RAISED, Outcome.OUTPUT_LIMIT}, seen
