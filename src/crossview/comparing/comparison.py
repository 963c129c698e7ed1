"""The result of `compare`."""

from __future__ import annotations

import base64
import math
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from crossview.catalog.learner import Learner
from crossview.catalog.learners import find_learner
from crossview.comparing.train_options import train_options
from crossview.comparing.verdict import short_value, unlabeled_benefit, verdict
from crossview.errors import InputError
from crossview.scoring.diagnostics import Diagnostics
from crossview.scoring.metric_words import SaysMetric
from crossview.scoring.plot_mixin import Pictured
from crossview.scoring.significance import Posterior

__all__ = [
    "Ablation",
    "Comparison",
    "ComparisonRow",
    "CurvePoint",
    "Followed",
    "LearningCurve",
    "LeftOut",
]

# of the JSON form: a file of another one is refused
FORMAT = 2
# the keys of an array in it
ARRAY = {"dtype", "shape", "base64"}


@dataclass
class ComparisonRow:
    """Scores and chosen parameters of one model.

    Attributes
    ----------
    model : str
        Its name for ``crossview train --model``.
    title : str
        What it is.
    value, std : float
        The metric: mean and standard deviation over the folds.  Progressive:
        of the stream, and NaN.
    accuracy, roc_auc, rmse, mae : float
        Likewise, the means; NaN for those of the other task.
    rows_per_second : float
        Rows learned per second, without reading, encoding and compiling; steps of learners
        that draw rows.
    predicted_per_second : float
        Rows scored per second, many at once.  Progressive: NaN, because each is scored and learned.
    threshold : float
        With two classes: the probability of the positive class above which it is predicted, the
        median over the folds.  Progressive: the one after the last row.  NaN where a score above 0
        decides.
    untuned : float
        The metric where a score above 0 decides, if ``threshold`` was tuned; otherwise NaN.
    setting : dict
        The parameters that were chosen, most often over the folds.
    epochs : int
        Passes over the training rows; with early stopping, the median over the folds.
    effort : int
        What it takes to train and keep, from the catalog: of models that are practically equal,
        the one with the least is recommended.
    baseline : bool
        Whether it is a model of another library, to measure the others by.
    learned : float
        Share of the training rows that it learned from: below 1 for a baseline that would take too
        long for the budget.
    difference : Posterior or None
        Of the metric, to the best row: below 0 is worse, also where lower values are better.  None
        for the best row itself.
    p, p_adjusted : float or None
        Of the test against the best row, and adjusted by Holm for the number of tests: by folds
        those against the best row, on a stream those of all pairs.
    equal : bool
        Whether it is practically equal to the best row: more likely than not, the difference is
        smaller than the rope.
    scores : list of float
        The metric fold by fold.
    inner : list of float
        The metric of the chosen setting on rows held out of each training part; higher is better.
    others : dict of str to list of float
        The other metrics fold by fold.
    chosen : list of dict
        The parameters fold by fold.
    thresholds, untuned_scores : list of float
        ``threshold`` and ``untuned`` fold by fold.
    confusion : list of list of int or None
        Over all folds, or of the stream: rows of each class (in a line) that were predicted as each
        class.
    """

    model: str
    title: str
    value: float = math.nan
    std: float = math.nan
    accuracy: float = math.nan
    roc_auc: float = math.nan
    rmse: float = math.nan
    mae: float = math.nan
    rows_per_second: float = math.nan
    predicted_per_second: float = math.nan
    threshold: float = math.nan
    untuned: float = math.nan
    setting: dict[str, Any] = field(default_factory=dict)
    epochs: int = 1
    effort: int = 0
    baseline: bool = False
    learned: float = 1.0
    difference: Posterior | None = None
    p: float | None = None
    p_adjusted: float | None = None
    equal: bool = False
    scores: list[float] = field(default_factory=list)
    inner: list[float] = field(default_factory=list)
    others: dict[str, list[float]] = field(default_factory=dict)
    chosen: list[dict[str, Any]] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    untuned_scores: list[float] = field(default_factory=list)
    confusion: list[list[int]] | None = None


@dataclass(frozen=True)
class Followed:
    """What it gives to follow the answer: the model itself is chosen in each training part.

    The best of many rows is at its own mean too good, because it was chosen by it.  Here the rows
    that score a model have no part in choosing it.

    Attributes
    ----------
    value, std : float
        The metric: mean and standard deviation over the folds.
    interval : tuple of float
        The mean lies in it with a probability of 0.95.
    scores : list of float
        Fold by fold.
    models : list of str
        The model that was chosen.
    """

    value: float
    std: float
    interval: tuple[float, float]
    scores: list[float]
    models: list[str]


@dataclass(frozen=True)
class LeftOut:
    """What a comparison left out: to keep within its budget, or because it failed.

    Attributes
    ----------
    model : str
        The model.
    what : str
        In words.
    seconds : float
        How much longer one core would have taken, about.
    failed : bool
        Whether it is a baseline that raised an error, which is ``what``.
    """

    model: str
    what: str
    seconds: float
    failed: bool = False


