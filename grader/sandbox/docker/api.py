"""The way to the Docker Engine: connected when it is first needed, and after trouble; its failures as our errors."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import docker  # type: ignore[import-untyped]
from docker.errors import APIError, DockerException, ImageNotFound  # type: ignore[import-untyped]
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from grader.errors import SandboxFailed


class EngineAway(SandboxFailed):
    """No engine answered, or none in time: whether it did what it was asked for can't be known."""


class EngineApi:
    """The engine that the environment names (DOCKER_HOST); no call takes longer than `timeout_s`."""

    def __init__(self, image: str, timeout_s: float) -> None:
        self._image = image
        self.timeout_s = timeout_s
        self._lock = threading.Lock()
        self._client: Any = None

    @contextlib.contextmanager
    def to(self, what: str) -> Iterator[Any]:
        """The SDK's low-level client; every way in which it can fail is SandboxFailed, in one sentence."""
        try:
            yield self._connected()
        except ImageNotFound as error:
            raise SandboxFailed(f"no image {self._image} here: `make images` builds it") from error
        except APIError as error:
            reason = _one_line(error.explanation or error)
            raise SandboxFailed(f"the Docker Engine could not {what}: {reason}") from error
        except (DockerException, RequestException, HTTPError, OSError) as error:
            self.forget()
            raise EngineAway(f"no Docker Engine answered, to {what}: {_reason(error)}") from error

    def _connected(self) -> Any:
        """Connecting may take long, so nobody has to wait for whoever does."""
        client = self._client
        if client is None:
            client = docker.from_env(timeout=self.timeout_s)
            with self._lock:
                unneeded, self._client = self._client, client
            if unneeded is not None:
                unneeded.close()
        return client.api

    def forget(self) -> None:
        """Lets go of the connection."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()


def _reason(error: BaseException) -> str:
    """The innermost words: the SDK wraps a refused connection four times."""
    while error.__context__ is not None or (error.args and isinstance(error.args[0], BaseException)):
        inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error.__context__
        assert inner is not None
        error = inner
    return _one_line(error)


def _one_line(words: object) -> str:
    return " ".join(str(words).split())[:300]
