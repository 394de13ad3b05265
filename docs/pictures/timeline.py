#!/usr/bin/env python3
"""Draws docs/pictures/timeline.svg from the timeline of runtime/samples/shell.trc, as Perfetto shows it.

    docs/pictures/timeline.py           writes the picture
    docs/pictures/timeline.py --check   fails if the picture is out of date
"""

import json
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from terminal import ROOT, program

PICTURE = Path(__file__).with_suffix(".svg")
FROM, UNTIL = 2690, 2960  # microseconds
LEFT, WIDTH, ROW, MARGIN = 190, 900, 20, 12
COLOURS = {"run": "#7fb2e5", "idle": "#dddddd", "FLIH": "#e58f7f", "SLIH": "#e5c37f", "SYSCALL": "#9ad19a"}


def events():
    """Returns the events of the timeline."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shell.json"
        arguments = [program(), "timeline", "--tracks", "cpus,calls", "-o", path, ROOT / "runtime/samples/shell.trc"]
        subprocess.run(arguments, check=True)
        return json.loads(path.read_text())["traceEvents"]


def tracks(found):
    """Returns (name, rows of slices) per track that has slices in the part that is drawn."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in found if e["name"] == "thread_name"}
    groups = {e["pid"]: e["args"]["name"] for e in found if e["name"] == "process_name"}
    drawn = {}
    for event in sorted((e for e in found if e["ph"] == "X"), key=lambda e: e["ts"]):
        begin, end = max(event["ts"], FROM), min(event["ts"] + event["dur"], UNTIL)
        if begin < end:
            drawn.setdefault((event["pid"], event["tid"]), []).append((begin, end, event["name"], event["cat"]))
    for track, slices in sorted(drawn.items()):
        rows, open_slices = [], []
        for begin, end, name, category in slices:
            open_slices = [outer for outer in open_slices if outer > begin]
            rows += [[]] * (len(open_slices) + 1 - len(rows))
            rows[len(open_slices)] = [*rows[len(open_slices)], (begin, end, name, category)]
            open_slices.append(end)
        group = groups[track[0]]
        yield names[track] if group == "CPUs" else f"{group}  {names[track]}", rows


def picture():
    """Returns the picture."""
    scale = WIDTH / (UNTIL - FROM)
    parts, y = [], MARGIN + 18
    for time in range(-(-FROM // 50) * 50, UNTIL, 50):
        x = LEFT + (time - FROM) * scale
        parts.append(f'<text x="{x:.0f}" y="{MARGIN + 4}" fill="#666">{time / 1000:.2f} ms</text>')
    for name, rows in tracks(events()):
        parts.append(f'<text x="{MARGIN}" y="{y + 14}">{escape(name)}</text>')
        for row in rows:
            for begin, end, label, category in row:
                x, width = LEFT + (begin - FROM) * scale, max((end - begin) * scale, 1)
                colour = COLOURS.get(category, "#bbbbbb")
                parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 2}" fill="{colour}"/>')
                if width > 7 * len(label):
                    parts.append(f'<text x="{x + 3:.1f}" y="{y + 14}">{escape(label)}</text>')
            y += ROW
        y += 4
    size = f'width="{LEFT + WIDTH + MARGIN}" height="{y + MARGIN}"'
    style = 'font-family="monospace" font-size="11"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n<rect width="100%" height="100%" fill="white"/>\n'
    return head + "\n".join(parts) + "\n</svg>\n"


def main():
    drawn = picture()
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(drawn)
    elif PICTURE.read_text() != drawn:
        sys.exit("docs/pictures/timeline.svg is out of date: run docs/pictures/timeline.py")


if __name__ == "__main__":
    main()
