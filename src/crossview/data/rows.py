"""Views and labels of sparse files as a stream of batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from crossview.catalog.names import load_object
from crossview.catalog.readers import Reader
from crossview.data.source import RowBatch, RowSource, find_reader
from crossview.data.unchanged import UnchangedFiles
from crossview.errors import InputError
from crossview.labels import has_label, whole_labels
from crossview.views import ViewLayout

__all__ = ["RowStream", "open_rows"]


class RowStream:
    """Iterable over the batches of rows with views and labels.

    Parameters
    ----------
    source : RowSource
        A sparse reader.
    batch_rows : int
        Maximum number of rows per batch.
    reader : Reader
        Its entry.
    unchanged : UnchangedFiles
        The files as they were when they were opened.

    Attributes
    ----------
    files : list of str
        The files, in reading order.
    reader : Reader
        The entry of the format.
    """

    def __init__(
        self, source: RowSource, batch_rows: int, reader: Reader, unchanged: UnchangedFiles
    ) -> None:
        self._source = source
        self.unchanged = unchanged
        self._batch_rows = batch_rows
        self.reader = reader
        self.files = list(source.files)

    @property
    def layout(self) -> ViewLayout:
        """Names and widths of the views; where they are not given, a pass finds them."""
        with self.unchanged.reading():
            return self._source.layout

    @property
    def known_rows(self) -> int | None:
        """Number of rows, if nothing has to be read for it."""
        return self._source.n_rows

    @property
    def n_rows(self) -> int:
        """Number of rows; a source that does not know it is read once."""
        if self._source.n_rows is None:
            if hasattr(self._source, "first_pass"):
                with self.unchanged.reading():
                    self._source.first_pass()
            else:
                for _ in self:
                    pass
        assert self._source.n_rows is not None
        return self._source.n_rows

    @property
    def reading(self) -> dict[str, Any] | None:
        """How other files are read in the same way; None: the files say it themselves."""
        return getattr(self._source, "reading", None)

    @property
    def weighted(self) -> bool:
        """Whether rows have a weight other than 1."""
        return getattr(self._source, "weighted", False)

    def start(self) -> None:
        """Begin in a thread what has to be read before the rows, labels and columns."""
        if hasattr(self._source, "start_first_pass"):
            self._source.start_first_pass()

    def check_views(self) -> None:
        """Raise an error for a view of which no row has anything, where a first pass tells."""
        if hasattr(self._source, "check_views"):
            self._source.check_views()

    def label_counts(self) -> tuple[dict[Any, int], tuple[str | None, int] | None]:
        """Return the rows of each label, and where the first row without one is, from one pass."""
        if hasattr(self._source, "first_pass"):
            with self.unchanged.reading():
                found = self._source.first_pass()
            names = whole_labels(np.array(list(found.labels), dtype=np.float64)).tolist()
            return dict(zip(names, found.labels.values(), strict=True)), found.unlabeled
        labels: Counter[Any] = Counter()
        unlabeled: tuple[str | None, int] | None = None
        for batch in self:
            known = has_label(batch.y)
            if unlabeled is None and not known.all():
                unlabeled = batch.location(int(known.argmin()))
            values, counts = np.unique(batch.y[known], return_counts=True)
            labels.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        return labels, unlabeled

    def read_as(self, reading: Mapping[str, Any], *, tags: bool = False) -> RowStream:
        """Return the rows of the same files, read as others were.

        Parameters
        ----------
        reading : mapping
            The attribute of their stream.
        tags : bool, default=False
            As for `open_rows`.

        Returns
        -------
        RowStream
            Its views are the same.
        """
        if self.reader.name != reading["format"]:
            raise InputError(
                f"is {self.reader.name}, and the model reads {reading['format']}; convert it with "
                "crossview convert, or name its format",
                file=self.files[0],
            )
        how = {"views": reading["views"], "hash_bits": reading["hash_bits"], "tags": tags}
        return _open(self.files, self.reader, self._batch_rows, how, self.unchanged)

    @property
    def starts(self) -> dict[str | None, list[int]]:
        """Of each file the row at which it begins."""
        return {file: [0] for file in self.files}

    @property
    def n_blocks(self) -> int:
        """Number of files."""
        return len(self.files)

    def of_blocks(self, which: slice) -> RowStream:
        """Return the rows of some files only, with the same views.

        Parameters
        ----------
        which : slice
            Of the files.

        Returns
        -------
        RowStream
            Its views need no pass over other files.
        """
        how = {"views": None, **(self.reading or {}), "tags": False}
        how.pop("format", None)
        files = self.files[which]
        return _open(files, self.reader, self._batch_rows, how, self.unchanged.only(files))

    def __iter__(self) -> Iterator[RowBatch]:
        n_rows = 0
        for batch in self.unchanged.watch(self._source.batches(self._batch_rows)):
            n_rows += len(batch.X)
            yield batch
        self._source.n_rows = n_rows


def open_rows(
    source: Any,
    *,
    format: str | None = None,
    views: Mapping[str, Any] | None = None,
    hash_bits: int = 18,
    tags: bool = False,
    batch_rows: int = 10_000,
) -> RowStream:
    r"""Open files of sparse rows for reading in batches, in constant memory.

    Batches have ``X``, a `MultiView`, ``y``, the labels, ``weight`` and ``tags``, and say where
    they were read: ``file`` and ``first_row``.

    Parameters
    ----------
    source : path, glob or list of paths
        Files of svmlight or LIBSVM (``.svm``, ``.svmlight``, ``.libsvm``), libffm (``.ffm``) or
        Vowpal Wabbit (``.vw``), also compressed as ``.gz`` or ``.zst``.
    format : {"svmlight", "libffm", "vw"}, default=None
        Their format.  None: the end of their names says it.
    views : mapping of str to str or list, default=None
        What each view holds; the rest is passed over.  Of svmlight ranges of columns, both ends
        included, by their numbers in the file: ``{"page": "1:1840", "link": "1841:"}``; of libffm
        fields: ``{"user": "0,3"}``; of Vowpal Wabbit namespaces: ``{"user": ["u", "v"]}``.  None:
        of svmlight one view, "all", with all columns; otherwise one view for each field or
        namespace.
    hash_bits : int, default=18
        Of Vowpal Wabbit, each view has 2 to the power of this many slots: a name that is a whole
        number is a slot, modulo their number, and another one is hashed.  Of libffm, a field whose
        indices range over more columns is folded into as many.  More bits mean fewer entries that
        meet in a slot, which are added up, and more memory.
    tags : bool, default=False
        Whether batches have the tags of Vowpal Wabbit.
    batch_rows : int, default=10000
        Maximum number of rows per batch.

    Returns
    -------
    RowStream
        Iterate over it, as often as needed.

    Raises
    ------
    InputError
        A file does not exist, or is not of this format.  Bytes that are wrong are an error, with
        line and column, when they are read.  So is a file that changes after it was opened, before
        a row is yielded that was read after the change, such as the start of a line that was cut.

    Notes
    -----
    Where views, or the ends of ranges, are not given, a first pass over the files finds them.
    A view without an entry in a row is 0 there, and not missing.  Entries may be in any order.

    Examples
    --------
    >>> import os, tempfile
    >>> from crossview import open_rows
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.svm")
    >>> with open(path, "w") as file:
    ...     print("+1 1:0.5 3:2", "-1 2:1", sep="\n", file=file)
    >>> for batch in open_rows(path, views={"page": "1:2", "link": "3:"}):
    ...     print(batch.X, batch.y, batch.X["page"].toarray().tolist())
    MultiView(2 rows, page: 2, link: 1) [ 1 -1] [[0.5, 0.0], [0.0, 1.0]]
    """
    if isinstance(source, RowStream):
        return source
    if batch_rows < 1:
        raise InputError(f"batch_rows={batch_rows}; a batch has at least 1 row")
    reader, content = find_reader(source, format)
    if reader.kind != "sparse":
        file = content[0] if isinstance(content, list) else None
        raise InputError(f"is {reader.name}, which has columns and no views", file=file)
    how = {"views": views, "hash_bits": hash_bits, "tags": tags}
    return _open(content, reader, int(batch_rows), how, UnchangedFiles(content))


def _open(
    files: list[str],
    reader: Reader,
    batch_rows: int,
    how: dict[str, Any],
    unchanged: UnchangedFiles,
) -> RowStream:
    """A stream of some files."""
    if not reader.takes_views:
        if how["views"] is not None:
            raise InputError("the file names its views; leave views= at None", file=files[0])
        how = {}
    with unchanged.reading():
        source = load_object(reader.path)(files, **how)
    return RowStream(source, batch_rows, reader, unchanged)