@dataclass(frozen=True)
class Ablation:
    """What the recommended model loses without a view.

    Attributes
    ----------
    view : str
        The view.
    without : float
        The metric where the model learns without it.
    without_difference : Posterior
        To the model with all views; below 0 is worse.
    missing : float
        The metric where the model learns with it, and it is missing in the rows to predict.
    missing_difference : Posterior
        Likewise.
    """

    view: str
    without: float
    without_difference: Posterior
    missing: float
    missing_difference: Posterior


@dataclass(frozen=True)
class CurvePoint:
    """The recommended model on some of the training rows.

    Attributes
    ----------
    rows : int
        Number of training rows.
    value, std : float
        The metric: mean and standard deviation over the folds.
    """

    rows: int
    value: float
    std: float


@dataclass(frozen=True)
class LearningCurve:
    """The recommended model by the number of training rows.

    Attributes
    ----------
    points : list of CurvePoint
        The last one is the row of the table.
    last_doubling : Posterior
        How much better it is on all rows than on half of them.
    """

    points: list[CurvePoint]
    last_doubling: Posterior


class _Ranked(SaysMetric):
    """Base class of `Comparison`: its rows, the best first."""

    rows: list[ComparisonRow]

    @property
    def predicted_rows(self) -> list[int] | None:
        """How many rows the recommended model predicts as each class."""
        confusion = self.recommended.confusion
        return None if confusion is None else list(np.sum(confusion, axis=0).tolist())

    @property
    def best(self) -> ComparisonRow:
        """The first row."""
        return self.rows[0]

    @property
    def equals(self) -> list[ComparisonRow]:
        """The best row, and those that are practically equal to it."""
        return [row for row in self.rows if row.equal]

    @property
    def recommended(self) -> ComparisonRow:
        """The cheapest of the rows that are practically equal to the best: the least effort."""
        return min(self.equals, key=lambda row: row.effort)

    def row(self, model: str) -> ComparisonRow:
        """Return the row of a model."""
        for row in self.rows:
            if row.model == model:
                return row
        raise InputError(f"no row for {model!r}; there are {', '.join(r.model for r in self.rows)}")


