"""Spark with several executors: if one is killed or slow, the rows are still those of the traces."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dataset import digest, digest_of_traces

pytest.importorskip("pyspark", reason="not run: pyspark is not installed")
pytest.importorskip("pyarrow")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("not run: there is no Java", allow_module_level=True)

import pyspark  # noqa: E402

import faults  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def events(log: Path) -> list[dict[str, Any]]:
    """Events that Spark has logged."""
    files = [path for path in log.rglob("*") if path.is_file() and path.stat().st_size]
    return [json.loads(line) for path in files for line in path.read_text().splitlines() if line.startswith("{")]


def cluster(master: str, tmp_path: Path, **conf: object) -> contextlib.AbstractContextManager[Any]:
    log = tmp_path / "log"
    log.mkdir()
    own = {
        "spark.eventLog.enabled": True,
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.compress": False,
        f"spark.executorEnv.{faults.FOLDER}": str(tmp_path),
    }
    return faults.session(master, **own, **conf)


@contextlib.contextmanager
def two_hosts(tmp_path: Path) -> Iterator[str]:
    """Cluster of two workers with different addresses. Spark runs no two attempts of a task on one host."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    deploy = "org.apache.spark.deploy"
    master = f"spark://127.0.0.1:{port}"
    commands = [[f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]]
    for host in ["127.0.0.1", "127.0.0.2"]:
        place = ["--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
        commands.append([f"{deploy}.worker.Worker", *place, "--work-dir", str(tmp_path / host), master])
    environment = {**os.environ, "SPARK_HOME": str(home)}
    running: list[subprocess.Popen[bytes]] = []
    try:
        with (tmp_path / "cluster.log").open("wb") as log:
            for command in commands:
                command = [str(home / "bin" / "spark-class"), *command]
                running.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        yield master
    finally:
        for process in running:
            process.terminate()
            process.wait()


def test_a_killed_executor_has_no_effect_on_rows(folder: Path, tmp_path: Path) -> None:
    with cluster("local-cluster[2,1,1024]", tmp_path) as spark:
        frame = spark.read.format("tfbc_killed").option("partBytes", "64k").load(str(folder))
        found = frame.toArrow().to_pylist()
        # This session does not pass on filters, so Spark alone applies them.
        n_execs = spark.read.format("tfbc").load(str(folder / "aix")).filter("id = '134'").count()
    assert digest(found) == digest_of_traces(folder)
    assert n_execs == sum(row["id"] == "134" for row in found)
    assert (tmp_path / "killed").exists()
    logged = [event for event in events(tmp_path / "log") if event["Event"] == "SparkListenerExecutorRemoved"]
    assert any("137" in event["Removed Reason"] or "lost" in event["Removed Reason"].lower() for event in logged), logged


def test_a_slow_worker_under_speculation_has_no_effect_on_rows(folder: Path, tmp_path: Path) -> None:
    conf = {
        "spark.speculation": True,
        "spark.speculation.interval": "100ms",
        "spark.speculation.quantile": 0.3,
        "spark.speculation.multiplier": 1.1,
        "spark.executor.memory": "512m",
    }
    with two_hosts(tmp_path) as master, cluster(master, tmp_path, **conf) as spark:
        frame = spark.read.format("tfbc_slow").option("partBytes", "64k").load(str(folder))
        found = frame.toArrow().to_pylist()
        (tmp_path / "rows").touch()
    assert digest(found) == digest_of_traces(folder)
    ends = [event for event in events(tmp_path / "log") if event["Event"] == "SparkListenerTaskEnd"]
    assert any(event["Task Info"]["Speculative"] for event in ends)
    assert (tmp_path / "again").exists()
