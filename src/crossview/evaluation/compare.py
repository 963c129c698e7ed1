"""Comparison of the ways to use several views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crossview.catalog.learner import Learner
from crossview.catalog.learners import find_learner, known_learners
from crossview.catalog.metrics import check_metric
from crossview.errors import InputError, closest_names
from crossview.estimators.documentation import document_parameters
from crossview.evaluation.candidates import compared_learners
from crossview.evaluation.folds import compare_folds
from crossview.evaluation.parameters import ENCODING, SCORING
from crossview.evaluation.result import Comparison
from crossview.evaluation.run import Run
from crossview.evaluation.sources import Labeled, open_labeled
from crossview.evaluation.stream import compare_stream
from crossview.evaluation.tasks import Classification, Regression, Task, check_classes_only
from crossview.labels import has_label

__all__ = ["compare"]


@document_parameters(ENCODING, SCORING)
def compare(
    X: Any,
    y: Any = None,
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
    cost: Mapping[str, float] | None = None,
    positive: Any = None,
    threshold: float | str | None = "tuned",
    seed: int = 0,
    epochs: int | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    models: Sequence[str] | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Comparison:
    """Compare each view alone, all views concatenated, independent, and coupled.

    All models are evaluated on the same shuffled, stratified folds.  Nested cross-validation with
    three inner folds (one split of 80 to 20 beyond 50,000 rows) tunes the parameters of each model
    within each training part.  The comparison includes

    - passive-aggressive learners: each view alone, and all views concatenated, independent and
      coupled;
    - second-order learners: PAM-II, AROW, CW and SCW-I on the concatenated views, and coupled
      PAM-II.  If rows times squared columns exceed 5e8, one inner fold tunes them; beyond 5e9 their
      covariance is diagonal;
    - `MultiViewSVMPerf`, trained for the metric (for f1 if the metric is precision or recall, which
      have trivial optima), with a disagreement penalty and on the concatenated views, and trained
      for the error rate as a baseline.  One inner fold of at most 20,000 training rows (or ten
      times k, if that is more) tunes it, to a gap of 0.01.  It needs all rows in memory and is not
      compared progressively;
    - models with interactions: factorization, multi-view and support tensor machines, with early
      stopping on a held-out tenth of the training rows.  One inner fold tunes them.

    Unlabeled rows are allowed: NaN or None in ``y``, or an empty field.  They are in no fold and
    never scored.  Only KeCo learns from them, in each training part; Pegasos, the same model
    without unlabeled rows, is its baseline (``Comparison.unlabeled_benefit``).

    With ``task="regression"`` the models are linear models of each view and of all views, and
    factorization and multi-view machines.

    Parameters
    ----------
    X : MultiView, data frame, path, glob or query
        The rows.  A `ViewEncoder` encodes columns; it is fitted to each training part
        separately.
    y : array-like of shape (n_samples,) or str, default=None
        The labels (regression: numbers), or the name of their column.  None if the file format has
        labels.
    cv : int, default=5
        Number of folds.
    progressive : bool, default=False
        Whether to use progressive validation in place of folds: predict, score, then learn each
        row, in order, in memory for one batch.  The first part of the stream (a tenth, at most
        10,000 rows; 1000 if its length is unknown) tunes the parameters, and is not scored.  KeCo
        and Pegasos keep at most 500 support vectors per view.
    seed : int, default=0
        Seed of the folds and of all shuffling.
    epochs : int, default=None
        Number of passes over the training rows.  None: models with interactions use early stopping
        on a held-out tenth of the rows, and all others make one pass.  It does not apply to KeCo
        and Pegasos, which stop when held-out rows get no better, nor to the SVMs, which stop at a
        gap of 0.001.  Progressive validation always makes one pass.
    grid : mapping of str to sequence, default=None
        Parameter grid, for example ``{"C": [0.1, 1]}``.  None: the grids of `crossview.catalog`.
    models : sequence of str, default=None
        Names of two or more models to compare, as in ``crossview train --model``.  None: all
        models above; KeCo and Pegasos only if some rows are unlabeled.
    on_step : callable, default=None
        Called with a short text on the current step.

    Returns
    -------
    Comparison
        One row per model, with its scores, chosen parameters and p value against the best row.
        `crossview.report.tables` formats it as a table.

    Notes
    -----
    Each model gets the threshold that is best for the metric on the rows held out by the inner
    validation, all of them together.  That is the protocol of scikit-learn's
    `TunedThresholdClassifierCV`, over all thresholds and without its additional fits.  A setting is
    judged at its best threshold.  That value is optimistic, the more so the fewer positive rows
    there are, but it only chooses; the table is about the rows of the outer folds.  Progressive
    validation decides each row by the best threshold for the rows before it.
    `ComparisonRow.untuned` is the metric without a threshold.

    Online learners calibrate themselves; the SVMs, KeCo and Pegasos are calibrated by the held-out
    rows of the inner validation.

    The best row is tested against each other row.  Because the training parts of the folds overlap,
    a plain t-test over folds is too liberal; the t-test here is corrected for the overlap
    (`corrected_t_test`).  Progressive validation uses the exact McNemar test and, where the metric
    is a mean over the rows (log_loss, brier_score, cost; regression), a normal test of the paired
    differences (`error_test`).

    With tied scores prbep, precision_at_k and recall_at_k are the mean over all orders of the ties.
    Progressive validation computes ranking metrics from a histogram of the scores, in which scores
    of the same bin (about 0.0001 wide near 0) are tied.

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
    >>> grid = {"C": [0.01, 0.1], "disagreement": [0.1]}
    >>> answer = compare(X, y, cv=3, grid=grid, models=["view:worst", "pa:concatenated", "arow"])
    >>> [row.title for row in answer.rows]
    ['worst alone', 'concatenated', 'AROW']
    >>> answer.rows[answer.best].value > 0.95
    True
    """
    metric = check_metric(metric, task=task, k=k, cost=cost)
    check_classes_only(task, positive=positive, cost=cost, threshold=threshold)
    _check_options(task, grid or {}, epochs, progressive)
    source = open_labeled(
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
    if source.layout.n_views < 2:
        raise InputError(f"one view, {source.layout.names[0]!r}; comparing needs two or more")
    # read the labels first: the choice of learners depends on the number of labeled rows
    rows = source.load() if source.some_unlabeled and not progressive else None
    n_rows = source.n_rows if rows is None else int(has_label(rows[1]).sum())
    learners = _learners(source, n_rows, task, None if progressive else metric, models)
    if progressive:
        _refuse_batch_learners(learners)
    predicted: Task = (
        Regression(metric)
        if task == "regression"
        else Classification(source.classes, positive, metric=metric, threshold=threshold)
    )
    run = Run(
        learners=[learner.for_metric(metric, predicted.positive_label) for learner in learners],
        task=predicted,
        seed=seed,
        epochs=epochs,
        grid=grid or {},
        say=on_step or (lambda words: None),
    )
    if progressive:
        return compare_stream(run, source)
    data, labels = rows or source.load()
    return compare_folds(run, data, labels, source.encoder, source.layout, cv)


def _check_options(
    task: str, grid: Mapping[str, Any], epochs: int | None, progressive: bool
) -> None:
    """Raise an error for options that contradict each other."""
    for name in grid:
        tuned = sorted({p for learner in known_learners(task, ("",)) for p in learner.grid})
        if name not in tuned:
            raise InputError(f"grid= names {name!r}{closest_names(name, tuned)}")
    if epochs is not None and (epochs < 1 or (progressive and epochs > 1)):
        raise InputError(f"epochs={epochs}; give 1 or more, and 1 where progressive")


def _learners(
    source: Labeled,
    n_rows: int | None,
    task: str,
    metric: str | None,
    models: Sequence[str] | None,
) -> list[Learner]:
    """Return the learners of the given models, or all that apply to the data."""
    if models is None:
        return compared_learners(
            source.layout, n_rows, task, unlabeled=source.some_unlabeled, metric=metric
        )
    views = source.layout.names
    learners = [find_learner(name, task, views) for name in dict.fromkeys(models)]
    if len(learners) < 2:
        raise InputError(f"models={list(models)!r}; comparing needs two or more")
    return learners


def _refuse_batch_learners(learners: Sequence[Learner]) -> None:
    for learner in learners:
        if not learner.streams:
            raise InputError(
                f"model {learner.name!r} needs all rows in memory and cannot learn from a stream; "
                "compare it by folds, without progressive"
            )
