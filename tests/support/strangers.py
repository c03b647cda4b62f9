"""What this process would see if it were a user who owns nothing."""

from __future__ import annotations

import os
from collections.abc import Callable

NOBODY = 65534


def as_a_stranger(look: Callable[[], str]) -> str:
    """What `look` gives, or the text of what it raises, in a child with another uid. Only root can do this."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os.write(writing, look().encode())
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(pid, 0)
    with os.fdopen(reading, encoding="utf-8") as stream:
        return stream.read()
