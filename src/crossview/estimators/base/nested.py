"""Learners as parameters of a learner, as in scikit-learn's ensembles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from crossview.batch import make_rows, whole_matrix
from crossview.errors import InputError
from crossview.estimators.base.learner import ViewLearner
from crossview.kernels.rows import Rows


def named_entries(given: Any, what: str = "experts") -> Iterator[tuple[str, Any, str | None]]:
    """Yield (name, learner, view) of ``experts=``; `InputError` if an entry is malformed."""
    names = set()
    for entry in given:
        if not isinstance(entry, tuple | list) or len(entry) not in (2, 3):
            raise InputError(
                f"{what}= contains {entry!r}; give (name, learner), or (name, learner, view)"
            )
        name, learner, view = (*entry, None)[:3]
        if not isinstance(name, str) or "__" in name or name in names:
            raise InputError(
                f"{what}= contains the name {name!r}; give each a different text without '__'"
            )
        names.add(name)
        yield name, learner, view


class NestedLearners(ViewLearner):
    """Base class of learners with a parameter that is a list of (name, learner, view)."""

    _nested: ClassVar[str]  # the parameter

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; ``deep``: also the given learners and theirs, ``name__param``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the learners.

        Returns
        -------
        params : dict of str to value
            The parameters by name.
        """
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            for name, learner, *_ in self._given():
                params[name] = learner
                for key, value in learner.get_params().items():
                    params[f"{name}__{key}"] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, a learner by its name, or a parameter of one, ``name__param``.

        Parameters
        ----------
        **params
            The values by name.

        Returns
        -------
        self : object
            The learner.
        """
        if self._nested in params:
            setattr(self, self._nested, params.pop(self._nested))
        names = [entry[0] for entry in self._given()]
        for name in [name for name in params if name in names]:
            entries, at = list(getattr(self, self._nested)), names.index(name)
            entries[at] = (name, params.pop(name), *entries[at][2:])
            setattr(self, self._nested, entries)
        super().set_params(**params)
        return self

    def _given(self) -> list[Any]:
        """Return the entries that name a learner; `check_params` checks them."""
        entries = getattr(self, self._nested)
        entries = entries if isinstance(entries, list | tuple) else []
        return [entry for entry in entries if isinstance(entry, list | tuple) and len(entry) > 1]

    def _scores_of_views(self, rows: Rows) -> np.ndarray:
        return self._scores_alone(
            rows, lambda rows, alone: make_rows(whole_matrix(rows), self._slots, alone)
        )
