"""Paths of the samples."""

from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture
def sample() -> Path:
    """An AIX trace."""
    return SAMPLES / "shell.trc"


@pytest.fixture
def log() -> Path:
    """A QNX kernel log."""
    return SAMPLES / "user.kev"
