"""Tables, read by pyarrow, polars, DuckDB and pandas."""

import gc
import io
import json
import struct
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pytest

import tfbc

SAMPLES = Path(__file__).parents[2] / "samples"
N_EVENTS = 288
COMMON = ["seq", "time", "elapsed_ns", "cpu", "pid", "tid", "process", "id", "note", "file"]


def rows(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def json_value(value: Any) -> Any:
    """A value as the column ``fields`` has it: integers above 2^53 are texts."""
    return str(value) if isinstance(value, int) and value > 1 << 53 else value


def test_consumers_read_equal_rows(sample: Path, log: Path) -> None:
    for path in [sample, log]:
        events = tfbc.open(path).events()
        expected = rows(pa.table(events))
        assert len(expected) == len(list(tfbc.open(path)))
        assert pl.DataFrame(events).to_dicts() == expected
        relation = duckdb.sql("from events")
        assert relation is not None and rows(relation.to_arrow_table()) == expected
        frame = pd.DataFrame.from_arrow(events)
        assert len(frame) == len(expected)
        for name in ["seq", "id", "label", "text", "fields"]:
            assert frame[name].tolist() == [row[name] for row in expected]
        for name in ["pid", "cpu", "elapsed_ns", "process"]:
            found = [None if pd.isna(value) else value for value in frame[name]]
            assert found == [row[name] for row in expected]


@pytest.mark.parametrize("name", ["shell.trc", "copy.trc", "user.kev"])
def test_rows_are_the_events_of_the_loop(name: str) -> None:
    trace = tfbc.open(SAMPLES / name)
    for row, event in zip(rows(pa.table(trace.events())), trace, strict=True):
        for name in ["seq", "time", "elapsed_ns", "cpu", "pid", "tid", "process", "id", "label", "text", "note"]:
            assert row[name] == event[name], name
        fields = {name: json_value(value) for name, value in event.fields.items() if value is not None}
        if trace.info["system"] == "aix":
            assert json.loads(row["fields"]) == fields


def kernel_log(records: list[tuple[int, int, int, int]]) -> bytes:
    """A log of QNX 7.1 with simple records of a class, event and two words."""
    keys = {"VER_MAJOR": "1", "VER_MINOR": "01", "LITTLE_ENDIAN": "TRUE", "CYCLES_PER_SEC": "1000000000",
            "CPU_NUM": "1", "SYS_RELEASE": "7.1.0", "SYSPAGE_LEN": "0"}  # fmt: skip
    header = "TRACE_HEADER_BEGIN::" + "".join(f"TRACE_{key}::{value}" for key, value in keys.items())
    slots = [struct.pack("<4I", kind << 10 | event, at, *words) for at, (kind, event, *words) in enumerate(records, 1)]
    return (header + "TRACE_HEADER_END::").encode() + b"".join(slots)


def test_events_of_qnx_have_typed_tables(log: Path) -> None:
    calls = kernel_log([(1, 1, 0, 1), (2, 11, 5, 0x74786574), (2, 11 + 128, 0, 0), (2, 11 + 512, 6, 7), (4, 24, 1, 2)])
    trace = tfbc.open(calls)
    assert list(trace.tables()) == ["CONTROL:1", "KER_CALL.MSG_SENDV", "KER_EXIT.MSG_SENDV", "PR_TH:24"]
    assert [row["id"] for row in rows(pa.table(trace.table("KER_CALL.MSG_SENDV")))] == ["KER_CALL:11", "KER_CALL:523"]
    sources: list[Path | bytes] = [log, calls]
    for source in sources:
        compare_with_events(tfbc.open(source))


def compare_with_events(trace: tfbc.Trace) -> None:
    tables = trace.tables()
    n_rows = 0
    for name, table in tables.items():
        found = rows(pa.table(table))
        n_rows += len(found)
        assert rows(pa.table(trace.table(name))) == found
        for row in found:
            assert rows(pa.table(trace.table(row["id"])))[0]["seq"] == found[0]["seq"]
    assert n_rows == len(list(trace))
    by_seq = {event.seq: event for event in trace}
    for table in tables.values():
        for row in rows(pa.table(table)):
            fields = {name: value for name, value in row.items() if name not in COMMON and value is not None}
            assert fields == {name: value for name, value in by_seq[row["seq"]].fields.items() if value is not None}


def test_definitions_replace_the_columns_of_an_event(log: Path) -> None:
    names = tfbc.open(log, formats=[SAMPLES / "user.xml"]).table("USER:65").schema.names
    assert [name for name in names if name not in COMMON] == ["ipicmd", "ipicmd_text", "ipicmd2", "ipicmd2_text"]


def test_a_table_is_a_recipe(sample: Path) -> None:
    events = tfbc.open(sample).events(columns=["seq"])
    first, second = iter(events.batches()), iter(events.batches())
    assert next(first).num_rows == next(second).num_rows == N_EVENTS
    assert pa.table(events) == pa.table(events)
    assert sum(batch.num_rows for batch in events.batches()) == N_EVENTS


def test_columns_and_filters_select(sample: Path) -> None:
    trace = tfbc.open(sample)
    assert trace.events(columns="id,elapsed").schema.names == ["id", "elapsed_ns"]
    assert "text" not in trace.events(text=False, fields=False).schema.names

    def count(**filters: Any) -> int:
        return len(rows(pa.table(trace.events(columns=["id"], **filters))))

    assert count(only="134") == count(only=["134"]) == count(only=134) == 3
    assert count(excluding=["101", "104"]) == N_EVENTS - 76 - 73
    assert 0 < count(pid=4522) == count(pid="4522") <= count(exec="ksh")
    assert count(grep="^exec: ") == 3
    assert count(start=0.01) + count(end=0.01) == N_EVENTS
    assert count(start="0.01") == count(start=0.01)
    assert 0 < count(tid=[8191]) < count(cpu=0) <= N_EVENTS
    assert count(batch_rows=7, threads=1) == N_EVENTS


def test_wrong_arguments_are_named(sample: Path) -> None:
    trace = tfbc.open(sample)
    for message, arguments in [
        ("no column `fieds`; did you mean `fields`", {"columns": ["fieds"]}),
        ("not a hook id", {"only": "xyz"}),
        ("batch_rows takes", {"batch_rows": 0}),
        ("unclosed", {"grep": "("}),
        ("not negative", {"start": -1}),
        ("is not a CPU", {"cpu": "two"}),
    ]:
        with pytest.raises(ValueError, match=message):
            trace.events(**arguments)  # type: ignore[arg-type]


def test_batches_do_not_depend_on_threads(sample: Path) -> None:
    trace = tfbc.open(sample)
    sizes = [
        [batch.num_rows for batch in trace.events(batch_rows=100, threads=threads).batches()] for threads in [1, 2, 8]
    ]
    assert sizes[0] == sizes[1] == sizes[2] == [100, 100, 88]


def test_a_batch_is_an_arrow_array(sample: Path) -> None:
    batch = next(iter(tfbc.open(sample).events().batches()))
    assert pa.record_batch(batch).num_rows == len(batch) == N_EVENTS
    assert pa.schema(batch.schema).names == batch.schema.names


def test_the_first_rows(sample: Path) -> None:
    events = tfbc.open(sample).events()
    assert pa.table(events.head(3)) == pa.table(events).slice(0, 3)
    assert pa.table(events.head(3).head(5)).num_rows == 3
    assert pa.table(events.head(0)).num_rows == 0


def test_a_requested_schema_selects_columns_and_texts(sample: Path) -> None:
    events = tfbc.open(sample).events()
    schema = pa.schema([("process", pa.string()), ("seq", pa.int64())])
    table = pa.RecordBatchReader.from_stream(events, schema=schema).read_all()
    assert table.schema.names == ["process", "seq"]
    assert table.schema.field("process").type == pa.string()
    assert table["process"].to_pylist() == pa.table(events)["process"].to_pylist()


def test_portable_tables_have_simple_types(sample: Path) -> None:
    trace = tfbc.open(sample)
    table = pa.table(trace.events(portable=True))
    assert not any(pa.types.is_dictionary(field.type) for field in table.schema)
    assert rows(table) == rows(pa.table(trace.events()))


def test_a_table_of_one_event_has_its_fields(sample: Path) -> None:
    trace = tfbc.open(sample)
    events = [event for event in trace if event.id == "105"]
    for row, event in zip(rows(pa.table(trace.table("105"))), events, strict=True):
        for name in ["seq", "time", "elapsed_ns", "cpu", "pid", "tid", "process", "id", "note"]:
            assert row[name] == event[name], name
        assert {name: row[name] for name in event.fields} == event.fields
    bp = trace.table("105").schema
    assert "bp: uint64 hex" in repr(bp)
    assert pl.DataFrame(trace.table("105", columns=["seq"]))["bp"].to_list() == [event["bp"] for event in events]
    with pytest.raises(ValueError, match="no column `text`"):
        trace.table("105", columns=["text"])
    with pytest.raises(ValueError, match="not a hook id"):
        trace.table("text")


def test_an_event_that_does_not_occur_has_an_empty_table(sample: Path) -> None:
    table = pa.table(tfbc.open(sample).table("15B"))
    assert table.num_rows == 0 and {"open", "flags"} <= set(table.schema.names)


def test_tables_of_all_events(sample: Path, log: Path) -> None:
    for path in [sample, log]:
        trace = tfbc.open(path)
        counts = {id: sum(batch.num_rows for batch in table.batches()) for id, table in trace.tables().items()}
        assert sum(counts.values()) == len(list(trace))
        assert all(counts.values())


def test_a_file_object_gives_one_table(sample: Path) -> None:
    trace = tfbc.open(io.BytesIO(sample.read_bytes()))
    events = trace.events()
    assert events.schema.names[0] == "seq"
    assert pa.table(events).num_rows == N_EVENTS
    with pytest.raises(tfbc.SpentError):
        pa.table(events)


def test_streams_may_end_early_and_outlive_the_trace(sample: Path) -> None:
    for _ in range(20):
        reader = pa.RecordBatchReader.from_stream(tfbc.open(sample).events(batch_rows=1))
        gc.collect()
        reader.read_next_batch()
        del reader


def test_streams_move_to_other_threads(sample: Path) -> None:
    readers = [pa.RecordBatchReader.from_stream(tfbc.open(sample).events(batch_rows=9)) for _ in range(4)]
    counts: list[int] = []
    threads = [threading.Thread(target=lambda reader=reader: counts.append(reader.read_all().num_rows)) for reader in readers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [N_EVENTS] * 4


def test_notices_account_for_damage(sample: Path) -> None:
    data = bytearray(sample.read_bytes())
    data[6000:6100] = b"\xff" * 100
    trace = tfbc.open(bytes(data))
    with pytest.warns(tfbc.DamageWarning):
        notices = rows(pa.table(trace.notices()))
    assert [row["kind"] for row in notices if row["kind"] == "damage"]
    last = notices[-1]
    assert last["kind"] == "summary"
    summary = json.loads(last["message"])
    assert summary == trace.summary
    assert summary["read"] == summary["header"] + summary["events"] + summary["skipped"]
    assert summary["rows"] == last["count"]


def test_damage_ends_a_strict_table(sample: Path) -> None:
    data = bytearray(sample.read_bytes())
    data[6000:6100] = b"\xff" * 100
    trace = tfbc.open(bytes(data), strict=True)
    with pytest.raises(tfbc.DamageError):
        for _ in trace.events().batches():
            pass
    with pytest.raises(Exception, match="damaged place"):
        pa.table(trace.events())


def test_an_arrow_stream_is_written(sample: Path, tmp_path: Path) -> None:
    events = tfbc.open(sample).events()
    events.to_arrow_ipc(tmp_path / "events.arrows")
    events.to_parquet(tmp_path / "events.parquet")
    assert pl.read_parquet(tmp_path / "events.parquet").to_dicts() == rows(pa.table(events))
    with pyarrow.ipc.open_stream(tmp_path / "events.arrows") as stream:
        assert rows(stream.read_all()) == rows(pa.table(events))


def test_html_shows_ten_rows_escaped(sample: Path) -> None:
    stanza = tfbc.Source('134 1.0 "<b>&" "<script>" $D1%X4\n', "mine.trcfmt")
    html = tfbc.open(sample, formats=stanza).events(only="134")._repr_html_()
    assert "&lt;script&gt;" in html and "&lt;b&gt;&amp;" in html
    assert "<script>" not in html
    assert tfbc.open(sample).events()._repr_html_().count("<tr>") == 11


def test_times_count_from_the_given_start(sample: Path) -> None:
    start = datetime(2001, 2, 3, 4, 5, 6, 789, tzinfo=timezone.utc)
    for row in rows(pa.table(tfbc.open(sample, time_zero=start).events(columns=["time", "elapsed_ns"]))):
        assert row["time"] == start + timedelta(microseconds=row["elapsed_ns"] // 1000)
    with pytest.raises(ValueError, match="time zone"):
        tfbc.open(sample, time_zero=datetime(2001, 2, 3))


def test_metadata_names_the_formats(sample: Path) -> None:
    metadata = tfbc.open(sample).events().schema.metadata
    assert metadata["tfbc:version"] == "1" and metadata["tfbc:kind"] == "aix64-log"
    assert str(sample.parent) not in str(metadata)


INTERRUPTED = """
import os, signal, sys, threading, time
import pyarrow as pa
import tfbc

data = open(sys.argv[1], "rb").read()
read, write = os.pipe()
os.write(write, data[:len(data) // 2])
trace = tfbc.open(os.fdopen(read, "rb", buffering=0))

def interrupt():
    global sent
    time.sleep(0.5)
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    if sys.argv[2] == "pyarrow":
        pa.table(trace.events())
    else:
        for batch in trace.events().batches():
            pass
except BaseException:
    # pyarrow raises an exception of its own, and Python the interrupt soon after it.
    while True:
        try:
            print(time.monotonic() - sent, flush=True)
            os._exit(0)
        except KeyboardInterrupt:
            pass
"""


@pytest.mark.parametrize("consumer", ["batches", "pyarrow"])
def test_ctrl_c_ends_a_waiting_table(consumer: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(SAMPLES / "user.kev"), consumer]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.15
