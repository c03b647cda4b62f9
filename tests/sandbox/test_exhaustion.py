"""Ways to use more than is allowed, and things planted to harm whoever cleans up."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from grader.records import Limits, Outcome
from grader.sandbox.base import Sandbox
from grader.sandbox.guest.walls import folders, seccomp
from tests.sandbox.conftest import NOBODY, as_nobody
from tests.sandbox.running import DOUBLE, LIMITS, PRELUDE, alone, run

NUMBERS = seccomp.machine()[1]
SMALL = Limits(wall_s=8, cpu_s=6, memory_bytes=128 << 20, file_bytes=1 << 20)

# ---------------------------------------------------------------- memory


@pytest.mark.parametrize(
    "hog",
    [
        "[bytearray(8 << 20) for _ in range(99)]",
        "[torch.ones(1 << 21) for _ in range(99)]",
        "'x' * (1 << 30)",
        "list(range(1 << 26))",
    ],
)
def test_memory(box: Sandbox, hog: str) -> None:
    """However memory is taken, the run ends for memory."""
    source = f"""{PRELUDE}
def f(x):
    kept = {hog}
    time.sleep(0.3)
    return x
"""
    assert run(box, source, limits=SMALL).last.outcome is Outcome.MEMORY_LIMIT


def test_memory_by_mapping(box: Sandbox) -> None:
    """Private mappings that can be written count, whoever makes them, also when they become writable later."""
    source = f"""{PRELUDE}
libc.mmap.restype = ctypes.c_void_p
size = ctypes.c_size_t(8 << 20)
def f(x):
    made = [libc.mmap(None, size, 3, 0x22, -1, ctypes.c_long(0)) for _ in range(99)]
    later = [libc.mmap(None, size, 1, 0x22, -1, ctypes.c_long(0)) for _ in range(99)]
    changed = [libc.mprotect(ctypes.c_void_p(address), size, 3) for address in later]
    print(made.count(ctypes.c_void_p(-1).value) > 50, later.count(ctypes.c_void_p(-1).value), changed.count(-1) > 50)
    return x
"""
    assert run(box, source, limits=SMALL).end.stdout == "True 0 True\n"


def test_memory_by_page_tables(box: Sandbox) -> None:
    """Page tables count: address space that is only read costs memory too."""
    source = f"""{PRELUDE}
libc.mmap.restype = ctypes.c_void_p
def f(x):
    size = 1 << 46
    start = libc.mmap(None, ctypes.c_size_t(size), 1, 0x4022, -1, ctypes.c_long(0))
    for offset in range(0, size, 1 << 21):
        ctypes.c_char.from_address(start + offset).value
"""
    for _ in range(3):
        assert run(box, source, limits=SMALL).last.outcome is Outcome.MEMORY_LIMIT
        assert set(run(box, DOUBLE).outcomes) == {Outcome.RETURNED}, "the kernel may kill a waiting child too"


@pytest.mark.parametrize(
    "way",
    [
        "mmap.mmap(-1, 1 << 20)",
        "mmap.mmap(os.open('/dev/zero', os.O_RDONLY), 1 << 20, mmap.MAP_SHARED, 1)",
        "os.memfd_create('x')",
        "os.open('/dev/shm/x', os.O_CREAT | os.O_RDWR)",
    ],
)
def test_no_memory_out_of_sight(box: Sandbox, way: str) -> None:
    """Memory that stays when its pages leave the process can't be had."""
    source = f"{PRELUDE}try:\n    {way}\nexcept OSError as error:\n    print(errno.errorcode[error.errno])\n{DOUBLE}"

    assert run(box, source).end.stdout in {"EPERM\n", "EACCES\n", "ENOENT\n"}  # a container has no /dev/shm


# ---------------------------------------------------------------- output


@pytest.mark.parametrize(
    "flood",
    [
        "os.fork() or [os.write(1, bytes(9999)) for _ in range(9999)]; time.sleep(9)",
        "threading.Thread(target=lambda: [os.write(2, bytes(9999)) for _ in range(9999)]).start(); time.sleep(9)",
        "sys.stdout.write('\\x1b[2J\\0' * (1 << 20))",
    ],
)
def test_output_of_all(box: Sandbox, flood: str) -> None:
    """What children and threads print counts."""
    assert run(box, f"{PRELUDE}def f(x):\n    {flood}\n    return x").last.outcome is Outcome.OUTPUT_LIMIT


