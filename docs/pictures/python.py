#!/usr/bin/env python3
"""Draws docs/pictures/python.svg: a session with the package tfbc, from its real output.

    docs/pictures/python.py           writes the picture
    docs/pictures/python.py --check   fails if the picture is out of date

Needs the packages tfbc and polars. The form of the table is that of polars 2; another release is not checked.
"""

import contextlib
import io
import os
import sys
from pathlib import Path

import polars
from terminal import ROOT, drawn

PICTURE = Path(__file__).with_suffix(".svg")
SESSION = """
import polars, tfbc
trace = tfbc.open("samples/shell.trc")
call = next(event for event in trace if event.id == "104")
call.process, call.text, call["timer"]
events = polars.DataFrame(trace.events(columns=["elapsed_ns", "process", "id"]))
print(events.group_by("process").len().sort("len", "process", descending=True).head(4))
"""


def rows():
    """Returns (style, text) pairs per line of the session."""
    names, lines = {}, []
    for line in SESSION.strip().splitlines():
        lines.append([("prompt", ">>> "), ("bold", line)])
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(line, "<session>", "single"), names)
        lines += [[("", text)] for text in out.getvalue().splitlines()]
    return lines


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    if sys.argv[1:] and not polars.__version__.startswith("2."):
        print(f"docs/pictures/python.svg is not checked: polars is {polars.__version__}")
        return
    os.chdir(ROOT / "runtime")
    polars.Config.set_tbl_formatting("ASCII_FULL_CONDENSED")
    picture = drawn(rows())
    if not sys.argv[1:]:
        PICTURE.write_text(picture)
    elif not PICTURE.exists() or PICTURE.read_text() != picture:
        sys.exit(f"{PICTURE.relative_to(ROOT)} is out of date: run docs/pictures/python.py")


main()
