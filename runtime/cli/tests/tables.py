"""Reads the tables of tfbc as other programs do. Usage: tables.py TFBC SAMPLES

Says which programs are missing, and reads the tables by the others.
"""

import importlib
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

tfbc, samples = sys.argv[1], Path(sys.argv[2])


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"not run: there is no {name}")
        return None


def run(*args, command="report"):
    done = subprocess.run([tfbc, command, *map(str, args)], capture_output=True, check=True)
    return done.stdout


pyarrow, polars, duckdb, pandas = map(module, ["pyarrow", "polars", "duckdb", "pandas"])
if pyarrow is None:
    sys.exit(0)
import pyarrow.ipc
import pyarrow.parquet

AIX_FILTERS = [
    ["--only", "106,134"], ["--except", "106"], ["--defined"], ["--pid", "4522,INTR"], ["--exec", "ksh,ls"],
    ["--tid", "8191"], ["--tid", "!8191"], ["--cpu", "0"], ["--from", "0.005"], ["--until", "0.01"],
    ["--grep", "k.h"], ["--where", "106{cpuid=0} | svc~read"], ["--where", "timer>0", "--from", "0.01", "--only", "106"],
]  # fmt: skip
QNX_FILTERS = [
    ["--only", "USER:140"], ["--except", "USER:140,USER:120"], ["--defined"], ["--pid", "1"], ["--process", "procnto"],
    ["--tid", "!1"], ["--cpu", "0"], ["--from", "0"], ["--until", "0.5"], ["--grep", "code"],
    ["--where", "USER{code>0} | name~eide"],
]  # fmt: skip

# Rows are the lines of the report, whatever the filter.
for name in ["shell.trc", "copy.trc", "user.kev"]:
    is_aix = name.endswith(".trc")
    formats = [] if is_aix else ["-t", samples / "user.xml"]
    columns = ["id,tid,text", "id,tid,text"] if is_aix else ["seq,text", "event,data"]
    for flags in AIX_FILTERS if is_aix else QNX_FILTERS:
        args = [*formats, *flags, samples / name]
        stream = run("--to", "arrow", "--columns", columns[0], *args)
        rows = pyarrow.ipc.open_stream(io.BytesIO(stream)).read_all().to_pylist()
        lines = [json.loads(line) for line in run("--to", "ndjson", "--columns", columns[1], *args).splitlines()]
        if is_aix:
            expected = [(line["id"], line["tid"], line["text"]) for line in lines]
        else:
            expected = [(line["event"] - 1, line["data"]) for line in lines]
        assert [tuple(row.values()) for row in rows] == expected, (name, flags)

stream = run("--to", "arrow", "--dialect", "tabs=line", "--dialect", "f8=4", samples / "shell.trc")
metadata = pyarrow.ipc.open_stream(io.BytesIO(stream)).schema.metadata
assert metadata[b"tfbc:dialect"] == b'{"tabs":"line"}', metadata

