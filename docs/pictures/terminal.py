#!/usr/bin/env python3
"""Draws pictures of commands on a terminal, from their real output: docs/pictures/report.svg and others.

    docs/pictures/terminal.py           writes the pictures
    docs/pictures/terminal.py --check   fails if a picture is out of date

TFBC names the program; without it, the newest one in Cargo's target directory is used.
"""

import os
import re
import subprocess
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRACE = "runtime/samples/shell.trc"
# Commands by the name of their picture.
COMMANDS = {
    "report": ["report", TRACE],
    "summary": ["summary", "--plot", "--sections", "process", "--top", "4", TRACE],
    "latency": ["latency", "--pair", "svc", "--plot", "--top", "1", TRACE],
    "curt": ["curt", "-i", TRACE],
}
LINES, COLUMNS = 24, 112
CELL_WIDTH, LINE_HEIGHT, MARGIN = 7.8, 18, 16
MARK = re.compile(r"\x1b\[([0-9;]*)m")


def program():
    """Returns the path of `tfbc`."""
    if "TFBC" in os.environ:
        return os.environ["TFBC"]
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    built = [path for path in (target / "release/tfbc", target / "debug/tfbc") if path.exists()]
    if not built:
        sys.exit("there is no tfbc yet: run `cargo build -p tfbc-cli` first, or set TFBC")
    return str(max(built, key=lambda path: path.stat().st_mtime))


def output(command):
    """Returns the first lines that a command prints, with colour marks."""
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    env |= {"TZ": "UTC", "LC_ALL": "C.UTF-8"}
    arguments = [program(), *command[:1], "--color", "always", *command[1:]]
    run = subprocess.run(arguments, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return run.stdout.decode().splitlines()[:LINES]


def spans(line, style):
    """Splits a line at its colour marks; returns (style, text) pairs and the style at the end of the line."""
    parts, width, at = [], 0, 0
    marks = [(mark.start(), mark.end(), mark[1]) for mark in MARK.finditer(line)] + [(len(line), len(line), None)]
    for start, end, code in marks:
        text = line[at:start]
        kept = text[: max(COLUMNS - width, 0)]
        if len(kept) < len(text) and width < COLUMNS:
            kept = kept[:-1] + "…"
        width += len(text)
        if kept:
            parts.append((style, kept))
        at = end
        if code is not None:
            style = {"": "", "0": "", "1": "bold", "2": "dim"}.get(code, style)
    return parts, style


def draw(command, lines):
    """Returns the picture as SVG."""
    rows, style = [[("prompt", "$ "), ("bold", " ".join(["tfbc", *command]))]], ""
    for line in lines:
        parts, style = spans(line, style)
        rows.append(parts)
    width, height = round(COLUMNS * CELL_WIDTH + 2 * MARGIN), len(rows) * LINE_HEIGHT + 2 * MARGIN
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<style>",
        "  text { font: 13px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d4d7dd; white-space: pre }",
        "  .dim { fill: #7d8590 } .bold { font-weight: bold } .prompt { fill: #57ab5a }",
        "</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#1c2128"/>',
    ]
    for number, parts in enumerate(rows):
        y = MARGIN + (number + 1) * LINE_HEIGHT - 5
        column = 0
        for name, text in parts:
            blanks = len(text) - len(text.lstrip(" "))
            shown = text.strip(" ")
            if shown:
                x, length = MARGIN + (column + blanks) * CELL_WIDTH, len(shown) * CELL_WIDTH
                kind = f' class="{name}"' if name else ""
                svg.append(
                    f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}" xml:space="preserve"{kind}>'
                    f"{escape(shown, quote=False)}</text>"
                )
            column += len(text)
    return "\n".join([*svg, "</svg>", ""])


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    for name, command in COMMANDS.items():
        path, picture = Path(__file__).with_name(f"{name}.svg"), draw(command, output(command))
        if not sys.argv[1:]:
            path.write_text(picture)
        elif not path.exists() or path.read_text() != picture:
            sys.exit(f"{path.relative_to(ROOT)} is out of date: run docs/pictures/terminal.py")


if __name__ == "__main__":
    main()
