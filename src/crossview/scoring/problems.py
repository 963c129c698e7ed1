"""The two problems, classification and regression, where scoring them differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from crossview.catalog.metrics import metric_of, parse_metric
from crossview.catalog.names import SYMMETRIC, TASKS, default_metric, unknown_name
from crossview.errors import InputError, argument
from crossview.labels import (
    Threshold,
    about_constant,
    choose_positive,
    has_label,
    known_labels,
    places_of,
    read_threshold,
)
from crossview.scoring.metrics import (
    BlockTally,
    ErrorTally,
    RunningThreshold,
    RunningThresholds,
    Tally,
    best_threshold,
    best_thresholds,
    confusion_matrix,
    decide,
    hinge_losses,
    measure,
    ordering,
    signed_score,
)
from crossview.scoring.metrics.tally import MOST_CELLS
from crossview.scoring.specification import Scoring, check_threshold


class Scored(NamedTuple):
    """Scores of rows that a model has not learned; where a number is predicted, the predictions.

    There are probabilities where they are needed; ``predicted`` None stands for the classes by the
    scores.
    """

    scores: np.ndarray  # (n_samples,) or (n_samples, n_classes)
    probabilities: np.ndarray | None = None  # (n_samples, n_classes)
    predicted: np.ndarray | None = None  # codes

    def take(self, rows: Any) -> Scored:
        """Return some of the rows."""
        return Scored._make(None if array is None else array[rows] for array in self)


def join(parts: Sequence[Scored]) -> Scored:
    """Return the rows of all parts."""
    each = zip(*parts, strict=True)
    return Scored._make(None if one[0] is None else np.concatenate(one) for one in each)


class _Splits:
    """How rows of a problem are split, by what scikit-learn has for folds, groups and one split."""

    _splitters: ClassVar[tuple[str, str, str]]

    def folds(self, k: int, seed: int, *, grouped: bool = False) -> Any:
        """Return shuffled folds, of classes each in proportion; by groups as nearly as they can."""
        return self._splitter(grouped)(k, shuffle=True, random_state=seed)

    def _inner_folds(self, most: int, seed: int, n_groups: int) -> Any:
        """Return three folds or fewer; one group has any rows on both sides."""
        grouped = n_groups > 1
        return self.folds(min(3, most, n_groups if grouped else most), seed, grouped=grouped)

    def one_split(self, seed: int) -> Any:
        """Return one split of 80 to 20."""
        return self._splitter(2)(1, test_size=0.2, random_state=seed)

    def _splitter(self, at: int) -> Any:
        from sklearn import model_selection  # not for those who only train: it takes long to load

        return getattr(model_selection, self._splitters[at])


class Classification(_Splits):
    """One of several classes is predicted.

    Of two classes ``positive``, a label, is the one that f1 and similar metrics are about; None:
    that of `choose_positive` by ``class_rows``.  ``positive_by`` says what chose it before (None:
    it was given).  A metric of None is that of `default_metric`.  Classes that have too few rows
    for that many ``folds`` are no classes of the problem, and their rows no rows; ``left_out`` has
    both.  The threshold is the probability of the positive class above which it is predicted,
    "tuned" (where the metric is best, or macro_f1 where the metric does not depend on it), or None:
    a score above 0 predicts the second class.  With more than two classes it is one per class, and
    the class is predicted whose probability is the highest multiple of its threshold; None: the one
    with the highest score.

    The attribute ``positive`` is the code of that class, 1 where there are more than two, and
    ``positive_label`` its label.  Settings are ``chosen_by`` the metric, or by the log
    loss where no metric is asked for.  If each model gets its own threshold (``tunes``),
    ``tuned_for`` is the metric for which.  Whether the metric depends on it is
    ``judged_by_threshold``, whether on the order of the rows only ``ranks``, and whether metric or
    threshold need the probabilities of the models, if there are any, ``needs_probabilities``.
    """

    name = "classification"
    shown = TASKS[name][1:]  # in a table, besides what decides
    _splitters = ("StratifiedKFold", "StratifiedGroupKFold", "StratifiedShuffleSplit")

    def __init__(
        self,
        classes: np.ndarray,
        positive: Any = None,
        *,
        metric: str | None = None,
        threshold: Any = "tuned",
        class_rows: Any = None,
        positive_by: str | None = None,
        folds: int | None = None,
    ) -> None:
        rare = _too_rare(class_rows, folds)
        self.left_out = {classes.tolist()[k]: int(class_rows[k]) for k in rare}
        self.classes = classes = np.delete(classes, rare)
        two = len(classes) == 2
        if class_rows is not None:
            class_rows = np.delete(class_rows, rare).tolist()
        self.class_rows = class_rows
        self.positive, self.positive_by = 1, None
        if positive is not None:
            self.positive, self.positive_by = (
                _positive_code(classes, positive),
                positive_by or "given",
            )
        elif two:
            self.positive, self.positive_by = choose_positive(classes, class_rows)
        self.positive_label = classes.tolist()[self.positive] if two else None
        is_asked_for = metric is not None
        if metric is None:
            metric = default_metric(self.positive_by, class_rows) if two else TASKS[self.name][0]
        self.metric = metric
        if parse_metric(metric)[0] == "cost" and not two:
            raise InputError(
                f"metric {metric!r} is for two classes, and there are {len(classes)}; "
                "take another metric"
            )
        kind = metric_of(metric).kind
        if kind == "place" and parse_metric(metric)[1]["k"] >= len(classes):
            raise InputError(
                f"metric {metric!r} of {len(classes)} classes is always 1; take another metric, "
                "or a smaller k"
            )
        if threshold is not None and not isinstance(threshold, str):
            check_threshold(threshold)
            threshold = read_threshold(threshold, len(classes))
        self.threshold: Threshold | str | None = threshold
        self.tuned_for: str | None = None
        if threshold == "tuned":
            placed = metric_of(metric).threshold_for or metric
            self.tuned_for = placed if kind == "decision" else SYMMETRIC
        self.tunes = self.tuned_for is not None
        self.judged_by_threshold = self.tunes and kind == "decision"
        self.ranks = kind == "order"
        self._cannot_do_without = self.fixed_threshold is not None or kind in (
            "probability",
            "calibration",
        )
        by_probabilities = self.tunes or self._cannot_do_without
        # of more than two classes they order the rows, and the classes
        self.needs_probabilities = by_probabilities or (kind in ("order", "place") and not two)
        by_log_loss = by_probabilities and not is_asked_for
        self.chosen_by = "log_loss" if by_log_loss else metric

    @property
    def fixed_threshold(self) -> Threshold | None:
        """The given threshold, as a probability of the second class; of more one per class."""
        given = self.threshold
        return None if given is None or isinstance(given, str) else self.of_other_side(given)

    def of_other_side(self, threshold: Any) -> Any:
        """Turn a probability of the positive class into one of the second class, or back.

        Those of more than two classes stay as they are.
        """
        if self.positive == 1 or not isinstance(threshold, float):
            return threshold
        return 1.0 - threshold

    def scores(self, model: Any, X: Any, *, probabilities: bool = False) -> Scored:
        """Return what a fitted model says of the rows; a class that it has not seen comes last."""
        scores = np.asarray(model.decision_function(X))
        p = model.probabilities(scores) if probabilities else None
        predicted = self.encode(model.decide(scores))
        seen = self.encode(model.classes_)
        if len(seen) < len(self.classes):
            scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
            scores = self._in_all_classes(scores, seen, scores.min(axis=1, keepdims=True) - 1.0)
            p = None if p is None else self._in_all_classes(p, seen, 0.0)
        return Scored(scores, p, predicted)

    def _in_all_classes(self, values: np.ndarray, seen: np.ndarray, missing: Any) -> np.ndarray:
        """Return a column for each class of the task; those not among the seen ones are missing."""
        whole = np.broadcast_to(missing, (len(values), len(self.classes))).copy()
        whole[:, seen] = values
        return whole

    def score_then_learn(
        self, model: Any, X: Any, y: np.ndarray, weight: np.ndarray | None = None
    ) -> Scored:
        """Return what the model says of each row just before it learns the row."""
        given = (X, y, self.classes, weight)
        if self.needs_probabilities and model.calibration != "none":
            return self.decide(*model.score_then_learn(*given, return_proba=True))
        return self._decided(model, np.asarray(model.score_then_learn(*given)))

    def without_memory(self, model: Any) -> Scored | None:
        """Return what `predict` would have said of the rows that the model learned last.

        None of a model whose scores do not count the last labels.
        """
        scores = getattr(model, "scores_without_memory", lambda: None)()
        return None if scores is None else self._decided(model, scores)

    def _decided(self, model: Any, scores: np.ndarray) -> Scored:
        """Return the rows with what is predicted, by a calibration that stays as it is."""
        if self.needs_probabilities:
            return self.decide(scores, model.probabilities(scores))
        return Scored(scores, None, decide(scores))

    def decide(self, scores: np.ndarray, probabilities: np.ndarray) -> Scored:
        """Return the rows with what is predicted at a given threshold, or by the scores."""
        predicted = decide(scores, probabilities, self.fixed_threshold)
        return Scored(scores, probabilities, predicted)

    def tune(self, y: np.ndarray, scored: Scored) -> tuple[Threshold | None, float]:
        """Return the best threshold for these rows, and the metric there; higher is better."""
        assert scored.probabilities is not None
        by_score = decide(scored.scores)
        threshold = self._best_threshold(self.encode(y), scored.probabilities, by_score)
        predicted = decide(scored.scores, scored.probabilities, threshold)
        value = self.measure(self.metric, y, scored._replace(predicted=predicted))
        return threshold, signed_score(self.metric, value)

    def expected_threshold(self, codes: np.ndarray, probabilities: np.ndarray) -> Threshold | None:
        """Return the best threshold for rows whose probabilities are right."""
        return self._best_threshold(codes if len(self.classes) > 2 else None, probabilities)

    def _best_threshold(
        self, codes: np.ndarray | None, p: np.ndarray, by_score: np.ndarray | None = None
    ) -> Threshold | None:
        assert self.tuned_for is not None
        if p.shape[1] > 2:
            return best_thresholds(self.tuned_for, codes, p, by_score)
        return best_threshold(self.tuned_for, codes, p[:, 1], positive=self.positive)[0]

    def running_threshold(self) -> RunningThreshold | RunningThresholds | None:
        """Return a threshold that follows a stream; None if it is not to be tuned."""
        if self.tuned_for is None:
            return None
        if len(self.classes) > 2:
            return RunningThresholds(self.tuned_for, len(self.classes))
        return RunningThreshold(self.tuned_for, positive=self.positive)

    def decide_by(
        self,
        threshold: RunningThreshold | RunningThresholds | None,
        y: np.ndarray,
        scored: Scored,
    ) -> Scored:
        """Return the rows, each predicted by the threshold for the rows before it; count them."""
        if threshold is None or scored.probabilities is None:
            return scored
        p, codes = scored.probabilities, self.encode(y)
        p = p[:, 1] if isinstance(threshold, RunningThreshold) else p
        return scored._replace(predicted=threshold.decide(codes, scored.scores, p))

    def for_model(self, model: Any) -> Classification:
        """Return the task for this model: without probabilities it has no tuned threshold."""
        if not self.needs_probabilities or gives_probabilities(model):
            return self
        what = f"metric {self.metric!r}" if self.threshold in (None, "tuned") else "a threshold"
        task = Classification(
            *(self.classes, self.positive_label),
            metric=self.metric,
            threshold=None,
            class_rows=self.class_rows,
            positive_by=self.positive_by,
        )
        if task._cannot_do_without or what == "a threshold":
            raise InputError(
                f"{what} needs probabilities, and the model has none; leave calibration='none' out"
            )
        task.needs_probabilities = False
        return task

    def is_known(self, y: np.ndarray) -> np.ndarray:
        """Return which rows have a label of the classes."""
        known = has_label(y)
        if self.left_out:
            known[known] = ~np.isin(known_labels(y), list(self.left_out))
        return known

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the labels as the metrics take them: as codes."""
        return places_of(y, self.classes)

    def confusion(self, y: np.ndarray, scored: Scored) -> np.ndarray:
        """Return how many rows of each class (in a line) are predicted as each class."""
        assert scored.predicted is not None
        return confusion_matrix(self.encode(y), scored.predicted, len(self.classes))

    def measure(self, name: str, y: np.ndarray, scored: Scored) -> float:
        """Return one metric of some rows."""
        scores, p, predicted = scored
        return measure(
            *(name, self.encode(y), scores),
            probabilities=p,
            predicted=predicted,
            positive=self.positive,
        )

    def losses(self, y: np.ndarray, scored: Scored) -> np.ndarray:
        """Return the loss of each row."""
        return hinge_losses(self.encode(y), scored.scores)

    def count(
        self, tally: Tally | BlockTally, y: np.ndarray, scored: Scored, **blocks: Any
    ) -> None:
        """Count some rows; ``blocks`` is for `BlockTally.update`."""
        tally.update(self.encode(y), *scored, **blocks)

    def tally(self, most_cells: int = MOST_CELLS) -> Tally:
        """Return a tally that has counted nothing, with so many cells of the scores of a class."""
        return Tally(len(self.classes), positive=self.positive, most_cells=most_cells)

    def block_tally(self, scored: Scored, metric: str | None = None) -> BlockTally:
        """Return a tally per block of the metric that decides; these rows came before it."""
        return BlockTally(
            metric or self.metric,
            n_classes=len(self.classes),
            positive=self.positive,
            typical_scores=ordering(scored.scores, scored.probabilities),
        )

    def check_folds(self, y: np.ndarray, cv: int, unlabeled: int = 0) -> None:
        """Refuse folds of the labeled rows that would lack a class."""
        labels, counts = np.unique(y, return_counts=True)
        rare, count = labels.tolist()[counts.argmin()], int(counts.min())
        if not fill_folds(count, cv):
            more = f", or label more of the {unlabeled:,} unlabeled rows" * bool(unlabeled)
            how = "take fewer folds" if fill_folds(count, count) else "find more rows of it"
            raise InputError(
                f"class {rare!r} has too few rows ({count}) for {cv} folds; "
                f"{how}, or leave the class out{more}{_or_a_number(labels)}"
            )

    def check_first(self, y: np.ndarray, unlabeled: int = 0) -> None:
        """Refuse first rows of a stream by which parameters cannot be chosen."""
        if unlabeled and len(np.unique(y)) < 2:
            seen = f"only {y.tolist()[0]!r} as a label" if len(y) else "no label"
            raise InputError(
                f"the first {len(y) + unlabeled} rows have {seen}, so they cannot choose "
                "parameters; shuffle the rows, or compare by folds"
            )
        if len(np.unique(y)) < 2:
            raise InputError(
                f"the first {len(y)} rows are all of class {y.tolist()[0]!r}, so "
                "they cannot choose parameters; shuffle the rows, which seem to be sorted "
                "by label, or compare by folds"
            )

    def inner_folds(self, y: np.ndarray, seed: int, n_groups: int = 0) -> Any:
        """Return three folds, or as many as the rarest class has rows, or as there are groups."""
        rarest = max(2, int(np.unique(y, return_counts=True)[1].min()))
        return self._inner_folds(rarest, seed, n_groups)


