"""Reads AIX traces and QNX kernel logs with the vendors' own templates."""

from tfbc._errors import (
    DamageError,
    DamageWarning,
    Error,
    FormatError,
    FormatWarning,
    LimitError,
    OpenError,
    SpentError,
)
from tfbc._native import (
    Diagnostic,
    Event,
    EventIterator,
    Field,
    Formats,
    Trace,
    check,
    compile,
    open,
)
from tfbc._source import Source

__all__ = [
    "DamageError",
    "DamageWarning",
    "Diagnostic",
    "Error",
    "Event",
    "EventIterator",
    "Field",
    "FormatError",
    "FormatWarning",
    "Formats",
    "LimitError",
    "OpenError",
    "Source",
    "SpentError",
    "Trace",
    "check",
    "compile",
    "open",
]
