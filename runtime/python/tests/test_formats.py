"""Compiling and checking format files."""

import pickle
from pathlib import Path

import pytest

import tfbc

STATE = tfbc.Source('015 1.0 "STATE" "state=" $D1%U4, 0 "off", 1 "on"\n', "state.trcfmt")
WRONG = tfbc.Source('015 1.0 "STATE" X17\n016 1.0 "OTHER" "n=" $D1%U4\n', "<wrong>.trcfmt")
BROKEN = tfbc.Source('015 1.0 "STATE" {{ $x = }}\n016 1.0 "OTHER" "n=" $D1%U4\n', "broken.trcfmt")


def test_formats_list_events_and_fields() -> None:
    formats = tfbc.compile(STATE)
    assert formats.events["015"] == "STATE"
    state, text = formats.fields("015")
    assert (state.name, state.type, state.hint) == ("state", "int64", "")
    assert (text.name, text.type, text.texts) == ("state_text", "dictionary", ["off", "on"])
    with pytest.raises(KeyError):
        formats.fields("999")


def test_formats_are_bytes_files_and_pickles(tmp_path: Path) -> None:
    formats = tfbc.compile(STATE)
    formats.save(tmp_path / "state.tfbc")
    assert (tmp_path / "state.tfbc").read_bytes() == bytes(formats)
    copies = [pickle.loads(pickle.dumps(formats)), tfbc.compile(tmp_path / "state.tfbc"), tfbc.compile(formats)]
    for copy in copies:
        assert copy.events == formats.events
        assert bytes(copy) == bytes(formats)


def test_a_hostile_blob_is_refused() -> None:
    blob = bytearray(bytes(tfbc.compile(STATE)))
    blob[200] ^= 0x40
    with pytest.raises(tfbc.FormatError):
        tfbc.Formats._from_blob(bytes(blob))


def test_errors_show_the_underlined_source() -> None:
    with pytest.raises(tfbc.FormatError) as raised:
        tfbc.compile(WRONG)
    (found,) = [found for found in raised.value.diagnostics if found.severity == "error"]
    assert (found.code, found.path, found.line, found.column) == ("S07", "<wrong>.trcfmt", 1, 17)
    assert (found.end_line, found.end_column) == (1, 20)
    assert "^^^" in str(found) and "^^^" in str(raised.value)
    assert found.help is not None
    assert "&lt;wrong&gt;.trcfmt" in found._repr_html_()


def test_check_returns_errors_and_warnings() -> None:
    assert [found.code for found in tfbc.check(WRONG)] == ["S07"]
    assert tfbc.check(STATE) == []


def test_a_trace_leaves_out_bad_stanzas(sample: Path) -> None:
    with pytest.warns(tfbc.FormatWarning, match="1 stanza left out; the first error: broken.trcfmt:1:"):
        trace = tfbc.open(sample, formats=[BROKEN])
    assert "016" in trace.formats.events and "015" not in trace.formats.events
    with pytest.raises(tfbc.FormatError):
        tfbc.open(sample, formats=[BROKEN], strict=True)


def test_own_formats_come_before_the_built_in_ones(sample: Path) -> None:
    exec_ = tfbc.Source('134 1.0 "MY EXEC" "mine"\n', "mine.trcfmt")
    labels = {event.id: event.label for event in tfbc.open(sample, formats=[exec_])}
    assert labels["134"] == "MY EXEC" and labels["106"] == "DISPATCH"
    labels = {event.id: event.label for event in tfbc.open(sample, formats=exec_, builtin=False)}
    assert labels["106"] != "DISPATCH"


def test_levels_and_dialects_are_checked() -> None:
    with pytest.raises(ValueError, match="unknown code"):
        tfbc.compile(STATE, allow=["Q99"])
    with pytest.raises(ValueError, match="unknown dialect setting"):
        tfbc.compile(STATE, dialect={"colour": "red"})


def test_files_that_cannot_be_loaded_are_named(tmp_path: Path, sample: Path) -> None:
    with pytest.raises(tfbc.OpenError) as raised:
        tfbc.compile(tmp_path / "missing.trcfmt")
    assert raised.value.errno == 2
    with pytest.raises(tfbc.FormatError, match="trace"):
        tfbc.compile(sample)
    with pytest.raises(TypeError, match="expected a path"):
        tfbc.compile(17)  # type: ignore[arg-type]