for name in ["shell.trc", "copy.trc", "user.kev"]:
    trace = samples / name
    stream = run("--to", "arrow", trace)
    table = pyarrow.ipc.open_stream(io.BytesIO(stream)).read_all()
    table.validate(full=True)
    counts = run("--stats", "--to", "csv", "--no-heading", trace).decode().splitlines()
    assert table.num_rows == sum(int(line.split(",")[0]) for line in counts), name
    rows = table.to_pylist()
    assert all(rows[at]["seq"] < rows[at + 1]["seq"] for at in range(len(rows) - 1))
    assert b"tfbc:end" in stream

    # The end mark is in the last batch.
    reader = pyarrow.ipc.open_stream(io.BytesIO(stream))
    *_, last = reader.iter_batches_with_custom_metadata()
    end = json.loads(last.custom_metadata[b"tfbc:end"])
    assert last.batch.num_rows == 0 and end["rows"] == table.num_rows
    assert end["read"] == end["header"] + end["events"] + end["skipped"] == trace.stat().st_size

    if name.endswith(".trc"):
        lines = [json.loads(line) for line in run("--to", "ndjson", "--columns", "id,fields,text", trace).splitlines()]
        assert [(row["id"], json.loads(row["fields"]), row["text"]) for row in rows] == [
            (line["id"], line["fields"], line["text"]) for line in lines
        ]

    if polars:
        frame = polars.read_ipc_stream(io.BytesIO(stream))
        assert frame.rows() == [tuple(row.values()) for row in rows]
    if pandas:
        frame = table.to_pandas()
        assert frame["seq"].tolist() == [row["seq"] for row in rows]
        assert frame["pid"].isna().tolist() == [row["pid"] is None for row in rows]
    if duckdb:
        table_of_rows = table
        found = duckdb.sql("select seq, elapsed_ns, id, text from table_of_rows order by seq").fetchall()
        assert found == [(row["seq"], row["elapsed_ns"], row["id"], row["text"]) for row in rows]

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.parquet"
        run("--to", "parquet", "-o", file, trace)
        stored = pyarrow.parquet.read_table(file)
        assert stored.to_pylist() == rows, name
        assert stored.schema.metadata[b"tfbc:kind"] == table.schema.metadata[b"tfbc:kind"]
        if duckdb:
            assert duckdb.sql(f"select count(*) from '{file}'").fetchall() == [(len(rows),)]
        if polars:
            assert polars.read_parquet(file)["text"].to_list() == [row["text"] for row in rows]
        if name.endswith(".trc"):
            tables = Path(folder) / "tables"
            run("--to", "parquet", "--by-event", "-o", tables, trace)
            listed = json.loads((tables / "_tfbc.json").read_text())["rows"]
            assert sum(listed.values()) == len(rows)
            for file, n in listed.items():
                one = pyarrow.parquet.read_table(tables / file)
                assert one.num_rows == n, file
                own = [row for row in rows if row["id"] == file.split(".")[0]]
                for typed, row in zip(one.to_pylist(), own, strict=True):
                    assert typed["seq"] == row["seq"]
                    for key, value in json.loads(row["fields"]).items():
                        stored = typed[key]
                        if isinstance(stored, bytes):
                            stored = stored.hex()
                        elif isinstance(stored, int) and isinstance(value, str):
                            value = int(value)
                        assert stored == value, (file, key, stored, value)
            notices = pyarrow.parquet.read_table(tables / "notices.parquet").to_pylist()
            assert notices[-1]["kind"] == "summary" and notices[-1]["count"] == len(rows)

# Numbers above 2^63, and nulls.
with tempfile.TemporaryDirectory() as folder:
    template = Path(folder) / "u.trcfmt"
    template.write_text('106 1.0 L=KERN "X" "big=" $D1%D8 " unsigned=" $D2%UW " far=" $D5%UW\n')
    tables = Path(folder) / "tables"
    run("-t", template, "--only", "106", "--to", "parquet", "--by-event", "-o", tables, samples / "shell.trc")
    typed = pyarrow.parquet.read_table(tables / "106.parquet")
    assert str(typed.schema.field("unsigned").type) == "uint64", typed.schema
print("the tables were read by", ", ".join(m.__name__ for m in [pyarrow, polars, duckdb, pandas] if m))

# Notices as text, and the flags of files.
with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    damaged = folder / "damaged.trc"
    bytes_ = bytearray((samples / "shell.trc").read_bytes())
    bytes_[0x340:0x350] = b"\xff" * 16
    damaged.write_bytes(bytes_)
    for name in ["n.ndjson", "n.tsv"]:
        done = subprocess.run(
            [tfbc, "report", "--to", "arrow", "--columns", "seq", "--only", "101", "--notices", folder / name, damaged],
            capture_output=True,
        )
        assert done.returncode == 2, done
    objects = [json.loads(line) for line in (folder / "n.ndjson").read_text().splitlines()]
    assert [row["kind"] for row in objects] == ["damage", "filtered", "summary"]
    assert objects[0]["offset"] == 0x340 and objects[0]["time"].startswith("1999-10-28T") and objects[0]["cpu"] is not None
    assert (objects[1]["message"], objects[1]["count"]) == ("--only", json.loads(objects[2]["message"])["filtered"])
    heading, *lines = [line.split("\t") for line in (folder / "n.tsv").read_text().splitlines()]
    assert heading == list(objects[0])
    assert [dict(zip(heading, line))["kind"] for line in lines] == ["damage", "filtered", "summary"]

    plain, packed = folder / "plain.parquet", folder / "packed.parquet"
    run("--to", "parquet", "--compress", "none", "-o", plain, samples / "shell.trc")
    run("--to", "parquet", "--time-zero", "2026-01-31T12:00:00Z", "-o", packed, samples / "shell.trc")
    assert pyarrow.parquet.ParquetFile(plain).metadata.row_group(0).column(0).compression == "UNCOMPRESSED"
    table = pyarrow.parquet.read_table(packed)
    assert table["time"][0].as_py().isoformat().startswith("2026-01-31T12:00:00")
    assert table.schema.metadata[b"tfbc:time_basis"] == b"given"

