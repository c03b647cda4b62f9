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


def shorten(record: logging.LogRecord) -> bool:
    """A database that is away is told in a line, also by libraries: a traceback says no more, every few seconds."""
    error = record.exc_info[1] if record.exc_info else None
    database = sys.modules.get("app.db.connect")  # who has not imported it does not meet its errors
    if error is None or database is None or not database.is_away(error):
        return True
    cause = next(iter(str(error.__cause__ or error).strip().splitlines()), type(error).__name__)
    record.msg, record.args, record.exc_info = f"{record.getMessage()}: the database is away: {cause}", (), None
    record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True


class Json(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps({**line, **fields(record)}, default=str)


class Plain(logging.Formatter):
    """For a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        more = " ".join(f"{name}={value}" for name, value in fields(record).items())
        line = f"{record.levelname.lower():8}{record.name}: {record.getMessage()} {more}".rstrip()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure() -> None:
    """Everything goes to stderr. Called once by each process's entry, never on import."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(shorten)
    handler.setFormatter(Plain() if sys.stderr.isatty() else Json())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for chatty in ("procrastinate", "httpx", "httpcore", "uvicorn.access", "sse_starlette"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # it tells of each of its tries to connect
