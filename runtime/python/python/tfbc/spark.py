"""Traces as a data source of Apache Spark 4 and of engines with its interface, such as Sail.

The driver divides each trace into parts, and a task formats one part. A task depends only on its part, so a task that is
repeated, or that runs twice, yields the same rows::

    from pyspark.sql import SparkSession
    from tfbc.spark import TfbcDataSource

    spark = SparkSession.builder.getOrCreate()
    spark.dataSource.register(TfbcDataSource)
    rows = spark.read.format("tfbc").load("logs")
    rows.orderBy("file", "seq").show()

It needs PySpark and pyarrow: ``pip install tfbc[spark]``.
"""

from __future__ import annotations

import difflib
import glob
import hashlib
import json
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from importlib import metadata
from typing import Any

import tfbc

try:
    import pyarrow as pa
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import StructType
except ImportError as error:
    raise ImportError(f"tfbc.spark needs PySpark 4 and pyarrow: pip install tfbc[spark] ({error})") from error

__all__ = ["TfbcDataSource"]

_OPTIONS = [
    "path", "paths", "formats", "table", "partBytes", "columns", "only", "from", "until", "splits", "uint64", "strict",
]  # fmt: skip

_PART_BYTES = 64 << 20

# Columns before the fields in the table of one event.
_COLUMNS_OF_EVENT = ["seq", "time", "elapsed_ns", "cpu", "pid", "tid", "process", "id", "note", "file"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# Size of the pieces of a file that identify it.
_PIECE = 4096


class TfbcDataSource(DataSource):
    """Data source ``tfbc`` for ``spark.dataSource.register``.

    Its options are ``path`` (files, globs and folders), ``formats`` (format files, separated by commas), ``table``
    (``events``, ``notices``, or the id of an event), ``partBytes`` (such as ``64m``), ``columns``, ``only``, ``from``,
    ``until``, ``splits`` (a folder for split files), ``uint64`` (``decimal`` or ``signed``) and ``strict``.
    """

    @classmethod
    def name(cls) -> str:
        """Name of the format: ``tfbc``."""
        return "tfbc"

    def schema(self) -> StructType:
        """Columns of the table. They depend on the format files and options, not on the events of a trace."""
        return _Settings.parse(self.options).schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reader of the columns of a schema."""
        return _Reader(_Settings.parse(self.options), schema)


@dataclass(frozen=True)
class _Filter:
    """Filter of rows. It may let more rows pass than were asked for, because the engine checks them again."""

    only: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    pids: tuple[int, ...] = ()
    # Elapsed time in nanoseconds.
    first_ns: int | None = None
    last_ns: int | None = None
    # Time in microseconds since 1970.
    first_us: int | None = None
    last_us: int | None = None

    def ids(self, trace: tfbc.Trace) -> list[str]:
        """Ids of events of the trace's system."""
        is_qnx = trace.info["system"] == "qnx"
        return [id for id in self.only if (":" in id) == is_qnx]

    def excludes(self, trace: tfbc.Trace) -> bool:
        """True if the ids are those of the other system."""
        return bool(self.only) and not self.ids(trace)

    def with_condition(self, condition: Any) -> _Filter:
        """This filter with a condition of the engine; unchanged if it cannot be applied to a trace."""
        path, kind = getattr(condition, "attribute", ()), type(condition).__name__
        column = path[0] if isinstance(path, tuple) and len(path) == 1 else path
        value: Any = getattr(condition, "value", None)
        if column in ("id", "cpu", "pid") and kind in ("EqualTo", "In"):
            values = tuple(value) if kind == "In" else (value,)
            return self._with_values(column, values)
        if column == "elapsed_ns" and isinstance(value, int):
            return self._with_range("first_ns", "last_ns", kind, value)
        if column == "time" and isinstance(value, datetime) and value.tzinfo is not None:
            return self._with_range("first_us", "last_us", kind, (value - _EPOCH) // timedelta(microseconds=1))
        return self

    def _with_values(self, column: str, values: tuple[Any, ...]) -> _Filter:
        name = {"id": "only", "cpu": "cpus", "pid": "pids"}[column]
        if column == "id":
            # An id as rows have it. Anything else may mean other events, or none.
            is_exact = all(isinstance(value, str) and re.fullmatch(r"[0-9A-F]{3,4}|[A-Z_]+:[0-9]+", value) for value in values)
        else:
            is_exact = all(isinstance(value, int) and 0 <= value < 1 << 32 for value in values)
        if not is_exact or not values or getattr(self, name):
            return self
        changed: dict[str, Any] = {name: values}
        return replace(self, **changed)

    def _with_range(self, first: str, last: str, kind: str, value: int) -> _Filter:
        lower = {"EqualTo": value, "GreaterThanOrEqual": value, "GreaterThan": value + 1}.get(kind)
        upper = {"EqualTo": value, "LessThanOrEqual": value, "LessThan": value - 1}.get(kind)
        bounds: dict[str, Any] = {}
        if lower is not None:
            bounds[first] = max([lower, *(old for old in [getattr(self, first)] if old is not None)])
        if upper is not None:
            bounds[last] = min([upper, *(old for old in [getattr(self, last)] if old is not None)])
        return replace(self, **bounds)

    def elapsed(self, time_zero: int | None) -> tuple[str | None, str | None]:
        """First and last elapsed time in seconds, for a trace that began at a time in nanoseconds since 1970."""
        first, last = self.first_ns, self.last_ns
        if time_zero is not None and self.first_us is not None:
            first = max(self.first_us * 1000 - time_zero, first if first is not None else 0)
        if time_zero is not None and self.last_us is not None:
            until = self.last_us * 1000 + 999 - time_zero
            last = min(until, last if last is not None else until)
        # Times of AIX are not negative.
        return _seconds(first) if first is not None and first > 0 else None, None if last is None else _seconds(max(last, 0))


def _seconds(ns: int) -> str:
    return f"{ns // 10**9}.{ns % 10**9:09}"


@dataclass(frozen=True)
class _Identity:
    """Size of a file that is read as a whole, and a hash of its ends."""

    size: int
    ends: bytes

    @staticmethod
    def of(path: str) -> _Identity | None:
        """Identity of a file; ``None`` for a pipe."""
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            ends = hashlib.blake2b(file.read(_PIECE))
            file.seek(max(size - _PIECE, 0))
            ends.update(file.read(_PIECE))
        return _Identity(size, ends.digest())


@dataclass
class _Partition(InputPartition):  # type: ignore[misc, unused-ignore]
    """Input of one task: a part of a trace, a whole trace, or the reason why a trace cannot be read."""

    path: str
    start: str | None = None
    end: str | None = None
    part: tfbc.Part | None = None
    identity: _Identity | None = None
    unreadable: str | None = None


@dataclass(frozen=True)
class _Settings:
    """Options of the data source."""

    paths: tuple[str, ...]
    formats: tfbc.Formats | None
    table: str
    part_bytes: int
    columns: tuple[str, ...] | None
    only: tuple[str, ...]
    start: str | None
    end: str | None
    splits: str | None
    is_signed: bool
    is_strict: bool
    version: str = field(default_factory=lambda: metadata.version("tfbc"))

    @staticmethod
    def parse(options: Any) -> _Settings:
        """Settings from the options of a query. Engines write their names in any case."""
        known = {name.lower(): name for name in _OPTIONS}
        given: dict[str, str] = {}
        for name, value in options.items():
            if name.lower() not in known:
                raise ValueError(_unknown("option", name, _OPTIONS))
            given[name.lower()] = value
        paths = json.loads(given["paths"]) if "paths" in given else []
        paths += [given["path"]] if "path" in given else []
        if not paths:
            raise ValueError("the data source tfbc needs a path: load(\"logs\")")
        formats = _words(given.get("formats"))
        uint64 = given.get("uint64", "decimal")
        if uint64 not in ("decimal", "signed"):
            raise ValueError(_unknown("value of uint64", uint64, ["decimal", "signed"]))
        strict = given.get("strict", "false").lower()
        if strict not in ("true", "false"):
            raise ValueError(_unknown("value of strict", strict, ["true", "false"]))
        return _Settings(
            # Tasks have another working directory.
            paths=tuple(os.path.abspath(_local(path)) for path in paths),
            formats=tfbc.compile(*formats) if formats else None,
            table=given.get("table", "events"),
            part_bytes=_size(given["partbytes"]) if "partbytes" in given else _PART_BYTES,
            columns=tuple(_words(given["columns"])) if "columns" in given else None,
            only=tuple(_words(given.get("only"))),
            start=given.get("from"),
            end=given.get("until"),
            splits=os.path.abspath(given["splits"]) if "splits" in given else None,
            is_signed=uint64 == "signed",
            is_strict=strict == "true",
        )

    def traces(self) -> tuple[list[str], list[tuple[str, str]], bool]:
        """Paths of the traces, of directories that cannot be read with the reason, and true for a single named file."""
        traces: list[str] = []
        unreadable: list[tuple[str, str]] = []
        is_single = len(self.paths) == 1 and not os.path.isdir(self.paths[0]) and not glob.has_magic(self.paths[0])
        for path in self.paths:
            found, refused = tfbc._find_traces(path)
            traces += map(os.fspath, found)
            unreadable += refused
        return list(dict.fromkeys(traces)), unreadable, is_single

    def schema(self) -> StructType:
        """Schema of the table, from the first trace that can be opened."""
        traces, _, _ = self.traces()
        failures: dict[str, Exception] = {}
        for path in traces:
            try:
                trace = self.open(path)
            except tfbc.OpenError as error:
                failures.setdefault("", error)
                continue
            system = trace.info["system"]
            if system in failures:
                continue
            try:
                table = self.rows(trace, _Filter(), None, None, self.columns)
                return from_arrow_schema(self.plain_schema(pa.schema(table)), False)
            except ValueError as error:
                # An id or name may mean an event of the other system.
                failures[system] = error
        raise failures.popitem()[1] if failures else ValueError("there is no trace")

    def open(self, path: str) -> tfbc.Trace:
        return tfbc.open(path, formats=self.formats or (), strict=self.is_strict)

    def open_part(self, part: tfbc.Part) -> tfbc.Trace:
        return tfbc.open_part(part, formats=self.formats or (), strict=self.is_strict)

    def rows(
        self, trace: tfbc.Trace, rows: _Filter, start: str | None, end: str | None, columns: Iterable[str] | None
    ) -> tfbc.Table:
        """Table of a trace. ``columns`` may name fields of the table of one event."""
        is_portable = not self.is_signed
        if self.table == "notices":
            return trace.notices()
        common: dict[str, Any] = {"start": self.start or start, "end": self.end or end, "portable": is_portable}
        common.update(cpu=rows.cpus or None, pid=rows.pids or None)
        if self.table == "events":
            # The table of a log with one file per CPU has the column `file` already.
            known = trace.events().schema.names
            names = list(dict.fromkeys([*known, "file"]) if columns is None else columns)
            return trace.events(columns=names, only=self.only or rows.ids(trace) or None, **common)
        names = _COLUMNS_OF_EVENT if columns is None else [name for name in columns if name in _COLUMNS_OF_EVENT]
        return trace.table(self.table, columns=names or ["seq"], **common)

    def plain_schema(self, schema: pa.Schema) -> pa.Schema:
        """Schema with types that every engine has."""
        kinds = [_plain(pa.array([], column.type), self.is_signed).type for column in schema]
        columns = zip(schema, kinds, strict=True)
        return pa.schema([pa.field(column.name, kind, column.nullable) for column, kind in columns])


class _PushFilters:
    """Method ``pushFilters`` of a reader.

    Spark refuses a reader with a method of its own unless ``spark.sql.python.filterPushdown.enabled`` is set. It compares
    ``__func__``, so this object counts as the inherited method. Without that setting it is not called, which is correct,
    because the engine checks every filter itself.
    """

    __func__ = staticmethod(getattr(DataSourceReader, "pushFilters", len))

    def __init__(self, push: Callable[[list[Any]], list[Any]]) -> None:
        self._push = push

    def __call__(self, filters: list[Any]) -> list[Any]:
        return self._push(filters)


class _Reader(DataSourceReader):
    """Reader of the data source. The driver calls ``partitions``, and each task ``read``."""

    def __init__(self, settings: _Settings, schema: StructType) -> None:
        self._settings = settings
        self._schema = schema
        self._filter = _Filter()
        self.pushFilters = _PushFilters(self._push)  # type: ignore[assignment, method-assign, unused-ignore]

    def _push(self, filters: list[Any]) -> list[Any]:
        """Takes filters over. All of them are returned, so that the engine checks them again."""
        if self._settings.table != "notices":
            for condition in filters:
                self._filter = self._filter.with_condition(condition)
        return filters

    def partitions(self) -> list[InputPartition]:
        """Parts of all traces. Traces of folders that cannot be read are partitions with the reason."""
        traces, refused, is_single = self._settings.traces()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda path: self._partitions_of(path, is_single), traces))
        partitions = [_Partition(name, unreadable=f"cannot read {name}: {why}") for name, why in refused]
        return [*partitions, *(partition for of_trace in found for partition in of_trace)]

    def _partitions_of(self, path: str, is_single: bool) -> list[_Partition]:
        settings = self._settings
        try:
            trace = settings.open(path)
        except tfbc.OpenError as error:
            if is_single:
                raise
            return [_Partition(path, unreadable=str(error))]
        if self._filter.excludes(trace):
            return []
        zero = trace.events().schema.metadata.get("tfbc:time_zero")
        start, end = self._filter.elapsed(None if zero is None else int(zero))
        whole = _Partition(path, start, end, identity=_Identity.of(path))
        if settings.splits is None and (trace.info["size"] or 0) <= settings.part_bytes:
            return [whole]
        try:
            parts = self._parts(path, trace)
        except tfbc.PartError:
            # A compressed trace is one task.
            return [whole]
        try:
            table = settings.rows(trace, self._filter, start, end, None)
        except ValueError:
            # The events that the options name are those of the other system.
            return []
        return [_Partition(path, start, end, part) for part in parts if part._may_match(table)]

    def _parts(self, path: str, trace: tfbc.Trace) -> list[tfbc.Part]:
        """Parts of a trace: those of its split file, or new ones."""
        settings = self._settings
        if settings.splits is None:
            return trace.split(bytes=settings.part_bytes)
        name = hashlib.blake2b(f"{settings.part_bytes} {path}".encode(), digest_size=8).hexdigest()
        file = os.path.join(settings.splits, f"{os.path.basename(path)}.{name}.tfbs")
        try:
            parts = tfbc.Part._read(file)
            # Another or a changed input is refused here, before a task begins.
            settings.open_part(parts[-1])
            if all(part.input == path for part in parts):
                return parts
        except (tfbc.OpenError, tfbc.PartError):
            pass
        parts = trace.split(bytes=settings.part_bytes)
        os.makedirs(settings.splits, exist_ok=True)
        tfbc.Part._write(parts, file)
        return parts

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Batches of one partition."""
        settings, schema = self._settings, _arrow_schema(self._schema)
        place = f"part {partition.part.number} of {partition.path}" if partition.part else partition.path
        installed = metadata.version("tfbc")
        if installed != settings.version:
            raise tfbc.Error(f"{platform.node()} has tfbc {installed}, but the driver has {settings.version}")
        if partition.unreadable is not None:
            if settings.table == "notices":
                yield _notice(partition, schema)
            return
        # Damage is no failure: it is in the table of notices.
        warnings.simplefilter("ignore", tfbc.DamageWarning)
        try:
            yield from self._batches(partition, schema)
        except (tfbc.Error, OSError) as error:
            raise tfbc.Error(f"{platform.node()}: {place}: {error}") from error

    def _batches(self, partition: _Partition, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        settings = self._settings
        if partition.part is not None:
            trace = settings.open_part(partition.part)
        else:
            trace = settings.open(partition.path)
            if partition.identity != _Identity.of(partition.path):
                raise tfbc.PartError("the file has changed since the driver listed it")
        try:
            table = settings.rows(trace, self._filter, partition.start, partition.end, schema.names)
        except ValueError:
            # The events that the options name are those of the other system.
            return
        for batch in table.batches():
            rows = pa.record_batch(batch)
            columns = [_plain(rows.column(column.name), settings.is_signed).cast(column.type) for column in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _arrow_schema(schema: StructType | pa.Schema) -> pa.Schema:
    """Arrow schema that the engine expects of batches. Sail's readers receive it."""
    if isinstance(schema, pa.Schema):
        return schema
    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:
        # PySpark 4.0 has no such parameter, and always expects UTC.
        return to_arrow_schema(schema)


