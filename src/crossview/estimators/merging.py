"""Models that learned different rows, as one model."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from crossview.errors import InputError, type_of
from crossview.estimators.base import Models, ViewClassifier, ViewLearner


def shares_of(weights: Any, n: int) -> list[float]:
    """Return the share of each of ``n`` models; ``weights`` are their rows, None: all equal."""
    try:
        given = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (n,) or not (np.isfinite(given).all() and (given >= 0).all()):
        raise InputError(
            f"weights={weights!r}; give the number of rows of each of the {n} models, 0 or more"
        )
    if not given.sum():
        raise InputError("weights= are all 0; give the number of rows that each model learned")
    return [float(share) for share in given / given.sum()]


def merge_learners(
    models: Sequence[Any], shares: Sequence[float], start: Any, product: bool
) -> Any:
    """Return one learner; see `crossview.merge`."""
    first = models[0]
    for k, model in enumerate([*models, *([] if start is None else [start])]):
        who = f"model {k}" if k < len(models) else "start="
        if not isinstance(model, ViewLearner):
            raise InputError(f"{who} is {type_of(model)}, which has no merge")
        if not hasattr(model, "_state"):
            raise InputError(f"{who} is not fitted")
        _check_same(model, first, who)
    if isinstance(first, ViewClassifier):
        models, start = _with_all_classes(models, start)
    first = models[0]
    if not hasattr(first, "learn_one"):
        raise InputError(
            f"{type(first).__name__} has no merge: it is the solution for all of its rows; "
            "train it on all of them"
        )
    for model in models:
        model.check_fits_state()
    if start is None:  # a learner of the same columns that has learned nothing
        start = first._with_header(first.get_header())
        start._start_state()
    states = [model.get_state() for model in models]
    given = Models(states, [float(share) for share in shares], start.get_state(), product)
    with np.errstate(over="ignore", invalid="ignore"):
        state = first._merged(given)
    if missing := [name for name in states[0] if name not in state]:
        raise InputError(f"{type(first).__name__} has no merge: {first._explain_no_merge(missing)}")
    new = first._with_header(first._merged_header(models, given.shares))
    new.set_state(state)
    return new


def _check_same(model: Any, first: Any, who: str) -> None:
    """Raise an error for a model of another kind, or of other columns."""
    if type(model) is not type(first):
        raise InputError(f"{who} is {type_of(model)}, and model 0 {type_of(first)}")
    if model.layout_ != first.layout_:
        raise InputError(f"{who} has the views {model.layout_}, and model 0 {first.layout_}")
    own, other = (_settings(one) for one in (model, first))
    for name in own:
        if own[name] != other[name]:
            raise InputError(f"{who} has {name}={own[name]}, and model 0 {name}={other[name]}")
    own, other = (one.get_header() for one in (model, first))
    for name in ("named", "column_map", "feature_names_in"):
        if own[name] != other[name]:
            raise InputError(f"{who} has other columns than model 0")
    if own.get("experts") != other.get("experts"):
        raise InputError(f"{who} has other experts than model 0; set prune=None")


def _settings(model: Any) -> dict[str, str]:
    """The parameters that both must have, as text."""
    not_learned = ("random_state", "n_epochs", "shuffle")
    params = model.get_params(deep=False).items()
    return {name: repr(value) for name, value in params if name not in not_learned}


def _with_all_classes(models: Sequence[Any], start: Any) -> tuple[Sequence[Any], Any]:
    """Return the classifiers with the classes of all; copies where a class is new."""
    every = [*models] if start is None else [*models, start]
    if all(np.array_equal(model.classes_, models[0].classes_) for model in every):
        return models, start
    try:
        labels = np.unique(np.concatenate([model.classes_ for model in every])).tolist()
    except TypeError:
        raise InputError("the labels of the models are of different types") from None
    wider = []
    for model in every:
        if not hasattr(model, "learn_one"):
            raise InputError(
                "the models have learned other classes; train on rows with all classes"
            )
        model = copy.deepcopy(model)
        for label in labels:
            model._add_class(label, n_rows=0)  # other rows may have it often
        wider.append(model)
    return wider[: len(models)], (None if start is None else wider[-1])
