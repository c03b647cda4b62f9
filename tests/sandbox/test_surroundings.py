"""What a submission finds around it, and what is shown of what it prints."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.records import Outcome
from grader.sandbox.base import Sandbox
from grader.sandbox.guest.walls import seccomp
from tests.sandbox.running import DOUBLE, LIMITS, PRELUDE, run, values

NUMBERS = seccomp.machine()[1]
BODY = PRELUDE + "def f(x):\n    "


def test_late_imports(box: Sandbox) -> None:
    """All of Python, numpy and torch can be imported while the function runs."""
    source = """
def f(x):
    import sqlite3, decimal, torch.fft, numpy.linalg, numpy.random, fractions, statistics, json, xml.dom.minidom
    import torch.nn.utils.parametrize, torch.func, torch.distributions, concurrent.futures, multiprocessing, unittest
    sqlite3.connect(':memory:').execute('select 1')
    return torch.fft.irfft(torch.fft.rfft(x), n=3) * 2
"""
    seen = run(box, source)

    assert seen.last.outcome is Outcome.RETURNED, seen
    assert values(seen.last) == pytest.approx((2, 4, 6))


def test_descriptors_and_environment(box: Sandbox) -> None:
    """A child has descriptors 0 to 4 and an environment that says nothing of this machine or its user."""
    source = f"""{PRELUDE}
def is_open(descriptor):
    try:
        return bool(os.fstat(descriptor))
    except OSError:
        return False
print([descriptor for descriptor in range(256) if is_open(descriptor)])
print(os.read(0, 1))
print(sorted(os.environ))
print(os.environ['HOME'] == os.environ['TMPDIR'] == os.getcwd(), os.listdir())
print([name for name, value in os.environ.items() if 'root' in value or 'GRADER' in name])
print(os.getgroups(), os.getuid() != 0, os.getpid() == os.getsid(0))
{DOUBLE}"""
    lines = run(box, source).end.stdout.splitlines()

    assert lines[0] == "[0, 1, 2, 3, 4]"
    assert lines[1] == "b''"
    assert set(eval(lines[2])) <= {
        *("PATH", "LANG", "HOME", "TMPDIR", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
        *("TORCHDYNAMO_DISABLE", "PYTORCH_NVML_BASED_CUDA_CHECK", "LC_CTYPE", "TORCHINDUCTOR_CACHE_DIR"),
        *("TZ", "PYTHONHASHSEED"),
        *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HOSTNAME"),  # the container's, as uname tells it
    }
    assert lines[3:] == ["True []", "[]", "[] True True"]


@pytest.mark.single
def test_working_folder(box: Sandbox) -> None:
    """Files can be made and read back in the working folder; the next submission finds none of them."""
    told = run(box, f"open('a', 'w').write('x' * 99)\nprint(len(open('a').read()))\n{DOUBLE}").end.stdout
    after = run(box, f"import os\nprint(os.listdir(), os.listdir(os.environ['TMPDIR']))\n{DOUBLE}").end.stdout

    assert told == "99\n"
    assert after == "[] []\n"


def test_working_folder_is_limited(box: Sandbox) -> None:
    """More than the limit can't be written, in one file or in many; a file that is as large ends nothing by itself."""
    limits = replace(LIMITS, file_bytes=1 << 20)
    write_and_wait = "import time\ntry: open('a', 'wb').write(bytes(2 << 20))\nfinally: time.sleep(0.2)"
    one = run(box, f"{write_and_wait}\n{DOUBLE}", limits=limits)
    many = run(
        box,
        f"import time\nfor i in range(99):\n    open(str(i), 'wb').write(bytes(1 << 16))\ntime.sleep(1)\n{DOUBLE}",
        limits=limits,
    )

    assert one.last.outcome is Outcome.RAISED
    assert many.last.outcome in {Outcome.RAISED, Outcome.OUTPUT_LIMIT}


def test_space_beyond_a_files_size_is_refused(box: Sandbox) -> None:
    """No limit on file sizes would see it."""
    keep_size = f"syscall({NUMBERS['fallocate']}, os.open('a', os.O_CREAT | os.O_RDWR), 1, 0, 1 << 20)"
    seen = run(box, f"{PRELUDE}print({keep_size}, os.stat('a').st_blocks)\n{DOUBLE}")

    assert seen.end.stdout == "ENOTSUP 0\n"  # EOPNOTSUPP by its other name


def test_output_is_shown_until_the_first_hidden_call(box: Sandbox) -> None:
    """What is printed while loading and in public calls is kept, what comes in hidden ones is not."""
    source = "print('load')\ndef f(x):\n    print('call', int(x[0]))\n    return x"
    seen = run(box, source, 4, hidden_from=2)

    assert seen.end.stdout == "load\ncall 1\ncall 2\n"


def test_long_output_says_that_it_was_cut(box: Sandbox) -> None:
    """Of long output the beginning is kept, with a flag; invalid UTF-8 is replaced."""
    seen = run(box, f"import os\nos.write(1, b'a\\xff' * 50_000)\n{DOUBLE}")

    assert seen.last.outcome is Outcome.RETURNED
    assert seen.end.output_truncated
    assert seen.end.stdout.startswith("a\ufffda")


def test_closed_output(box: Sandbox) -> None:
    """A submission that closes its stdout and stderr can still be right."""
    seen = run(box, f"import sys, os\nsys.stdout.close()\nsys.stderr = None\nos.close(2)\n{DOUBLE}", 2)

    assert set(seen.outcomes) == {Outcome.RETURNED}
