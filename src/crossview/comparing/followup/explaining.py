"""The strongest columns and interactions of the recommended model, by name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from crossview.baselines import is_trainable
from crossview.catalog.learner import Learner
from crossview.comparing.folds.jobs import Call
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.tuning import make_model
from crossview.comparing.followup.refit import Again
from crossview.comparing.run import Run
from crossview.scoring.diagnostics import StrongColumn, StrongInteraction
from crossview.scoring.row_values import strong_columns, strong_interactions
from crossview.scoring.weights import ColumnNames

__all__ = ["explain", "explain_fold", "has_weights"]


def has_weights(learner: Learner, setting: Mapping[str, Any]) -> bool:
    """Return whether a learner in a setting has weights of columns.

    Parameters
    ----------
    learner : Learner
        The entry.
    setting : mapping of str to value
        Its parameters.

    Returns
    -------
    bool
        False for baselines that are not linear, and for kernels other than the linear one.

    Examples
    --------
    >>> from crossview.catalog.learners import find_learner
    >>> from crossview.comparing.followup.explaining import has_weights
    >>> has_weights(find_learner("keco", "classification", ["a", "b"]), {"kernel": "rbf"})
    False
    """
    of_rows = learner.explained_by == "support rows" and setting.get("kernel") != "linear"
    return is_trainable(learner) and not of_rows


def explain(
    again: Again, fold: Fold, names: ColumnNames
) -> tuple[list[StrongColumn], list[StrongInteraction]]:
    """Return what contributes most to the scores of rows held out of the first fold.

    Parameters
    ----------
    again : Again
        The model; it is fitted once more, without choosing anything.
    fold : Fold
        The rows of the first fold, in the encoding of its setting there.
    names : ColumnNames
        Of their columns.

    Returns
    -------
    columns : list of StrongColumn
        The strongest first.
    interactions : list of StrongInteraction
        None of a learner without interactions.
    """
    run, row, learner, _, jobs, _ = again
    call = Call(None, explain_fold, (run, learner, jobs.share(fold), names, row.chosen[0]))
    found: tuple[list[StrongColumn], list[StrongInteraction]]
    ((_, found),) = jobs.run([call])
    return found


def explain_fold(
    run: Run, learner: Learner, fold: Fold, names: ColumnNames, setting: dict[str, Any]
) -> tuple[list[StrongColumn], list[StrongInteraction]]:
    """Fit a setting on the training rows, and explain some of those held out."""
    with threadpool_limits(1):
        model = make_model(run, learner, setting)
        with warnings.catch_warnings():  # the fit that was scored has warned
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(*fold.training_rows(learner))
        columns = strong_columns(model, names, learner.select_view(fold.X_test))
        return columns, strong_interactions(model, names)
