"""Text files of rows with views: what the formats share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from crossview.data.prefetch import Background
from crossview.data.readers.parsed_rows import Parser, Part, read_parts
from crossview.data.readers.whole_lines import PART_BYTES
from crossview.data.source import Batch
from crossview.errors import InputError
from crossview.labels import whole_labels
from crossview.views import MultiView, ViewLayout

__all__ = ["FirstPass", "TextRowSource", "column_lists"]

# more labels than a learner takes; they are numbers to predict
MOST_LABELS = 1001
ROWS_OF_FIRST_PASS = 1 << 14
MOST_COLUMNS = 2**31 - 1


@dataclass
class FirstPass:
    """Results of one pass over the files.

    These are the number of rows, the rows of each label (of more than about `MOST_LABELS` some are
    left out), and file and number of the first row without a label.
    """

    n_rows: int = 0
    labels: Counter[float] = field(default_factory=Counter)
    unlabeled: tuple[str, int] | None = None

    def count(self, labels: np.ndarray, file: str, first_row: int) -> None:
        """Count the labels of consecutive rows."""
        self.n_rows += len(labels)
        missing = np.isnan(labels)
        if self.unlabeled is None and missing.any():
            self.unlabeled = file, first_row + int(missing.argmax())
        new = ~missing
        for label in self.labels:
            same = labels == label
            self.labels[label] += int(np.count_nonzero(same))
            new &= ~same
        if new.any() and len(self.labels) < MOST_LABELS:
            found, counts = np.unique(labels[new], return_counts=True)
            most = dict(zip(found.tolist(), counts.tolist(), strict=True))
            self.labels.update(dict(islice(most.items(), MOST_LABELS)))


class TextRowSource:
    """Files of one text format whose rows have labels and views.

    ``views`` are what each view holds, as the file names it (None: see the formats).  A view whose
    columns are hashed or folded has 2 to the power of ``hash_bits`` slots.  Batches have the
    ``tags`` of rows, where the format has some.  How many bytes are read at a time changes no
    result.
    """

    format: ClassVar[str]

    def __init__(
        self,
        files: list[str],
        views: Mapping[str, Any] | None = None,
        hash_bits: int = 18,
        tags: bool = False,
        part_bytes: int = PART_BYTES,
    ) -> None:
        if not 1 <= hash_bits <= 30:
            raise InputError(f"hash_bits={hash_bits}; give a number from 1 to 30")
        self.files: Sequence[str] = files
        self.n_rows: int | None = None
        self.hash_bits = hash_bits
        self._given = None if views is None else column_lists(views)
        self._tags = tags
        self._part_bytes = part_bytes
        self._first_pass: FirstPass | None = None
        self._under_way: Background[FirstPass] | None = None
        self._layout: ViewLayout | None = None

    # --- what a format says ----------------------------------------------------------------

    def _scanner(self) -> Parser:
        """A parser that keeps no entries, but what the columns are."""
        raise NotImplementedError

    def _parser(self) -> Parser:
        """A parser of the views."""
        raise NotImplementedError

    def _views(self) -> dict[str, list[str]]:
        """Return the parts of each view, which read another file without a first pass."""
        raise NotImplementedError

    def _widths(self) -> list[int]:
        """The number of columns of each view."""
        raise NotImplementedError

    # --- what is known before the rows are read --------------------------------------------

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments that read other files in the same way."""
        return {"format": self.format, "views": self._views(), "hash_bits": self.hash_bits}

    @property
    def layout(self) -> ViewLayout:
        """Names and widths of the views."""
        if self._layout is None:
            layout = ViewLayout(list(self._views()), self._widths())
            if layout.n_columns > MOST_COLUMNS:
                raise InputError(
                    f"its views have {layout.n_columns:,} columns, and {MOST_COLUMNS:,} is the "
                    "most; give ranges of columns with views=",
                    file=self.files[0],
                )
            self._layout = layout
        return self._layout

    def first_pass(self) -> FirstPass:
        """Return what a pass over the files finds out; it is made once."""
        if self._first_pass is None:
            self.start_first_pass()
            assert self._under_way is not None
            self._first_pass = self._under_way.result()
            self.n_rows = self._first_pass.n_rows
        return self._first_pass

    def start_first_pass(self) -> None:
        """Begin the first pass in a thread, while others load what comes after it."""
        if self._under_way is None:
            self._under_way = Background(self._make_first_pass)

    def _make_first_pass(self) -> FirstPass:
        found, scanner = FirstPass(), self._scanner()
        for file in self.files:
            for part in read_parts(file, ROWS_OF_FIRST_PASS, scanner, self._part_bytes):
                found.count(part.rows.labels[: part.n_rows], file, part.first_row)
        return found

    @property
    def blocks(self) -> list[str]:
        """The files."""
        return list(self.files)

    def of_blocks(self, blocks: Sequence[str]) -> Self:
        """Return the rows of some files only; their views need no pass over others."""
        return type(self)(list(blocks), self._views(), self.hash_bits)

    # --- rows ------------------------------------------------------------------------------

    def batches(self, batch_rows: int) -> Iterator[Batch]:
        """Yield the rows."""
        layout, parser = self.layout, self._parser()
        for file in self.files:
            for part in read_parts(file, batch_rows, parser, self._part_bytes):
                labels = whole_labels(part.rows.labels[: part.n_rows])
                X = MultiView.from_matrix(_matrix(part, layout), layout)
                yield Batch(X, file, part.first_row, labels, **part.extras)


def _matrix(part: Part, layout: ViewLayout) -> sp.csr_array:
    n = part.n_entries
    # indices of the narrower type of the two would be copied
    kind = np.int32 if n <= np.iinfo(np.int32).max else np.int64
    indptr = part.rows.indptr[: part.n_rows + 1].astype(kind)
    indices = part.rows.indices[:n].view(np.int32)
    shape = (part.n_rows, layout.n_columns)
    matrix = sp.csr_array((part.rows.values[:n], indices, indptr), shape=shape)
    matrix.has_canonical_format = True
    return matrix


def column_lists(views: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the parts of each view as text, given as ``"1:1840"``, ``"0,3"``, lists or numbers."""
    if not isinstance(views, Mapping):
        raise InputError(f"views= maps a name to columns, such as {{'page': '1:1840'}}: {views!r}")
    lists: dict[str, list[str]] = {}
    for name, given in views.items():
        items = given.split(",") if isinstance(given, str) else given
        if isinstance(items, int | np.integer):
            items = [items]
        elif not isinstance(items, list | tuple | np.ndarray | range):
            raise InputError(f"view {name!r}: columns are text such as '1:1840', not {given!r}")
        lists[str(name)] = [str(item).strip() for item in items]
        if not lists[str(name)]:
            raise InputError(f"view {name!r} has no columns; leave it out or give it columns")
    return lists
