"""Which way of using the views is best on some data, and by how much."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice, pairwise
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from crossview.errors import InputError, closest_names
from crossview.estimators.linear import Perceptron
from crossview.evaluation.labeled import LabeledTable, read_classes, read_targets
from crossview.evaluation.methods import (
    EXACT,
    MAX_TUNING_COST,
    Method,
    compared_methods,
    exact_cost,
    find_method,
    known_methods,
)
from crossview.evaluation.metrics import ERRORS, check_metric, least_rows, signed_score
from crossview.evaluation.tasks import Classification, Regression, Task, check_task, has_label
from crossview.views import MultiView, ViewLayout

__all__ = [
    "Comparison",
    "ComparisonRow",
    "compare",
    "corrected_t_test",
    "error_test",
    "mcnemar_test",
]

SIGNIFICANT = 0.05
# an inner validation with three folds up to this many rows, one split beyond
MOST_ROWS_FOR_INNER_FOLDS = 50_000
# rows that choose the parameters of a learner that has all rows at once
MOST_ROWS_AT_ONCE = 20_000
# rows of a stream that choose the parameters
SHARE_TO_TUNE, MOST_TO_TUNE, TO_TUNE_OF_UNKNOWN = 0.1, 10_000, 1_000
ROWS_AT_ONCE = 10_000


@dataclass
class ComparisonRow:
    """How one way of using the views has done.

    Attributes
    ----------
    title : str
        What it is.
    model : str
        Its name for ``crossview train --model``.
    value, std : float
        The measure: mean and standard deviation over the folds.  Progressive:
        of the stream, and NaN.
    accuracy, roc_auc, rmse, mae : float
        Likewise, the means; NaN for those of the other task.
    rows_per_second : float
        Rows learned a second, without reading, encoding and compiling; of learners
        that draw rows, steps.
    setting : dict
        The parameters that were chosen, most often over the folds.
    p : float or None
        Of the test against the best row; None for the best row itself.
    epochs : int
        Passes over the training rows; where held-out rows said when to stop, the
        median over the folds.
    scores : list of float
        The measure fold by fold.
    others : dict of str to list of float
        The other measures fold by fold.
    chosen : list of dict
        The parameters fold by fold.
    """

    title: str
    model: str
    value: float = math.nan
    std: float = math.nan
    accuracy: float = math.nan
    roc_auc: float = math.nan
    rows_per_second: float = math.nan
    setting: dict[str, Any] = field(default_factory=dict)
    p: float | None = None
    rmse: float = math.nan
    mae: float = math.nan
    epochs: int = 1
    scores: list[float] = field(default_factory=list)
    others: dict[str, list[float]] = field(default_factory=dict)
    chosen: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Comparison:
    """The answer of `compare`.

    Attributes
    ----------
    metric : str
        What decides; with its k, such as ``precision_at_10%``.
    positive : label or None
        The class it is about; None with more than two classes, and for a number.
    classes : list
        All labels; empty where a number is predicted.
    views : dict of str to int
        Names and widths of the views.
    n_rows : int
        Rows in the data.
    n_scored : int
        Rows that were predicted and scored.  They have a label.
    mode : {"cross-validation", "progressive"}
        How they were scored.
    test : str
        Which test the p values come from.
    folds : int
        Number of folds; 0 in progressive mode.
    seed : int
        Seed of folds and shuffling.
    epochs : int or None
        Passes over the training rows that were asked for.
    rows : list of ComparisonRow
        Each view alone, then the ways of using all of them.
    best, runner_up : int
        Positions in ``rows`` of the best measure and the next one.
    task : {"classification", "regression"}
        What was predicted.
    unlabeled : int
        Rows without label, which only KeCo learns from.
    unlabeled_benefit_p : float or None
        p of the test of KeCo against Pegasos, which is the same without those rows.
    """

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
    best: int
    runner_up: int
    task: str = "classification"
    unlabeled: int = 0
    unlabeled_benefit_p: float | None = None

    @property
    def unlabeled_benefit(self) -> str | None:
        """What the rows without label bring, in plain words; None where that is not known."""
        values = {row.model: row.value for row in self.rows}
        if not (self.unlabeled and self.unlabeled_benefit_p is not None):
            return None
        more = values["keco"] - values["pegasos"]
        about = "" if self.unlabeled_benefit_p < SIGNIFICANT else "not significant, "
        what = f"cost KeCo {-more:.4f}" if more < 0.0 else f"bring KeCo {more:.4f}"
        return (
            f"the {self.unlabeled:,} rows without label {what} {self.metric}, compared with "
            f"Pegasos ({about}{_p_in_words(self.unlabeled_benefit_p)})"
        )

    @property
    def tie(self) -> bool:
        """Whether the best row is not significantly better than the next one."""
        best, other = self.rows[self.best], self.rows[self.runner_up]
        if self._counts_mistakes and other.accuracy > best.accuracy:
            return True  # the test is about mistakes, and the other one makes fewer
        return other.p is None or not other.p < SIGNIFICANT

    @property
    def _counts_mistakes(self) -> bool:
        """Whether the test is about mistakes, whatever the metric is."""
        return self.mode == "progressive" and self.task == "classification"

    @property
    def verdict(self) -> str:
        """The answer in plain words."""
        best, other = self.rows[self.best], self.rows[self.runner_up]
        assert other.p is not None
        ahead = self._short(abs(best.value - other.value))
        lead = f"{best.title} leads {other.title} by {ahead} {self.metric}"
        p = _p_in_words(other.p)
        if not self.tie:
            return f"best: {lead} ({p})"
        if other.p < SIGNIFICANT:
            return f"tie: {lead}, but makes more mistakes ({p})"
        if self._counts_mistakes:
            return f"tie: {lead}, but not with significantly fewer mistakes ({p})"
        return f"tie: {lead}, which is not significant at {SIGNIFICANT} ({p})"

    @property
    def train_options(self) -> list[str]:
        """What ``crossview train`` needs to train the best row on all data."""
        best = self.rows[self.best]
        options = ["--task", self.task] if self.task == "regression" else []
        options += ["--model", best.model]
        for name, value in best.setting.items():
            if name == "fit_intercept" and value:
                continue  # as it is anyway
            word = value if isinstance(value, bool | str) else f"{value:g}"
            options += ["--set", f"{name}={word}"]
        if self.mode == "progressive" and best.model in ("keco", "pegasos"):
            options += ["--set", "schedule=stream"]
        if find_method(best.model, tuple(self.views), self.task).for_metric:
            options += ["--metric", self.metric]
            if len(self.classes) == 2 and self.positive != self.classes[1]:
                options += ["--positive", str(self.positive)]
        return [*options, *(["--epochs", str(best.epochs)] if best.epochs > 1 else [])]

    def _short(self, value: float) -> str:
        """Four decimals, or four digits of an error, which has the unit of what is predicted."""
        return f"{value:.4g}" if self.metric in ERRORS else f"{value:.4f}"

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; what is not defined is None."""
        content = asdict(self) | {
            "tie": self.tie,
            "verdict": self.verdict,
            "unlabeled_benefit": self.unlabeled_benefit,
            "train_options": self.train_options,
        }
        return _json(content)

    def __str__(self) -> str:
        width = max(len(row.title) for row in self.rows)
        lines = [
            f"{row.title:<{width}}  {self._short(row.value)}"
            + (f" ± {self._short(row.std)}" if self.folds else "")
            for row in self.rows
        ]
        return "\n".join(
            [*lines, self.verdict, *([self.unlabeled_benefit] if self.unlabeled_benefit else [])]
        )