def test_a_flood_in_a_hidden_call(box: Sandbox) -> None:
    """The limit on output also holds where nothing is shown."""
    seen = run(box, f"{PRELUDE}def f(x):\n    print('y' * (2 << 20))", hidden_from=0)

    assert (seen.last.outcome, seen.end.stdout) == (Outcome.OUTPUT_LIMIT, "")


# ---------------------------------------------------------------- descriptors, files


def test_descriptors(box: Sandbox) -> None:
    """One descriptor too many fails with its error, and no more than that."""
    source = """
import os
def f(x):
    try:
        while True: os.open('/dev/null', os.O_RDONLY)
    except OSError as error:
        print(error.strerror)
    os.closerange(5, 9999)
    return x
"""
    seen = run(box, source)

    assert (seen.last.outcome, seen.end.stdout) == (Outcome.RETURNED, "Too many open files\n")


@pytest.mark.parametrize(
    ("act", "told"),
    [
        ("kept = [os.open('/dev/null', os.O_RDONLY) for _ in range({})]", "open files: 256 are allowed"),
        ("open('a', 'wb').write(bytes({} << 12))", "files: 1 MiB are allowed"),
    ],
)
def test_a_limit_that_ended_a_call_is_told(box: Sandbox, act: str, told: str) -> None:
    """Descriptors and file sizes at whose limit the code gave up are named; if it did not come that far, nothing is."""
    seen, modest = (
        run(box, f"import os\ndef f(x):\n    {act.format(number)}\n    return x", limits=SMALL) for number in (999, 9)
    )

    assert seen.last.outcome is Outcome.RAISED, seen
    assert any(told in text for text in seen.end.reached), seen
    assert (modest.last.outcome, modest.end.reached) == (Outcome.RETURNED, ()), modest


PLANTS = {
    "deep": "for _ in range(2000):\n    os.mkdir('d' * 9); os.chdir('d' * 9)",
    "deep with files": "for _ in range(500):\n    os.mkdir('d' * 200); os.chdir('d' * 200); open('f', 'w').write('x')",
    "locked": "os.mkdir('a'); open('a/f', 'w'); os.mkdir('a/b', 0); os.mkdir('c', 0o300); open('c/f', 'w')",
    "links": "[os.symlink(p, str(i)) for i, p in enumerate(('/', '/etc', '..', '.', 'x' * 999, '/proc/1/root'))]",
    "names": "[open(n, 'w') for n in (b'\\xff\\n', b'x' * 255, b'-rf', b'* ?', b'\\x1b[31m')]",
    "many": "[open(str(i), 'w') for i in range(900)]",
    "hard links": "open('a', 'w'); [os.link('a', f'b{i}') for i in range(400)]",
    "held open": "for i in range(200): open(f'f{i}', 'w').write('x'); os.unlink(f'f{i}')",
    "working folder gone": "os.mkdir('x'); os.chdir('x'); os.rmdir('../x')",
}


@pytest.mark.parametrize("name", PLANTS)
def test_planted(box: Sandbox, name: str) -> None:
    """Whatever is planted in the working folder, it is gone for the next submission, and the sandbox is not harmed."""
    limits = replace(LIMITS, file_bytes=16 << 20)
    for _ in range(2):
        source = f"{PRELUDE}try:\n    exec({PLANTS[name]!r})\nexcept OSError as error:\n    print(error)\n{DOUBLE}"
        seen = run(box, source, limits=limits)
        assert seen.last.outcome in {Outcome.RETURNED, Outcome.OUTPUT_LIMIT}, seen
    after = run(box, f"import os\nprint(os.listdir())\n{DOUBLE}")

    assert (after.last.outcome, after.end.stdout) == (Outcome.RETURNED, "[]\n")


