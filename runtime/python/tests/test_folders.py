"""Folders and globs: their traces are one dataset."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import tfbc

from dataset import digest, digest_of_traces, qnx_log, rows_of, traces

pytestmark = pytest.mark.filterwarnings("ignore::tfbc.DamageWarning")


def rows(table: tfbc.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.table(table).to_pylist()
    return found


def test_a_folder_yields_the_rows_of_its_traces_in_the_order_of_paths(folder: Path) -> None:
    trace = tfbc.open(folder)
    expected = [row for path in traces(folder) for row in rows_of(tfbc.open(path))]
    for options in [{}, {"threads": 1}, {"threads": 3, "batch_rows": 100}]:
        found = rows(trace.events(portable=True, **options))  # type: ignore[arg-type]
        assert [(row["file"], row["seq"]) for row in found] == [(row["file"], row["seq"]) for row in expected]
        assert digest(found) == digest(expected) == digest_of_traces(folder)
    assert trace.info == {
        "name": str(folder),
        "system": "mixed",
        "kind": "mixed",
        "size": sum(path.stat().st_size for path in traces(folder)),
        "logs": 12,
    }
    assert trace.summary["rows"] == len(expected)
    assert trace.summary["read"] == trace.info["size"]


def test_a_loop_over_a_folder_names_the_trace_of_each_event(folder: Path) -> None:
    found = [(event.file, event.seq, event.text) for event in tfbc.open(folder)]
    assert found == [(row["file"], row["seq"], row["text"]) for path in traces(folder) for row in rows_of(tfbc.open(path))]


def test_a_glob_is_a_dataset_even_of_one_trace(folder: Path) -> None:
    one = tfbc.open(folder / "qnx" / "user.*")
    assert {row["file"] for row in rows(one.events())} == {str(folder / "qnx" / "user.kev")}
    some = tfbc.open(folder / "*" / "s*")
    assert some.info["logs"] == 7 and some.info["system"] == "mixed"
    qnx = tfbc.open(folder / "qnx" / "seed*")
    assert (qnx.info["system"], qnx.info["kind"]) == ("qnx", "kev")


def test_tables_of_a_folder(folder: Path) -> None:
    trace = tfbc.open(folder)
    frame = pl.DataFrame(trace.table("106"))
    assert frame["cpuid"].dtype == pl.Int64
    aix = [tfbc.open(path) for path in traces(folder / "aix")]
    assert set(frame["file"]) == {event.file for trace in aix for event in trace if event.id == "106"}
    counts = {id: sum(batch.num_rows for batch in table.batches()) for id, table in trace.tables().items()}
    assert sum(counts.values()) == len(list(trace)) and {"106", "USER:65"} <= counts.keys()
    assert len(rows(trace.events(only="106"))) == counts["106"]
    with pytest.raises(ValueError, match="nonsense"):
        trace.events(only="nonsense")


def test_parts_of_a_folder_are_those_of_its_traces(folder: Path) -> None:
    parts = tfbc.open(folder).split(bytes=4096)
    assert len(parts) > 50
    assert digest(row for part in parts for row in rows_of(tfbc.open_part(part))) == digest_of_traces(folder)
    with pytest.raises(TypeError, match="bytes="):
        tfbc.open(folder).split(n=2)


def test_notices_name_their_file(folder: Path) -> None:
    notices = rows(tfbc.open(folder).notices())
    damaged = {row["file"] for row in notices if row["kind"] == "damage"}
    assert damaged == {str(folder / "aix" / "cut.trc"), str(folder / "aix" / "old" / "damaged.trc")}
    assert [row["kind"] for row in notices].count("summary") == 1 and notices[-1]["kind"] == "summary"


def test_a_trace_that_cannot_be_read_is_named_and_passed_over(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.kev").write_bytes(qnx_log(1, 5)[:20])
    (tmp_path / "b.kev").write_bytes(qnx_log(1, 5))
    trace = tfbc.open(tmp_path / "*.kev")
    reads: list[Callable[[], list[Any]]] = [
        lambda: list(trace),
        lambda: rows(trace.events()),
        lambda: trace.split(bytes=4096),
    ]
    for read in reads:
        with pytest.warns(tfbc.DamageWarning, match="passed over .*a.kev: "):
            assert read()
    assert {row["file"] for row in rows(trace.events())} == {str(tmp_path / "b.kev")}
    (refused,) = [row for row in rows(trace.notices()) if row["kind"] == "warning"]
    assert refused["file"] == str(tmp_path / "a.kev") and refused["message"].startswith("cannot read it: ")
    with pytest.raises(tfbc.DamageError, match="a.kev"):
        list(tfbc.open(tmp_path / "*.kev", strict=True))
    (tmp_path / "b.kev").unlink()
    with pytest.raises(tfbc.OpenError, match="a.kev"):
        tfbc.open(tmp_path / "*.kev")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes in folders")
def test_a_glob_passes_over_pipes_and_links_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "b.kev").write_bytes(qnx_log(1, 5))
    os.mkfifo(tmp_path / "pipe.kev")
    (tmp_path / "nothing.kev").symlink_to("missing")
    (tmp_path / "zero.kev").symlink_to("/dev/zero")
    trace = tfbc.open(tmp_path / "*.kev")
    with pytest.warns(tfbc.DamageWarning, match="passed over .*nothing.kev: not a file, and 2 more"):
        assert {row["file"] for row in rows(trace.events())} == {str(tmp_path / "b.kev")}


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_links_of_a_glob_lead_to_each_trace_once(tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "b.kev").write_bytes(qnx_log(1, 5))
    (tmp_path / "a.kev").symlink_to("day/b.kev")
    (tmp_path / "circle").symlink_to(".")
    found = [row["file"] for row in rows(tfbc.open(tmp_path / "*").events())]
    assert set(found) == {str(tmp_path / "day" / "b.kev")}
    assert len(found) == len(list(tfbc.open(tmp_path / "day" / "b.kev")))


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("no trace\n")
    with pytest.raises(tfbc.OpenError, match="no file in or below this directory is a trace"):
        tfbc.open(tmp_path)
    (tmp_path / "a.kev").write_bytes(qnx_log(1, 5))
    with pytest.raises(ValueError, match="follow"):
        tfbc.open(tmp_path, follow=True)


PEAK = """
import resource, sys
import tfbc

rows = sum(batch.num_rows for batch in tfbc.open(sys.argv[1]).events(fields=False).batches())
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_depend_on_the_number_of_traces(tmp_path: Path) -> None:
    log = qnx_log(1, 20_000)
    peaks = []
    for n in [20, 400]:
        folder = tmp_path / str(n)
        folder.mkdir()
        (folder / "0.kev").write_bytes(log)
        for at in range(1, n):
            os.link(folder / "0.kev", folder / f"{at}.kev")
        done = subprocess.run([sys.executable, "-c", PEAK, str(folder)], capture_output=True, text=True, check=True)
        n_rows, peak = map(int, done.stdout.split())
        assert n_rows == n * 20_002
        peaks.append(peak)
    assert peaks[1] < peaks[0] + (16 << 10), peaks
