"""What the service is told from outside. The only reader of the environment in this package."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from grader.errors import UsageError


def _split(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]


class Settings(BaseModel):
    """One value for each variable GRADER_<NAME IN CAPITALS>; docs/operations.md explains them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    data_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("grader")))
    database_url: str | None = None
    postgres_bin: Path | None = None
    sandbox: str = "local"
    worker_slots: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    retention_days: int = Field(default=0, ge=0, description="0 keeps everything")
    auth: Literal["auto", "on", "off"] = "auto"
    origins: Names = ()
    public_url: str | None = None
    frame_ancestors: Names = ()
    backlog: int = Field(default=10_000, ge=1)
    client_backlog: int = Field(default=1_000, ge=1)
    rate_per_second: float = Field(default=100.0, gt=0)
    rate_burst: int = Field(default=1_000, ge=1)
    claim_timeout_s: float = Field(default=20.0, gt=0.5, le=25.0)
    shutdown_s: float = Field(default=25.0, gt=0)
    callback_hosts: Names = ()
    callback_secret: str | None = Field(default=None, repr=False)
    callback_loopback: bool = False
    callback_backoff_s: float = Field(default=4.0, gt=0)

    @property
    def address(self) -> str:
        """Where a program of this machine reaches the API."""
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether only programs of this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def keys_needed(self) -> bool:
        """Whether each call must carry an API key or a token."""
        return self.auth == "on" or (self.auth == "auto" and not self.loopback)


def from_environment(environ: Mapping[str, str] | None = None) -> Settings:
    """Reads GRADER_* variables; empty ones count as unset. Raises UsageError naming the variable."""
    environ = os.environ if environ is None else environ
    found = {
        name: environ[f"GRADER_{name.upper()}"]
        for name in Settings.model_fields
        if environ.get(f"GRADER_{name.upper()}")
    }
    try:
        return Settings.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"GRADER_{str(first['loc'][0]).upper()}: {first['msg']}") from None
