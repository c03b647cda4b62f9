"""What a submission finds in its process: a Python that has just been started, and nothing of the zygote's past.

A fork remembers whatever its parent did. What names us or this machine is forgotten in the zygote, once; what belongs
to one run is set in its child. Every submission starts from the same state: so the generators of `random`, NumPy and
torch all start from `SEED`, the order of a set of strings is always the same (`PYTHONHASHSEED`, see `local`), and the
clock shows UTC. Who wants chance asks the system for it.
"""

from __future__ import annotations

import gc
import inspect
import linecache
import os
import random
import signal
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grader.sandbox.guest.walls import confine

FILE = "submission.py"
SEED = 0


def forget(environment: set[str]) -> None:
    """In the zygote, when everything is imported and rehearsed. environment: the names that it had to begin with."""
    _forget_paths()
    sys.argv[:] = [FILE]
    sys.orig_argv[:] = [sys.executable, FILE]
    for name in set(os.environ) - environment:  # torch adds some that name our user
        del os.environ[name]
    os.environ.update(PATH="/usr/bin:/bin", LANG="C.UTF-8", TZ="UTC")
    time.tzset()
    sys.modules["__main__"] = sys.modules["__mp_main__"] = types.ModuleType("__main__")
    linecache.clearcache()
    for cache in (inspect.modulesbyfile, inspect._filesbymodname):  # type: ignore[attr-defined]
        cache.clear()
    gc.collect()
    gc.freeze()  # what was imported is no work for the garbage collector


def _forget_paths() -> None:
    """The engine's own folder is nothing to find on a submission's path, nor by the finder of an editable install."""
    known = confine.python_folders()

    def is_known(path: str) -> bool:
        return any(Path(path).is_relative_to(folder) for folder in known)

    sys.path[:] = filter(is_known, sys.path)
    for path in list(sys.path_importer_cache):
        if not is_known(path):
            del sys.path_importer_cache[path]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not _is_editable(finder)]
    sys.path_hooks[:] = [hook for hook in sys.path_hooks if not _is_editable(hook)]
    for name in [name for name in sys.modules if name.startswith("__editable__")]:
        del sys.modules[name]


def _is_editable(finder: Any) -> bool:
    return str(getattr(finder, "__module__", "")).startswith("__editable__")


def start(folder: str) -> None:
    """In a child, before it is confined: its folder is the only one, and interrupts raise KeyboardInterrupt."""
    os.environ["HOME"] = os.environ["TMPDIR"] = folder
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.default_int_handler)


def seed(device: str) -> None:
    """In a child, right before the submission is loaded: what was rehearsed may have drawn numbers."""
    random.seed(SEED)
    np.random.seed(SEED)
    torch.default_generator.manual_seed(SEED)
    if device != "cpu":
        torch.cuda.manual_seed_all(SEED)
