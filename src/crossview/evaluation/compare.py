"""Which way of using the views is best on some data, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crossview.catalog.learner import Learner
from crossview.catalog.learners import find_learner, known_learners
from crossview.catalog.metrics import check_metric
from crossview.catalog.names import TASKS, check_task
from crossview.errors import InputError, closest_names
from crossview.estimators.documentation import document_parameters
from crossview.evaluation.candidates import compared_learners
from crossview.evaluation.folds import compare_folds
from crossview.evaluation.parameters import ENCODING, SCORING
from crossview.evaluation.result import Comparison
from crossview.evaluation.run import Run
from crossview.evaluation.sources import Labeled, open_labeled
from crossview.evaluation.stream import compare_stream
from crossview.evaluation.tasks import Classification, Regression, Task
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
    positive: Any = None,
    seed: int = 0,
    epochs: int | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    models: Sequence[str] | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Comparison:
    """Compare each view alone, all views concatenated, independent, and coupled.

    Learners with a covariance are among them, on all views concatenated (PAM-II, AROW, CW, SCW-I)
    and coupled.  They take longer: from 5e8 rows times columns squared on, their parameters are
    chosen on one of the three folds, and from 5e9 on their covariance is diagonal.

    Then comes `MultiViewSVMPerf`, trained for the metric itself, with a disagreement penalty and
    on all views concatenated; and the same trained for the error rate, which shows whether
    training for the metric pays.  Where the metric is precision or recall it is trained for f1,
    because either alone is best with one row, or all rows, predicted positive.  It needs all rows
    at once, so it is not compared progressively.  Its parameters are chosen on one of the three
    folds of at most 20,000 training rows (ten times k, if that is more), to a gap of 0.01.

    The last rows are the models with interactions: factorization, multi-view and support tensor
    machines.  They make passes until the loss on a held-out tenth of the training rows stops
    falling, and their parameters are chosen on one of the three folds.

    The parameters of each model are chosen inside each training part, by a validation with three
    folds (one split of 80 to 20 beyond 50,000 rows), so that the comparison is fair to all.  The
    folds are stratified, shuffled and the same for every model.

    Rows may have no label: NaN or None in ``y``, or an empty field.  They are in no fold and never
    scored; the folds, the encoders and all models but KeCo see the labeled rows alone.  KeCo then
    learns from all of them in every training part, and stands beside Pegasos, which is the same
    model without them: the difference is what they contribute (``Comparison.unlabeled_benefit``).

    With ``task="regression"`` the target is a number: each view alone and all of them in a linear
    model, then factorization and multi-view machines.

    Parameters
    ----------
    X : MultiView, data frame, path, glob or query
        The rows.  Columns are encoded by a `ViewEncoder`, which is fitted on each training part
        by itself.
    y : array-like of shape (n_samples,) or str, default=None
        The labels (regression: numbers), or the name of their column.  None where the file has
        them in their own place.
    cv : int, default=5
        Number of folds.
    progressive : bool, default=False
        Instead of folds, predict, score, then learn, in the order of the rows, with memory
        bounded by the batch.  The parameters are those that do best on the first part of the
        stream (a tenth, at most 10,000 rows; 1000 where its length is not known), which is
        learned but not scored.  KeCo and Pegasos then keep 500 support rows per view.
    seed : int, default=0
        Seed of the folds and of all shuffling.
    epochs : int, default=None
        Passes over the training rows.  None: models with interactions stop early, by the loss on
        a held-out tenth of the rows, and all others make one.  KeCo and Pegasos draw 1000 rows,
        and the SVMs stop where the gap is below 0.001, whatever this says.  Progressive: always
        one.
    grid : mapping of str to sequence, default=None
        Values to try, for example ``{"C": [0.1, 1]}``.  None: those of `crossview.catalog`.
    models : sequence of str, default=None
        What to compare, two or more, by the names of ``crossview train --model``.  None: each
        view alone, then every way of using all of them; KeCo and Pegasos where some rows have no
        label.
    on_step : callable, default=None
        Called with a few words on what is being done.

    Returns
    -------
    Comparison
        Rows, folds, choices, the tests against the best row, the verdict.
        `crossview.report.tables` makes a table of it.

    Notes
    -----
    The best row is tested against the others.  Folds share most of their training rows, so the
    plain t-test over folds finds differences that are not there; this one is corrected
    (`corrected_t_test`).  Progressive: an exact McNemar test on which rows were predicted right;
    of numbers, a normal test of the differences in error row by row (`error_test`).

    Of rows with equal scores, any may be among the highest: prbep, precision_at_k and recall_at_k
    are the mean over all orders of such rows.  Progressive, they and the other metrics of the
    order of the scores come from a histogram, in which scores that differ by less than a bin are
    equal (about 0.0001 near 0).

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
    metric = check_metric(metric or TASKS[check_task(task)][0], task=task, k=k)
    _check_options(task, positive, grid or {}, epochs, progressive)
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
    # unlabeled rows do not count, so these are read before the learners are known
    rows = source.load() if source.some_unlabeled and not progressive else None
    n_rows = source.n_rows if rows is None else int(has_label(rows[1]).sum())
    learners = _learners(source, n_rows, task, None if progressive else metric, models)
    if progressive:
        _refuse_batch_learners(learners)
    predicted: Task = (
        Regression() if task == "regression" else Classification(source.classes, positive)
    )
    run = Run(
        learners=[learner.for_metric(metric, predicted.positive_label) for learner in learners],
        task=predicted,
        metric=metric,
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
    task: str, positive: Any, grid: Mapping[str, Any], epochs: int | None, progressive: bool
) -> None:
    """Refuse options that contradict each other."""
    if task == "regression" and positive is not None:
        raise InputError("positive= is about classes; leave it out where task='regression'")
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
    """What is compared: the models that are named, or all that suit the data."""
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
                f"model {learner.name!r} needs all rows at once, and cannot learn them in stream "
                "order; compare it by folds, without progressive"
            )
