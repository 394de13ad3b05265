"""Paths of the samples."""

from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture
def sample() -> Path:
    """A trace of AIX."""
    return SAMPLES / "shell.trc"


@pytest.fixture
def log() -> Path:
    """A kernel log of QNX."""
    return SAMPLES / "user.kev"
