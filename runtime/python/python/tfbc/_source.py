"""Format files in memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A format file in memory. Messages call it ``name``."""

    text: str | bytes
    name: str
