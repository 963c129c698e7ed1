"""Scoring of a run: the metric, its parameters, and how two classes are told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

from crossview.catalog.metrics import METRICS, check_metric, metric_names, parse_metric
from crossview.catalog.names import unknown_name
from crossview.errors import InputError, argument, check_kind, type_of


@dataclass(frozen=True)
class Scoring:
    """Metric of a run, and for two classes the positive one and its threshold.

    The functions that take ``scoring=`` also take the name of a metric alone.

    Parameters
    ----------
    metric : str, default=None
        Name of the metric: f1, macro_f1 (the mean of the f1 of each class), f0.5, f2 (any β),
        accuracy, balanced_accuracy, precision, recall, g_mean (geometric mean of recall and
        specificity), roc_auc, average_precision, prbep (precision/recall break-even point),
        precision_at_k or recall_at_k; of more than two classes, the mean of each against the rest.
        Of more than two classes also top_accuracy, the share of the rows whose label is among the k
        most probable classes.
        Of the probabilities log_loss, brier_score or expected_calibration_error.  By costs cost.
        For a number rmse, mae or r2.  None: cost if costs are given; otherwise f1 (macro_f1 if
        nothing says which of two classes is the positive one, or more than 60 % of the rows are of
        it) or rmse, and where there is a fitted model the metric that it was trained for.
    k : int or float, default=None
        Of precision_at_k and recall_at_k: how many rows, those with the highest scores, or a
        share of the rows between 0 and 1, rounded, at least one row.  None: 0.1.  Of top_accuracy:
        how many classes.  None: 2.  With another metric it is for `evaluate` alone, which measures
        precision_at_k and recall_at_k, too.
    cost : mapping of str to float, default=None
        Of the metric cost, with two classes: the costs of a false positive and of a false negative,
        such as ``{"fp": 1, "fn": 20}``.  The metric is the mean cost of a row.
    positive : label, default=None
        With two classes: the one that the metric and the threshold are about.  None: that of a
        fitted model, or the one that is called 1, true, yes, ja, oui, sí, positive, case, spam or
        the like; if no name says it, the one that has less than 40 % of the labeled rows.  If
        neither says it, the metric is macro_f1, in which both classes count the same; a metric of
        one class, or a threshold, is then about the second of the sorted classes, and the result
        says that this is a guess.
    threshold : float, list of float, "tuned", "auto" or None, default="auto"
        With two classes: the probability of the positive class above which it is predicted.  With
        more: one above 0 for each, in the order of the sorted classes; the one is predicted whose
        probability is the highest multiple of its threshold, so a higher threshold predicts its
        class in fewer rows.
        "tuned": the best one for the metric on rows that were not learned; precision and recall,
        whose optima are trivial, take that for f1, and metrics that do not depend on a threshold,
        such as roc_auc, that for macro_f1.  None: a score above 0 predicts the second of two
        classes, the highest score one of more.  Those of more than 30 classes are equal.
        "auto": that of a fitted model; a new one is tuned.

    Raises
    ------
    InputError
        There is no such metric, or it has not the parameter, or a value is out of its range.

    Examples
    --------
    >>> from crossview import Scoring
    >>> Scoring(cost={"fp": 1, "fn": 20}, positive="spam").metric_of("classification")
    'cost:fp=1,fn=20'
    >>> Scoring("precision_at_k", k=20)
    Scoring(metric='precision_at_k', k=20, cost=None, positive=None, threshold='auto')
    """

    metric: str | None = None
    _: KW_ONLY
    k: int | float | None = None
    cost: Mapping[str, float] | str | None = None
    positive: Any = None
    threshold: float | Sequence[float] | str | None = "auto"

    def __post_init__(self) -> None:
        check_kind("a name or None", metric=self.metric)
        check_kind("a mapping of names or a name or None", cost=self.cost)
        if hasattr(self.positive, "__len__") and not isinstance(self.positive, str | bytes):
            raise InputError(f"{argument('positive')} is {type_of(self.positive)}; give one label")
        family = None if self.metric is None else METRICS.get(parse_metric(self.metric)[0])
        if self.metric is not None and family is None:
            raise unknown_name("metric", self.metric, metric_names())
        task, k = "classification" if family is None else family.task, self.k
        at_k = family is not None and family.takes_k
        if k is not None and task == "classification" and not at_k:
            check_metric("precision_at_k", k=k)  # which `evaluate` shows beside any other
            k = None
        check_metric(self.metric, task=task, k=k, cost=self.cost)
        if not isinstance(self.threshold, str) or self.threshold not in ("auto", "tuned"):
            check_threshold(self.threshold)

    @classmethod
    def of(cls, scoring: Any) -> Scoring:
        """Return the scoring of an argument: one already, the name of a metric, or None.

        Parameters
        ----------
        scoring : Scoring, str or None
            As for `crossview.train`.

        Returns
        -------
        Scoring
            With the defaults for None.
        """
        if scoring is None or isinstance(scoring, str):
            return cls(scoring)
        if not isinstance(scoring, cls):
            raise InputError(
                f"{argument('scoring')} is {type_of(scoring)}; give the name of a metric, or a "
                "Scoring"
            )
        return scoring

    def metric_of(self, task: str, default: str | None = None) -> str:
        """Return the metric of a task, with its parameters in its name.

        Parameters
        ----------
        task : {"classification", "regression"}
            What is predicted.
        default : str, default=None
            The metric where none is given.  None: that of the task.

        Returns
        -------
        str
            As from `check_metric`.
        """
        return check_metric(self.metric, task=task, k=self.k, cost=self.cost, default=default)

    def given(self) -> dict[str, Any]:
        """Return the parameters that are not left at their defaults.

        Returns
        -------
        dict
            By name.
        """
        fields = {name: getattr(self, name) for name in ("metric", "k", "cost", "positive")}
        found = {name: value for name, value in fields.items() if value is not None}
        return found if self.threshold == "auto" else found | {"threshold": self.threshold}

    def check_task(self, task: str) -> None:
        """Refuse a metric of another task, and what only classes have where there are none.

        Parameters
        ----------
        task : {"classification", "regression"}
            What is predicted.
        """
        self.metric_of(task)
        if task != "regression":
            return
        for name, value in self.given().items():
            if name in ("cost", "positive") or (name == "threshold" and value is not None):
                raise InputError(
                    f"{argument(name)} is about classes; leave it out where "
                    f"{argument(task='regression')}"
                )


def check_threshold(threshold: Any) -> None:
    """Raise an error for what is neither a probability, nor one per class, nor None."""
    if threshold is None:
        return
    several = not isinstance(threshold, str) and hasattr(threshold, "__len__")
    for one in threshold if several else [threshold]:
        number = isinstance(one, Real) and not isinstance(one, bool)
        # p / t of a threshold of 0 is no number
        if not (number and 0.0 <= float(one) <= 1.0 and (float(one) or not several)):
            raise InputError(
                f"{argument(threshold=threshold)}; give a probability between 0 and 1 (of more "
                "than two classes one above 0 for each), or none (the scores decide)"
            )


# parameters that `compare`, `train` and others share: type and description
SHARED: dict[str, tuple[str, str]] = {
    "views": (
        "mapping of str to columns",
        """
        As for `ViewEncoder`: view name -> column names or globs.  None: those of ``encoder``; if it
        has none, a column called ``user__age`` belongs to the view ``user``.  A glob never matches
        the label.  Of svmlight, libffm and Vowpal Wabbit files as for `open_rows`.
        """,
    ),
    "encoder": (
        "ViewEncoder",
        """
        How columns become views, such as ``ViewEncoder(text=["body"], ignore=["id"])``: a new one
        like it learns the rows, so it need not be fitted.  Text that is dates in every row is
        recognized, also beside those of ``date``, unless that is empty; the column of ``time`` may
        be among them.  Views go here or into ``views``.  Of rows that are views already,
        ``scale_views`` alone applies, and of libffm and Vowpal Wabbit files ``hash_bits``.
        None: one with the defaults.
        """,
    ),
    "task": (
        '{"classification", "regression"}',
        """
        Whether a class or a number is predicted.  None: a number if the first labels have decimals
        or take more than 100 values, or more than 10 that begin above 1 or have a gap, and
        otherwise a class; a guess is a `GuessWarning`.
        """,
    ),
    "scoring": (
        "str or Scoring",
        """
        The metric, or a `Scoring` with its parameters, the positive class and the threshold, such
        as ``Scoring("recall", positive="yes", threshold=0.3)``.  None: f1 (macro_f1 if nothing says
        which of two classes is the positive one, or more than 60 % of the rows are of it), or
        rmse, with a tuned threshold.
        """,
    ),
}
