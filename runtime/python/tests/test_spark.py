"""The data source for Spark: its rows are those of the traces, whatever happens to workers."""

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tfbc

from dataset import SAMPLES, digest, digest_of_traces, example, qnx_log, rows_of, traces

pytest.importorskip("pyspark", reason="not run: pyspark is not installed")
pyarrow = pytest.importorskip("pyarrow")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("not run: there is no Java", allow_module_level=True)

from pyspark.sql import functions as F  # noqa: E402

from faults import session  # noqa: E402
from tfbc.spark import TfbcDataSource  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with session("local[2]", **{"spark.sql.python.filterPushdown.enabled": True}) as spark:
        yield spark


def rows(frame: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return found


def read(spark: Any, path: Path, format: str = "tfbc", **options: str) -> Any:
    return spark.read.format(format).options(**options).load(str(path))


def test_parts_of_any_size_yield_the_rows_of_the_traces(spark: Any, folder: Path) -> None:
    expected = digest_of_traces(folder)
    for size in ["64m", "32k"]:
        frame = read(spark, folder, partBytes=size)
        assert digest(rows(frame)) == expected, size
    assert frame.rdd.getNumPartitions() > 20


def test_a_trace_of_several_files_has_the_column_file_once() -> None:
    settings = tfbc.spark._Settings.parse({"path": str(SAMPLES)})
    several = tfbc.open([SAMPLES / "shell.trc", SAMPLES / "copy.trc"])
    assert "file" in several.events().schema.names
    names = settings.rows(several, tfbc.spark._Filter(), None, None, None).schema.names
    assert names.count("file") == 1


def test_a_schema_selects_columns(spark: Any, folder: Path) -> None:
    frame = read(spark, folder / "aix" / "*.trc", columns="seq,file,text,event_bytes")
    assert frame.columns == ["seq", "file", "text", "event_bytes"]
    own = spark.read.format("tfbc").schema("id string, seq bigint").load(str(folder / "aix" / "shell.trc"))
    expected = [(event.id, event.seq) for event in tfbc.open(folder / "aix" / "shell.trc")]
    assert sorted(map(tuple, own.collect())) == sorted(expected)


def test_filters_are_pushed_and_select_the_rows_that_spark_would(spark: Any, folder: Path) -> None:
    whole = [row for path in traces(folder) for row in rows_of(tfbc.open(path))]
    ms = 1_000_000
    middle = sorted(row["time"] for row in whole if row["time"])[100]
    later = middle + timedelta(milliseconds=2)
    conditions: list[tuple[Any, Callable[[dict[str, Any]], bool]]] = [
        (F.col("id").isin("106", "USER:65"), lambda row: row["id"] in ("106", "USER:65")),
        (F.col("id") == "no id", lambda row: False),
        ((F.col("cpu") == 1) & (F.col("id") == "USER:7"), lambda row: (row["cpu"], row["id"]) == (1, "USER:7")),
        (F.col("pid").isin(4522, 6418), lambda row: row["pid"] in (4522, 6418)),
        (
            (F.col("elapsed_ns") >= 5 * ms) & (F.col("elapsed_ns") < 20 * ms),
            lambda row: row["elapsed_ns"] is not None and 5 * ms <= row["elapsed_ns"] < 20 * ms,
        ),
        (F.col("elapsed_ns") <= -1, lambda row: row["elapsed_ns"] is not None and row["elapsed_ns"] <= -1),
        (F.col("time") == middle, lambda row: row["time"] == middle),
        (
            (F.col("time") > middle) & (F.col("time") <= later),
            lambda row: row["time"] is not None and middle < row["time"] <= later,
        ),
    ]
    for condition, is_wanted in conditions:
        pushed = read(spark, folder, partBytes="128k").filter(condition)
        assert digest(rows(pushed)) == digest(row for row in whole if is_wanted(row)), condition
    # Only the parts in which an event can match are tasks.
    few = read(spark, folder / "aix" / "shell.trc", partBytes="1k").filter("elapsed_ns < 1000000")
    assert 0 < few.rdd.getNumPartitions() < read(spark, folder / "aix" / "shell.trc", partBytes="1k").rdd.getNumPartitions()


def test_options_select_as_the_report_does(spark: Any, folder: Path) -> None:
    path = folder / "aix" / "shell.trc"
    some = {"only": "101,134", "from": "0.005", "until": "0.02"}
    table = tfbc.open(path).events(only=["101", "134"], start="0.005", end="0.02", columns="seq,file,id")
    assert digest(rows(read(spark, path, columns="seq,file,id", **some))) == digest(pyarrow.table(table).to_pylist())


def test_tables_of_one_event_and_of_notices(spark: Any, folder: Path) -> None:
    path = folder / "aix" / "shell.trc"
    for uint64, kind in [("decimal", "decimal(20,0)"), ("signed", "bigint")]:
        frame = read(spark, path, table="105", uint64=uint64, partBytes="2k")
        assert dict(frame.dtypes)["bp"] == kind
        found = sorted(rows(frame), key=lambda row: row["seq"])
        assert [int(row["bp"]) % 2**64 for row in found] == [event["bp"] for event in tfbc.open(path) if event.id == "105"]
    notices = rows(read(spark, folder, table="notices", partBytes="32k"))
    damage = [(row["file"], row["offset"], row["bytes"]) for row in notices if row["kind"] == "damage"]
    expected = [
        (row["file"], row["offset"], row["bytes"])
        for path in traces(folder)
        for row in pyarrow.table(tfbc.open(path).notices()).to_pylist()
        if row["kind"] == "damage"
    ]
    assert sorted(damage) == sorted(expected) and expected
    read_bytes = sum(row["bytes"] for row in notices if row["kind"] == "summary")
    assert read_bytes == sum(path.stat().st_size for path in traces(folder))


def test_own_formats_reach_the_tasks(spark: Any, folder: Path, tmp_path: Path) -> None:
    formats = tmp_path / "mine.trcfmt"
    formats.write_text('134 1.0 "MINE" "mine=" $D1%X4\n')
    frame = read(spark, folder / "aix" / "shell.trc", formats=str(formats), partBytes="2k")
    assert {row.label for row in frame.filter("id = '134'").select("label").collect()} == {"MINE"}


def test_split_files_are_written_and_read(spark: Any, folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.kev"
    log.write_bytes(qnx_log(7, 2000))
    splits = tmp_path / "splits"
    options = {"splits": str(splits), "partBytes": "4k"}
    assert digest(rows(read(spark, log, **options))) == digest(rows_of(tfbc.open(log)))
    (file,) = splits.iterdir()
    before = file.stat().st_mtime_ns
    assert digest(rows(read(spark, log, **options))) == digest(rows_of(tfbc.open(log)))
    assert file.stat().st_mtime_ns == before
    # A changed input is split again.
    log.write_bytes(qnx_log(8, 3000))
    assert digest(rows(read(spark, log, **options))) == digest(rows_of(tfbc.open(log)))
    assert file.stat().st_mtime_ns != before


def test_wrong_options_are_named(spark: Any, folder: Path) -> None:
    for options, message in [
        ({"colums": "seq"}, "did you mean columns?"),
        ({"uint64": "float"}, "unknown value of uint64"),
        ({"partBytes": "many"}, "partBytes takes a size such as 64m"),
        ({"columns": "sequence"}, "sequence"),
    ]:
        with pytest.raises(Exception, match=message.replace("?", "[?]")):
            read(spark, folder, **options)
    with pytest.raises(Exception, match="No such file"):
        read(spark, folder / "missing.trc")


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every file")
def test_a_trace_without_permission_is_named_and_passed_over(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.kev").write_bytes(qnx_log(1, 10))
    (tmp_path / "b.kev").write_bytes(qnx_log(2, 10))
    (tmp_path / "a.kev").chmod(0)
    assert {row["file"] for row in rows(read(spark, tmp_path))} == {str(tmp_path / "b.kev")}
    assert [row["file"] for row in rows(read(spark, tmp_path, table="notices")) if row["kind"] == "warning"] == [
        str(tmp_path / "a.kev")
    ]


def test_a_task_refuses_a_changed_input(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.kev"
    for size in ["64m", "4k"]:
        log.write_bytes(qnx_log(1, 2000))
        source = TfbcDataSource({"path": str(log), "partbytes": size})
        reader: Any = source.reader(source.schema())
        first, *_ = partitions = reader.partitions()
        again = [pyarrow.Table.from_batches(reader.read(first)) for _ in range(2)]
        assert again[0].equals(again[1]) and again[0].num_rows
        log.write_bytes(qnx_log(2, 2000))
        with pytest.raises(tfbc.Error, match=f"log.kev: .*{'changed' if size == '64m' else 'not the input'}"):
            for partition in partitions:
                list(reader.read(partition))


def test_the_example_of_the_book_shows_processes(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(SAMPLES, tmp_path / "samples")
    # The driver's JVM keeps the directory that it was started in.
    exec(example("spark").replace('"samples"', repr(str(tmp_path / "samples"))), {"__name__": "example"})
    assert "/usr/bin/ls" in capsys.readouterr().out
