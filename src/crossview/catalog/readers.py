"""The readers: one entry for each kind of source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reader:
    """One kind of source.

    name: name of the format in messages.
    path: its class, ``"module:Class"``, made from the list of files; `crossview.data.source`
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


_READERS = "crossview.data.readers"


def _text_rows(name: str, path: str, suffixes: tuple[str, ...]) -> Reader:
    """A format of text whose rows have labels and views."""
    return Reader(name, f"{_READERS}.{path}", suffixes, "sparse", compressed=True, takes_views=True)


READERS: list[Reader] = [
    Reader("parquet", f"{_READERS}.parquet:ParquetSource", (".parquet", ".pq")),
    Reader("csv", f"{_READERS}.text:CsvSource", (".csv", ".tsv"), compressed=True),
    Reader("json", f"{_READERS}.text:JsonSource", (".jsonl", ".ndjson", ".json"), compressed=True),
    _text_rows("svmlight", "svmlight:SvmlightSource", (".svm", ".svmlight", ".libsvm")),
    _text_rows("libffm", "libffm:LibffmSource", (".ffm",)),
    _text_rows("vw", "vw:VwSource", (".vw",)),
    Reader("served", f"{_READERS}.served:ServedSource", (".sqlite",)),
    Reader("query", f"{_READERS}.query:QuerySource"),
    Reader("memory", f"{_READERS}.memory:MemorySource"),
]
