"""The result of `train`, the observer of its progress, and notes on slots that values share."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from crossview import __version__, compiling
from crossview.encoding.encode import ViewEncoder
from crossview.errors import OneClassWarning, argument, check_kind
from crossview.labels import Threshold
from crossview.saving.pipelines import pipeline
from crossview.scoring.diagnostics import Diagnostics
from crossview.scoring.progressive import Record
from crossview.scoring.results import (
    PlotMixin,
    SaysMetric,
    decision_words,
    in_digits,
    memory_note,
)

# Values per slot from which a view is crowded.  Deviations of users lose .003 of log loss by .5,
# and .005 by 1 (MovieLens; python -m benchmarks evidence personal).
CROWDED = 1.0
# where more slots are touched, nobody knows how many values there are
FULL = 0.99
# slots that are looked at: values are spread evenly over all of them
SAMPLE = 2**20


def crowding_notes(encoder: Any, learner: Any) -> list[str]:
    """Return a line for each hashed view in which values share slots with many others.

    n values leave a share of exp(-n/m) of m slots untouched.  Touched are those with a weight in a
    linear model, of a stack in its first one over all views.
    """
    if not isinstance(encoder, ViewEncoder):
        return []
    weights = _linear_weights(learner, encoder.layout_.n_columns)
    lines = []
    for view, (slots, most_bits) in encoder.slots_of_views().items() if len(weights) else ():
        share = np.count_nonzero(weights[slots][:SAMPLE].any(axis=1)) / min(
            slots.stop - slots.start, SAMPLE
        )
        values = -math.log(1.0 - min(share, FULL))
        if values <= CROWDED:
            continue
        about = "more than" if share >= FULL else "about"
        line = f"view {view!r}: {about} {values:.1f} values share a slot, and its weight"
        bits = min(encoder.hash_bits + math.ceil(math.log2(values / CROWDED)), most_bits)
        if bits > encoder.hash_bits:
            line += f"; give {argument(hash_bits=bits)}"
        lines.append(line)
    return lines


def _linear_weights(learner: Any, n_columns: int) -> np.ndarray:
    """The weights of a linear model of all views, (n_columns, n_scores); empty: there is none."""
    for _, one, view in getattr(learner, "experts_", [("", learner, None)]):
        weights = getattr(one, "_state", {}).get("W")
        if view is None and weights is not None and weights.ndim == 2 and len(weights) == n_columns:
            return weights
    return np.empty((0, 0))


@dataclass
class Trained(SaysMetric, PlotMixin):
    """The result of `train`: the fitted model and training statistics.

    Attributes
    ----------
    encoder : ViewEncoder, ViewReader, ViewScaler or None
        What makes views of the rows, fitted; None if there is nothing to encode.
    learner : learner
        The fitted learner.
    name : str
        The model's name for ``crossview train --model``.
    task : {"classification", "regression"}
        What it predicts.
    label : str or None
        The column of the labels.
    rows : int
        Number of labeled rows that were learned.
    unlabeled : int
        Number of unlabeled rows that were learned.
    skipped : int
        Number of unlabeled rows that were skipped.
    passes : int or None
        Number of passes over the rows; None if the learner had all rows in memory.
    order : str or None
        Order in which the rows were learned: "shuffled", "shuffled by blocks", "in order" or
        "in the order of", the query or a column.  None without passes.
    seed : int
        Seed of the order and of the model.
    seconds : float
        Training time, with reading.
    compiled : float
        Seconds of these in which loops were compiled, as at the first use on a machine.
    loss, accuracy : float or None
        Progressive loss and accuracy of the first pass: each row is predicted before it is
        learned.  None without passes, or if not defined.
    metric : dict
        ``name`` and progressive ``value`` of the metric; the value is None without passes, or if
        it is not defined.
    positive : label or None
        With two classes: the one that metric and threshold are about.
    positive_by : {"given", "name", "majority", "rarer", "guess"} or None
        What chose it: ``positive=``, what it is called, its rows, or nothing; see `train`.
    threshold : float, list of float, or None
        The probability of the positive class above which it is predicted; of more than two classes
        one per class, see `Scoring`.  None: the scores decide.
    threshold_for : str or None
        The metric for which the threshold is the best; None: it was given, or there is none.
    view_shares : dict of str to float or None
        Mean absolute score of each view, less its mean, as a fraction of the sum over
        the views; None for models with interactions, whose score is not a sum over views.
    rows_of_view_shares : int
        Number of last rows on which ``view_shares`` was measured.
    reference : dict or None
        How inputs and scores of each view were distributed over these rows; `evaluate` and
        `predict` compare later rows with it.  Scores are there where those of rows that were
        learned are about those of others.  None for fewer than 50 rows.
    column_reference : dict or None
        In how many of these rows each column was missing, and which share of its values may be new;
        None as of ``reference``, and for models that read no columns.
    row_sketch : dict or None
        A sketch of the rows that were learned, by which `evaluate` knows them again.
    groups : str or None
        The column of rows that belong together; `evaluate` counts rows by it.
    time : str or None
        The column in whose order the rows were learned; ``train(init=)`` learns more rows so.
    class_rows : list of int or None
        Number of labeled rows of each class; None where it is not known, or a number is predicted.
    predicted_rows : list of int or None
        How many rows that were not learned yet are predicted as each class; of models without a
        threshold, how many of the last rows.
    earlier : int
        How many of the rows the model of ``init`` had learned.
    progress : (dict, dict of str to ndarray) or None
        Counts from which ``train(init=)`` goes on; None without passes.
    warnings : list of str
        A line for each column that tells the label, and may be known only after it, one if all
        rows are predicted as the same class, and one if rows were shuffled whose order may mean
        something.
    metric_without_memory : float or None
        The metric of what `predict` would have said, where the scores of a stack count the last
        labels, too.
    scored : str
        Which rows the metric is about.
    diagnostics : Diagnostics or None
        What pictures need.
    """

    PICTURE: ClassVar[str] = "errors"
    CHECKED: ClassVar[str] = "rows checked in training"

    encoder: Any
    learner: Any
    name: str
    task: str
    label: str | None
    rows: int
    unlabeled: int
    skipped: int
    passes: int | None
    order: str | None
    seed: int
    seconds: float
    loss: float | None
    accuracy: float | None
    metric: dict[str, Any]
    positive: Any
    positive_by: str | None
    threshold: Threshold | None
    threshold_for: str | None
    view_shares: dict[str, float] | None
    rows_of_view_shares: int
    reference: dict[str, Any] | None
    row_sketch: dict[str, Any] | None = None
    column_reference: dict[str, Any] | None = None
    groups: str | None = None
    time: str | None = None
    class_rows: list[int] | None = None
    predicted_rows: list[int] | None = None
    compiled: float = 0.0
    earlier: int = 0
    progress: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None
    warnings: list[str] = field(default_factory=list)
    metric_without_memory: float | None = None
    scored: str = "each row predicted before it was learned"
    diagnostics: Diagnostics | None = field(default=None, compare=False, repr=False)

    @property
    def fitted(self) -> Any:
        """Encoder and learner as a Pipeline; the learner alone if there is no encoder."""
        return pipeline(self.encoder, self.learner)

    @property
    def classes(self) -> list[Any]:
        """The classes, sorted; empty where a number is predicted."""
        return self.learner.classes_.tolist() if hasattr(self.learner, "classes_") else []

    @property
    def notes(self) -> list[str]:
        """Lines about the positive class, if nobody named it, the threshold, memory, and slots."""
        own = [*super().notes]
        if self.threshold is not None:
            rule = self.positive, self.threshold, self.threshold_for
            own.append(decision_words(*rule, self.classes))
        about = self.metric["name"], self.metric_without_memory
        own += memory_note(self.learner, *about) if self.passes else []
        return own + crowding_notes(self.encoder, self.learner)

    @property
    def summary(self) -> str:
        """The metric, what it is about, and its value."""
        if self.loss is None:
            return f"{self.metric_words}: crossview evaluate says how good it is on other rows"
        number = self.task == "regression"
        values = {self.metric_words: self.metric["value"], "loss": self.loss}
        if self.task == "classification" and self.metric["name"] != "accuracy":
            values["accuracy"] = self.accuracy
        words = ", ".join(
            f"{name} {in_digits(value) if number else f'{value:.4f}'}"
            for name, value in (
                (name, float("nan") if value is None else value) for name, value in values.items()
            )
        )
        return f"{words}; {self.scored}"

    @property
    def lines(self) -> list[str]:
        """Lines about the training: the metric, what to know of it, rows and time."""
        rows = f"{self.rows:,} rows"
        if self.unlabeled:
            rows += f" with a label and {self.unlabeled:,} without"
        if self.order is not None:
            rows += f" {self.order}"
        if self.earlier:
            rows += f", {self.earlier:,} of them before"
        seconds = max(self.seconds - self.compiled, 1e-3)
        if self.passes is None:
            effort = f"{training_summary(self.learner)}, {seconds:.1f} s"
        else:
            passes = "1 pass" if self.passes == 1 else f"{self.passes} passes"
            new = self.rows - self.earlier + self.unlabeled
            effort = f"{passes}, {seconds:.1f} s, {new * self.passes / seconds:,.0f} rows/s"
        lines = [self.summary, *self.notes, f"{rows}, {effort}"]
        if self.compiled > compiling.SECONDS_UNTOLD:
            lines.append(f"compiled for this machine, once: {self.compiled:.0f} s")
        if self.skipped:
            what = "row without a label was" if self.skipped == 1 else "rows without a label were"
            lines.append(f"{self.skipped:,} {what} skipped")
        return lines

    def __str__(self) -> str:
        warned = [f"warning: {line}" for line in self.warnings]
        kinds = self.encoder.column_kinds() if hasattr(self.encoder, "column_kinds") else {}
        views = [
            f"view {view}: {', '.join(f'{n:,} {kind}' for kind, n in of_view.items())}"
            for view, of_view in kinds.items()
        ]
        return "\n".join([f"trained {self.name}", *views, *warned, *self.lines])

    __repr__ = __str__

    def warn_of_one_class(self) -> None:
        """Add a warning if all rows are predicted as the same class."""
        for line in self.one_class:
            self.warnings = [*self.warnings, line]
            warnings.warn(line, OneClassWarning, stacklevel=3)

    @property
    def info(self) -> dict[str, Any]:
        """The metadata for the model file."""
        of_run = {"seconds", "compiled", "earlier", "skipped", "progress", "warnings"}
        of_run |= {"class_rows", "predicted_rows", "metric_without_memory", "scored"}
        excluded = {"encoder", "learner", "name", "diagnostics"} | of_run
        known = {key: value for key, value in vars(self).items() if key not in excluded}
        return {"crossview": __version__, "model": self.name, **known}


def training_summary(learner: Any) -> str:
    """Return the steps, or the cutting-plane iterations, of a learner without passes."""
    if hasattr(learner, "n_steps_"):
        return f"{learner.n_steps_:,} steps"
    if hasattr(learner, "n_landmarks_"):
        return f"one fit with {learner.n_landmarks_} landmarks"
    if hasattr(learner, "n_members"):
        return f"one fit of {learner.n_members:,} network{'s' if learner.n_members > 1 else ''}"
    if hasattr(learner, "n_estimators"):
        return f"{learner.n_estimators:,} trees"
    if hasattr(learner, "feature_importances_"):
        return f"{learner.n_iter_:,} iterations"
    if hasattr(learner, "members_"):
        kept = [name for name, *_ in learner.members_]
        left = [name for name, *_ in learner.members or () if name not in kept]
        out = f" ({', '.join(left)} without a weight, and left out)" if left else ""
        return f"one fit of each of {len(kept)} members{out}"
    if not hasattr(learner, "dual_gap_"):
        return "one fit of scikit-learn"
    gap = float(np.max(learner.dual_gap_))
    return f"{int(np.sum(learner.n_iter_)):,} rounds to a gap of {gap:.2g}"


class TrainingObserver:
    """Observer of the progress of `train`; override the methods, which do nothing.

    Parameters
    ----------
    history : bool, default=False
        Whether training keeps what pictures of the first pass need: the error so far, how the
        scores of the views differed, and a sample of the rows.  It changes no model, and takes a
        tenth more time at most; of a run that was resumed it begins there.
    log : path-like or TrainingLog, default=None
        The file of JSON lines to write, as by `train`.

    Examples
    --------
    >>> from crossview import TrainingObserver, datasets, train
    >>> class Rows(TrainingObserver):
    ...     def start_pass(self, number, n_passes, n_rows, n_done=0):
    ...         print(f"pass {number} of {n_passes}, {n_rows} rows")
    >>> trained = train(datasets.load("breast-cancer"), "diagnosis", log=Rows(history=True))
    pass 1 of 1, 569 rows
    >>> len(trained.diagnostics.errors)
    1
    """

    history = False
    log: Any = None

    def __init__(self, *, history: bool = False, log: Any = None) -> None:
        check_kind("a path or a TrainingLog or None", log=log)
        self.history, self.log = history, log

    def start_pass(self, number: int, n_passes: int, n_rows: int | None, n_done: int = 0) -> None:
        """Handle the start of pass ``number``, from 1; ``n_rows`` is None if it is unknown.

        ``n_done`` rows of it were learned before, by a run that stopped.
        """

    def add_rows(self, n_rows: int) -> None:
        """Handle ``n_rows`` more learned rows; another thread than that of `train` may call it."""

    def add_record(self, record: Record) -> None:
        """Handle a record of the progressive loss and metric."""
