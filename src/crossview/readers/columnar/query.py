"""Queries that DuckDB runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crossview.readers.columnar.parquet import check_stored
from crossview.readers.duck import (
    check_select,
    connection,
    empty_table,
    has_order,
    identifier,
    load_remote,
    matching_files,
    read_batches,
    read_names,
    views_of_words,
)
from crossview.readers.source import Batch
from crossview.tables.arrow import check_unique, one_line


class QuerySource:
    """Rows of a query that DuckDB runs: one SELECT, which only reads.

    ``reads`` are the names and globs of the files that it reads, and other tables.
    """

    def __init__(self, query: str) -> None:
        self.files: Sequence[str] = []
        self.n_rows: int | None = None
        self._query = query.strip().rstrip(";")
        with connection() as duck, one_line(None):
            load_remote(duck, self._query)
            check_select(duck, self._query)
            self.reads = read_names(duck, self._query)
            self._views = views_of_words(duck, self.reads)
            relation = self._relation(duck)
            self.schema = empty_table(relation).schema
            self.ordered = has_order(duck, self._query)
        from pyarrow.types import is_integer

        for file in matching_files(self.reads):
            if file.endswith(".parquet"):
                whole = [one.name for one in self.schema if is_integer(one.type)]
                check_stored(file, whole)

    def _relation(self, duck: Any) -> Any:
        """The rows, in which text of JSON has no quotes."""
        for view in self._views:
            duck.execute(view)
        relation = duck.sql(self._query)
        check_unique(relation.columns, None)
        columns = zip(relation.columns, map(str, relation.types), strict=True)
        texts = [identifier(name) for name, kind in columns if kind == "JSON"]
        plain = ", ".join(f"{name} ->> '$' AS {name}" for name in texts)
        return relation.project(f"* REPLACE ({plain})") if texts else relation

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[Batch]:
        """Yield the rows with these columns."""
        chosen = ", ".join(identifier(c) for c in columns)
        row = 0
        with connection() as duck, one_line(None):
            load_remote(duck, self._query)
            relation = self._relation(duck).project(chosen)
            for data in read_batches(duck, relation, batch_rows):
                yield Batch(data, None, row)
                row += data.num_rows
