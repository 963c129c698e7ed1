"""Parquet files."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import accumulate, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

from crossview.errors import InputError, cannot_import
from crossview.readers.source import Batch
from crossview.tables.arrow import (
    check_same_columns,
    check_text,
    check_unique,
    one_line,
    plain_columns,
    plain_type,
    pyarrow,
    type_of_values,
)

if TYPE_CHECKING:
    import pyarrow as pa


# what pandas calls a level of the index that has no name
_EXTENSION = b"ARROW:extension:name"
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


def _without_index(schema: pa.Schema) -> pa.Schema:
    """Leave out the index of a frame of pandas, unless it has a name; pandas shows no column."""
    for i in reversed(range(len(schema))):
        if _UNNAMED_INDEX.fullmatch(schema.field(i).name):
            schema = schema.remove(i)
    return schema


def check_stored(file: str, columns: Sequence[str]) -> None:
    """Raise `InputError` if DuckDB reads one of these columns of a file as other numbers."""
    from pyarrow import parquet, types

    for field in parquet.read_schema(file):
        if field.name in columns and (types.is_duration(field.type) or _is_period(field)):
            raise InputError(
                "holds durations or periods, which a query reads as the whole numbers that are "
                "stored; give the file itself, or make numbers with a fraction of them",
                file=file,
                column=field.name,
            )


def _is_period(field: pa.Field) -> bool:
    """Return whether a column holds periods of pandas, whether or not that has been imported."""
    kinds = (field.metadata or {}).get(_EXTENSION), getattr(field.type, "extension_name", "")
    return b"pandas.period" in kinds or "pandas.period" in kinds


class ParquetSource:
    """Parquet files; text columns come as dictionaries, as they are stored."""

    def __init__(self, files: list[str]) -> None:
        self.files: Sequence[str] = files
        self.n_rows: int | None = 0
        # of each file: what its footer says, which takes a while to read where columns are many
        self._metadata: dict[str, Any] = {}
        # a file, one of its row groups, and how many rows that has
        self.blocks: list[tuple[str, int, int]] = []
        for file in files:
            with one_line(file), self._file(file) as parquet:
                schema = _without_index(parquet.schema_arrow)
                fields = [field.with_type(plain_type(field.type)) for field in schema]
                schema = pyarrow().schema(fields)
                self.n_rows += parquet.metadata.num_rows
                self.blocks += [
                    (file, group, parquet.metadata.row_group(group).num_rows)
                    for group in range(parquet.num_row_groups)
                ]
            check_unique(schema.names, file)
            if file == files[0]:
                self.schema = schema.remove_metadata()
            else:
                self._widen(file, schema)

    def _file(self, file: str) -> Any:
        from pyarrow import parquet, types

        metadata = self._metadata.get(file) or parquet.read_metadata(file)
        self._metadata[file] = metadata
        kinds = metadata.schema.to_arrow_schema()
        if any(map(_is_period, kinds)):  # Arrow knows the type once pandas has made one
            try:
                pandas = import_module("pandas")
            except ImportError as error:
                raise cannot_import("reading periods", "pandas", error) from None
            pyarrow().array(pandas.period_range("2000", periods=1, freq="D"))
        texts = [f.name for f in kinds if types.is_string(f.type) or types.is_large_string(f.type)]
        # small buffers and no pre-buffering: memory follows the batch, not the row group
        return parquet.ParquetFile(
            file, metadata=metadata, read_dictionary=texts, pre_buffer=False, buffer_size=1 << 20
        )

    def _widen(self, file: str, schema: pa.Schema) -> None:
        """Make room in the common schema for what this file holds."""
        pa = pyarrow()
        check_same_columns(schema.names, self.schema.names, file, self.files[0])
        for i, ours in enumerate(self.schema):
            theirs = schema.field(ours.name)
            if ours.type == theirs.type:
                continue
            try:
                wide = pa.unify_schemas(
                    [pa.schema([ours]), pa.schema([theirs])], promote_options="permissive"
                )
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                raise InputError(
                    f"holds {type_of_values(theirs.type)}, but {self.files[0]} holds "
                    f"{type_of_values(ours.type)}",
                    file=file,
                    column=ours.name,
                ) from None
            self.schema = self.schema.set(i, wide.field(0))

    @property
    def starts(self) -> dict[str | None, list[int]]:
        """For each file, the rows at which its row groups begin."""
        starts: dict[str | None, list[int]] = {}
        for file, blocks in groupby(self.blocks, key=itemgetter(0)):
            n_rows = [n for *_, n in blocks]
            starts[file] = [0, *accumulate(n_rows[:-1])]
        return starts

    def of_blocks(self, blocks: Sequence[tuple[str, int, int]]) -> Self:
        """Return the rows of consecutive blocks only."""
        other = copy.copy(self)
        other.blocks, other.n_rows = list(blocks), sum(n for *_, n in blocks)
        other.files = list(dict.fromkeys(file for file, *_ in blocks))
        # a worker is sent the footers of its files only
        other._metadata = {file: self._metadata[file] for file in other.files}
        return other

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[Batch]:
        """Yield the rows with these columns."""
        schema = pyarrow().schema([self.schema.field(name) for name in columns])
        for file, blocks in groupby(self.blocks, key=itemgetter(0)):
            groups = [group for _, group, _ in blocks]
            with one_line(file), self._file(file) as parquet:
                row = sum(parquet.metadata.row_group(group).num_rows for group in range(groups[0]))
                for data in parquet.iter_batches(batch_rows, row_groups=groups, columns=columns):
                    data = plain_columns(data.select(columns))
                    check_text(data, file)
                    if data.schema != schema:  # another file has a wider type
                        data = data.cast(schema)
                    yield Batch(data, file, row)
                    row += data.num_rows
