"""Where Python lies: also below folders that only root may enter, and behind links."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SCRIPT = """
from tests.sandbox.running import run, values
from grader.sandbox.local import LocalSandbox
sandbox = LocalSandbox()
seen = run(sandbox, '''
def f(x):
    import sqlite3, decimal, torch.fft, numpy.linalg, torch.distributions, safetensors.numpy
    return x * 2
''')
sandbox.close()
print(values(seen.last) if seen.last.returned else seen)
"""


def may_mount() -> bool:
    """Whether this machine lets us have mounts of our own."""
    tool = shutil.which("unshare")
    return bool(
        os.geteuid() == 0
        and tool
        and subprocess.run([tool, "-m", "true"], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(not may_mount(), reason="needs root and a mount namespace, to show Python at another place")
@pytest.mark.parametrize("way", ["clone", "link"])
def test_below_a_folder_that_only_root_may_enter(tmp_path: Path, way: str) -> None:
    """Late imports work in a clone below a folder of mode 0700, with temporary files there too, also through a link."""
    locked = tmp_path / "locked"
    for folder in (locked, locked / "clone" / "venv", locked / "tmp"):
        folder.mkdir(parents=True)
    locked.chmod(0o700)
    (locked / "link").symlink_to("clone")
    shell = f'mount --bind "{sys.prefix}" "{locked}/clone/venv" && exec "{locked}/{way}/venv/bin/python" -c "$SCRIPT"'
    told = subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", shell],
        env={"PATH": os.environ["PATH"], "SCRIPT": SCRIPT, "TMPDIR": str(locked / "tmp"), "OMP_NUM_THREADS": "1"},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.stdout == "(2.0, 4.0, 6.0)\n", told.stderr
    assert list((locked / "tmp").iterdir()) == []
