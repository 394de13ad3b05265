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
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRACE = "runtime/samples/shell.trc"
# Commands by the name of their picture. They run in a folder with copies of the samples, and of FILES.
COMMANDS = {
    "report": ["tfbc", "report", TRACE],
    "summary": ["tfbc", "summary", "--plot", "--sections", "process", "--top", "4", TRACE],
    "latency": ["tfbc", "latency", "--pair", "svc", "--plot", "--top", "1", TRACE],
    "curt": ["tfbc", "curt", "-i", TRACE],
    "info": ["tfbc", "info", "my.trc"],
    "trcrpt": ["trcrpt", "-t", "trcfmt", "-O", "exec=on,pid=on", "my.trc"],
    "kev": ["tfbc", "report", "-t", "my.xml", "--columns", "event,id,data", "tracebuffer.kev"],
    "check": ["tfbc", "check", "disk.trcfmt"],
    "recording": ["trcrpt", "-d", "010", "-t", "mytrcfmt", "-O", "exec=on", "sample.trc.gz"],
}
# Files of the commands by their names: a copy of a file, or a fence of a page with this number among those of the name.
FILES = {
    "my.trc": "runtime/samples/shell.trc",
    "trcfmt": "runtime/formats/default.trcfmt",
    "tracebuffer.kev": "runtime/samples/user.kev",
    "my.xml": "runtime/samples/user.xml",
    "sample.trc.gz": "docs/pictures/sample.trc.gz",
    "disk.trcfmt": ("docs/first-template.md", 1),
    "mytrcfmt": ("docs/recording.md", 0),
}
LINES, COLUMNS = 24, 112
CELL_WIDTH, LINE_HEIGHT, MARGIN = 7.8, 18, 16
# Colours by the numbers that commands print for them.
COLOURS = {31: "red", 32: "green", 33: "yellow", 34: "blue", 35: "magenta", 36: "cyan"}
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


def text_of(name, source):
    """Returns the bytes of a file in FILES."""
    if isinstance(source, str):
        return (ROOT / source).read_bytes()
    page, number = source
    fences = re.findall(rf"^```\w+,file={re.escape(name)}\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    return fences[number].encode()


def output(command):
    """Returns the first lines that a command prints, with colour marks."""
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    env |= {"TZ": "UTC", "LC_ALL": "C.UTF-8", "TFBC_CACHE": "off"}
    with tempfile.TemporaryDirectory() as folder:
        for name, source in FILES.items():
            Path(folder, name).write_bytes(text_of(name, source))
        Path(folder, "runtime").symlink_to(ROOT / "runtime")
        called = Path(folder, "bin", command[0])
        called.parent.mkdir()
        # Other names of the program than `tfbc` are links to it.
        called.symlink_to(Path(program()).resolve())
        subcommand = command[1:2] if command[0] == "tfbc" else []
        arguments = [called, *subcommand, "--color", "always", *command[1 + len(subcommand) :]]
        run = subprocess.run(arguments, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # `tfbc check` prints its findings as messages.
    return (run.stdout or run.stderr).decode().splitlines()[:LINES]


def styled(style, codes):
    """Returns the style after a colour mark with these numbers."""
    words = set(style.split())
    for code in [int(code or 0) for code in codes.split(";")]:
        if code == 0:
            words.clear()
        elif code in (1, 2):
            words.add({1: "bold", 2: "dim"}[code])
        else:
            words.add(COLOURS.get(code - 60 if code >= 90 else code, ""))
    return " ".join(sorted(words - {""}))


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
            style = styled(style, code)
    return parts, style


def draw(command, lines):
    """Returns the picture of a command and its output as SVG."""
    rows, style = [[("prompt", "$ "), ("bold", " ".join(command))]], ""
    for line in lines:
        parts, style = spans(line, style)
        rows.append(parts)
    return drawn(rows)


def drawn(rows):
    """Returns the picture of lines of (style, text) pairs as SVG."""
    width, height = round(COLUMNS * CELL_WIDTH + 2 * MARGIN), len(rows) * LINE_HEIGHT + 2 * MARGIN
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<style>",
        "  text { font: 13px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d4d7dd; white-space: pre }",
        "  .dim { fill: #7d8590 } .bold { font-weight: bold } .prompt, .green { fill: #57ab5a } .red { fill: #f47067 }",
        "  .yellow { fill: #daaa3f } .blue { fill: #6cb6ff } .magenta { fill: #dcbdfb } .cyan { fill: #76e3ea }",
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
