"""The readers: one entry for each kind of source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reader:
    """One kind of source.

    name: name of the format in messages.
    path: its class, ``"module:Class"``, made from the list of files; `crossview.readers.source`
      documents its interface.
    suffixes: suffixes of the files that it reads; none for a query and a table in memory.
    kind {"columnar", "sparse"}: whether it yields columns, for a `ViewEncoder`, or views and
      labels.
    compressed: whether it also reads those files as ``.gz`` and ``.zst``.
    takes_views: of a sparse reader, whether its class also takes ``views``, ``hash_bits`` and
      ``tags``, as `crossview.open_rows` documents them.
    """

    name: str
    path: str
    suffixes: tuple[str, ...] = ()
    kind: str = "columnar"
    compressed: bool = False
    takes_views: bool = False


_COLUMNAR, _SPARSE = "crossview.readers.columnar", "crossview.readers.sparse"


def _text_rows(name: str, path: str, suffixes: tuple[str, ...]) -> Reader:
    """A format of text whose rows have labels and views."""
    return Reader(name, f"{_SPARSE}.{path}", suffixes, "sparse", compressed=True, takes_views=True)


READERS: list[Reader] = [
    Reader("parquet", f"{_COLUMNAR}.parquet:ParquetSource", (".parquet", ".pq")),
    Reader("csv", f"{_COLUMNAR}.text:CsvSource", (".csv", ".tsv"), compressed=True),
    Reader("json", f"{_COLUMNAR}.text:JsonSource", (".jsonl", ".ndjson", ".json"), compressed=True),
    _text_rows("svmlight", "svmlight:SvmlightSource", (".svm", ".svmlight", ".libsvm")),
    _text_rows("libffm", "libffm:LibffmSource", (".ffm",)),
    _text_rows("vw", "vw:VwSource", (".vw",)),
    Reader("served", f"{_COLUMNAR}.served:ServedSource", (".sqlite",)),
    Reader("query", f"{_COLUMNAR}.query:QuerySource"),
    Reader("memory", f"{_COLUMNAR}.memory:MemorySource"),
]
