"""Views of randomly drawn columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crossview.batch import make_rows, matrix_of, views_of
from crossview.errors import InputError
from crossview.estimators.kernel.labels import SemiSupervisedClassifier
from crossview.kernels.rows import Rows
from crossview.views import MultiView, ViewLayout

__all__ = ["RandomViews", "RandomViewsClassifier"]


class RandomViews(TransformerMixin, BaseEstimator):
    """Transformer that splits a table into views of randomly drawn columns.

    Parameters
    ----------
    n_views : int, default=2
        Number of views.
    fraction : float, default=0.75
        Fraction of the columns in each view, in (0, 1].  With a lower value the views overlap less,
        and each has less information.
    random_state : int, RandomState or None, default=None
        Seed of the draw.

    Attributes
    ----------
    columns_ : list of ndarray of int
        The columns of each view.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview.estimators.kernel.random_views import RandomViews
    >>> RandomViews(random_state=0).fit_transform(np.ones((5, 8))).layout.widths
    (6, 6)
    """

    columns_: list[np.ndarray]

    def __init__(
        self, n_views: int = 2, fraction: float = 0.75, *, random_state: Any = None
    ) -> None:
        self.n_views = n_views
        self.fraction = fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the columns.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n_samples, n_features)
            The table.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The transformer.
        """
        d = X.shape[1]
        size = max(1, round(float(self.fraction) * d))
        rng = check_random_state(self.random_state)
        self.columns_ = [np.sort(rng.choice(d, size, replace=False)) for _ in range(self.n_views)]
        return self

    def transform(self, X: Any) -> MultiView:
        """Return the views of a table.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n_samples, n_features)
            The table.

        Returns
        -------
        views : MultiView
            The views "random0", "random1", ...
        """
        check_is_fitted(self)
        return MultiView({f"random{v}": X[:, columns] for v, columns in enumerate(self.columns_)})


class RandomViewsClassifier(SemiSupervisedClassifier):
    """Base class of the classifiers with ``random_views=``."""

    _random_views: RandomViews

    def _blocks(self) -> ViewLayout:
        """Return the layout of the rows that the learning loops read."""
        return self._slots if self.random_views is None else self.layout_

    def _read(self, X: Any, *, reset: bool, checked: bool = True) -> Rows:
        if self.random_views is None:
            return super()._read(X, reset=reset, checked=checked)
        if isinstance(X, MultiView):
            raise InputError(
                "X is a MultiView, which has its own views; leave random_views= at None"
            )
        drawn = None if reset else self.layout_
        rows = super()._read(X, reset=reset, checked=True)
        table = matrix_of(views_of(rows)[0], 0, self.n_features_in_)
        table = table.toarray() if rows.shared else table
        if drawn is None:
            n_views, fraction = self.random_views
            self._random_views = RandomViews(n_views, fraction, random_state=self.random_state)
            self._random_views.fit(table)
        views = self._random_views.transform(table)
        self.layout_ = views.layout
        n_views = self.layout_.n_views
        present = rows.present.repeat(n_views, axis=1) if len(rows.present) else None
        return make_rows(views.matrix, views.layout, present)

    def _read_one(self, x: Any, *, learn: bool) -> Rows:
        if self.random_views is not None and isinstance(x, Mapping):
            raise InputError("random_views= does not support rows that are mappings; give arrays")
        return super()._read_one(x, learn=learn)

    def view_columns(self) -> dict[str, np.ndarray]:
        """Return the columns that form each view, for example to split ``coef_`` by view.

        Returns
        -------
        columns : dict of str to ndarray of int
            Positions of the columns of ``X``, in the order of the view.
        """
        if self.random_views is None:
            return super().view_columns()
        check_is_fitted(self, "_state")
        return dict(zip(self.layout_.names, self._random_views.columns_, strict=True))

    def get_header(self) -> dict[str, Any]:
        """Return the part of the state that is not arrays."""
        columns = None
        if self.random_views is not None:
            columns = [part.tolist() for part in self._random_views.columns_]
        return {"subsets": columns, **super().get_header()}

    def set_header(self, header: Mapping[str, Any]) -> None:
        """Restore the header that `get_header` returned."""
        if isinstance(header, Mapping) and header.get("subsets") is not None:
            self._random_views = RandomViews()
            self._random_views.columns_ = [
                np.asarray(part, dtype=np.int64) for part in header["subsets"]
            ]
        super().set_header(header)
        if self.random_views is not None:
            self._slots = ViewLayout(["view0"], [self.n_features_in_])

    def _header_schema(self) -> dict[str, Any]:
        subsets = None if self.random_views is None else [[int]]
        return {**super()._header_schema(), "subsets": subsets}

    def _has_consistent_columns(self) -> bool:
        if self.random_views is None:
            return super()._has_consistent_columns()
        parts, d = self._random_views.columns_, self.n_features_in_
        names = tuple(f"random{v}" for v in range(len(parts)))
        return (
            self._named is None
            and self._column_map is None
            and len(getattr(self, "feature_names_in_", range(d))) == d
            and self.layout_ == ViewLayout(names, [len(part) for part in parts])
            and all(0 <= part.min() <= part.max() < d for part in parts)
        )
