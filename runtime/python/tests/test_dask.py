"""Parts as tasks of Dask, with a worker that is killed."""

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

import tfbc

from dataset import SAMPLES, digest, digest_of_traces, example, rows_of, traces

pytest.importorskip("pyarrow")
distributed = pytest.importorskip("distributed", reason="not run: dask and distributed are not installed")


def rows_of_part(part: tfbc.Part, marker: str) -> list[dict[str, Any]]:
    rows = rows_of(tfbc.open_part(part))
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return rows
    os.kill(os.getpid(), signal.SIGKILL)
    return []


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_has_no_effect_on_rows(folder: Path, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    parts = tfbc.open(folder).split(bytes=8192)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        before = set(client.scheduler_info()["workers"])
        found = client.gather(client.map(rows_of_part, parts, marker=str(marker)))
        assert set(client.scheduler_info()["workers"]) != before
    assert marker.exists() and len(parts) > len(traces(folder))
    assert digest(row for rows in found for row in rows) == digest_of_traces(folder)


@pytest.mark.filterwarnings("ignore")
def test_the_example_of_the_book_counts_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(SAMPLES, tmp_path / "samples")
    monkeypatch.chdir(tmp_path)
    exec(example("dask"), {"__name__": "example"})
    assert "/usr/bin/ls" in capsys.readouterr().out