class Regression(_Splits):
    """A number is predicted; each method does what that of `Classification` does."""

    name = "regression"
    shown = TASKS[name][1:]
    _splitters = ("KFold", "GroupKFold", "ShuffleSplit")
    classes = np.empty(0)
    left_out: ClassVar[dict[Any, int]] = {}
    positive_label = positive_by = class_rows = None
    threshold = None
    fixed_threshold = None
    tuned_for = None
    tunes = judged_by_threshold = ranks = needs_probabilities = False

    def __init__(self, metric: str = "rmse") -> None:
        self.metric = self.chosen_by = metric

    def scores(self, model: Any, X: Any, *, probabilities: bool = False) -> Scored:
        """Return the predictions."""
        return Scored(np.asarray(model.predict(X)))

    def score_then_learn(
        self, model: Any, X: Any, y: np.ndarray, weight: np.ndarray | None = None
    ) -> Scored:
        """Return the prediction of each row just before the model learns it."""
        return Scored(np.asarray(model.score_then_learn(X, y, weight)))

    def without_memory(self, model: Any) -> None:
        """Return None: no number is predicted by the last ones."""

    def running_threshold(self) -> None:
        """Return None: a number has no threshold."""

    def decide_by(self, threshold: Any, y: np.ndarray, scored: Scored) -> Scored:
        """Return the rows as they are."""
        return scored

    def for_model(self, model: Any) -> Regression:
        """Return the task, which is the same for every model."""
        return self

    def of_other_side(self, threshold: Any) -> Any:
        """Return the threshold."""
        return threshold

    def is_known(self, y: np.ndarray) -> np.ndarray:
        """Return which rows have a number."""
        return has_label(y)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the numbers as they are."""
        return y

    def measure(self, name: str, y: np.ndarray, scored: Scored) -> float:
        """Return one metric of some rows."""
        return measure(name, y, scored.scores)

    def losses(self, y: np.ndarray, scored: Scored) -> np.ndarray:
        """Return the squared error of each row."""
        return (scored.scores - y) ** 2

    def confusion(self, y: np.ndarray, scored: Scored) -> None:
        """Return None: a number has no classes."""

    def count(
        self, tally: ErrorTally | BlockTally, y: np.ndarray, scored: Scored, **blocks: Any
    ) -> None:
        """Count some rows; ``blocks`` is for `BlockTally.update`."""
        tally.update(y, scored.scores, **blocks)

    def tally(self, most_cells: int = MOST_CELLS) -> ErrorTally:
        """Return a tally that has counted nothing."""
        return ErrorTally()

    def block_tally(self, scored: Scored, metric: str | None = None) -> BlockTally:
        """Return a tally per block of the metric that decides."""
        return BlockTally(metric or self.metric, typical_scores=scored.scores)

    def check_folds(self, y: np.ndarray, cv: int, unlabeled: int = 0) -> None:
        """Refuse folds that would be empty."""
        if len(y) < 2 * cv:
            few = "1 row is" if len(y) == 1 else f"{len(y)} rows are"
            how = "take fewer folds" if len(y) >= 4 else "two folds take four rows with a label"
            raise InputError(f"{few} too few for {cv} folds; {how}")
        if (y == y[0]).all():
            raise InputError(f"{about_constant(y[0])}; choose another label, or other rows")

    def check_first(self, y: np.ndarray, unlabeled: int = 0) -> None:
        """Any numbers can choose parameters."""

    def inner_folds(self, y: np.ndarray, seed: int, n_groups: int = 0) -> Any:
        """Return three folds, or as many as there are rows, or groups."""
        return self._inner_folds(len(y), seed, n_groups)


Problem = Classification | Regression


def fill_folds(n: Any, k: int) -> Any:
    """Return whether n rows of a class are in each of k folds, and twice in each training part."""
    return (n >= k) & (n - -(-n // k) >= 2)


def _too_rare(class_rows: Any, folds: int | None) -> list[int]:
    """Return the codes of the classes that have too few rows for the folds.

    None where these would have fewer than two classes without them, or less than half of the rows:
    `Classification.check_folds` refuses that.
    """
    if folds is None or class_rows is None:
        return []
    rows = np.asarray(class_rows)
    fill = fill_folds(rows, folds)
    enough = np.count_nonzero(fill) >= 2 and 2 * rows[fill].sum() >= rows.sum()
    return np.flatnonzero(~fill).tolist() if enough else []


def make_problem(name: str, classes: Any, scoring: Scoring, **options: Any) -> Problem:
    """Return the problem to solve, and how it is scored.

    The classes are sorted, and none for regression.  Without metric and costs the default is that
    of the classes; the options are ``class_rows``, ``positive_by`` and ``folds`` of
    `Classification`.
    """
    checked = scoring.metric_of(name)
    if name == "regression":
        return Regression(checked)
    chosen = None if scoring.metric is None and scoring.cost is None else checked
    threshold = "tuned" if scoring.threshold == "auto" else scoring.threshold
    return Classification(classes, scoring.positive, metric=chosen, threshold=threshold, **options)


def errors_of(task: Problem, y: np.ndarray, scored: Scored) -> np.ndarray:
    """Return 1 for each row that is predicted wrong and 0 for the others, or squared errors."""
    if isinstance(task, Regression):
        return task.losses(y, scored)
    predicted = decide(scored.scores) if scored.predicted is None else scored.predicted
    return (predicted != task.encode(y)).astype(np.float64)


def total_of_errors(task: Problem, tally: Any) -> float:
    """Return the sum of `errors_of` the rows that a tally has counted."""
    if isinstance(task, Regression):
        return float(tally.loss)
    return float(tally.n_rows - np.trace(tally.confusion))


def gives_probabilities(model: Any) -> bool:
    """Return whether a classifier has probabilities."""
    return hasattr(model, "predict_proba")


def _or_a_number(labels: np.ndarray) -> str:
    """Say how numbers that look like classes are predicted."""
    is_number = labels.dtype.kind in "iuf" and len(labels) > 2
    if not is_number:
        return ""
    return f"; if the label is a number and no class, give {argument(task='regression')}"


def _positive_code(classes: np.ndarray, positive: Any) -> int:
    """The code of a class that is named.

    A label from a command line is text, so the classes are compared as text too.
    """
    if len(classes) > 2:
        raise InputError(
            f"a positive class is for two classes, and there are {len(classes)}; "
            "leave it out, and each class counts the same"
        )
    for code, label in enumerate(classes.tolist()):
        if label == positive or str(label) == str(positive):
            return code
    raise unknown_name("class", str(positive), classes.tolist())
