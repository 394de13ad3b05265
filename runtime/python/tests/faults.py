"""Sessions of Spark, and data sources whose worker is killed once, or whose first task is slow.

Workers import this module.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSourceReader, InputPartition
from tfbc.spark import TfbcDataSource

# Folder for marker files, which tell the first attempt from later ones.
FOLDER = "TFBC_FAULTS"

# Time after which a task that waits gives up. It only ends a test that has already failed.
WAIT_SECONDS = 600


def is_first(name: str) -> bool:
    """True once per name, for whichever process asks first."""
    try:
        os.close(os.open(Path(os.environ[FOLDER]) / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def executor() -> int:
    """Process id of the executor that this Python process works for."""
    pid = os.getppid()
    while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{pid}/cmdline").read_bytes():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        if pid <= 1:
            raise RuntimeError("this process has no executor")
    return pid


class FaultyReader(DataSourceReader):
    """Reader that passes on another's batches, with a fault after the first one."""

    def __init__(self, inner: DataSourceReader) -> None:
        self.inner = inner

    def partitions(self) -> Any:
        return self.inner.partitions()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        for batch in self.inner.read(partition):
            yield batch
            self.fault(partition)

    def fault(self, partition: Any) -> None:
        raise NotImplementedError


class KilledReader(FaultyReader):
    def fault(self, partition: Any) -> None:
        if is_first("killed"):
            os.kill(executor(), signal.SIGKILL)
            os._exit(1)


class SlowReader(FaultyReader):
    def fault(self, partition: Any) -> None:
        folder = Path(os.environ[FOLDER])
        if is_first("slow"):
            (folder / "slow").write_text(repr(partition.path))
            # However slow the machine is, this attempt ends after the job, so the job needs another one.
            end = time.monotonic() + WAIT_SECONDS
            while time.monotonic() < end and not (folder / "rows").exists():
                time.sleep(0.1)
        elif repr(partition.path) == (folder / "slow").read_text():
            is_first("again")


class KilledSource(TfbcDataSource):
    """``tfbc``, but the first task kills its executor."""

    @classmethod
    def name(cls) -> str:
        return "tfbc_killed"

    def reader(self, schema: Any) -> DataSourceReader:
        return KilledReader(super().reader(schema))


class SlowSource(TfbcDataSource):
    """``tfbc``, but the first task ends after the job."""

    @classmethod
    def name(cls) -> str:
        return "tfbc_slow"

    def reader(self, schema: Any) -> DataSourceReader:
        return SlowReader(super().reader(schema))


@contextlib.contextmanager
def session(master: str, **conf: object) -> Iterator[Any]:
    """Session in which the data sources are registered."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master)
    own: dict[str, object] = {
        "spark.ui.enabled": False,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": 2,
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent),
    }
    for name, value in {**own, **conf}.items():
        builder = builder.config(name, str(value).lower() if isinstance(value, bool) else str(value))
    spark: Any = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        for source in [TfbcDataSource, KilledSource, SlowSource]:
            spark.dataSource.register(source)
        yield spark
    finally:
        spark.stop()
