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
    Batch,
    BatchIterator,
    Diagnostic,
    Event,
    EventIterator,
    Field,
    Formats,
    Schema,
    Table,
    Trace,
    check,
    compile,
    open,
)
from tfbc._source import Source

__all__ = [
    "Batch",
    "BatchIterator",
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
    "Schema",
    "Source",
    "SpentError",
    "Table",
    "Trace",
    "check",
    "compile",
    "open",
]