def compare(
    X: Any,
    y: Any,
    *,
    views: Mapping[str, Any] | None = None,
    text: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    hash_bits: int = 18,
    cv: int = 5,
    progressive: bool = False,
    task: str = "classification",
    metric: str | None = None,
    k: int | float | None = None,
    positive: Any = None,
    seed: int = 0,
    epochs: int | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    models: Sequence[str] | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Comparison:
    """Compare each view alone, all views concatenated, independent, and coupled.

    Learners with a covariance are among them, on all views concatenated
    (PAM-II, AROW, CW, SCW-I) and coupled.  They take longer: from 5e8 rows times
    columns squared on, their parameters are chosen on one of the three folds,
    and from 5e9 on their covariance is diagonal.

    Then comes `MultiViewSVMPerf`, trained for the metric itself, on views that are
    held to agree and on all of them concatenated; and the same trained for the
    error rate, which says whether that pays.  Where the metric is precision or
    recall it is trained for f1: each alone is best with one row, or all rows,
    called positive.  It has all rows at once, so it is not compared progressively.
    Its parameters are chosen on one of the three folds of at most 20,000 training
    rows (ten times k, where that is more), to a gap of 0.01.

    Last come the machines, which see interactions: factorization, multi-view and
    support tensor machines.  They make passes until the loss on a held-out tenth of
    the training rows gets no better, and their parameters are chosen on one of the
    three folds.

    C, disagreement, the intercept, r, confidence and initial_variance, C1 and C2, alpha and
    learning_rate are chosen for each row inside each training part, by a
    validation with three folds (one split of 80 to 20 beyond 50,000 rows), so
    that the comparison is fair to all.  The folds are stratified, shuffled and
    the same for every row.

    Rows may have no label: NaN or None in ``y``, or an empty field.  They are in no
    fold and never scored; folds, encoders and all learners but KeCo are those of
    the labeled rows alone.  KeCo then learns from all of them in every
    training part, and stands beside Pegasos, which is the same
    without them: the difference is what they bring (``Comparison.unlabeled_benefit``).

    With ``task="regression"`` the target is a number: each view alone and all of
    them by a linear model, then factorization and multi-view machines.

    Parameters
    ----------
    X : MultiView, data frame, path, glob or query
        The rows.  Anything but a MultiView is encoded by a `ViewEncoder`, which
        is fitted on each training part by itself.
    y : array-like of shape (n_samples,) or str
        The labels (regression: numbers), or the name of their column.
    views : mapping of str to columns, default=None
        As for `ViewEncoder`: view name -> column names or globs.
    text, categorical, numeric : sequence of str, default=()
        As for `ViewEncoder`.
    hash_bits : int, default=18
        As for `ViewEncoder`.
    cv : int, default=5
        Number of folds.
    progressive : bool, default=False
        Instead of folds, predict, score, then learn, in the order of the rows,
        with memory bounded by the batch.  The parameters are those that do best
        on the first part of the stream (a tenth, at most 10,000 rows; 1000
        where its length is not known), which is learned but not scored.  KeCo and
        Pegasos then keep 500 support rows a view.
    task : {"classification", "regression"}, default="classification"
        Whether a class or a number is predicted.
    metric : str, default=None
        What decides: f1, accuracy, balanced_accuracy, precision, recall,
        g_mean (geometric mean of recall and specificity), roc_auc,
        average_precision, prbep (precision/recall break-even point),
        precision_at_k or recall_at_k; of more than two classes, the mean of each
        against the rest.  For a number rmse or mae.  None: f1, or rmse.
    k : int or float, default=None
        Of precision_at_k and recall_at_k: how many rows, those with the highest
        scores, of each test fold and of each part that chooses parameters
        (progressive: of the stream), or a share of the rows, between 0 and
        1, rounded, at least one row.  None: 0.1.  An SVM is trained for the same k of
        its training rows.
    positive : label, default=None
        With two classes: the one that the metric is about.  None: the second
        of the sorted classes.
    seed : int, default=0
        Of folds and shuffling.
    epochs : int, default=None
        Passes over the training rows.  None: until the loss on a held-out tenth
        of them gets no better for the machines, one for all others; KeCo and Pegasos
        draw 1000 rows, and the SVMs stop where the gap is below 0.001, whatever
        this says.  Progressive: always one.
    grid : mapping of str to sequence, default=None
        Values to try, for example ``{"C": [0.1, 1]}``; the default is 0.001 to
        10 by decades for C, 0.0001 to 1 by decades for disagreement, and True and False
        for fit_intercept; with a covariance 0.1 to 10 for C (SCW: 0.01 to
        1), 0.01 to 1 for disagreement, 0.01 to 1 for initial_variance, 0.1 to 100 for r, and
        0.55, 0.7 and 0.9 for confidence; of the SVMs 0.01, 0.1 and 1 for C1, and 0.001, 0.01
        and 0.1 for C2; of the machines 0.001 and 0.03 for
        alpha, and 0.05, 0.1 and 0.3 for learning_rate (linear and support tensor: 0.3
        and 1); of KeCo and Pegasos 0.0001 to 0.1 by decades for lam, and "rbf" and
        "linear" for kernel.
    models : sequence of str, default=None
        What to compare, two or more, by the names of ``crossview train --model``.
        None: each view alone, then every way of using all of them; KeCo and Pegasos
        where rows have no label.
    on_step : callable, default=None
        Called with a few words on what is being done.

    Returns
    -------
    Comparison
        Rows, folds, choices, the tests against the best row, the verdict.
        `crossview.report.tables` makes a table of it.

    Notes
    -----
    The best row is tested against the others.  Folds share most of their
    training rows, which makes the plain t-test over folds see differences that
    are not there; this one is corrected (`corrected_t_test`).  Progressive: an
    exact McNemar test on which rows were predicted right; of numbers, a normal
    test of the differences in error row by row (`error_test`).

    Of rows with equal scores, any may be among the highest: prbep, precision_at_k
    and recall_at_k are the mean over all orders of such rows.  Progressive, they and
    the other measures of the order of the scores come from a histogram, in which
    scores that differ by less than a bin are equal (some 0.0001 near 0).

    References
    ----------
    C. Nadeau, Y. Bengio, "Inference for the Generalization Error", Machine
    Learning 52 (2003), 239-281. :doi:`10.1023/A:1024068626366`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import MultiView, compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> X = MultiView({"mean": X[:, :10], "error": X[:, 10:20], "worst": X[:, 20:]})
    >>> answer = compare(X, y, cv=3, grid={"C": [0.01, 0.1], "disagreement": [0.1]})
    >>> [row.title for row in answer.rows][:4]
    ['mean alone', 'error alone', 'worst alone', 'concatenated']
    >>> answer.rows[answer.best].value > 0.95
    True
    """
    number = check_task(task) == "regression"
    metric = check_metric(metric or ("rmse" if number else "f1"), number=number, k=k)
    if number and positive is not None:
        raise InputError("positive= is about classes; leave it out where task='regression'")
    for name in grid or {}:
        tuned = sorted({p for method in known_methods(("",), task) for p in method.grid})
        if name not in tuned:
            raise InputError(f"grid= names {name!r}{closest_names(name, tuned)}")
    if epochs is not None and (epochs < 1 or (progressive and epochs > 1)):
        raise InputError(f"epochs={epochs}; give 1 or more, and 1 where progressive")
    n_rows: int | None
    if isinstance(X, MultiView):
        if views is not None:
            raise InputError("X is a MultiView and names its views; leave views= at None")
        table, layout = None, X.layout
        if isinstance(y, str):
            raise InputError("X is a MultiView, so y is an array of labels and not a column name")
        y = read_targets(y) if number else np.asarray(y)
        classes = np.empty(0) if number else read_classes(y, unlabeled=True)
        if len(y) != len(X):
            raise InputError(f"{len(y)} labels for {len(X)} rows")
        # what no learner takes, such as a NaN, is named by its row before rows move
        Perceptron().partial_fit(X, np.zeros(len(X)), classes=[0, 1])
    else:
        table = LabeledTable(
            X,
            y,
            task=task,
            unlabeled=True,
            views=views,
            text=text,
            categorical=categorical,
            numeric=numeric,
            hash_bits=hash_bits,
        )
        layout, classes = table.encoder.layout_, table.classes
    if layout.n_views < 2:
        raise InputError(f"one view, {layout.names[0]!r}; comparing needs two or more")
    if table is None:
        n_rows = len(X) if number else int(has_label(y).sum())
        some_unlabeled = n_rows < len(X)
    else:
        n_rows, some_unlabeled = table.stream.n_rows, table.some_unlabeled
        if some_unlabeled and not progressive:
            X, y = table.load()
            n_rows = int(has_label(y).sum())
    decides = None if progressive else metric
    methods = list(compared_methods(layout, n_rows, task, unlabeled=some_unlabeled, metric=decides))
    if models is not None:
        methods = [find_method(name, layout.names, task) for name in dict.fromkeys(models)]
        if len(methods) < 2:
            raise InputError(f"models={list(models)!r}; comparing needs two or more")
    for method in methods:
        if progressive and method.batch:
            raise InputError(
                f"model {method.name!r} needs all rows at once, and cannot learn them in stream "
                "order; compare it by folds, without progressive"
            )
    predicted: Task = Regression() if number else Classification(classes, positive)
    run = _Run(
        methods=[method.trained_for(metric, predicted.positive_label) for method in methods],
        task=predicted,
        metric=metric,
        seed=seed,
        epochs=epochs,
        grid=grid or {},
        say=on_step or (lambda words: None),
    )
    if progressive:
        n_rows = len(X) if table is None else n_rows
        return run.in_stream_order(X if table is None else table, y, layout, n_rows)
    if table is not None and not some_unlabeled:
        X, y = table.load()
    return run.over_folds(X, y, None if table is None else table.encoder, layout, cv)


@dataclass
class _Run:
    """What stays the same for all rows of one comparison."""

    methods: list[Method]
    task: Task
    metric: str
    seed: int
    epochs: int | None
    grid: Mapping[str, Sequence[Any]]
    say: Callable[[str], None]

    def answer(self, layout: ViewLayout, rows: list[ComparisonRow], **known: Any) -> Comparison:
        order = sorted(
            range(len(rows)), key=lambda i: signed_score(self.metric, rows[i].value), reverse=True
        )
        return Comparison(
            task=self.task.name,
            metric=self.metric,
            positive=self.task.positive_label,
            classes=self.task.classes.tolist(),
            views=dict(zip(layout.names, layout.widths, strict=True)),
            seed=self.seed,
            epochs=self.epochs,
            rows=rows,
            best=order[0],
            runner_up=order[1],
            **known,
        )

    # --- folds ----------------------------------------------------------------

    def over_folds(
        self, X: Any, y: np.ndarray, encoder: Any, layout: ViewLayout, cv: int
    ) -> Comparison:
        if cv < 2:
            raise InputError(f"cv={cv}; give 2 folds or more")
        known, unlabeled = self._by_label(y)
        n_rows = len(y)
        if len(unlabeled):
            y = np.asarray(y[known].tolist())
        self.task.check_folds(y, cv, len(unlabeled))
        more = len(unlabeled) > 0 and any(method.learns_unlabeled for method in self.methods)
        rows = [ComparisonRow(method.title, method.name) for method in self.methods]
        speeds: list[list[float]] = [[] for _ in rows]
        passes: list[list[int]] = [[] for _ in rows]
        splits = [
            (train, test, self._inner_splits(y[train]))
            for train, test in self.task.folds(cv, self.seed).split(np.zeros(len(y)), y)
        ]
        self._check_rows(
            min(len(part) for _, test, inner in splits for part in (test, *(t for _, t in inner))),
            "a test fold, or a part of the training rows that chooses parameters,",
        )
        dear = exact_cost(layout, len(y)) > MAX_TUNING_COST
        # a tenth of them is still as many as the metric asks for
        most = max(MOST_ROWS_AT_ONCE, 10 * least_rows(self.metric))
        for f, (train, test, inner) in enumerate(splits):
            parts = [known[train], known[test]]
            if more:  # those with label first, in the order of the folds
                parts.append(np.concatenate([known[train], unlabeled]))
            X_train, X_test, *X_more = _encode(X, encoder, parts)
            y_train, y_test = y[train], y[test]
            y_more = np.concatenate([y_train.astype(object), np.full(len(unlabeled), None)])
            for i, (row, method) in enumerate(zip(rows, self.methods, strict=True)):
                self.say(f"fold {f + 1} of {cv}: {method.title}")
                learned, labels = X_train, y_train
                if more and method.learns_unlabeled:
                    learned, labels = X_more[0], y_more
                seen = method.select_view(learned)
                few = method.stops_early or method.batch or (dear and method in EXACT)
                some = inner[:1] if few else inner
                if method.batch and len(train) > most:
                    drawn = draw_rows(y_train, most, self.seed)
                    some = self._inner_splits(y_train[drawn])[:1]
                    chosen = self._choose(method, seen[drawn], y_train[drawn], some)
                else:
                    chosen = self._choose(method, seen, labels, some)
                model = self._make(method, chosen)
                start = time.perf_counter()
                model.fit(seen, labels)  # choosing has compiled its loop
                seconds = time.perf_counter() - start
                made = getattr(model, "n_iter_", getattr(model, "n_epochs", 1))
                passes[i].append(1 if method.batch else made)
                steps = model.n_steps_ if method.draws_rows else len(train) * passes[i][-1]
                speeds[i].append(steps / seconds)
                scores = self.task.scores(model, method.select_view(X_test))
                row.scores.append(self.task.measure(self.metric, y_test, scores))
                for name in self.task.shown:
                    value = self.task.measure(name, y_test, scores)
                    row.others.setdefault(name, []).append(value)
                row.chosen.append(chosen)
        for i, row in enumerate(rows):
            row.value, row.std = float(np.mean(row.scores)), float(np.std(row.scores, ddof=1))
            for name, values in row.others.items():
                setattr(row, name, float(np.mean(values)))
            row.epochs = round(float(np.median(passes[i])))
            row.rows_per_second = float(np.median(speeds[i]))
            row.setting = _most_frequent(row.chosen)
        answer = self.answer(
            layout,
            rows,
            n_rows=n_rows,
            n_scored=len(y),
            unlabeled=len(unlabeled),
            mode="cross-validation",
            test="t-test over the folds, corrected for their overlap",
            folds=cv,
        )
        for i, row in enumerate(rows):
            if i != answer.best:
                d = np.asarray(rows[answer.best].scores) - np.asarray(row.scores)
                row.p = corrected_t_test(d, 1.0 / (cv - 1))
        pair = self._same_without_unlabeled()
        if pair and len(unlabeled):
            d = np.subtract(rows[pair[0]].scores, rows[pair[1]].scores)
            answer.unlabeled_benefit_p = corrected_t_test(d, 1.0 / (cv - 1))
        return answer

    def _by_label(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows with and without label; every number is one."""
        known = has_label(y) if len(self.task.classes) else np.ones(len(y), dtype=bool)
        return np.flatnonzero(known), np.flatnonzero(~known)

    def _same_without_unlabeled(self) -> tuple[int, int] | None:
        """Places of KeCo and Pegasos, where both are there."""
        names = [method.name for method in self.methods]
        if not {"keco", "pegasos"} <= set(names):
            return None
        return names.index("keco"), names.index("pegasos")

    def _check_rows(self, n: int, where: str) -> None:
        """Refuse a measure of more rows than there are."""
        if n < least_rows(self.metric):
            raise InputError(
                f"{self.metric} needs {least_rows(self.metric)} rows, and {where} has {n}; "
                "give a smaller k, or a share of the rows, such as 0.1"
            )

    def _inner_splits(self, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        splitter = (
            self.task.one_split(self.seed)
            if len(y) > MOST_ROWS_FOR_INNER_FOLDS
            else self.task.inner_folds(y, self.seed)
        )
        return list(splitter.split(np.zeros(len(y)), y))

    def _choose(
        self, method: Method, X: MultiView, y: np.ndarray, inner: list[tuple]
    ) -> dict[str, Any]:
        """The setting that does best in the inner validation; the first of equals."""
        candidates = method.candidates(self.grid)
        total = np.zeros(len(candidates))
        _, unlabeled = self._by_label(y)
        for train, test in inner:
            if len(unlabeled):
                train = np.concatenate([train, unlabeled])
            X_train, X_test = X[train], X[test]
            for i, candidate in enumerate(candidates):
                model = self._make(method, {**candidate, **method.tuning_params})
                with warnings.catch_warnings():  # a setting that takes too long is judged as it is
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(X_train, y[train])
                scores = self.task.scores(model, X_test)
                total[i] += signed_score(
                    self.metric, self.task.measure(self.metric, y[test], scores)
                )
        return candidates[int(total.argmax())]

    def _make(self, method: Method, setting: Mapping[str, Any]) -> Any:
        return method.make(**setting, **method.passes(self.epochs), random_state=self.seed)

    def _make_for_stream(self, method: Method, setting: Mapping[str, Any]) -> Any:
        return self._make(method, method.on_stream(setting))

    def _score_then_learn(
        self, method: Method, model: Any, X: MultiView, y: np.ndarray, known: np.ndarray
    ) -> np.ndarray:
        """Scores of the rows with label, each before it is learned; no other row is scored."""
        seen = method.select_view(X)
        if len(known) == len(y) or method.learns_unlabeled:
            return self.task.score_then_learn(model, seen, y)[known]
        if not len(known):
            return np.empty(0)
        return self.task.score_then_learn(model, seen[known], y[known])

    # --- stream order ---------------------------------------------------------

    def in_stream_order(self, X: Any, y: Any, layout: ViewLayout, n_rows: int | None) -> Comparison:
        n_first = TO_TUNE_OF_UNKNOWN
        if n_rows is not None:
            n_first = max(1, min(int(n_rows * SHARE_TO_TUNE), MOST_TO_TUNE))
        if isinstance(X, MultiView):
            batches = _slices(X, y, n_first)
        else:
            batches = X.encoded(clone(X.encoder), learn=True, first=n_first)
        # 1. the first part chooses; the model that has learned it best goes on
        models, chosen = [], []
        n_known_first = 0
        unlabeled = 0
        for first, labels in islice(batches, 1):
            known, rest = self._by_label(labels)
            unlabeled += len(rest)
            n_known_first = len(known)
            self.task.check_first(labels[known], len(rest))
            for method in self.methods:
                self.say(f"choosing on the first {n_first} rows: {method.title}")
                model, setting = self._choose_by_order(method, first, labels)
                models.append(model)
                chosen.append(setting)
        # 2. all that comes after it is scored, then learned
        M = len(self.methods)
        tallies: list[Any] = [self.task.tally() for _ in range(M)]
        # sums over the rows: mistakes of j less those of i, and the squares of that
        more, squares = np.zeros((M, M)), np.zeros((M, M))
        seconds, learned = np.zeros(M), np.zeros(M)
        scored = 0
        for part, labels in batches:
            known, rest = self._by_label(labels)
            unlabeled += len(rest)
            targets = labels[known]
            mistakes = np.empty((M, len(known)))
            for i, (method, model) in enumerate(zip(self.methods, models, strict=True)):
                start = time.perf_counter()
                scores = self._score_then_learn(method, model, part, labels, known)
                seconds[i] += time.perf_counter() - start
                learned[i] += len(labels) if method.learns_unlabeled else len(known)
                if len(known):
                    tallies[i].update(self.task.encode(targets), scores)
                    mistakes[i] = self.task.mistakes(self.metric, targets, scores)
            for i in range(M):
                d = mistakes - mistakes[i]
                more[i] += d.sum(axis=1)
                squares[i] += (d * d).sum(axis=1)
            scored += len(known)
            self.say(f"{scored} rows scored")
        if not scored and unlabeled:
            raise InputError(
                f"no row after the first {n_first}, which choose the parameters, has a label; "
                "shuffle the rows, or compare by folds"
            )
        if not scored:
            raise InputError(
                f"the stream ends within its first {n_first} rows, which choose the parameters; "
                "compare it by folds instead"
            )
        self._check_rows(scored, "the stream, after the rows that choose parameters,")
        rows = [
            ComparisonRow(
                title=method.title,
                model=method.name,
                value=tally.value(self.metric),
                **{name: tally.value(name) for name in self.task.shown},
                rows_per_second=learned[i] / seconds[i],
                setting=chosen[i],
                chosen=[chosen[i]],
            )
            for i, (method, tally) in enumerate(zip(self.methods, tallies, strict=True))
        ]
        answer = self.answer(
            layout,
            rows,
            n_rows=scored + unlabeled + n_known_first,
            n_scored=scored,
            unlabeled=unlabeled,
            mode="progressive",
            test=self.task.test,
            folds=0,
        )
        for i, row in enumerate(rows):
            if i != answer.best:
                d, d2 = more[answer.best, i], squares[answer.best, i]
                if isinstance(self.task, Regression):
                    row.p = error_test(d, d2, scored)
                else:  # -1, 0 or 1 in each row
                    row.p = _mcnemar_of_sums(d, d2)
        pair = self._same_without_unlabeled()
        if pair and unlabeled:
            answer.unlabeled_benefit_p = _mcnemar_of_sums(more[pair], squares[pair])
        return answer

    def _choose_by_order(
        self, method: Method, X: MultiView, y: np.ndarray
    ) -> tuple[Any, dict[str, Any]]:
        """The model that did best on these rows, each scored before it was learned."""
        known, _ = self._by_label(y)
        targets = y[known]
        best: tuple | None = None
        for setting in method.candidates(self.grid):
            model = self._make_for_stream(method, setting)
            scores = self._score_then_learn(method, model, X, y, known)
            value = signed_score(self.metric, self.task.measure(self.metric, targets, scores))
            # few rows leave many equals: the smaller loss decides
            rank = (value, -float(self.task.losses(targets, scores).sum()))
            if best is None or rank > best[0]:
                best = (rank, model, setting)
        assert best is not None
        return best[1], best[2]


def corrected_t_test(differences: Any, test_to_train: float) -> float:
    """Two-sided p of a paired t-test over folds, corrected for overlapping training sets.

    ``t = mean(d) / sqrt((1/k + n_test / n_train) var(d))`` with k - 1 degrees
    of freedom (Nadeau and Bengio 2003, equation 9 and section 5).

    Parameters
    ----------
    differences : array-like of shape (k,)
        Of the measure, fold by fold.
    test_to_train : float
        Rows of a test fold by rows of its training part; ``1 / (k - 1)`` for
        k folds.

    Returns
    -------
    p : float
        1 where all differences are 0; 0 where they are all the same otherwise.

    Examples
    --------
    >>> round(corrected_t_test([0.01, 0.02, 0.0, 0.03, 0.01], 1 / 4), 3)
    0.141
    """
    d = np.asarray(differences, dtype=np.float64)
    k, mean = len(d), float(np.mean(d))
    if np.isnan(mean):
        return math.nan
    variance = float(np.var(d, ddof=1))
    if variance <= (1e-12 * abs(mean)) ** 2:
        return 0.0 if mean else 1.0
    t = mean / math.sqrt((1.0 / k + test_to_train) * variance)
    return float(2.0 * stats.t.sf(abs(t), k - 1))


def mcnemar_test(only_first: int, only_second: int) -> float:
    """Two-sided p of the exact McNemar test.

    Parameters
    ----------
    only_first, only_second : int
        Rows that one predicted right and the other did not.

    Returns
    -------
    p : float
        1 where there are none.

    Examples
    --------
    >>> round(mcnemar_test(15, 5), 3)
    0.041
    """
    n = only_first + only_second
    return float(stats.binomtest(only_first, n).pvalue) if n else 1.0


def error_test(total: float, squares: float, n: int) -> float:
    """Two-sided p of a paired test of two errors a row, from running sums.

    The mean difference by its standard error, with the normal distribution in
    place of Student's, as rows are many.

    Parameters
    ----------
    total, squares : float
        Sums over the rows of one error less the other, and of the squares of that.
    n : int
        Number of rows.

    Returns
    -------
    p : float
        1 where all differences are 0; 0 where they are all the same otherwise;
        NaN for a single row.

    Examples
    --------
    >>> round(error_test(10.0, 25.0, 100), 3)
    0.042
    """
    if n < 2:
        return math.nan
    mean = total / n
    variance = (squares - total * mean) / (n - 1)
    if variance <= (1e-12 * abs(mean)) ** 2:
        return 0.0 if mean else 1.0
    return float(2.0 * stats.norm.sf(abs(mean) / math.sqrt(variance / n)))


def _mcnemar_of_sums(total: float, squares: float) -> float:
    """The test from sums over the rows: of one's mistakes less the other's, and its square."""
    return mcnemar_test(int(squares + total) // 2, int(squares - total) // 2)


def _p_in_words(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def draw_rows(y: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Places of some n rows in order: each class in its share, but three of each, if it has them.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        The classes.
    n : int
        How many, but for rounding and rare classes.
    seed : int
        Which.

    Returns
    -------
    places : ndarray of int
        Sorted.

    Examples
    --------
    >>> y = np.array(["a"] * 20 + ["b"] * 80 + ["c"] * 2)
    >>> [str(label) for label in y[draw_rows(y, 20, seed=0)]].count("b"), len(draw_rows(y, 20, 0))
    (16, 22)
    """
    rng = np.random.default_rng(seed)
    parts = []
    for label in np.unique(y):
        here = np.flatnonzero(y == label)
        size = min(len(here), max(3, round(n * len(here) / len(y))))
        parts.append(rng.choice(here, size, replace=False))
    return np.sort(np.concatenate(parts))


def _encode(X: Any, encoder: Any, parts: list[np.ndarray]) -> list[MultiView]:
    """These rows each; the encoder is fitted on the first part, the training rows with label."""
    if encoder is None:
        return [X[part] for part in parts]
    fitted = clone(encoder)
    first = fitted.fit_transform(X.take(parts[0]))
    return [first, *(fitted.transform(X.take(part)) for part in parts[1:])]


def _slices(X: MultiView, y: np.ndarray, n_first: int) -> Iterator[tuple[MultiView, np.ndarray]]:
    """The first part, then the others in order."""
    starts = [0, *range(n_first, len(X), ROWS_AT_ONCE), len(X)]
    for start, stop in pairwise(starts):
        if start < stop:
            yield X[start:stop], y[start:stop]


def _most_frequent(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """The setting that was chosen most often; the first of equals."""
    return dict(Counter(tuple(c.items()) for c in choices).most_common(1)[0][0])


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