def _plain(array: pa.Array, is_signed: bool) -> pa.Array:
    """Array without dictionaries and ``uint64``."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return array.dictionary_decode()
    if pa.types.is_uint64(kind):
        return array.view(pa.int64()) if is_signed else array.cast(pa.decimal128(20, 0))
    if pa.types.is_fixed_size_binary(kind):
        return array.cast(pa.binary())
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(array.offsets, _plain(array.values, is_signed), mask=array.is_null())
    if pa.types.is_struct(kind):
        members = [_plain(array.field(at), is_signed) for at in range(kind.num_fields)]
        return pa.StructArray.from_arrays(members, [member.name for member in kind], mask=array.is_null())
    return array


def _notice(partition: _Partition, schema: pa.Schema) -> pa.RecordBatch:
    """Row of the table of notices for a trace that cannot be read."""
    values = {"kind": "warning", "file": partition.path, "message": partition.unreadable}
    return pa.RecordBatch.from_pylist([{name: values.get(name) for name in schema.names}], schema=schema)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _local(path: str) -> str:
    """Path of a ``file:`` URL; other paths as they are."""
    return re.sub(r"^file:(//)?(?=/)", "", path)


def _size(text: str) -> int:
    found = re.fullmatch(r"([0-9]+)([kmg]?)b?", text.strip().lower())
    size = int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2]] if found else 0
    if size == 0:
        raise ValueError(f"partBytes takes a size such as 64m, found {text!r}")
    return size


def _unknown(what: str, found: str, known: list[str]) -> str:
    close = difflib.get_close_matches(found.lower(), [name.lower() for name in known], 1)
    hint = f"; did you mean {next(name for name in known if name.lower() == close[0])}?" if close else ""
    return f"unknown {what} {found!r}{hint} (known: {', '.join(known)})"