# Sections of a summary, and groups of latencies, have the names and values of JSON lines.
def cells(row):
    row = {name: dict(value) if name == "errors" else value for name, value in row.items()}
    return json.loads(json.dumps({name: str(value) if name == "cpu" else value for name, value in row.items()}))


for name in ["head", "cpu", "utilisation", "process", "thread", "call", "pending", "interrupt", "gap"]:
    args = ["--sections", name, samples / "shell.trc"]
    table = pyarrow.ipc.open_stream(io.BytesIO(run("--to", "arrow", *args, command="summary"))).read_all()
    lines = [json.loads(line) for line in run("--to", "ndjson", *args, command="summary").splitlines()]
    assert {line.pop("section") for line in lines} <= {name} and table.schema.metadata[b"section"] == name.encode()
    assert [cells(row) for row in table.to_pylist()] == [cells(line) for line in lines], name
args = ["--pair", "svc", samples / "shell.trc"]
table = pyarrow.ipc.open_stream(io.BytesIO(run("--to", "arrow", *args, command="latency"))).read_all()
lines = [json.loads(line) for line in run("--to", "ndjson", *args, command="latency").splitlines()]
groups = [{**line["by"], **line} for line in lines if line["section"] == "group"]
assert table.to_pylist() == [{name: group[name] for name in table.column_names} for group in groups] and groups

# Each flag has the number of events that it removed, and together they are all that were removed.
with tempfile.TemporaryDirectory() as folder:
    notices = Path(folder) / "notices.ndjson"
    for name, flags in [
        ("shell.trc", ["--only", "106,134,101", "--tid", "!8191", "--until", "0.02", "--grep", "a"]),
        ("shell.trc", ["--pid", "4522", "--exec", "ksh", "--cpu", "0"]),
        ("user.kev", ["--except", "USER:140", "--pid", "1", "--tid", "!1", "--where", "USER{code>0}"]),
    ]:
        stream = run("--to", "arrow", "--columns", "seq", "--notices", notices, *flags, samples / name)
        n_rows = pyarrow.ipc.open_stream(io.BytesIO(stream)).read_all().num_rows
        rows = [json.loads(line) for line in notices.read_text().splitlines()]
        counts = [row["count"] for row in rows if row["kind"] == "filtered"]
        removed = json.loads(rows[-1]["message"])["filtered"]
        assert sum(counts) == removed and len(counts) == len(flags) // 2, (counts, removed)
        # The first flag alone removes as many.
        alone = pyarrow.ipc.open_stream(io.BytesIO(run("--to", "arrow", *flags[:2], samples / name))).read_all()
        is_one_filter = "--exec" in flags
        assert is_one_filter or counts[0] == n_rows + removed - alone.num_rows, (flags, counts)

# The table of an event without rows is a stream, too.
stream = run("--to", "arrow", "--by-event", "--only", "134", "--from", "9999", samples / "shell.trc")
table = pyarrow.ipc.open_stream(io.BytesIO(stream)).read_all()
assert table.num_rows == 0 and "cmd" in table.column_names, table.schema

# Compressed streams and files have the same rows.
plain = pyarrow.ipc.open_stream(io.BytesIO(run("--to", "arrow", samples / "shell.trc"))).read_all()
compressed = run("--to", "arrow", "--compress", "lz4", samples / "shell.trc")
assert pyarrow.ipc.open_stream(io.BytesIO(compressed)).read_all().to_pylist() == plain.to_pylist()
if polars:
    assert polars.read_ipc_stream(io.BytesIO(compressed)).height == plain.num_rows
with tempfile.TemporaryDirectory() as folder:
    for name in ["none", "snappy", "lz4", "zstd"]:
        path = Path(folder) / f"{name}.parquet"
        run("--to", "parquet", "--compress", name, "-o", path, samples / "shell.trc")
        assert pyarrow.parquet.read_table(path).to_pylist() == plain.to_pylist()
        if duckdb:
            assert duckdb.sql(f"select count(*) from '{path}'").fetchall() == [(plain.num_rows,)]
