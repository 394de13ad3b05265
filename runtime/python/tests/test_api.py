"""Names and parameters of the package: they are a promise, and each has a test."""

import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest
import tfbc

FILTERS = "columns only excluding pid tid cpu exec start end grep defined text fields batch_rows threads portable"


def parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (tfbc.open, "source formats builtin dialect context kind follow time_zero strict"),
        (tfbc.open_part, "part formats builtin dialect time_zero strict"),
        (tfbc.compile, "formats dialect allow deny"),
        (tfbc.check, "formats"),
        (tfbc.format_event, "data formats env event_class id"),
        (tfbc.Trace.events, FILTERS),
        (tfbc.Trace.notices, ""),
        (tfbc.Trace.tables, ""),
        (tfbc.Trace.split, "n bytes"),
    ],
)
def test_parameters(function: Any, expected: str) -> None:
    assert parameters(function) == expected.split()


@pytest.mark.parametrize(
    ("type_", "names"),
    [
        (tfbc.Formats, "diagnostics save events fields __bytes__ __reduce__"),
        (tfbc.Diagnostic, "code severity message path line column end_line end_column help __str__"),
        (tfbc.Trace, "info events table tables notices split summary __iter__ _repr_html_"),
        (tfbc.Part, "number input offset n_bytes n_events __bytes__ __reduce__"),
        (tfbc.Table, "schema __arrow_c_schema__ __arrow_c_stream__ batches head to_parquet to_arrow_ipc _repr_html_"),
        (
            tfbc.Event,
            "seq file time elapsed_ns cpu pid tid process id label text note fields __getitem__ keys",
        ),
    ],
)
def test_members(type_: type, names: str) -> None:
    assert [name for name in names.split() if not hasattr(type_, name)] == []
    assert type_ is not tfbc.Table or not hasattr(type_, "__len__")


def test_every_filter_of_a_table_selects(sample: Path) -> None:
    trace = tfbc.open(sample)
    everything = list(trace)

    def seqs(**flags: Any) -> list[int]:
        found: list[int] = []
        pyarrow = pytest.importorskip("pyarrow")
        for batch in trace.events(columns="seq", **flags).batches():
            found += pyarrow.record_batch(batch).column("seq").to_pylist()
        return found

    def expected(is_wanted: Any) -> list[int]:
        return [event.seq for event in everything if is_wanted(event)]

    assert seqs() == expected(lambda event: True)
    assert seqs(only="106") == seqs(only=["106"]) == expected(lambda event: event.id == "106")
    assert seqs(excluding="106") == expected(lambda event: event.id != "106")
    assert seqs(pid=4522) == expected(lambda event: event.pid == 4522)
    assert seqs(tid=[8191, 10011]) == expected(lambda event: event.tid in (8191, 10011))
    assert seqs(cpu=0) == expected(lambda event: event.cpu == 0)
    assert seqs(exec="ls") == expected(lambda event: (event.process or "").endswith("/ls"))
    assert seqs(start=0.005, end="0.02") == expected(lambda event: 5_000_000 <= event.elapsed_ns <= 20_000_000)
    assert seqs(grep="ksh") == expected(lambda event: "ksh" in event.text)
    assert seqs(batch_rows=7, threads=2) == seqs()


def test_columns_text_and_fields_can_be_left_out(sample: Path) -> None:
    trace = tfbc.open(sample)
    assert trace.events(columns="id,text").schema.names == ["id", "text"]
    names = trace.events(text=False, fields=False).schema.names
    assert "text" not in names and "fields" not in names and "label" in names


def test_formats_can_be_pickled_and_saved(tmp_path: Path) -> None:
    formats = tfbc.compile(tfbc.Source('015 1.0 "STATE" "state=" $D1%U4', "state.trcfmt"))
    copy = pickle.loads(pickle.dumps(formats))
    formats.save(tmp_path / "state.tfbc")
    assert bytes(copy) == bytes(formats) == (tmp_path / "state.tfbc").read_bytes()


def test_errors_have_one_base() -> None:
    for error in [tfbc.OpenError, tfbc.FormatError, tfbc.PartError, tfbc.SpentError, tfbc.LimitError, tfbc.DamageError]:
        assert issubclass(error, tfbc.Error)
    assert issubclass(tfbc.OpenError, OSError) and issubclass(tfbc.DamageWarning, Warning)


def test_an_event_is_a_mapping(sample: Path) -> None:
    event = next(event for event in tfbc.open(sample) if event.id == "134")
    values = dict(event)
    assert values["cmd"] == event["cmd"] == event.fields["cmd"]
    assert (values["seq"], values["text"]) == (event.seq, event.text)
