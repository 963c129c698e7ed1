"""Helpers of the readers: Arrow tables, column names, and error messages."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np

from crossview.errors import InputError, argument, cannot_import
from crossview.labels import has_label
from crossview.views import flat_columns


def pyarrow() -> Any:
    """Return the module pyarrow, or raise an error that says how to install it."""
    try:
        import pyarrow
    except ImportError as error:
        raise cannot_import("reading tables", "pyarrow", error) from None
    return pyarrow


def integers(values: np.ndarray) -> Any:
    """Return 64-bit integers as an Arrow array; ``pyarrow.array`` would import pandas."""
    pa = pyarrow()
    values = np.ascontiguousarray(values, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def floats(values: np.ndarray) -> Any:
    """Return numbers as an Arrow array, NaN as null; ``pyarrow.array`` would import pandas."""
    pa = pyarrow()
    values = np.ascontiguousarray(values, dtype=np.float64)
    present = pa.py_buffer(np.packbits(~np.isnan(values), bitorder="little"))
    return pa.Array.from_buffers(pa.float64(), len(values), [present, pa.py_buffer(values)])


def kind_of_labels(labels: Sequence[Any]) -> Any:
    """Return the type that Arrow gives labels; ``pyarrow.array`` would import pandas."""
    pa = pyarrow()
    for of_labels, of_arrow in ((str, pa.string()), (int, pa.int64())):
        if all(type(label) is of_labels for label in labels):
            return of_arrow
    return pa.array(labels).type


def labels_as(labels: Sequence[Any], kind: Any) -> Any:
    """Return labels as an Arrow array of this type; ``pyarrow.array`` would import pandas."""
    pa = pyarrow()
    if all(type(label) is str for label in labels):
        texts = [label.encode() for label in labels]
        offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))]
        return pa.Array.from_buffers(pa.large_string(), len(texts), buffers).cast(kind)
    if all(type(label) is int for label in labels) and pa.types.is_integer(kind):
        return integers(np.array(labels)).cast(kind)
    return pa.array(labels, type=kind)


def nan_as_null(array: Any) -> Any:
    """Return an Arrow array in which NaN is null."""
    pa = pyarrow()
    if not pa.types.is_floating(array.type):
        return array
    import pyarrow.compute as pc

    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)


def numbers_of(array: Any) -> np.ndarray:
    """Return an Arrow array of numbers or truth values, with NaN for null, as one of NumPy.

    So does ``to_numpy``, which imports pandas.
    """
    pa = pyarrow()
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_boolean(array.type) and not array.null_count:
        return np.from_dlpack(array.cast(pa.uint8())).astype(bool)
    simple = pa.types.is_integer(array.type) or pa.types.is_float32(array.type)
    if not (simple or pa.types.is_float64(array.type)):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    if array.null_count:
        dtype = np.float32 if pa.types.is_float32(array.type) else np.float64
        values = np.full(len(array), np.nan, dtype)
        values[numbers_of(array.is_valid())] = np.from_dlpack(array.drop_null())
        return values
    return np.from_dlpack(array)


def codes_of(indices: Any, missing: int, dtype: Any = np.int64) -> np.ndarray:
    """Return codes of Arrow with ``missing`` for null, which need not fit their own type."""
    if not indices.null_count:
        return numbers_of(indices).astype(dtype, copy=False)
    codes = np.full(len(indices), missing, dtype=dtype)
    codes[numbers_of(indices.is_valid())] = numbers_of(indices.drop_null())
    return codes


@lru_cache(maxsize=64)
def is_number(kind: Any) -> bool:
    """Return whether an Arrow type is one of numbers, whole ones, floats or decimals."""
    types = pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def release_unused() -> None:
    """Give the memory that Arrow has freed back to the system; its allocator keeps it for later."""
    pyarrow().default_memory_pool().release_unused()


def column_names(frame: Any) -> list[str]:
    """Return the names of a data frame's columns; ``x0``, ``x1``, ... for an ndarray."""
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2:
            raise InputError(
                f"an array of {frame.ndim} dimensions; a table has 2: pandas.DataFrame(X) makes "
                "one of a structured array, X.reshape(-1, 1) of one column"
            )
        return [f"x{c}" for c in range(frame.shape[1])]
    pa = pyarrow()
    if isinstance(frame, pa.Table | pa.RecordBatch):
        names = list(frame.schema.names)
        check_unique(names, None)
        return names
    return [str(name) for name in eager(frame).columns]


