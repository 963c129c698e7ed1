"""Learned weights of a machine, and its strongest interactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms.machines.interactions import strongest, terms
from crossview.algorithms.machines.state import Machine
from crossview.estimators.base import OnlineLearner
from crossview.estimators.machines.state import part_slots

__all__ = ["Interaction", "InterpretableMachine"]


class Interaction(NamedTuple):
    """One interaction of the score: a product of columns, one per view, and its weight.

    ``columns`` are positions within the views, in the order of `view_columns`; ``label`` is the
    class of the score, None for two classes and for regression.
    """

    views: tuple[str, ...]
    columns: tuple[int, ...]
    weight: float
    label: Any


class InterpretableMachine(OnlineLearner):
    """Base class of the machines: attributes and `interactions` of the learned model."""

    def _machine(self) -> Machine:
        """Return the state for the learning loops."""
        raise NotImplementedError

    def _output_labels(self) -> list[Any]:
        """Return the class of each score; None if there is one score."""
        return [None]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts (1,) or (n_classes,); of a regressor, in standard deviations of the target."""
        check_is_fitted(self, "_state")
        return np.array(self._state["c"][0])

    @property
    def factors_(self) -> dict[str, np.ndarray]:
        """Weights of each view's columns, (n_columns, n_parts * n_classes * n_factors).

        A view has one part per group that contains it; the columns are in the order of
        `view_columns`.  In a factorization machine the linear weight comes before the factors.
        """
        check_is_fitted(self, "_state")
        return {
            name: np.hstack([self._part_factors(p) for p in parts])
            for name, parts in self._parts_of_views().items()
            if parts
        }

    @property
    def bias_rows_(self) -> dict[str, np.ndarray]:
        """Weights of each view's constant feature, (n_parts * n_classes * n_factors,)."""
        check_is_fitted(self, "_state")
        return {
            name: self._state["B"][parts, 0].reshape(-1).astype(np.float64)
            for name, parts in self._parts_of_views().items()
            if parts
        }

    def view_norms(self) -> dict[str, tuple[int, float]]:
        """Return the number of learned columns of each view, and the norm of their factors.

        Returns
        -------
        norms : dict of str to (int, float)
            The number of columns that were nonzero in at least one row, and the Euclidean norm of
            their factors.
        """
        check_is_fitted(self, "_state")
        norms = {}
        for name, parts in self._parts_of_views().items():
            seen = [self._seen(p) for p in parts]
            sqnorm = sum(float((self._part_factors(p) ** 2).sum()) for p in parts)
            norms[name] = int(np.count_nonzero(seen[:1])), float(np.sqrt(sqnorm))
        return norms

    def interactions(self, top: int = 10) -> list[Interaction]:
        """Return the strongest interactions between views, of each order.

        The weight of an interaction of one column i_v per view v is ``sum_f prod_v A_v[i_v, f]``,
        times the bias rows of all other views: the coefficient of the product of the columns in
        the score (for a regressor, in standard deviations of the target).  Order 1 is the weight
        of a single column.  Columns that are 0 in all rows are skipped.

        Parameters
        ----------
        top : int, default=10
            Number of interactions per order.

        Returns
        -------
        interactions : list of Interaction
            By order, and within it by absolute weight.

        Notes
        -----
        Orders 1 and 2 are exact for views of up to 1000 columns.  Higher orders and wider views use
        a beam search over the 1000 columns, and then combinations, with the highest upper bound.
        """
        check_is_fitted(self, "_state")
        found = [
            Interaction(views, columns, weight, label)
            for a, label in enumerate(self._output_labels())
            for views, columns, weight in self._interactions_of(a, top)
        ]
        found.sort(key=lambda one: (len(one.views), -abs(one.weight)))
        kept: list[Interaction] = []
        for order in sorted({len(one.views) for one in found}):
            kept += [one for one in found if len(one.views) == order][:top]
        return kept

    def _terms_of(
        self, a: int, highest: int | None = None
    ) -> tuple[list[np.ndarray], list[np.ndarray], Iterator[Any]]:
        """Return for score ``a`` the factors of each part, their columns, and the interactions."""
        machine = self._machine()
        k = machine.B.shape[2] // machine.c.shape[1]
        own = slice(a * k, (a + 1) * k)
        tables, columns = [], []  # of each part: rows of the columns seen, and which these are
        for p in range(len(machine.views)):
            seen = np.flatnonzero(self._seen(p))
            tables.append(self._part_factors(p)[seen, own])
            columns.append(seen)
        groups = np.split(np.arange(len(machine.views)), machine.ends[:-1].astype(np.intp))
        B = machine.B[:, 0, own].astype(np.float64)
        found = terms(machine.model, tables, B, groups, machine.views, highest)
        return tables, columns, found

    def _interactions_of(
        self, a: int, top: int
    ) -> list[tuple[tuple[str, ...], tuple[int, ...], float]]:
        """Return the strongest interactions per combination of views for score ``a``."""
        _, columns, found_terms = self._terms_of(a)
        names, views_of_parts = self.layout_.names, self._state["views"]
        found = []
        for parts, factors, constant in found_terms:
            same = len(parts) == 2 and parts[0] == parts[1]
            views = tuple(names[int(views_of_parts[p])] for p in parts)
            for chosen, weight in strongest(factors, constant, top, same):
                named = tuple(int(columns[p][i]) for p, i in zip(parts, chosen, strict=True))
                found.append((views, named, weight))
        return found

    def _part_columns(self, p: int) -> np.ndarray:
        """Return the columns of part ``p`` in the state, in the order of `view_columns`."""
        v = int(self._state["views"][p])
        lo, hi = self._slots.ptr[v : v + 2]
        if self._column_map is None:
            return np.arange(lo, hi)
        return np.sort(self._column_map[(self._column_map >= lo) & (self._column_map < hi)])

    def _seen(self, p: int) -> np.ndarray:
        """Return which columns of part ``p`` were nonzero in at least one row."""
        return self._state["seen"][part_slots(self._state, p, self._part_columns(p))]

    def _part_factors(self, p: int) -> np.ndarray:
        """Return the weights of part ``p``, in the order of `view_columns`."""
        A = self._state["A"][part_slots(self._state, p, self._part_columns(p)), 0]
        return np.asarray(A, dtype=np.float64)

    def _parts_of_views(self) -> dict[str, list[int]]:
        views = self._state["views"].tolist()
        return {
            name: [p for p, view in enumerate(views) if view == v]
            for v, name in enumerate(self.layout_.names)
        }
