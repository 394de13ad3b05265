"""Opening traces, and iterating over their events."""

import gzip
import io
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import tfbc

SAMPLES = Path(__file__).parents[2] / "samples"
REPORT_IDS = 288


def test_info_comes_from_the_header(sample: Path, log: Path) -> None:
    assert tfbc.open(sample).info == {
        "name": str(sample),
        "system": "aix",
        "kind": "log64",
        "size": sample.stat().st_size,
        "logs": 1,
    }
    assert tfbc.open(log).info["system"] == "qnx"


def test_a_loop_yields_every_event_of_the_report(sample: Path) -> None:
    trace = tfbc.open(sample)
    events = list(trace)
    assert len(events) == REPORT_IDS
    assert [event.text for event in trace] == [event.text for event in events]
    assert all(event.elapsed_ns is not None for event in events)


def test_events_in_a_list_are_those_of_the_loop(sample: Path, log: Path) -> None:
    for path, formats in [(sample, []), (log, [log.with_suffix(".xml")])]:
        trace = tfbc.open(path, formats=formats)
        seen = [(event.id, event.label, event.text, event.process, event.fields) for event in trace]
        kept = list(trace)
        assert seen == [(event.id, event.label, event.text, event.process, event.fields) for event in kept]


def test_fields_have_pythons_types(sample: Path) -> None:
    execs = [event for event in tfbc.open(sample) if event.label == "EXEC"]
    assert execs[0].fields == {"cmd": "/usr/bin/ls", "cmd_2": None, "cmd_2_text": None, "arg_pid": 6418}
    assert execs[0]["cmd"] == "/usr/bin/ls"
    assert execs[0]["pid"] == execs[0].pid
    assert dict(execs[0])["label"] == "EXEC"
    with pytest.raises(KeyError):
        execs[0]["no such name"]


def test_events_outlive_their_iterator(sample: Path) -> None:
    events = iter(tfbc.open(sample))
    first = next(events)
    text = first.text
    del events
    assert first.text == text
    assert first.fields == next(iter(tfbc.open(sample))).fields


def test_inputs_of_all_kinds_yield_the_same(sample: Path, tmp_path: Path) -> None:
    data = sample.read_bytes()
    packed = tmp_path / "shell.trc.gz"
    packed.write_bytes(gzip.compress(data))
    texts = [event.text for event in tfbc.open(sample)]
    sources: list[Any] = [str(sample), data, bytearray(data), memoryview(data), io.BytesIO(data), packed, [sample]]
    for source in sources:
        assert [event.text for event in tfbc.open(source)] == texts


def test_two_iterators_are_independent(sample: Path) -> None:
    trace = tfbc.open(sample)
    for one, other in zip(trace, trace, strict=True):
        assert one.text == other.text


def test_a_file_object_is_read_once(sample: Path) -> None:
    with sample.open("rb") as file:
        trace = tfbc.open(file)
        assert len(list(trace)) == REPORT_IDS
        with pytest.raises(tfbc.SpentError, match="was read before"):
            iter(trace)


def test_a_named_pipe_is_read_once(sample: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(sample.read_bytes()))
    writer.start()
    trace = tfbc.open(pipe)
    assert len(list(trace)) == REPORT_IDS
    writer.join()
    with pytest.raises(tfbc.SpentError):
        iter(trace)


def test_an_exception_of_a_file_object_is_raised(sample: Path) -> None:
    class Broken(io.RawIOBase):
        def __init__(self, data: bytes) -> None:
            self.pieces = [data[:4096]]

        def read(self, n: int = -1) -> bytes:
            if not self.pieces:
                raise ValueError("the tape broke")
            return self.pieces.pop()

    with pytest.raises(ValueError, match="the tape broke"):
        for _ in tfbc.open(Broken(sample.read_bytes())):
            pass


def test_a_file_object_in_text_mode_is_refused(sample: Path) -> None:
    with pytest.raises(TypeError):
        tfbc.open(io.StringIO("text"))


def test_a_glob_names_several_traces(sample: Path, tmp_path: Path) -> None:
    for name in ["a.trc", "b.trc"]:
        (tmp_path / name).write_bytes(sample.read_bytes())
    trace = tfbc.open(tmp_path / "*.trc")
    assert trace.info["logs"] == 2
    with pytest.raises(tfbc.OpenError, match="no file"):
        tfbc.open(tmp_path / "*.kev")


