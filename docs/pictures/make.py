#!/usr/bin/env python3
"""Draws the terminal pictures of the book from the true output of tfbc.

    docs/pictures/make.py TFBC           writes docs/pictures/*.svg
    docs/pictures/make.py TFBC --check   exit status 1 if a picture differs from what TFBC prints

TFBC is the program, such as target/release/tfbc.
"""

import html
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Picture, the command that it shows, and the first and last line of its output.
PICTURES = [
    ("report.svg", "report runtime/samples/shell.trc", 0, 20),
]

COLUMNS, CHARACTER, LINE, MARGIN = 116, 7.3, 17, 14


def lines(tfbc, command, first, last):
    """Lines of a command's output, with their colours."""
    env = dict(os.environ, TZ="UTC", TFBC_CACHE="off")
    done = subprocess.run([tfbc, *command.split(), "--color", "always"], cwd=ROOT, env=env, capture_output=True, check=True)
    return done.stdout.decode().splitlines()[first:last]


def spans(line):
    """Pieces of a line with their style: dim or plain."""
    dim = False
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if piece.startswith("\x1b"):
            dim = piece not in ("\x1b[0m", "\x1b[m", "\x1b[22m")
        elif piece:
            yield piece, dim


def svg(command, shown):
    height = LINE * (len(shown) + 1) + 2 * MARGIN
    width = round(COLUMNS * CHARACTER + 2 * MARGIN)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{html.escape('tfbc ' + command)}</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#1b1f27"/>',
        '<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="12" xml:space="preserve" fill="#e6e6e6">',
    ]

    def text(at, pieces):
        y = MARGIN + LINE * at + 12
        body, x = "", 0
        for piece, style in pieces:
            piece = piece[: max(0, COLUMNS - x)]
            # Blanks at the ends are places, so that no viewer can drop them.
            shown = piece.strip()
            left = round(MARGIN + (x + len(piece) - len(piece.lstrip())) * CHARACTER, 1)
            if shown:
                body += f'<tspan x="{left}" textLength="{round(len(shown) * CHARACTER, 1)}"{style}>{html.escape(shown)}</tspan>'
            x += len(piece)
        out.append(f'<text y="{y}">{body}</text>')

    text(0, [("$ ", ' fill="#7fbf7f"'), ("tfbc " + command, ' font-weight="bold"')])
    for at, line in enumerate(shown, 1):
        text(at, [(piece, ' fill="#8d96a5"' if dim else "") for piece, dim in spans(line)])
    out += ["</g>", "</svg>", ""]
    return "\n".join(out)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tfbc, check = os.path.abspath(sys.argv[1]), "--check" in sys.argv[2:]
    for name, command, first, last in PICTURES:
        path = os.path.join(HERE, name)
        drawn = svg(command, lines(tfbc, command, first, last))
        if not check:
            with open(path, "w") as file:
                file.write(drawn)
        elif not os.path.exists(path) or open(path).read() != drawn:
            sys.exit(f"{name} is out of date: docs/pictures/make.py TFBC draws it anew")


main()
