"""Measures tables beside CSV, with one thread: CPU time, memory and size. Usage: tables.py TFBC MAKE_TRACE [EVENTS]

With COUNT=1 in the environment, callgrind counts instructions instead. A figure is then the difference between a longer
and a shorter trace, so the start of the command does not count.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

tfbc, make_trace = map(os.path.abspath, sys.argv[1:3])
is_count = bool(os.environ.get("COUNT"))
n_events = int(sys.argv[3]) if len(sys.argv) > 3 else 20_000 if is_count else 1_000_000
SMALL = "seq,time,elapsed_ns,cpu,pid,tid,process,id,label"
# Large copies are loops of moves. Otherwise glibc uses `rep movsb`, which callgrind counts as an instruction a byte.
TUNABLES = ":".join(
    [
        "glibc.malloc.mmap_threshold=131072",
        "glibc.cpu.x86_rep_movsb_threshold=1000000000",
        "glibc.cpu.x86_rep_stosb_threshold=1000000000",
    ]
)


def run(args):
    shutil.rmtree("tables", ignore_errors=True)
    child = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, args
    return usage


def measure(args):
    """Least CPU time of three runs in ns an event, and peak memory in MiB."""
    runs = [run([*args, "log"]) for _ in range(3)]
    least = min(usage.ru_utime + usage.ru_stime for usage in runs)
    return least * 1e9 / n_events, max(usage.ru_maxrss for usage in runs) / 1024


def instructions(args):
    """Instructions an event."""
    counts = []
    for log in ["log", "longer"]:
        shutil.rmtree("tables", ignore_errors=True)
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *args, log]
        env = {**os.environ, "GLIBC_TUNABLES": TUNABLES}
        output = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, check=True).stderr
        counts.append(int(re.search(rb"Collected : (\d+)", output)[1]))
    return (counts[1] - counts[0]) / (2 * n_events)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name, n in [("log", n_events), ("longer", 3 * n_events)][: 1 + is_count]:
        subprocess.run([make_trace, "realistic", "--events", str(n), "-o", name], check=True)
    subprocess.run([make_trace, "templates", "realistic", "-o", "log.trcfmt"], check=True)
    subprocess.run([tfbc, "compile", "-o", "log.tfbc", "log.trcfmt"], check=True, capture_output=True)
    for flags in [
        "--to csv --columns id,cpu,tid,elapsed",
        "--to arrow --columns id,cpu,tid,elapsed_ns",
        "--to csv",
        "--to arrow --columns id,cpu,tid,elapsed_ns,fields,text",
        "--to arrow",
        "--to csv -o table",
        "--to arrow --by-event -o tables",
        f"--to parquet --columns {SMALL} -o table",
        f"--to parquet --columns {SMALL},fields -o table",
        f"--to parquet --columns {SMALL},thread,svc,depth,note,fields -o table",
    ]:
        args = [tfbc, "report", "--threads", "1", "-t", "log.tfbc", *flags.split()]
        if is_count:
            print(f"{flags}: {instructions(args):.0f} instructions an event")
            continue
        ns, mib = measure(args)
        size = f", {Path('table').stat().st_size / n_events:.1f} bytes" if flags.endswith("-o table") else ""
        print(f"{flags}: {ns:.0f} ns{size} an event, {mib:.0f} MiB")