@dataclass
class Comparison(_Ranked, Pictured):
    """The result of `compare`: one row per model, the best first.

    Attributes
    ----------
    metric : str
        The metric that ranks the models; with its parameters, such as ``precision_at_10%``.
    positive : label or None
        The class that the metric is about; None with more than two classes, and for numbers.
    classes : list
        All labels; empty where a number is predicted.
    views : dict of str to int
        Names and widths of the views.
    n_rows : int
        Rows in the data.
    n_scored : int
        Rows that were predicted and scored; each has a label.
    mode : {"cross-validation", "progressive"}
        How they were scored.
    test : str
        Which test the p values come from.
    folds : int
        Number of folds that were scored; 0 in progressive mode.
    seed : int
        Seed of folds and shuffling.
    epochs : int or None
        Passes over the training rows that were asked for.
    rows : list of ComparisonRow
        The models, the best first.
    rope : float
        Differences in the metric up to this are none, for practical purposes.
    test_share : float
        Rows of a test fold, by the rows of a fold.
    task : {"classification", "regression"}
        What is predicted.
    unlabeled : int
        Number of unlabeled rows.
    threshold : float, "tuned" or None
        What was asked for.
    threshold_for : str or None
        The metric for which each model got its own threshold, the best on rows that it did not
        learn: the metric itself, or macro_f1 if it does not depend on a threshold.  None: they got
        none.
    positive_by : {"given", "name", "rarer", "guess"} or None
        What chose the positive class: ``positive=``, what it is called, its rows, or nothing.
    class_rows : list of int or None
        Number of labeled rows of each class.
    unlabeled_benefit_p : float or None
        p of the test of a learner that uses unlabeled rows against the same without them.
    followed : Followed or None
        What it gives to follow the answer; None in progressive mode, and for a single model.
    left_out : list of LeftOut
        What the budget did not allow.
    in_order : bool
        Whether the rows of each fold come after those that were learned.
    planned_folds : int
        Number of folds that were asked for.
    seconds : float
        How long it took.
    ablation : list of Ablation
        What the recommended model loses without each view, if that was asked for.
    curve : LearningCurve or None
        The recommended model by the number of rows.
    warnings : list of str
        A line for each column that tells the label, and may be known only after it.
    fingerprint : str
        Of the labels and the protocol: comparisons with the same have the same folds.
    diagnostics : Diagnostics or None
        What pictures need of the recommended model; None where it was not kept.
    """

    PICTURE: ClassVar[str] = "comparison"
    CHECKED: ClassVar[str] = "rows scored by the recommended model"

    metric: str
    positive: Any
    classes: list[Any]
    views: dict[str, int]
    n_rows: int
    n_scored: int
    mode: str
    test: str
    folds: int
    seed: int
    epochs: int | None
    rows: list[ComparisonRow]
    rope: float
    test_share: float = math.nan
    task: str = "classification"
    threshold: float | str | None = "tuned"
    threshold_for: str | None = None
    positive_by: str | None = None
    class_rows: list[int] | None = None
    unlabeled: int = 0
    unlabeled_benefit_p: float | None = None
    followed: Followed | None = None
    left_out: list[LeftOut] = field(default_factory=list)
    in_order: bool = False
    planned_folds: int = 0
    seconds: float = math.nan
    ablation: list[Ablation] = field(default_factory=list)
    curve: LearningCurve | None = None
    warnings: list[str] = field(default_factory=list)
    fingerprint: str = ""
    diagnostics: Diagnostics | None = field(default=None, compare=False, repr=False)

    @property
    def unlabeled_pair(self) -> tuple[ComparisonRow, ComparisonRow] | None:
        """A row that learns from unlabeled rows, and the same without them."""
        by_model = {row.model: row for row in self.rows}
        for row in self.rows:
            entry = self.entry(row)
            if entry and entry.learns_unlabeled and entry.measured_against in by_model:
                return row, by_model[entry.measured_against]
        return None

    @property
    def learns_unlabeled(self) -> list[str]:
        """Names of the models that learn from unlabeled rows."""
        entries = [self.entry(row) for row in self.rows]
        return [entry.name for entry in entries if entry and entry.learns_unlabeled]

    def entry(self, row: ComparisonRow) -> Learner | None:
        """Return the entry of a row; None for a baseline that `train` does not know."""
        if not row.baseline:
            return find_learner(row.model, self.task, list(self.views))
        # it takes long to load
        from crossview.baselines import baselines, is_trainable

        known = [one for one in baselines(self.task) if is_trainable(one)]
        return next((one for one in known if one.name == row.model), None)

    @property
    def train_options(self) -> list[str]:
        """The options of ``crossview train`` that train the recommended row on all data.

        Empty where that is a baseline that `train` does not know.
        """
        return self.train_options_of(self.recommended)

    def train_options_of(self, row: ComparisonRow) -> list[str]:
        """Return the options of ``crossview train`` for any row; see `train_options`."""
        entry = self.entry(row)
        return [] if entry is None else train_options(self, entry, row)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; what is not defined is None."""
        content = asdict(self) | {
            "format": FORMAT,
            "recommended": self.recommended.model,
            "verdict": self.verdict,
            "unlabeled_benefit": self.unlabeled_benefit,
            "train_options": self.train_options,
        }
        return _json(content)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Comparison:
        """Return the comparison that `to_dict` was made from.

        Parameters
        ----------
        content : mapping
            As from JSON.

        Returns
        -------
        comparison : Comparison
            With the same table and verdict.

        Raises
        ------
        InputError
            It is no comparison, or one in the form of another version.
        """
        if not isinstance(content, Mapping) or "rows" not in content:
            raise InputError("holds no comparison; write one with crossview compare --json FILE")
        if content.get("format") != FORMAT:
            raise InputError("holds a comparison of another version of crossview; make it again")
        return _of_json(cls, {"diagnostics": None, **content})

    @property
    def verdict(self) -> list[str]:
        """The answer in plain words: sentences, of which the first one names a model."""
        return verdict(self)

    @property
    def unlabeled_benefit(self) -> str | None:
        """How much unlabeled rows help, in plain words; None where that is not known."""
        return unlabeled_benefit(self)

    def __str__(self) -> str:
        width = max(len(row.model) for row in self.rows)
        lines = [
            f"{row.model:<{width}}  {short_value(self, row.value)}"
            + (f" ± {short_value(self, row.std)}" if self.folds else "")
            for row in self.rows
        ]
        benefit = [self.unlabeled_benefit] if self.unlabeled_benefit else []
        first = [self.metric_words, *self.notes] if self.classes else []
        return "\n".join([*first, *self.warnings, *lines, *self.verdict, *benefit])


def _of_json(kind: Any, value: Any) -> Any:
    """A value of JSON as the type of its field: NaN where there is no number."""
    inner = typing.get_args(kind)
    if kind is float:
        return math.nan if value is None else value
    if is_dataclass(kind):
        make: Any = kind
        of = typing.get_type_hints(kind)
        return make(**{one.name: _of_json(of[one.name], value[one.name]) for one in fields(kind)})
    if isinstance(value, Mapping) and value.keys() == ARRAY:
        return _array(value)
    if value is None or not inner:
        return value
    if typing.get_origin(kind) is list:
        return [_of_json(inner[0], item) for item in value]
    if typing.get_origin(kind) is tuple:
        return tuple(map(_of_json, inner, value))
    some = [one for one in inner if is_dataclass(one)]
    return _of_json(some[0], value) if some else value


def _array(value: Mapping[str, Any]) -> np.ndarray:
    """An array as `_json` has written it."""
    flat = np.frombuffer(base64.b64decode(value["base64"]), dtype=value["dtype"])
    return flat.reshape(value["shape"]).copy()


def _json(value: Any) -> Any:
    if isinstance(value, np.ndarray):  # long, so that numbers in text would fill the file
        array = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        words = base64.b64encode(array.tobytes()).decode()
        return {"dtype": array.dtype.str, "shape": list(array.shape), "base64": words}
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
