"""Learners as parameters of a learner, as in scikit-learn's ensembles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from crossview.batch import make_rows, rows_of_view, typed_blocks, whole_matrix
from crossview.errors import InputError, argument, closest_names, type_of
from crossview.estimators.base.learner import ColumnWeights, ViewLearner
from crossview.kernels.rows import Rows
from crossview.views import ViewLayout


def named_entries(given: Any, what: str = "experts") -> Iterator[tuple[str, Any, str | None]]:
    """Yield (name, learner, view) of the parameter; `InputError` if an entry is malformed."""
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


def new_learner(
    what: str, entry: tuple[str, Any, str | None], layout: ViewLayout, random_state: Any
) -> Any:
    """Return a copy of the learner that has learned nothing; `InputError` if its view is none."""
    name, learner, view = entry
    new = clone(learner)
    if "random_state" in new.get_params(deep=False) and new.random_state is None:
        new.set_params(random_state=int(random_state.randint(2**31)))
    if view is not None and view not in layout.names:
        near = closest_names(str(view), layout.names)
        raise InputError(f"{what} {name!r} is for the view {view!r}{near}")
    return new


def own_layout(view: str | None, layout: ViewLayout) -> ViewLayout:
    """Return the columns that a learner sees: all, or those of its view."""
    return layout if view is None else ViewLayout([view], [layout.widths[layout.index(view)]])


def own_rows(rows: Rows, views: Iterable[str | None], names: tuple[str, ...]) -> Iterator[Rows]:
    """Yield the rows as learners of these views see them; those of a view are cut out once."""
    found: dict[str | None, Rows] = {None: rows}
    for view in views:
        if view not in found:
            found[view] = rows_of_view(rows, names.index(view))
        yield found[view]


class NestedLearners(ViewLearner):
    """Base class of learners with a parameter that is a list of (name, learner, view)."""

    _nested: ClassVar[str]  # the parameter
    _nested_kind: ClassVar[Any]  # what every learner in it is an instance of
    _nested_has: ClassVar[str] = ""  # and what that means
    _own_views: ClassVar[tuple[str, ...]] = ("views",)  # parameters that such a learner has not

    def check_params(self) -> None:
        """Raise an error if a parameter, or one of a learner in it, is out of its range.

        Raises
        ------
        InvalidParameterError, InputError
            The message names the parameter or the learner.
        """
        super().check_params()
        what, given, own = self._nested, getattr(self, self._nested), type(self).__name__
        if given is not None and not len(given):
            raise InputError(f"{what}= is empty; leave it at None for the default {what}")
        for name, learner, _ in named_entries(given or [], what):
            self._check_nested(f"{what[:-1]} {name!r}", learner)
            if any(getattr(learner, one, None) is not None for one in self._own_views):
                raise InputError(
                    f"{what[:-1]} {name!r} has views of its own; give {argument('views')} to "
                    f"{own}, and here the name of a view: (name, learner, view)"
                )
            clone(learner).check_params()  # which keeps what it has checked

    def _check_nested(self, name: str, learner: Any) -> None:
        """Raise `InputError` if the learner cannot be one of those that are nested."""
        nested = getattr(learner, "_nested", None) == self._nested
        if nested or not isinstance(learner, self._nested_kind):
            raise InputError(
                f"{name} is {type_of(learner)}; give learners of this package{self._nested_has} "
                "that predict the same"
            )

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
        def only(rows: Rows, alone: np.ndarray) -> Rows:
            return make_rows(whole_matrix(rows), self._slots, alone)

        # in blocks, as it makes a copy for each view
        blocks = typed_blocks(rows, np.arange(len(rows.indptr) - 1))
        return np.concatenate([self._scores_alone(part, only) for _, part in blocks])

    def check_weights(self) -> None:
        """Raise `InputError` if one of the learners has no weights of columns."""
        for learner in self._learners():
            learner.check_weights()

    def _column_weights(self) -> ColumnWeights:
        what = self._nested
        raise InputError(f"the weights of columns are those of the {what}, in {what}_")

    # --- state --------------------------------------------------------------------------

    def _fitted(self) -> list[Any]:
        """Return what has learned: each has a name, a learner and a view."""
        raise NotImplementedError

    def _learners(self) -> list[Any]:
        return [one.learner for one in self._fitted()]

    def _named(self) -> list[tuple[str, Any, str | None]]:
        check_is_fitted(self, "_state")
        return [(one.name, one.learner, one.view) for one in self._fitted()]

    def _place_of_view(self, view: str | None) -> int | None:
        """Return the position of a view; None for all views."""
        return None if view is None else self._slots.names.index(view)

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the own arrays, and those of each learner."""
        return super().get_state() | {
            f"{k}/{name}": array
            for k, learner in enumerate(self._learners())
            for name, array in learner.get_state().items()
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `get_state` returned."""
        learners = self._learners()
        own: dict[str, dict[str, np.ndarray]] = {str(k): {} for k in range(len(learners))}
        for key, array in state.items():
            position, slash, name = key.partition("/")
            if slash and position not in own:
                raise InputError(f"{self._nested} of {type(self).__name__} have no such state")
            if slash:
                own[position][name] = array
        super().set_state({name: value for name, value in state.items() if "/" not in name})
        for learner, arrays in zip(learners, own.values(), strict=True):
            learner.set_state(arrays)