def test_open_errors_are_os_errors(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(OSError) as raised:
        tfbc.open(missing)
    assert isinstance(raised.value, tfbc.OpenError) and isinstance(raised.value, tfbc.Error)
    assert (raised.value.errno, raised.value.filename) == (2, str(missing))
    (tmp_path / "text").write_text("no trace at all\n")
    with pytest.raises(tfbc.OpenError, match="not a trace"):
        tfbc.open(tmp_path / "text")
    with pytest.raises(TypeError, match="expected a path"):
        tfbc.open(17)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown kind"):
        tfbc.open(missing, kind="tape")  # type: ignore[arg-type]


def damaged(sample: Path) -> bytes:
    data = bytearray(sample.read_bytes())
    data[6000:6100] = b"\xff" * 100
    return bytes(data)


def test_damage_is_a_warning_after_the_last_event(sample: Path) -> None:
    with pytest.warns(tfbc.DamageWarning, match="damaged place") as warned:
        events = list(tfbc.open(damaged(sample)))
    assert len(warned) == 1 and len(events) > 100


def test_damage_is_an_error_with_strict(sample: Path) -> None:
    events = iter(tfbc.open(damaged(sample), strict=True))
    n = 0
    with pytest.raises(tfbc.DamageError):
        for _ in events:
            n += 1
    assert n > 100
    assert next(events, None) is None


@pytest.mark.filterwarnings("ignore::tfbc.DamageWarning")
def test_no_bytes_crash_the_reader(sample: Path) -> None:
    data = sample.read_bytes()
    for at in range(0, len(data), 97):
        cut = data[:at]
        flipped = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        for hostile in [cut, flipped]:
            try:
                trace = tfbc.open(hostile)
            except tfbc.OpenError:
                continue
            try:
                for event in trace:
                    event.fields
            except tfbc.Error:
                pass


def test_html_is_escaped(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "<script>&.trc"
    path.write_bytes(sample.read_bytes())
    html = tfbc.open(path)._repr_html_()
    assert "&lt;script&gt;&amp;.trc" in html and "<script>" not in html


def test_threads_share_a_trace(sample: Path) -> None:
    trace = tfbc.open(sample)
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(sum(1 for _ in trace))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [REPORT_IDS] * 4


INTERRUPTED = """
import os, signal, sys, threading, time
import tfbc

data = open(sys.argv[1], "rb").read()
read, write = os.pipe()
os.write(write, data[:len(data) // 2])

def interrupt():
    global sent
    time.sleep(0.5)
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
is_open = False
try:
    trace = tfbc.open(os.fdopen(read, "rb", buffering=0) if sys.argv[2] == "object" else f"/dev/fd/{read}")
    is_open = True
    for event in trace:
        pass
except KeyboardInterrupt:
    print(time.monotonic() - sent, is_open, flush=True)
    os._exit(0)
"""


@pytest.mark.parametrize("kind", ["object", "path"])
@pytest.mark.parametrize("name", ["shell.trc", "user.kev"])
def test_ctrl_c_ends_a_waiting_pass(name: str, kind: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(SAMPLES / name), kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    seconds, is_open = done.stdout.split()
    assert float(seconds) < 0.1
    # A log of AIX from a pipe is read as a whole when it is opened, because its parts may be in any order.
    assert is_open == str(name == "user.kev")


def test_records_before_the_start_have_negative_times() -> None:
    keys = {"VER_MAJOR": "1", "VER_MINOR": "01", "LITTLE_ENDIAN": "TRUE", "CYCLES_PER_SEC": "1000000000",
            "CPU_NUM": "1", "SYS_RELEASE": "7.1.0", "SYSPAGE_LEN": "0"}  # fmt: skip
    header = "TRACE_HEADER_BEGIN::" + "".join(f"TRACE_{key}::{value}" for key, value in keys.items())
    slots = struct.pack("<8I", 1 << 10 | 1, 100, 0, 100, 6 << 10 | 65, 50, 1, 2)
    trace = tfbc.open((header + "TRACE_HEADER_END::").encode() + slots)
    assert [event.elapsed_ns for event in trace] == [0, -50]
