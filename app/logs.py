"""Structured logs: JSON lines when nobody watches, plain lines on a terminal. Never sources, inputs or keys."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


def fields(record: logging.LogRecord) -> dict[str, object]:
    """What was given as `extra`."""
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps({**line, **fields(record)}, default=str)


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        more = " ".join(f"{name}={value}" for name, value in fields(record).items())
        line = f"{record.levelname.lower():8}{record.name}: {record.getMessage()} {more}".rstrip()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure() -> None:
    """Everything goes to stderr. Called once by each process's entry, never on import."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain() if sys.stderr.isatty() else _Json())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for chatty in ("procrastinate", "httpx", "httpcore", "psycopg.pool", "uvicorn.access", "sse_starlette"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