@pytest.mark.parametrize(
    "write",
    [
        alone("for i in range(99): open(str(i), 'wb').write(bytes(1 << 16))"),
        "for i in range(99999): os.mkdir(str(i))",
        "for i in range(9999): os.mkdir('d' * 200); os.chdir('d' * 200)",
        "os.mkdir('a', 0o300); [open(f'a/{i}', 'wb').write(bytes(1 << 16)) for i in range(99)]",
    ],
    ids=["files", "folders", "deep", "locked"],
)
def test_files_beyond_the_limit(box: Sandbox, write: str) -> None:
    """Files that are many, deep or hidden are limited as one large file is."""
    source = f"{PRELUDE}def f(x):\n    {write}\n    time.sleep(2)\n    return x"
    seen = run(box, source, limits=SMALL)

    assert seen.last.outcome in {Outcome.OUTPUT_LIMIT, Outcome.RAISED}, seen


# ---------------------------------------------------------------- the folder seen from outside


def test_folder_is_measured_and_emptied(tmp_path: Path) -> None:
    """Deep, locked and oddly named folders are measured up to what is enough, and removed entirely."""
    folder = tmp_path / "work"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d" * 50, dir_fd=here)
        inner = os.open("d" * 50, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    (folder / "link").symlink_to("/")
    (folder / "locked").mkdir(mode=0)
    (folder / "d").mkdir()
    (folder / "d" / "x").mkdir(mode=0)

    assert folders.used_bytes(folder, 1 << 40) >= 1200 * 4096
    assert folders.used_bytes(folder, 4096) < 1200 * 4096
    folders.remove(folder, os.geteuid())
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, to become an ordinary user")
def test_folder_of_an_ordinary_user(tmp_path: Path) -> None:
    """Without root's rights a locked folder counts as full, and is removed too."""
    folder = tmp_path / "work"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and not parent.stat().st_mode & 1 and parent.is_relative_to("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o777)
    script = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(Path(folders.__file__).parents[4])!r})
from grader.sandbox.guest.walls import folders
work = Path({str(folder)!r})
(work / 'locked').mkdir(mode=0o300)
(work / 'locked' / 'file').write_text('x')
(work / 'a').mkdir()
(work / 'a' / 'b').mkdir(mode=0)
print(folders.used_bytes(work, 1 << 20) > 1 << 20)
folders.empty(work)
print(list(work.iterdir()))
"""
    told = subprocess.run([*as_nobody(), sys.executable, "-c", script], capture_output=True, text=True, check=False)
    if "Permission" in told.stderr or "No module" in told.stderr:
        pytest.skip("an ordinary user may not read this checkout")

    assert told.stdout == "True\n[]\n", told.stderr


WITHOUT_RIGHTS = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
OWNERS = """
import ctypes, os, sys
from pathlib import Path
from grader.sandbox.guest.walls import confine, folders
confine.die_with(os.getppid())
work, owner = Path(sys.argv[1]), int(sys.argv[2])
print(folders.used_bytes(work, 1 << 20) > 1 << 20, 1 << 16 < folders.used_bytes(work, 1 << 20, owner) < 1 << 20)
signal, ourselves = ctypes.c_int(), os.open(work.parent / "ours", os.O_CREAT)
ctypes.CDLL(None).prctl(2, ctypes.byref(signal), 0, 0, 0)
print(signal.value, os.fstat(ourselves).st_uid)
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, to drop some of its rights")
def test_folder_is_measured_with_its_owners_rights(tmp_path: Path) -> None:
    """A root that may not pass by modes, as in a container, measures a folder that is open to its owner alone.

    Afterwards it has its own rights again, and still dies with its parent.
    """
    folder = tmp_path / "work"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "file").write_bytes(bytes(1 << 16))
    folder.chmod(0o777)
    (folder / "a").chmod(0o700)
    for path in (folder / "a", folder / "a" / "file"):
        os.chown(path, NOBODY, NOBODY)
    command = [*WITHOUT_RIGHTS, sys.executable, "-c", OWNERS, str(folder), str(NOBODY)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)

    assert told.stdout.split() == ["True", "True", "9", "0"], told.stderr
