"""Files of sparse rows in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError
from crossview.readers.source import open_rows
from crossview.views import MultiView

_BATCH_ROWS = 1 << 16


def load_svmlight(
    source: Any, *, views: Mapping[str, Any] | None = None
) -> tuple[MultiView, np.ndarray]:
    r"""Load svmlight or LIBSVM files, with ranges of columns as views.

    Lines are ``label index:value ... # comment``, separated by blanks or tabs; ``qid:n`` is passed
    over.  Numbers are correct to the last bit.

    Parameters
    ----------
    source : path, glob or list of paths
        The files, also compressed as ``.gz`` or ``.zst``.
    views : mapping of str to str or list, default=None
        Ranges of columns, both ends included, by their numbers in the file, such as
        ``{"page": "1:1840", "link": "1841:"}``; other columns are passed over.  None: one view,
        "all", from column 1 (from 0 if the file has it) to the highest one.

    Returns
    -------
    X : MultiView
        The rows, sparse.
    y : ndarray of shape (n_samples,)
        The labels: whole numbers if all are; NaN (among whole numbers None) where it is ``nan``.

    Raises
    ------
    InputError
        A byte is wrong, or an entry is twice; the message names file, line and column.

    See Also
    --------
    open_rows : Reads batches, in constant memory.
    convert : Writes such files.

    References
    ----------
    `LIBSVM FAQ <https://www.csie.ntu.edu.tw/~cjlin/libsvm/faq.html>`_, the format of its data
    files.

    Examples
    --------
    >>> import os, tempfile
    >>> from crossview import load_svmlight
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.svm")
    >>> with open(path, "w") as file:
    ...     print("+1 1:0.5 3:2", "-1 2:1 # a comment", sep="\n", file=file)
    >>> X, y = load_svmlight(path, views={"page": "1:2", "link": "3:"})
    >>> X, y
    (MultiView(2 rows, page: 2, link: 1), array([ 1, -1]))
    """
    X, y, _ = _load(source, "svmlight", views, 18)
    return X, y


def load_libffm(
    source: Any, *, views: Mapping[str, Any] | None = None, hash_bits: int = 30
) -> tuple[MultiView, np.ndarray]:
    r"""Load libffm files, with fields as views.

    Lines are ``label field:index:value ...``.  An index belongs to its field: the same index in two
    fields is two columns.

    Parameters
    ----------
    source : path, glob or list of paths
        The files, also compressed as ``.gz`` or ``.zst``.
    views : mapping of str to str or list, default=None
        Fields, such as ``{"user": "0,3", "ad": "1"}``; others are passed over.  None: each field is
        a view, with its number as the name.
    hash_bits : int, default=30
        A field whose indices range over more than 2 to the power of this many columns is folded
        into as many; entries that meet are added up.

    Returns
    -------
    X : MultiView
        The rows, sparse; a field has the columns from its lowest to its highest index.
    y : ndarray of shape (n_samples,)
        As from `load_svmlight`.

    Raises
    ------
    InputError
        As for `load_svmlight`.

    References
    ----------
    Y. Juan, Y. Zhuang, W.-S. Chin, C.-J. Lin, "Field-aware Factorization Machines for CTR
    Prediction", RecSys 2016; its program libffm defines the format.

    Examples
    --------
    >>> import os, tempfile
    >>> from crossview import load_libffm
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.ffm")
    >>> with open(path, "w") as file:
    ...     print("1 0:5:1 1:7:0.5", "0 0:6:1 1:5:2", sep="\n", file=file)
    >>> X, y = load_libffm(path, views={"user": "0", "ad": "1"})
    >>> X["user"].toarray().tolist(), X["ad"].toarray().tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0, 0.5], [2.0, 0.0, 0.0]])
    """
    X, y, _ = _load(source, "libffm", views, hash_bits)
    return X, y


def load_vw(
    source: Any,
    *,
    views: Mapping[str, Any] | None = None,
    hash_bits: int = 18,
    return_weight: bool = False,
) -> tuple[MultiView, np.ndarray] | tuple[MultiView, np.ndarray, np.ndarray]:
    r"""Load Vowpal Wabbit files with simple labels, with namespaces as views.

    Lines are ``[label [weight]] ['tag]|namespace[:scale] name[:value] ... |...``.

    Parameters
    ----------
    source : path, glob or list of paths
        The files, also compressed as ``.gz`` or ``.zst``.
    views : mapping of str to str or list, default=None
        Namespaces, such as ``{"user": ["u", "v"]}``; others are passed over.  None: each namespace
        is a view, in the order in which they appear; one without a name is "default".
    hash_bits : int, default=18
        Each view has 2 to the power of this many slots.  A name that is a whole number is a slot,
        modulo their number; another one is hashed, by the hash of scikit-learn's FeatureHasher.
        Entries that meet in a slot are added up.
    return_weight : bool, default=False
        Whether to return the importance weights, too.

    Returns
    -------
    X : MultiView
        The rows, sparse.
    y : ndarray of shape (n_samples,)
        As from `load_svmlight`; a row without a label has none.
    weight : ndarray of shape (n_samples,)
        Only with ``return_weight``: importance weights, 1 where none is written.

    Raises
    ------
    InputError
        As for `load_svmlight`; also for other labels than one number, and for initial predictions.

    References
    ----------
    `Vowpal Wabbit wiki <https://github.com/VowpalWabbit/vowpal_wabbit/wiki/Input-format>`_, input
    format.

    Examples
    --------
    >>> import os, tempfile
    >>> from crossview import load_vw
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.vw")
    >>> with open(path, "w") as file:
    ...     print("1 2.0 'a|user tom age:3 |ad big", "-1 |user ann", sep="\n", file=file)
    >>> X, y, weight = load_vw(path, hash_bits=8, return_weight=True)
    >>> X, y, weight
    (MultiView(2 rows, user: 256, ad: 256), array([ 1, -1]), array([2., 1.]))
    """
    X, y, weight = _load(source, "vw", views, hash_bits)
    return (X, y, weight) if return_weight else (X, y)


def _load(
    source: Any, format: str, views: Mapping[str, Any] | None, hash_bits: int
) -> tuple[MultiView, np.ndarray, np.ndarray]:
    stream = open_rows(
        source, format=format, views=views, hash_bits=hash_bits, batch_rows=_BATCH_ROWS
    )
    parts = list(stream)
    if not parts:
        raise InputError("has no rows", file=stream.files[0])
    matrices = [part.X.matrix for part in parts]
    matrix = matrices[0] if len(matrices) == 1 else sp.csr_array(sp.vstack(matrices))
    weights = [np.ones(len(p.y)) if p.weight is None else p.weight for p in parts]
    X = MultiView.from_matrix(matrix, stream.layout)
    return X, np.concatenate([part.y for part in parts]), np.concatenate(weights)
