"""The examples of the chapter "Traces in Python"."""

import contextlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tfbc

CHAPTER = Path(__file__).parents[3] / "docs" / "python.md"
SAMPLES = Path(__file__).parents[2] / "samples"
FENCE = re.compile(r"^```(python|text)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def test_the_examples_print_what_the_chapter_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SAMPLES, tmp_path / "samples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = ""
    for kind, block in FENCE.findall(CHAPTER.read_text()):
        if kind == "text":
            assert printed == block
            printed = ""
        else:
            assert not printed, f"the chapter does not show {printed!r}"
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, str(CHAPTER), "exec"), names)
            printed = out.getvalue()
    assert not printed


def test_the_example_of_dask_yields_the_rows_of_the_trace(sample: Path) -> None:
    pytest.importorskip("dask")
    pl = pytest.importorskip("polars")
    block = re.findall(r"^```python,dask\n(.*?)^```\n", CHAPTER.read_text(), re.MULTILINE | re.DOTALL)[0]
    trace = tfbc.open(sample)
    names: dict[str, Any] = {"pl": pl, "tfbc": tfbc, "trace": trace}
    exec(compile(block.replace("64 << 20", "4096"), str(CHAPTER), "exec"), names)
    assert names["frame"].rows() == pl.DataFrame(trace.events()).rows()


def test_the_examples_are_typed(tmp_path: Path) -> None:
    blocks = [block for kind, block in FENCE.findall(CHAPTER.read_text()) if kind == "python"]
    path = tmp_path / "chapter.py"
    path.write_text("\n".join(blocks))
    command = [sys.executable, "-m", "mypy", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
