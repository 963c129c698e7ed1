"""What a machine has learned: its weights, and the strongest interactions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms.machines.interactions import strongest, terms
from crossview.algorithms.machines.state import Machine
from crossview.estimators.base import OnlineLearner
from crossview.estimators.machines.state import part_slots

__all__ = ["Interaction", "InterpretableMachine"]


class Interaction(NamedTuple):
    """One term of the score: the product of one column of each of some views, and its weight.

    ``columns`` are positions in the views, in the order of `view_columns`;
    ``label`` is the class whose score it is part of, None for two classes and
    for regression.
    """

    views: tuple[str, ...]
    columns: tuple[int, ...]
    weight: float
    label: Any


class InterpretableMachine(OnlineLearner):
    """Weights and interactions of what was learned."""

    def _machine(self) -> Machine:
        """The state as the loops take it."""
        raise NotImplementedError

    def _output_labels(self) -> list[Any]:
        """The class of each score; None if there is one score."""
        return [None]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts (1,) or (n_classes,), of the score inside (see `interactions`)."""
        check_is_fitted(self, "_state")
        return np.array(self._state["c"][0])

    @property
    def factors_(self) -> dict[str, np.ndarray]:
        """Weights of each view's columns, (n_columns, n_parts * n_classes * n_factors).

        A view has one part per group that it is in; the columns are in the order of
        `view_columns`.  A factorization machine has its linear weights first.
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
        """Return how many columns of each view have been seen, and the norm of their factors.

        Returns
        -------
        norms : dict of str to (int, float)
            The number of columns that had a value other than 0 in a row, and the root of
            the sum of their squared factors.
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

        The weight of a combination of one column of each of some views is
        ``sum_f prod_v A_v[i_v, f]`` times the bias rows of all other views: what
        the score changes by with the product of the columns' values (for a regressor,
        in standard deviations of the target).  Order 1 is
        the weight of a column by itself.  Columns that no row had are left out.

        Parameters
        ----------
        top : int, default=10
            How many of each order.

        Returns
        -------
        interactions : list of Interaction
            By order, and within it by absolute weight.

        Notes
        -----
        Orders 1 and 2 are exact for views of up to 1000 columns.  Beyond, it is a beam search
        over the 1000 columns, and then combinations, that an upper bound ranks highest.
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

    def _interactions_of(
        self, a: int, top: int
    ) -> list[tuple[tuple[str, ...], tuple[int, ...], float]]:
        """The strongest of each combination of views, in the score of class ``a``."""
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
        names = self.layout_.names
        found = []
        for parts, factors, constant in terms(machine.model, tables, B, groups, machine.views):
            same = len(parts) == 2 and parts[0] == parts[1]
            views = tuple(names[int(machine.views[p])] for p in parts)
            for chosen, weight in strongest(factors, constant, top, same):
                named = tuple(int(columns[p][i]) for p, i in zip(parts, chosen, strict=True))
                found.append((views, named, weight))
        return found

    def _part_columns(self, p: int) -> np.ndarray:
        """The columns of the rows that part ``p`` has, in the order of `view_columns`."""
        v = int(self._state["views"][p])
        lo, hi = self._slots.ptr[v : v + 2]
        if self._column_map is None:
            return np.arange(lo, hi)
        return np.sort(self._column_map[(self._column_map >= lo) & (self._column_map < hi)])

    def _seen(self, p: int) -> np.ndarray:
        """Which columns of part ``p`` were in a row."""
        return self._state["seen"][part_slots(self._state, p, self._part_columns(p))]

    def _part_factors(self, p: int) -> np.ndarray:
        """The weights of part ``p``, by the columns of its view."""
        A = self._state["A"][part_slots(self._state, p, self._part_columns(p)), 0]
        return np.asarray(A, dtype=np.float64)

    def _parts_of_views(self) -> dict[str, list[int]]:
        views = self._state["views"].tolist()
        return {
            name: [p for p, view in enumerate(views) if view == v]
            for v, name in enumerate(self.layout_.names)
        }
