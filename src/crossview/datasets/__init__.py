"""Real data sets with natural views: two that are here, and public ones that are fetched.

The two come with scikit-learn.  Columns of tables are called ``view__column``, so that
``ViewEncoder()`` derives the views from the names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from crossview.datasets.bundled import BUNDLED
from crossview.datasets.fetching import PUBLIC, SOURCES, Files, local_folder
from crossview.errors import InputError, cannot_import, closest_names
from crossview.saving.files import CSV, PARQUET, replacing

if TYPE_CHECKING:
    import pyarrow as pa
    from sklearn.utils import Bunch

    from crossview.datasets.fetching import Source

__all__ = ["DataSet", "fetch", "known", "load", "names", "write"]


class DataSet(NamedTuple):
    """Description of a data set: what it is about, and where it is from.

    Attributes
    ----------
    name : str
        For `load`, `fetch` and `write`.
    what : str
        What a row is, and what its label says.
    task : str
        ``classification`` or ``regression``.
    n_rows : int
        Number of rows.
    views : tuple of str
        The views.
    size : int
        Bytes to download; 0: none.
    license : str
        As its publisher states it.
    page : str
        Where its publisher describes it.
    where : str
        ``bundled``, the folder that has its files, or the addresses of the files.
    """

    name: str
    what: str
    task: str
    n_rows: int
    views: tuple[str, ...]
    size: int
    license: str
    page: str
    where: str


def names() -> tuple[str, ...]:
    """Return the names of the bundled tables.

    Returns
    -------
    tuple of str
        Names for `load` and `write`.

    Examples
    --------
    >>> from crossview import datasets
    >>> datasets.names()
    ('breast-cancer', 'digits')
    """
    return tuple(BUNDLED)


def known() -> tuple[DataSet, ...]:
    """Return what is known of all data sets: the bundled tables, and those that `fetch` gets.

    Returns
    -------
    tuple of DataSet
        The bundled ones first.

    Examples
    --------
    >>> from crossview import datasets
    >>> one = datasets.known()[0]
    >>> one.name, one.n_rows, one.views, one.where
    ('breast-cancer', 569, ('mean', 'error', 'worst'), 'bundled')
    """
    return tuple(DataSet(*one[:8], where=_where(one)) for one in SOURCES.values())


def _where(one: Source) -> str:
    if not one.files:
        return "bundled"
    folder = Files(one, local_folder(), download=False).folder()
    return str(folder or ", ".join(dict.fromkeys(file.url for file in one.files)))


def load(name: str) -> pa.Table:
    """Return one of the bundled tables.

    Parameters
    ----------
    name : {'breast-cancer', 'digits'}
        ``breast-cancer``: 569 tumors, ten measures of the cell nuclei in three views:
        their ``mean``, standard ``error`` and ``worst`` value over the nuclei; the label is
        ``diagnosis``, 'benign' or 'malignant'.  ``digits``: 1797 handwritten digits of 8 x 8
        pixels in three views: ``pixels``, ``profile`` (sums of rows and of columns) and
        ``fourier`` (magnitudes of the 2-D Fourier coefficients, which are
        invariant to cyclic shifts of the digit); the label is ``digit``.

    Returns
    -------
    pyarrow.Table
        The rows in their published order.

    Examples
    --------
    >>> from crossview import datasets
    >>> table = datasets.load("breast-cancer")
    >>> table.shape
    (569, 31)
    >>> table.column_names[:2], table.column_names[-1]
    (['mean__radius', 'mean__texture'], 'diagnosis')
    """
    if name in PUBLIC:
        raise InputError(f"{name!r} is not bundled: datasets.fetch({name!r}) gets it")
    if name not in BUNDLED:
        raise _unknown(name)
    return _pyarrow().table(BUNDLED[name]())


def fetch(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch:
    """Return a public data set, downloaded on first use.

    A file is looked for in ``data_home``, then in the cache, and then downloaded from its address
    and checked by its SHA-256; a partial or changed file is never used.  If no SHA-256 is known,
    as of ``svmguide3``, that of the first download is, which a warning says.

    Parameters
    ----------
    name : str
        As `known` lists them.  The license is that of the publisher; some allow research only.
    data_home : path-like, default=None
        A folder with one folder per data set, ``data_home/NAME/FILE`` (or ``FILE.gz``).  None: the
        folder that the environment variable ``CROSSVIEW_DATA`` names, if any.  Downloads go to
        the folder ``CROSSVIEW_CACHE``, by default the cache of the operating system.
    download_if_missing : bool, default=True
        False: an error where a file is on this machine in neither folder.

    Returns
    -------
    sklearn.utils.Bunch
        ``data``: a pyarrow Table with columns ``view__column``, or a `MultiView` where the views
        are matrices.  ``target``: the labels.  ``label``: their name.  ``part``: which part of the
        publisher's split each row is in, such as 'train' and 'test'; None without one.  ``DESCR``:
        what a row and its label are, the license, and the publisher's page.

    Raises
    ------
    InputError
        The name is unknown, or a file cannot be had: which one, from where, and where to put it.

    Examples
    --------
    >>> from crossview import datasets
    >>> mails = datasets.fetch("spambase")  # doctest: +SKIP
    >>> mails.data.shape, mails.target.mean().round(2)  # doctest: +SKIP
    ((4601, 57), 0.39)
    """
    from sklearn.utils import Bunch

    from crossview.datasets.readers import READERS

    if name in BUNDLED:
        raise InputError(f"{name!r} is bundled: datasets.load({name!r}) returns it")
    if name not in PUBLIC:
        raise _unknown(name)
    one = PUBLIC[name]
    folder = local_folder() if data_home is None else Path(data_home)
    rows = Files(one, folder, download_if_missing).read(READERS[name])
    data = _pyarrow().table(dict(rows.data)) if isinstance(rows.data, dict) else rows.data
    description = f"{one.what} {one.n_rows:,} rows. License: {one.license}. {one.page}"
    return Bunch(
        data=data,
        target=rows.target,
        label=one.label,
        part=rows.part,
        DESCR=description,
    )


def write(name: str, path: str | os.PathLike[str]) -> pa.Table:
    """Write a data set that is a table to a file, atomically.

    Parameters
    ----------
    name : str
        A bundled table, or a public data set, which is fetched.
    path : path
        The file, ``.parquet`` or ``.csv``; an existing file is replaced.

    Returns
    -------
    pyarrow.Table
        What was written; its last column is the label.

    Examples
    --------
    >>> import tempfile
    >>> from crossview import datasets, open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = datasets.write("digits", f"{folder}/digits.parquet")
    ...     open_table(f"{folder}/digits.parquet").n_rows, table.column_names[-1]
    (1797, 'digit')
    """
    target = Path(path)
    check_name(name)
    _pyarrow()
    from pyarrow import csv, parquet

    writers: dict[str, Callable[..., None]] = {
        ".parquet": parquet.write_table,
        ".csv": csv.write_csv,
    }
    if target.suffix.lower() not in writers:
        raise InputError("write to a name that ends in .parquet or .csv", file=str(path))
    table = load(name) if name in BUNDLED else _fetched_table(name)
    kind = CSV if target.suffix.lower() == ".csv" else PARQUET
    with replacing(target, kind) as unfinished:
        writers[target.suffix.lower()](table, str(unfinished))
    return table


def _fetched_table(name: str) -> pa.Table:
    """Return a public data set as a table with its label."""
    found = fetch(name)
    if not isinstance(found.data, _pyarrow().Table):
        raise InputError(
            f"data set {name!r} is matrices and not a table: write to a name that ends in .svm, "
            ".ffm or .vw"
        )
    return found.data.append_column(found.label, _pyarrow().array(found.target))


def check_name(name: str) -> None:
    """Raise an error for a name that no data set has."""
    if name not in SOURCES:
        raise _unknown(name)


def _unknown(name: str) -> InputError:
    return InputError(f"no data set {name!r}{closest_names(name, [*SOURCES], most=len(SOURCES))}")


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise cannot_import("loading a data set", "pyarrow", error) from None
    return pyarrow
