"""Parts of a trace: each is formatted by a process of its own, and together they are the trace."""

import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import pytest

import tfbc

Rows = list[dict[str, Any]]


def rows(trace: tfbc.Trace) -> Rows:
    """Rows of the tables of events and of notices, with all columns."""
    pyarrow = pytest.importorskip("pyarrow")
    columns = [*trace.events().schema.names, "file", "file_offset", "event_bytes"]
    found: Rows = []
    for table in [trace.events(columns=columns), trace.notices()]:
        found += pyarrow.table(table).to_pylist()
    return found


def events_and_notices(found: Rows) -> tuple[Rows, Rows]:
    """Rows of the two tables, without the summary."""
    events = [row for row in found if "id" in row]
    return events, [row for row in found if "id" not in row and row["kind"] != "summary"]


def rows_of_part(part: tfbc.Part, formats: list[Path]) -> Rows:
    return rows(tfbc.open_part(part, formats=formats))


def damaged(path: Path, tmp_path: Path) -> Path:
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 100] = b"\xff" * 100
    copy = tmp_path / path.name
    copy.write_bytes(data)
    return copy


@pytest.mark.filterwarnings("ignore::tfbc.DamageWarning")
@pytest.mark.parametrize("name", ["sample", "log"])
def test_processes_that_format_a_part_each_yield_the_rows_of_the_trace(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(name)
    formats = [path.with_suffix(".xml")] if name == "log" else []
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for file in [path, damaged(path, tmp_path)]:
            trace = tfbc.open(file, formats=formats)
            whole = events_and_notices(rows(trace))
            for n in [1, 2, 3, 7, 64]:
                parts = trace.split(n)
                tasks = [(part, formats) for part in parts]
                found = [row for part in pool.starmap(rows_of_part, tasks, chunksize=1) for row in part]
                assert events_and_notices(found) == whole, f"{file}, {n} parts"
                assert sum(part.n_bytes for part in parts) == file.stat().st_size
    assert len(whole[0]) > 10 and whole[1]


def test_a_part_is_pickled_alone(sample: Path) -> None:
    trace = tfbc.open(sample)
    parts = trace.split(bytes=1000)
    assert [part.number for part in parts] == list(range(1, len(parts) + 1)) and len(parts) > 8
    copies = [pickle.loads(pickle.dumps(part)) for part in parts]
    assert [bytes(copy) for copy in copies] == [bytes(part) for part in parts]
    assert (copies[1].input, copies[1].offset) == (str(sample), parts[1].offset)
    # The size of a part does not depend on the number of parts.
    assert len(bytes(parts[-1])) < 1.5 * len(bytes(trace.split(n=2)[1]))
    # A second run of a part yields the same.
    assert rows(tfbc.open_part(copies[3])) == rows(tfbc.open_part(parts[3]))
    seqs = [event.seq for copy in reversed(copies) for event in reversed(list(tfbc.open_part(copy)))]
    assert seqs[::-1] == [event.seq for event in trace]


def test_other_inputs_and_formats_are_refused(sample: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.trc"
    copy.write_bytes(sample.read_bytes())
    first, last = tfbc.open(copy).split(n=2)
    source = tfbc.Source('015 1.0 "STATE" "state=" $D1%U4', "state.trcfmt")
    with pytest.raises(tfbc.PartError, match="other format files"):
        tfbc.open_part(first, formats=source)
    own = tfbc.open(copy, formats=source).split(n=2)[1]
    assert list(tfbc.open_part(own, formats=source))
    with copy.open("ab") as file:
        file.write(bytes(100))
    assert list(tfbc.open_part(first))
    with pytest.raises(tfbc.PartError, match="has grown"):
        tfbc.open_part(last)
    trace = tfbc.open_part(first)
    copy.write_bytes(bytes(len(sample.read_bytes())))
    with pytest.raises(tfbc.PartError, match="not the input that was split"):
        list(trace)
    copy.unlink()
    with pytest.raises(tfbc.OpenError) as raised:
        tfbc.open_part(first)
    assert (raised.value.errno, raised.value.filename) == (2, str(copy))


def test_changed_bytes_of_a_part_are_refused(sample: Path) -> None:
    part = tfbc.open(sample).split(n=3)[1]
    state = bytes(part)
    for at in range(0, len(state), 11):
        changed = state[:at] + bytes([state[at] ^ 1]) + state[at + 1 :]
        with pytest.raises(tfbc.PartError, match="split file"):
            tfbc.Part._from_bytes(changed)


def test_merged_logs_are_the_sum_of_their_parts(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "a.trc").write_bytes(sample.read_bytes())
    paths = [sample, tmp_path / "a.trc"]
    whole = [event.text for event in tfbc.open(paths)]
    parts = [event.text for part in tfbc.open(paths).split(n=3) for event in tfbc.open_part(part)]
    assert len(whole) > 500 and parts == whole


def test_traces_without_parts_say_why(sample: Path) -> None:
    data = sample.read_bytes()
    with pytest.raises(tfbc.PartError, match="only a file can be split"):
        tfbc.open(data).split(n=2)
    with pytest.raises(tfbc.PartError, match="split again"):
        tfbc.open_part(tfbc.open(sample).split(n=2)[0]).split(n=2)
    trace = tfbc.open(sample)
    with pytest.raises(TypeError, match="either n, .* or bytes="):
        trace.split()
    with pytest.raises(TypeError, match="either n, .* or bytes="):
        trace.split(n=2, bytes=1000)
    with pytest.raises(ValueError):
        trace.split(n=0)

