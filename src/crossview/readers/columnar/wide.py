"""CSV files of thousands of columns, through Arrow: DuckDB takes a time quadratic in the columns.

DuckDB finds the types.  Those here are read alike by both, and what Arrow refuses is left to
DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crossview.tables.arrow import pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

# columns; with fewer, DuckDB is as fast
WIDE = 2000
# of the file, read at once; longer than DuckDB's longest line of 2 MB
BLOCK_BYTES = 1 << 23
# of a batch, about
CELLS = 4_000_000

_TYPES = {"BIGINT": "int64", "DOUBLE": "double", "VARCHAR": "string"}


def fits_types(types: Iterable[str]) -> bool:
    """Return whether Arrow reads columns of these DuckDB types as DuckDB does."""
    return all(kind in _TYPES for kind in types)


def read_wide(
    file: str, names: list[str], types: Mapping[str, str], format: Any, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a CSV file with the columns of ``types``, which are DuckDB's.

    ``names`` are all columns of the file, and the delimiter of ``format`` is known.
    """
    pa = pyarrow()
    from pyarrow import csv

    with pa.input_stream(file) as stream:
        reader = csv.open_csv(
            stream,
            read_options=csv.ReadOptions(
                block_size=BLOCK_BYTES, column_names=names, skip_rows=int(format.header)
            ),
            parse_options=csv.ParseOptions(
                delimiter=format.delimiter,
                quote_char=format.quote or False,
                newlines_in_values=True,
            ),
            convert_options=csv.ConvertOptions(
                column_types={name: _TYPES[kind] for name, kind in types.items()},
                include_columns=list(types),
                null_values=["", *format.null],
                strings_can_be_null=True,
                decimal_point=format.decimal,
            ),
        )
        for data in _joined(reader, CELLS // len(types)):
            for start in range(0, data.num_rows, batch_rows):
                yield data.slice(start, batch_rows)


def _joined(batches: Iterable[pa.RecordBatch], n_rows: int) -> Iterator[pa.RecordBatch]:
    """The batches, joined where they have fewer rows than that."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= n_rows:
            yield _one_batch(waiting)
            waiting = []
    if waiting:
        yield _one_batch(waiting)


def _one_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pyarrow().concat_batches(batches)
