"""A folder of logs of both systems, and digests of their rows."""

import hashlib
import random
import re
import shutil
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tfbc

SAMPLES = Path(__file__).parents[2] / "samples"

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"

Row = dict[str, Any]


def example(engine: str) -> str:
    """Example of an engine in the book."""
    found = re.search(rf"^```python,{engine}\n(.*?)^```\n", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found, engine
    return found[1]


def qnx_log(seed: int, n_events: int) -> bytes:
    """Log of a seed: user events of two CPUs."""
    keys = {"VER_MAJOR": "1", "VER_MINOR": "01", "LITTLE_ENDIAN": "TRUE", "CYCLES_PER_SEC": "1000000000",
            "CPU_NUM": "2", "SYS_RELEASE": "7.1.0", "SYSPAGE_LEN": "0"}  # fmt: skip
    header = "TRACE_HEADER_BEGIN::" + "".join(f"TRACE_{key}::{value}" for key, value in keys.items())
    numbers = random.Random(seed)
    slots = b"".join(struct.pack("<4I", cpu << 24 | 1 << 10 | 1, 0, 0, 0) for cpu in range(2))
    for at in range(n_events):
        header_word = numbers.randrange(2) << 24 | 6 << 10 | numbers.randrange(1, 80)
        slots += struct.pack("<4I", header_word, at * 10, numbers.randrange(1 << 32), numbers.randrange(1 << 32))
    return (header + "TRACE_HEADER_END::").encode() + slots


def write_dataset(folder: Path) -> Path:
    """Writes 12 logs: AIX and QNX, two damaged, one empty; and two files that are no traces."""
    (folder / "aix" / "old").mkdir(parents=True)
    (folder / "qnx").mkdir()
    shell = (SAMPLES / "shell.trc").read_bytes()
    shutil.copy(SAMPLES / "shell.trc", folder / "aix" / "shell.trc")
    shutil.copy(SAMPLES / "copy.trc", folder / "aix" / "old" / "copy.trc")
    (folder / "aix" / "old" / "damaged.trc").write_bytes(shell[:6000] + b"\xff" * 100 + shell[6100:])
    (folder / "aix" / "cut.trc").write_bytes(shell[:9000])
    shutil.copy(SAMPLES / "user.kev", folder / "qnx" / "user.kev")
    for seed in range(6):
        (folder / "qnx" / f"seed{seed}.kev").write_bytes(qnx_log(seed, 3000 * (seed + 1)))
    (folder / "qnx" / "empty.kev").write_bytes(qnx_log(0, 0)[:-32])
    (folder / "README").write_text("no trace\n")
    (folder / "nothing").write_bytes(b"")
    return folder


def traces(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.*") if path.is_file())


def rows_of(trace: tfbc.Trace) -> list[Row]:
    """Rows of a trace with all columns of the data source ``tfbc``."""
    import pyarrow

    columns = [name for name in trace.events().schema.names if name != "file"]
    found: list[Row] = pyarrow.table(trace.events(columns=[*columns, "file"], portable=True)).to_pylist()
    return found


def digest(rows: Iterable[Row]) -> str:
    """SHA-256 over all columns of all rows, sorted by file and position."""
    ordered = sorted(rows, key=lambda row: (row["file"], row["seq"]))
    return hashlib.sha256(repr([sorted(row.items()) for row in ordered]).encode()).hexdigest()


def digest_of_traces(folder: Path) -> str:
    """Digest of the traces of a folder, each opened alone."""
    return digest(row for path in traces(folder) for row in rows_of(tfbc.open(path)))
