import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, final

from typing_extensions import Buffer, Self

from tfbc._errors import (
    DamageError,
    DamageWarning,
    Error,
    FormatError,
    FormatWarning,
    LimitError,
    OpenError,
    PartError,
    SpentError,
)
from tfbc._source import Source

__all__ = [
    "Batch",
    "BatchIterator",
    "DamageError",
    "DamageWarning",
    "Diagnostic",
    "Error",
    "Event",
    "EventIterator",
    "Field",
    "FormatError",
    "FormatWarning",
    "Formats",
    "LimitError",
    "OpenError",
    "Part",
    "PartError",
    "Schema",
    "Source",
    "SpentError",
    "Table",
    "Trace",
    "check",
    "compile",
    "format_event",
    "open",
    "open_part",
]

_Path: TypeAlias = str | os.PathLike[str]
_Format: TypeAlias = _Path | Source | Formats
_Words: TypeAlias = str | int | Iterable[str | int] | None
_Value: TypeAlias = bool | int | float | str | bytes | datetime | list[Any] | dict[str, Any] | None

class _Readable(Protocol):
    def read(self, n: int, /) -> bytes: ...

@final
class Diagnostic:
    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> Literal["error", "warning"]: ...
    @property
    def message(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def end_line(self) -> int: ...
    @property
    def end_column(self) -> int: ...
    @property
    def help(self) -> str | None: ...
    def _repr_html_(self) -> str: ...

@final
class Field:
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def hint(self) -> str: ...
    @property
    def texts(self) -> list[str]: ...
    @property
    def members(self) -> list[Field]: ...

@final
class Formats:
    @property
    def diagnostics(self) -> list[Diagnostic]: ...
    @property
    def events(self) -> dict[str, str]: ...
    def fields(self, id: str) -> list[Field]: ...
    def save(self, path: _Path) -> None: ...
    def __bytes__(self) -> bytes: ...
    @staticmethod
    def _from_blob(blob: bytes) -> Formats: ...

@final
class Event:
    @property
    def seq(self) -> int: ...
    @property
    def file(self) -> str | None: ...
    @property
    def time(self) -> datetime | None: ...
    @property
    def note(self) -> Literal["truncated", "limit", "refused"] | None: ...
    @property
    def elapsed_ns(self) -> int | None: ...
    @property
    def cpu(self) -> int | None: ...
    @property
    def pid(self) -> int | None: ...
    @property
    def tid(self) -> int | None: ...
    @property
    def process(self) -> str | None: ...
    @property
    def id(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def fields(self) -> dict[str, _Value]: ...
    def keys(self) -> list[str]: ...
    def __getitem__(self, name: str, /) -> Any: ...

@final
class EventIterator:
    def __iter__(self) -> Self: ...
    def __next__(self) -> Event: ...

@final
class Schema:
    @property
    def names(self) -> list[str]: ...
    @property
    def metadata(self) -> dict[str, str]: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Batch:
    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    @property
    def schema(self) -> Schema: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class BatchIterator:
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...

@final
class Table:
    @property
    def schema(self) -> Schema: ...
    def batches(self) -> BatchIterator: ...
    def head(self, n: int = 10) -> Table: ...
    def to_arrow_ipc(self, path: _Path) -> None: ...
    def to_parquet(self, path: _Path) -> None: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...

@final
class Trace:
    @property
    def info(self) -> dict[str, Any]: ...
    @property
    def formats(self) -> Formats: ...
    @property
    def summary(self) -> dict[str, Any]: ...
    def events(
        self,
        *,
        columns: str | Iterable[str] | None = None,
        only: _Words = None,
        excluding: _Words = None,
        pid: _Words = None,
        tid: _Words = None,
        cpu: _Words = None,
        exec: _Words = None,
        start: float | str | None = None,
        end: float | str | None = None,
        grep: str | None = None,
        defined: bool = False,
        text: bool = True,
        fields: bool = True,
        batch_rows: int = 8192,
        threads: int | None = None,
        portable: bool = False,
    ) -> Table: ...
    def table(
        self,
        id: str,
        *,
        columns: str | Iterable[str] | None = None,
        pid: _Words = None,
        tid: _Words = None,
        cpu: _Words = None,
        exec: _Words = None,
        start: float | str | None = None,
        end: float | str | None = None,
        grep: str | None = None,
        batch_rows: int = 8192,
        threads: int | None = None,
        portable: bool = False,
    ) -> Table: ...
    def tables(self) -> dict[str, Table]: ...
    def notices(self) -> Table: ...
    def split(self, n: int | None = None, *, bytes: int | None = None) -> list[Part]: ...
    def __iter__(self) -> EventIterator: ...
    def _repr_html_(self) -> str: ...

@final
class Part:
    @property
    def number(self) -> int: ...
    @property
    def input(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_events(self) -> int: ...
    def __bytes__(self) -> bytes: ...
    def _may_match(self, table: Table) -> bool: ...
    @staticmethod
    def _from_bytes(bytes: bytes) -> Part: ...
    @staticmethod
    def _read(path: _Path) -> list[Part]: ...
    @staticmethod
    def _write(parts: list[Part], path: _Path) -> None: ...

def open(
    source: _Path | Buffer | _Readable | Iterable[_Path],
    *,
    formats: _Format | Iterable[_Format] = (),
    builtin: bool = True,
    dialect: Mapping[str, str] | None = None,
    context: _Path | None = None,
    kind: Literal["stream32", "stream64", "log32", "log64", "kev"] | None = None,
    follow: bool = False,
    time_zero: datetime | None = None,
    strict: bool = False,
) -> Trace: ...
def _find_traces(source: _Path) -> tuple[list[Path], list[tuple[str, str]]]: ...
def open_part(
    part: Part,
    *,
    formats: _Format | Iterable[_Format] = (),
    builtin: bool = True,
    dialect: Mapping[str, str] | None = None,
    time_zero: datetime | None = None,
    strict: bool = False,
) -> Trace: ...
def compile(
    *formats: _Format,
    dialect: Mapping[str, str] | None = None,
    allow: Iterable[str] = (),
    deny: Iterable[str] = (),
) -> Formats: ...
def check(*formats: _Format) -> list[Diagnostic]: ...
def format_event(
    data: bytes,
    formats: _Format | Iterable[_Format],
    *,
    env: Literal[32, 64] | None = None,
    event_class: str | int | None = None,
    id: str | int | None = None,
) -> Event: ...
