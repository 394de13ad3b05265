"""Examples of docstrings, and the types of the stubs."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import tfbc

HERE = Path(__file__).parent


def documented() -> list[object]:
    return [getattr(tfbc, name) for name in tfbc.__all__]


@pytest.mark.parametrize("item", documented(), ids=lambda item: str(getattr(item, "__name__", item)))
def test_docstrings_are_complete_and_their_examples_run(item: object, sample: Path) -> None:
    members = []
    if isinstance(item, type):
        members = [member for name, member in vars(item).items() if not name.startswith("_")]
    names = {"sample": sample}
    for part in [item, *members]:
        text = getattr(part, "__doc__", None)
        assert text, f"{part} has no docstring"
        test = doctest.DocTestParser().get_doctest(text, names, str(part), None, None)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
        runner.run(test)
        assert runner.summarize(verbose=False).failed == 0


def test_the_stubs_agree_with_the_package() -> None:
    options = ["--allowlist", "tests/stubtest.txt", "--ignore-unused-allowlist", "--mypy-config-file", "pyproject.toml"]
    command = [sys.executable, "-m", "mypy.stubtest", "tfbc", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tests_are_typed() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "tests"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parent)
    assert done.returncode == 0, done.stdout + done.stderr
