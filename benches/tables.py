"""Measures tables beside CSV: CPU time and memory, with one thread. Usage: tables.py TFBC MAKE_TRACE [EVENTS]"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

tfbc, make_trace = map(os.path.abspath, sys.argv[1:3])
n_events = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
SMALL = "seq,time,elapsed_ns,cpu,pid,tid,process,id,label"


def measure(args):
    """Least CPU time of three runs in ns an event, and peak memory in MiB."""
    runs = []
    for _ in range(3):
        shutil.rmtree("tables", ignore_errors=True)
        child = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        assert status == 0, args
        runs.append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss))
    return min(run[0] for run in runs) * 1e9 / n_events, max(run[1] for run in runs) / 1024


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([make_trace, "realistic", "--events", str(n_events), "-o", "log"], check=True)
    subprocess.run([make_trace, "templates", "realistic", "-o", "log.trcfmt"], check=True)
    subprocess.run([tfbc, "compile", "-o", "log.tfbc", "log.trcfmt"], check=True, capture_output=True)
    for flags in [
        "--to csv --columns id,cpu,tid,elapsed",
        "--to arrow --columns id,cpu,tid,elapsed_ns",
        "--to csv",
        "--to arrow",
        "--to csv -o table",
        "--to arrow --by-event -o tables",
        f"--to parquet --columns {SMALL} -o table",
        f"--to parquet --columns {SMALL},fields -o table",
    ]:
        ns, mib = measure([tfbc, "report", "--threads", "1", "-t", "log.tfbc", *flags.split(), "log"])
        size = f", {Path('table').stat().st_size / n_events:.1f} bytes" if flags.endswith("-o table") else ""
        print(f"{flags}: {ns:.0f} ns{size} an event, {mib:.0f} MiB")