def to_arrow(frame: Any, columns: Sequence[str] | None = None) -> Any:
    """Return a data frame of any library as an Arrow table, or as a record batch if it is one.

    Of pandas without its index; there and in an ndarray NaN becomes null.
    With ``columns``, only those are read, and the others may hold anything.
    """
    pa = pyarrow()
    names = column_names(frame)
    columns = names if columns is None else list(columns)
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return plain_columns(frame if columns == names else frame.select(columns))
    if isinstance(frame, np.ndarray):
        arrays = {c: _array_of(c, frame[:, names.index(c)]) for c in columns}
        return pa.table(arrays)
    try:
        table, wanted = eager(frame), set(columns)
        # by position: polars reads a name such as * or ^a$ as a pattern
        table = table[:, [c for c, name in enumerate(table.columns) if str(name) in wanted]]
        if table.implementation.is_pandas():
            arrow = pa.Table.from_pandas(table.to_native(), preserve_index=False)
        else:
            arrow = table.to_arrow()
        return plain_columns(arrow.select(columns))
    except (
        pa.ArrowException,
        OverflowError,
        TypeError,
        UnicodeEncodeError,
    ) as error:  # Arrow's TypeError is of sparse columns
        native = table.to_native()
        for k, name in enumerate(table.columns):  # which one it is
            _array_of(str(name), native.iloc[:, k])
        raise InputError(f"cannot read the data frame: {first_line(error)}") from None


def not_utf8(error: UnicodeEncodeError) -> str:
    """Return what is wrong with text of Python that cannot be encoded, and what to do."""
    shown = ascii(error.object[error.start : error.start + 1])
    return f"holds {shown}, half a character, which is not UTF-8; mend the text, or leave it out"


def plain_type(kind: Any) -> Any:
    """Return the type as which a column is read: views and runs have few functions in Arrow.

    Durations are seconds, and periods of pandas the times at which they begin.
    """
    pa = pyarrow()
    if pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if pa.types.is_duration(kind):
        return pa.float64()
    if _is_period(kind):
        return pa.timestamp("us")
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return views.get(kind, kind)


def _is_period(kind: Any) -> bool:
    return getattr(kind, "extension_name", "") == "pandas.period"


def plain_array(array: Any) -> Any:
    """Return an array, or chunks of it, with the type of `plain_type`."""
    import pyarrow.compute as pc

    pa, kind = pyarrow(), plain_type(array.type)
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    if pa.types.is_duration(array.type):
        per_second = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[array.type.unit]
        return pc.divide(array.cast(pa.int64()).cast(kind, safe=False), per_second)
    if _is_period(array.type):
        begun = array.to_pandas().dt.to_timestamp().astype("datetime64[us]")
        return pa.array(begun, kind, from_pandas=True)
    return array if array.type == kind else array.cast(kind)


def plain_columns(data: Any) -> Any:
    """Return a table or batch whose columns have the types of `plain_type`."""
    kinds = [plain_type(kind) for kind in data.schema.types]
    if kinds == data.schema.types:
        return data
    columns = list(map(plain_array, data.columns))
    fields = [field.with_type(kind) for field, kind in zip(data.schema, kinds, strict=True)]
    return type(data).from_arrays(columns, schema=pyarrow().schema(fields, data.schema.metadata))


def _array_of(name: str, values: Any) -> Any:
    """Return a column of pandas or NumPy as an Arrow array; `InputError` if it has no one type."""
    pa = pyarrow()
    try:
        return pa.array(values, from_pandas=True)
    except UnicodeEncodeError as error:
        texts = (isinstance(v, str) and v == error.object for v in np.asarray(values, dtype=object))
        row = next(i for i, found in enumerate(texts) if found)
        raise InputError(not_utf8(error), row=row, column=name) from None
    except OverflowError:
        objects = np.asarray(values, dtype=object).tolist()
        large = (isinstance(v, Integral) and not -(2**63) <= int(v) < 2**63 for v in objects)
        at = next((i for i, found in enumerate(large) if found), None)
        which = "lists or objects with" if at is None else f"{objects[at]!r:.30},"
        what = (
            f"holds {which} a whole number beyond 64 bits; make text of it, "
            ".astype(str) in pandas, or a float, .astype(float)"
        )
        raise InputError(what, row=at, column=name) from None
    except (pa.ArrowException, TypeError):
        what = f"holds {values.dtype}, which cannot be read; convert it to numbers, text or dates"
        if str(values.dtype).startswith("Sparse"):
            what = f"holds {values.dtype}; .sparse.to_dense() in pandas makes numbers of it"
        objects = np.asarray(values, dtype=object)
        if any(isinstance(v, np.ndarray) for v in objects.tolist()):
            what = (
                "holds arrays of several types or dimensions; give vectors of one type, such as by "
                ".map(lambda a: a.ravel().astype(float)) in pandas"
            )
            raise InputError(what, column=name) from None
        found = {type(v): v for v in objects[has_label(objects)].tolist()}
        if len(found) > 1:
            kinds = ", ".join(f"{kind.__name__} {v!r:.30}" for kind, v in found.items())
            what = (
                f"holds values of several types ({kinds}); give it one, such as text by "
                ".astype(str) in pandas"
            )
        raise InputError(what, column=name) from None


