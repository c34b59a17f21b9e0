"""The log of a server: few lines of one kind, as text or JSON, and never what callers sent."""

import json
import logging
import time
from collections.abc import Callable
from typing import Any, Final

from nar.wire.settings import ServerConfig

# Lines of one kind that pass at once: enough to see a fault begin (chosen).
BURST_LINES: Final = 20
# Kinds of lines that are remembered (chosen); libraries may log lines that are never alike.
MAX_KINDS: Final = 1_000
# Fields that a line may have beside its message; no field can hold a payload.
FIELDS: Final = ("request_id", "trace_id", "method", "code", "peer", "seconds", "stages")

Kind = tuple[str, int, str, str]


class RateLimit(logging.Filter):
    """Passes a burst of lines of one kind, then a few a second, and counts the lines left out.

    Lines are of one kind if the same statement wrote them, of calls that ended with the same code:
    however many calls succeed, a call that failed has its line.

    Args:
        lines_per_s: Lines of one kind that pass after the burst.
        clock: Seconds that only grow.

    Example:
        >>> limit = RateLimit(1.0, clock=lambda: 0.0)
        >>> line = logging.makeLogRecord({"msg": "no message: %s", "args": ("x",)})
        >>> sum(limit.filter(line) for _ in range(1_000))
        20
    """

    def __init__(self, lines_per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._lines_per_s = lines_per_s
        self._clock = clock
        self._allowed: dict[Kind, tuple[float, float]] = {}
        self._left_out: dict[Kind, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line may be written; if so, it gets the number of lines left out before."""
        kind = (record.name, record.levelno, str(record.msg), getattr(record, "code", ""))
        if kind not in self._allowed and len(self._allowed) >= MAX_KINDS:
            self._allowed.clear()
            self._left_out.clear()
        now = self._clock()
        allowed, then = self._allowed.get(kind, (float(BURST_LINES), now))
        allowed = min(allowed + (now - then) * self._lines_per_s, BURST_LINES)
        passes = allowed >= 1
        self._allowed[kind] = (allowed - passes, now)
        if passes:
            record.left_out = self._left_out.pop(kind, 0)
        else:
            self._left_out[kind] = self._left_out.get(kind, 0) + 1
        return passes


class TextFormatter(logging.Formatter):
    """One line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level and message, then the fields, then what was left out."""
        fields = "".join(f" {name}={_text(value)}" for name, value in _fields(record).items())
        first, *traceback = super().format(record).split("\n")
        return "\n".join([first + fields, *traceback])


class JsonFormatter(logging.Formatter):
    """One JSON object a line, for programs."""

    def format(self, record: logging.LogRecord) -> str:
        """Seconds since 1970, level, logger, message, the fields, and the traceback of a fault."""
        line = {
            "time": round(record.created, 3),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
    left_out = getattr(record, "left_out", 0)
    return fields | ({"left_out": left_out} if left_out else {})


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}:{_text(each)}" for name, each in value.items()) or "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def log_to_stderr(config: ServerConfig) -> None:
    """Log from now on as the configuration says."""
    handler = logging.StreamHandler()
    handler.addFilter(RateLimit(config.log_lines_per_s))
    text = TextFormatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(JsonFormatter() if config.log_format == "json" else text)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
