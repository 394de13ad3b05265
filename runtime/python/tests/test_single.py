"""Single events without a trace."""

from pathlib import Path
from typing import Any

import pytest
import tfbc

STATE = tfbc.Source('015 1.0 "@STATE" "state=" $D1%U4, 0 "off", 1 "on"', "state.trcfmt")


def test_a_hook_has_text_and_fields() -> None:
    event = tfbc.format_event(bytes.fromhex("01520000 00000001"), STATE, env=32)
    assert (event.id, event.label, event.text) == ("015", "STATE", "state=on")
    assert event.fields == {"state": 1, "state_text": "on"}
    assert (event.note, event.time, event.elapsed_ns, event.tid) == (None, None, None, None)


def test_a_short_hook_is_truncated() -> None:
    source = tfbc.Source('015 1.0 "@PAIR" "a=" U4 " b=" U4', "pair.trcfmt")
    event = tfbc.format_event(bytes.fromhex("01520000"), source, env=32)
    assert (event.note, event.fields["b"]) == ("truncated", None)
    event = tfbc.format_event(bytes.fromhex("01520000"), STATE, env=32)
    assert event.fields == {"state": None, "state_text": None}


def test_a_record_is_named_by_class_and_id(log: Path) -> None:
    event = tfbc.format_event(bytes.fromhex("61a317fe"), [log.parent / "user.xml"], event_class="USER", id=140)
    assert event.id == "USER:140"
    assert event.fields["code"] == 0xFE17A361


def test_mistakes_are_value_errors() -> None:
    wrong: list[dict[str, Any]] = [{}, {"env": 16}, {"env": 32, "event_class": 6, "id": 1}, {"event_class": 6}]
    for arguments in wrong:
        with pytest.raises(ValueError):
            tfbc.format_event(b"\0\0\0\0", STATE, **arguments)
    with pytest.raises(ValueError, match="hook word"):
        tfbc.format_event(b"\0", STATE, env=64)