def type_of_values(kind: Any) -> Any:
    """Return the type of the values of a column, also of categories."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def decoded(array: Any) -> Any:
    """Return an array as its values, also one of categories."""
    coded = isinstance(array, pyarrow().DictionaryArray)
    return array.dictionary_decode() if coded else array


def eager(frame: Any) -> Any:
    """Any data frame in memory, as narwhals sees it."""
    import narwhals.stable.v2 as nw

    frame = flat_columns(frame)
    try:
        return nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError:
        check_unique([str(name) for name in frame.columns], None)
        raise
    except TypeError:
        raise InputError(
            f"cannot read a table from {type(frame).__name__}; give a file name, a query, or a "
            "pandas, polars or Arrow table (collect a lazy one first, make a table of a series by "
            ".to_frame(), of a reader by .read_all(), of a relation of DuckDB by .to_arrow_table())"
        ) from None


def check_unique(names: Sequence[str], file: str | None) -> None:
    """Raise an error for duplicate column names."""
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise InputError(f"two columns are called {name!r}; rename one", file=file)


def check_same_columns(
    names: Sequence[str], expected: Sequence[str], file: str, first: str
) -> None:
    """Raise an error if the columns of a file differ from those of the first file."""
    here, there = set(names), set(expected)
    missing = [name for name in expected if name not in here]
    extra = [name for name in names if name not in there]
    if missing:
        raise InputError(f"has no column {missing[0]!r}, which {first} has", file=file)
    if extra:
        raise InputError(f"has a column {extra[0]!r}, which {first} has not", file=file)


def check_text(data: Any, file: str | None) -> None:
    """Raise an error for text that is not UTF-8, or not there, which Arrow and Parquet let pass."""
    pa = pyarrow()
    for name, column in zip(data.schema.names, data.columns, strict=True):
        if pa.types.is_primitive(column.type):
            continue
        if isinstance(column, pa.DictionaryArray):
            check_codes(column, file, name)
            column = column.dictionary
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise InputError(
                "holds text that is not UTF-8; convert it, or leave the column out",
                file=file,
                column=name,
            ) from None


def check_codes(array: Any, file: str | None, name: str) -> None:
    """Raise an error for a code that is not in the dictionary; Arrow's own check is slow."""
    import pyarrow.compute as pc

    least, largest = pc.min_max(array.indices).values()
    if least.is_valid and not 0 <= least.as_py() <= largest.as_py() < len(array.dictionary):
        raise InputError("holds codes that are not in its dictionary", file=file, column=name)


@contextmanager
def one_line(file: str | None, header_lines: int = 1) -> Iterator[None]:
    """Convert errors of Arrow and DuckDB to an `InputError` of one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        kinds = [OSError, UnicodeDecodeError, pyarrow().ArrowException]
        if "duckdb" in sys.modules:  # else it cannot have raised this
            kinds.append(sys.modules["duckdb"].Error)
        if not isinstance(error, tuple(kinds)):
            raise
        raise _explain(error, file, header_lines) from None


HTTPFS = "python -c \"import duckdb; duckdb.sql('INSTALL httpfs')\""
_RAGGED = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_BAD_VALUE = re.compile(r'Error when converting column "(.*?)"\. (.*)')
_IN_EXTENSION = re.compile(
    r"with name \"?(\w+)\"? is not in the catalog, but it exists in the (\w+) extension"
)
_OTHER = re.compile(r"^(?!.*CSV Error)(.*\b(?:found|detected|[Mm]aximum)\b.*)$", re.MULTILINE)


def _explain(error: Exception, file: str | None, header_lines: int) -> InputError:
    """The error of one line that stands for this one."""
    text = str(error)
    if "httpfs" in text:
        return InputError(f"a remote file needs DuckDB's extension httpfs; install it: {HTTPFS}")
    if extension := _IN_EXTENSION.search(text):
        return InputError(
            f"{extension[1]} needs DuckDB's extension {extension[2]}, which no query loads; write "
            "the rows to a Parquet or CSV file, or give Python the frame"
        )
    line = re.search(r"CSV Error on Line: (\d+)", text)
    if text.startswith("Out of Memory"):
        return InputError(f"out of memory ({first_line(error)}); let the process have more")
    if "Invalid unicode" in text:  # in a query: files are converted
        return InputError(
            f"reads text that is not UTF-8; name the file itself, with {argument('encoding')}",
            file=file,
        )
    if line is None:
        return InputError(first_line(error), file=file)
    row = int(line[1]) - 1 - header_lines  # DuckDB counts records, from 1
    column = None
    if ragged := _RAGGED.search(text):
        message = f"{ragged[2]} fields instead of the {ragged[1]} that the header names"
    elif value := _BAD_VALUE.search(text):
        message, column = value[2], value[1]
    else:
        other = _OTHER.search(text)
        message = other[1].rstrip(".") if other else "cannot be read as CSV"
    return InputError(f"{message} (line {line[1]})", file=file, row=row, column=column)


def first_line(error: Exception) -> str:
    """Return the first line that says something, without DuckDB's class of error before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    return re.sub(r"^(\w+ )+Error: ", "", first)
