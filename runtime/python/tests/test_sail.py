"""The data source for Spark in Sail, which has the same interface and no JVM."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dataset import digest, digest_of_traces

pytest.importorskip("pyspark", reason="not run: pyspark is not installed")
pytest.importorskip("pyarrow")
pytest.importorskip("pysail", reason="not run: pysail is not installed")

SERVER = """
import sys
from pysail.spark import SparkConnectServer

server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print(server.listening_address[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module", params=["local", "local-cluster"])
def spark(request: pytest.FixtureRequest) -> Iterator[Any]:
    from pyspark.sql import SparkSession
    from tfbc.spark import TfbcDataSource

    names = {"SAIL_MODE": request.param, "SAIL_CLUSTER__WORKER_INITIAL_COUNT": "2", "SAIL_CLUSTER__WORKER_MAX_COUNT": "2"}
    command = [sys.executable, "-c", SERVER]
    server = subprocess.Popen(
        command, env={**os.environ, **names}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        spark: Any = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.dataSource.register(TfbcDataSource)
        yield spark
        spark.stop()
    finally:
        server.kill()
        server.wait()


def test_parts_yield_the_rows_of_the_traces(spark: Any, folder: Path) -> None:
    expected = digest_of_traces(folder)
    for size in ["64m", "4k"]:
        frame = spark.read.format("tfbc").option("partBytes", size).load(str(folder))
        assert digest(frame.toArrow().to_pylist()) == expected, size


def test_filters_select_the_rows_that_sail_would(spark: Any, folder: Path) -> None:
    def read() -> Any:
        return spark.read.format("tfbc").option("partBytes", "2k").load(str(folder))

    whole = read().toArrow().to_pylist()
    conditions: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
        ("id = '106'", lambda row: row["id"] == "106"),
        ("id in ('106', 'USER:65') and cpu = 0", lambda row: row["id"] in ("106", "USER:65") and row["cpu"] == 0),
        ("elapsed_ns > 5000000", lambda row: row["elapsed_ns"] is not None and row["elapsed_ns"] > 5_000_000),
    ]
    for condition, is_wanted in conditions:
        found = read().filter(condition).toArrow().to_pylist()
        assert digest(found) == digest(row for row in whole if is_wanted(row)), condition
