"""Paths of the samples, and a folder of traces."""

from pathlib import Path

import pytest

from dataset import write_dataset

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture
def sample() -> Path:
    """An AIX trace."""
    return SAMPLES / "shell.trc"


@pytest.fixture
def log() -> Path:
    """A QNX kernel log."""
    return SAMPLES / "user.kev"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of logs of both systems, with damaged and empty ones."""
    return write_dataset(tmp_path_factory.mktemp("dataset"))
