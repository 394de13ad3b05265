"""Exceptions and warnings of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfbc import Diagnostic


class Error(Exception):
    """Base class of all exceptions of the package."""


class OpenError(Error, OSError):
    """A file cannot be read, or is not a trace. ``errno`` and ``filename`` are those of ``OSError``."""

    def __str__(self) -> str:
        return str(self.strerror)


class FormatError(Error):
    """Format files do not compile. ``diagnostics`` lists the problems."""

    def __init__(self, message: str, diagnostics: list[Diagnostic] | None = None) -> None:
        super().__init__(message)
        self.diagnostics: list[Diagnostic] = diagnostics or []


class PartError(Error):
    """A trace cannot be split, or a part does not fit the trace or the format files with which it is opened."""


class SpentError(Error):
    """A file object or pipe was read once, and cannot be read again."""


class LimitError(Error):
    """A limit was reached, for example of the size of a format file."""


class DamageError(Error):
    """The trace is damaged, and it was opened with ``strict=True``."""


class DamageWarning(UserWarning):
    """Parts of the trace could not be read as events."""


class FormatWarning(UserWarning):
    """Stanzas of format files were left out because of errors."""
