"""Base class of the encoder and the scalers, and the merge of statistics of different rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone

from crossview.encoding.personal.personal_view import MORE_BITS, merged_names
from crossview.errors import InputError, argument
from crossview.kernels.moments import merged_moments, total

State = Mapping[str, np.ndarray]
# of the bins; the learners know columns by them
KNOTS = ("n_values", "n_knots", "knots", "first_values")
MOMENTS = ("count", "mean", "m2")


class ViewTransformer(TransformerMixin, BaseEstimator):
    """Base class of the encoder and the scalers: they return a `MultiView`, never a frame."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # scikit-learn would make a data frame of it
        super().__init_subclass__(auto_wrap_output_keys=None, **kwargs)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Refuse other containers than a `MultiView`, which a Pipeline may ask for.

        Parameters
        ----------
        transform : {"default"}, default=None
            The container; None: as it is.

        Returns
        -------
        self : object
            The transformer.

        Raises
        ------
        InputError
            It is another one: views are sparse and know which are missing, and frames do not.
        """
        if transform not in (None, "default"):
            raise InputError(
                f"set_output(transform={transform!r}): {type(self).__name__} returns views, which "
                "are no data frame; leave it at 'default', and call set_output on the steps before "
                "it (columns: transform(X).matrix and get_feature_names_out())"
            )
        return self

    def merge_with(self, others: Sequence[Self], start: Self | None = None) -> Self:
        """Return one that has seen the rows of this one and others; see `crossview.merge`.

        The others have the same parameters and columns; the rows of ``start``, which all of them
        went on from, count once.
        """
        mine: Any = self
        header = mine.get_header()
        new, unlearned = clone(mine), clone(mine)
        for one in (new, unlearned):
            one.set_header(header)
        for other in [*others, *([] if start is None else [start])]:
            if _learning(other) != _learning(self) or other.get_header() != header:
                raise InputError(
                    f"{type(self).__name__}s of other parameters or columns have no merge"
                )
        seen: list[Any] = [mine, *others, unlearned if start is None else start]
        *states, before = (one.get_state() for one in seen)
        new.set_state(_merged_state(states, before, getattr(self, "remember_names", 0)))
        return new


def _learning(one: Any) -> str:
    """Return the parameters of an encoder, without the dialect of files, as text."""
    params = one.get_params(deep=False)
    return repr({name: value for name, value in params.items() if name != "dialect"})


def _merged_state(states: Sequence[State], start: State, remember_names: int) -> dict:
    """The state of an encoder, or of a scaler, that has seen the rows of all states.

    The rows of ``start`` count once; of the names of slots the first ones are kept.
    """
    merged: dict[str, np.ndarray] = {}
    if "knots" in start:
        merged |= _same_knots(states)
    if "count" in start and "mean" in start:
        each = [np.stack([state[name] for name in MOMENTS]) for state in [*states, start]]
        merged |= dict(zip(MOMENTS, merged_moments(each[:-1], each[-1]), strict=True))
    for name in start:
        if name.startswith("df_slots."):
            merged |= _merged_frequencies(states, start, name.removeprefix("df_slots."))
        elif name.startswith("slots."):
            merged |= _merged_names(states, name.removeprefix("slots."), remember_names)
    if "recent.rows" in start:
        raise InputError(
            f"encoders with {argument('max_users')} have no merge: who was seen last is known of "
            f"one order of all rows; leave {argument('max_users')} out, or train in one process"
        )
    if "personal.users" in start:
        merged |= merged_names(states, remember_names << MORE_BITS)
    for name in start:
        if name not in merged and not name.startswith(("slot_", "df.")):
            merged[name] = total([state[name] for state in states], start[name])
    return merged


def _same_knots(states: Sequence[State]) -> dict[str, np.ndarray]:
    """Return the bins, if they are the same in all."""
    for state in states[1:]:
        if not all(np.array_equal(state[name], states[0][name]) for name in ("n_knots", "knots")):
            raise InputError(
                "the encoders have other bins, so their columns mean other numbers; let them go "
                "on from copies of one that has seen 4096 values of each column, or set "
                f"{argument(bins=None)}"
            )
    return {name: states[0][name] for name in KNOTS}


def _merged_frequencies(states: Sequence[State], start: State, c: str) -> dict[str, np.ndarray]:
    """Return the document frequencies of a text column."""
    slots = np.unique(np.concatenate([state[f"df_slots.{c}"] for state in [*states, start]]))
    dense = []
    for state in [*states, start]:
        df = np.zeros(len(slots), dtype=np.int64)
        df[np.searchsorted(slots, state[f"df_slots.{c}"])] = state[f"df.{c}"]
        dense.append(df)
    return {f"df_slots.{c}": slots, f"df.{c}": total(dense[:-1], dense[-1])}


def _merged_names(states: Sequence[State], v: str, most: int) -> dict[str, np.ndarray]:
    """Return the names of the slots of a view: of each slot the first one."""
    names: dict[int, str] = {}
    collisions: set[int] = set()
    for state in states:
        slots = state[f"slots.{v}"]
        texts = json.loads(bytes(np.asarray(state[f"slot_names.{v}"])))
        collisions.update(slots[state[f"slot_collides.{v}"]].tolist())
        for slot, name in zip(slots.tolist(), texts, strict=True):
            if names.setdefault(slot, name) != name:
                collisions.add(slot)
    kept = dict(list(names.items())[:most])
    text = json.dumps(list(kept.values())).encode()
    return {
        f"slots.{v}": np.fromiter(kept, dtype=np.int64, count=len(kept)),
        f"slot_collides.{v}": np.array([slot in collisions for slot in kept], dtype=bool),
        f"slot_names.{v}": np.frombuffer(text, dtype=np.uint8),
    }
