"""The recommended model once more, in its settings, on other rows or views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from crossview.catalog.learner import Learner
from crossview.comparing.comparison import ComparisonRow
from crossview.comparing.folds.jobs import Jobs
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.tuning import Chosen, Tuner
from crossview.comparing.folds.work import fit_model, score_model
from crossview.comparing.run import Run

__all__ = ["Again", "fit_again", "score_again"]


class Again(NamedTuple):
    """A model that was compared, and what it takes to fit it once more.

    Attributes
    ----------
    run : Run
        What was compared.
    row : ComparisonRow
        The model, with its settings and scores fold by fold.
    learner : Learner
        Its entry.
    folds : callable
        Yields the rows of each fold, one fold after the other: only one is in memory at a time.
    jobs : Jobs
        The workers.
    test_share : float
        Rows of a test fold, by the rows of a fold.
    """

    run: Run
    row: ComparisonRow
    learner: Learner
    folds: Callable[[], Iterator[Fold]]
    jobs: Jobs
    test_share: float


def fit_again(
    run: Run, learner: Learner, fold: Fold, setting: dict[str, Any]
) -> tuple[Any, Fold, Chosen]:
    """Return the model of a setting, the fold in its encoding, and what the held-out rows say."""
    fold = fold.of_setting(setting)
    chosen = Tuner(run, learner, fold).choose([(0, setting)])
    model, _ = fit_model(run, learner, fold, chosen)
    return model, fold, chosen


def score_again(run: Run, learner: Learner, fold: Fold, setting: dict[str, Any]) -> float:
    """Return the metric of a setting on a fold."""
    with threadpool_limits(1):
        model, fold, chosen = fit_again(run, learner, fold, setting)
        return score_model(run, learner, model, fold, chosen).value
