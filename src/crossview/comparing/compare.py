"""Comparison of the ways to use several views."""

from __future__ import annotations

import inspect
import math
import time as clock
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone

from crossview.catalog.learners import ENSEMBLE, known_learners
from crossview.catalog.names import check_task
from crossview.comparing.budget.clock import Clock
from crossview.comparing.candidates import check_grid, choose_learners
from crossview.comparing.folds.by_folds import CompareOptions, compare_folds
from crossview.comparing.folds.scheduler import Resources
from crossview.comparing.folds.splits import Protocol
from crossview.comparing.guessed_split import GuessedSplit, guess_split
from crossview.comparing.personal import ROLES, compare_users
from crossview.comparing.result.comparison import Comparison, ComparisonObserver
from crossview.comparing.run import Run
from crossview.comparing.stream import compare_stream
from crossview.data.joining.views_as_table import open_views
from crossview.data.labeled import LabeledSource
from crossview.data.labeled_source import (
    encoder_of_users,
    encoder_with_views,
    open_labeled,
)
from crossview.data.row_columns import check_seed
from crossview.encoding.encode import ViewEncoder
from crossview.encoding.view_columns import KINDS, view_for
from crossview.errors import InputError, argument, check_kind, closest_names
from crossview.estimators.documentation import document_parameters
from crossview.jobs.jobs import Jobs
from crossview.jobs.threads import threadpool_limits
from crossview.scoring.problems import make_problem
from crossview.scoring.specification import SHARED, Scoring
from crossview.tables.columns import listed
from crossview.views import MultiView, column_called

# seconds
DEFAULT_BUDGET = 60.0


@document_parameters(SHARED)
def compare(
    X: Any,
    y: Any = None,
    *,
    on: str | Sequence[str] | None = None,
    views: Mapping[str, Any] | None = None,
    encoder: ViewEncoder | None = None,
    cv: int = 5,
    repeats: int = 1,
    groups: Any = None,
    in_order: bool = False,
    random_folds: bool = False,
    time: str | None = None,
    weight: Any = None,
    progressive: bool = False,
    task: str | None = None,
    scoring: str | Scoring | None = None,
    rope: float = 0.01,
    seed: int = 0,
    epochs: int | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    models: Sequence[str] | None = None,
    baselines: Sequence[str] | None = None,
    extend: Comparison | None = None,
    ablate: bool = False,
    curve: bool = True,
    budget: float | None = DEFAULT_BUDGET,
    n_jobs: int | None = None,
    observer: ComparisonObserver | None = None,
) -> Comparison:
    """Compare each view alone, all views concatenated, independent, and coupled, within a minute.

    All models are evaluated on the same shuffled, stratified folds.  Nested cross-validation with
    three inner folds (one split of 80 to 20 beyond 50,000 rows) tunes the parameters of each model
    within each training part.  The comparison includes

    - passive-aggressive learners: each view alone, and all views concatenated, independent and
      coupled (by squares; by absolute values only if ``models`` names it);
    - second-order learners: PAM-II, AROW, CW and SCW-I on the concatenated views, and coupled
      PAM-II; with a diagonal covariance if rows times squared columns exceed 5e9;
    - where a metric is given, `MultiViewSVMPerf`, trained for it (for f1 if the metric is precision
      or recall, which have trivial optima), with a disagreement penalty and on the concatenated
      views, and trained for the error rate as a baseline.  One inner fold of at most 20,000
      training rows (or ten times k, if that is more) tunes it, to a gap of 0.01.  It needs all rows
      in memory and is not compared progressively;
    - models with interactions: factorization and multi-view machines, and the linear model, with
      early stopping on a held-out tenth of the training rows.  One inner fold tunes them;
    - boosted trees (`MultiViewTreesClassifier`) on all columns, and with one score per view, and
      extremely randomized ones (`MultiViewExtraTreesClassifier`), and neural networks
      (`MultiViewNetworkClassifier`); they need all rows in memory;
    - where there are at most 2,000 columns, or 5,000 and at most 2,000,000 numbers in all rows,
      `PegasosClassifier` with a Gaussian kernel per view, and `MultiViewKernelRidgeClassifier` with
      one on all views;
    - `OnlineStackingClassifier`, which weighs several of these;
    - what somebody would do with scikit-learn alone: logistic regression, late fusion, gradient
      boosting and one class for all rows.

    Unlabeled rows are allowed: NaN or None in ``y``, or an empty field.  They are in no fold and
    never scored.  Only KeCo learns from them, in each training part; Pegasos, the same model
    without unlabeled rows, is its baseline.

    With ``task="regression"`` the models are linear models of each view and of all views,
    factorization and multi-view machines, boosted and extremely randomized trees, networks, kernel
    ridge regression of few columns (`MultiViewKernelRidgeRegressor`), and
    `OnlineStackingRegressor`.

    Parameters
    ----------
    X : MultiView, data frame, path, glob, query, or mapping of str to these
        The rows.  Several views may be apart, as a mapping such as ``{"mrna": "mrna.csv", "meth":
        frame}``; the columns of each are then called ``mrna__x``.  The table of the label gives the
        rows, in which other views may be missing; without a label all ids are rows.
        A `ViewEncoder` encodes columns; it is fitted to each training part separately.  With
        ``ViewEncoder(per=...)`` each learner is compared without the column of users, with it as a
        category, and with its deviations, progressively; see `Comparison.gains`.
    y : array-like of shape (n_samples,) or str, default=None
        The labels (regression: numbers), or the name of their column.  None if the file format has
        labels.
    on : str or sequence of str, default=None
        Where ``X`` is a mapping of views to sources: the column, such as an id, by which their rows
        belong together.  None: frames have the same rows, in one order or by their pandas index.
    cv : int, default=5
        Number of folds; no more than ``groups``.
    repeats : int, default=1
        How often the folds are drawn anew.  More takes longer and makes smaller differences
        visible.
    groups : array-like of shape (n_samples,) or str, default=None
        Rows of the same group, such as those of one user, are never both learned and scored.  The
        name of a column: its values; the column is in no view.  A row without a group stands alone.
        None: see ``random_folds``.
    in_order : bool, default=False
        Whether the rows are in the order of time: each fold is scored by models that learned the
        rows before it, and the last fifth of those chooses the parameters.  Models that learn row
        by row learn them in their order, as `train` does with ``in_order=True``.
    random_folds : bool, default=False
        Whether folds are random in any case.  False: without ``groups``, ``in_order`` and ``time``
        it is tested whether rows near in the order, or with the same value in a column, are alike,
        so that random folds promise more than new rows will give; then folds are in order, if it is
        one of time, or by that column (`Comparison.groups`), and `Comparison.warnings` says so.
        See the notes.
    time : str, default=None
        A column of timestamps, dates or numbers: the rows are put in its order, and then taken in
        order, as by ``in_order``.  Rows of the same time keep their order.  The column is in no
        view.
    weight : array-like of shape (n_samples,) or str, default=None
        How much each row counts in learning and calibration, 0 or more; 0: not at all.  The name of
        a column: its values; the column is in no view.  Metrics, thresholds and the encoder count
        each row once.  Divide them by their mean if that is far from 1.  Models trained for a
        metric that is no sum over rows are left out.
    progressive : bool, default=False
        Whether to use progressive validation in place of folds: predict, score, then learn each
        row, in order, in memory for one batch.  The first part of the stream (a tenth, at most
        10,000 rows) tunes the parameters, and is not scored.  KeCo
        and Pegasos keep at most 500 support vectors per view.  What is about folds is refused:
        ``cv``, ``repeats``, ``groups``, ``baselines``, ``extend``, ``ablate``, ``budget`` and
        ``n_jobs``.
    rope : float, default=0.01
        Region of practical equivalence: differences in the metric up to this are none.  Where the
        metric is not bound to lie between 0 and 1, or lower is better, it is a share of the best
        value.  A higher value makes more models equal, and recommends simpler ones.
    seed : int, default=0
        Seed of the folds and of all shuffling.
    epochs : int, default=None
        Number of passes over the training rows.  None: models with interactions use early stopping
        on a held-out tenth of the rows; linear models make one pass, and 3 and 10 if more is
        better on the rows held out.  It does not apply to KeCo and Pegasos, which draw rows, nor to
        the SVMs, which stop at a gap of 0.001.  Progressive validation always makes one pass.
    grid : mapping of str to sequence, default=None
        Parameter grid, for example ``{"C": [0.1, 1]}``.  None: the grids of `crossview.catalog`.
        The values of ``average``, ``bins``, ``epochs``, ``max_features``, ``target_scale`` and
        ``view_weights`` are tried from the best setting of the others on, as long as they are
        better; [] tries none.
    models : sequence of str, default=None
        Names of models to compare, as in ``crossview train --model``.  None: all models above;
        KeCo only if some rows are unlabeled.
    baselines : sequence of str, default=None
        Further models to measure the others by, as ``"package.module:Class"``: any scikit-learn
        classifier (regressor), or a class with its `fit` and `predict`.  It gets the columns of all
        views (an array has at most 250 of them, the most informative), or, where its `fit` calls
        the rows ``Xs``, a list of arrays, one per view.  With ``progressive`` it needs a
        ``partial_fit``, and gets one row after the other, with all columns.  Where ``models`` is
        None, logistic (ridge) regression, gradient boosting, late fusion (one regression per view,
        stacked) and the majority class (the mean) are always compared, unless progressive.
    extend : Comparison, default=None
        An earlier comparison of the same rows by the same folds.  Its rows are kept, and ``models``
        are added; the ensemble is not, as it takes the predictions of all of them.
    ablate : bool, default=False
        Whether to measure the recommended model without each view, and with that view missing in
        the rows that it predicts (`Comparison.ablation`).
    curve : bool, default=True
        Whether to measure the recommended model on an eighth, a quarter and half of the rows
        (`Comparison.curve`): would more rows help?
    budget : float, default=60.0
        Seconds.  If all of it takes longer, some is left out (`Comparison.left_out`): first
        settings, then rows that choose between settings, then models, those that bring least to the
        ensemble.  None: nothing is left out.  Seconds are those of a machine that does nothing
        else: a busy one takes up to twice as long.  What compiles at the first use does not count.
    n_jobs : int, default=None
        Number of tasks at a time, by joblib; -1: one per core.  None: one, or what
        `joblib.parallel_config` says, which may be a cluster.  Unless the budget leaves something
        out, the scores are the same for any number.
    observer : ComparisonObserver, default=None
        Object whose methods are called during the comparison.

    Returns
    -------
    Comparison
        One row per model, the best first, with its scores, chosen parameters and difference to the
        best row.  ``Comparison.recommended`` is the cheapest of those that are practically
        equal to the best, and ``train(X, y, **answer.train_arguments)`` trains it on all rows.
        `crossview.reporting.tables` formats the answer as a table.

    Warns
    -----
    LeakWarning
        A column of a table tells the label (`Comparison.warnings`): by where it is missing, or by
        its values.  Of many rows 100,000 or fewer are looked at.

    Notes
    -----
    Two tests choose folds that are neither asked for nor refused; they take a tenth of the budget
    at most, and look at 100,000 rows or fewer.  The order of the rows is tested if the label
    changes less or more often from row to row than by chance, or if trees tell the first half of
    the rows from the second.  Columns of text or whole numbers are tested if they have at least 20
    values, 1.3 rows of each, and none in more than a fifth of the rows; three at most, those with
    the name of an identifier first.  A test compares two quick models that learn as many rows: one
    learned none of the rows around those that are scored, the other one half of these.  The rows
    around matter if the loss says so with p < 0.1 (of several columns: 0.1 divided by their number)
    and the metric differs by more than the rope.

    Each model gets the threshold that is best for the metric on the rows held out by the inner
    validation, all of them together.  That is the protocol of scikit-learn's
    `TunedThresholdClassifierCV`, over all thresholds and without its additional fits.  The log
    loss chooses the settings, unless a metric is asked for; then a setting is judged by it, at its
    best threshold.  More than two classes have a threshold each, see `Scoring`.  The table is about
    the rows of the outer folds.  Progressive validation decides each row by the best threshold for
    the rows before it.  `ComparisonRow.untuned` is the metric without a threshold.

    Online learners calibrate themselves; the SVMs, KeCo and Pegasos are calibrated by the held-out
    rows of the inner validation.

    Each row is compared with the best one.  Because the training parts of the folds overlap, a
    plain t-test over folds is too liberal; the t-test here is corrected for the overlap, its p
    adjusted by Holm for the number of rows, and the posterior of the difference says how probable
    it is that a row is worse by more than the rope.  Its scale is at least what a row of the rarest
    class changes in a mean over the classes, 1 / (K n) with n rows of it and K classes, because a
    few rows often give two models the same value in all folds; of models with the same values of
    all metrics it is 0.  Where it is beyond the rope, the line about the test says so.  Progressive
    validation takes the standard error of a difference from a jackknife, whatever the metric is:
    blocks of consecutive rows are left out in turn, because the errors of neighboring rows are
    correlated.  There p is adjusted for all pairs of rows.

    The value of the best single model is too good, because the row was chosen by it.  That of the
    ensemble is not: its members, weights and threshold are those of the other folds.

    With tied scores prbep, precision_at_k and recall_at_k are the mean over all orders of the ties.
    Progressive validation counts up to 16,384 different scores of a class one by one; of more,
    neighbors are tied, and 8,192 or more remain.

    References
    ----------
    C. Nadeau, Y. Bengio, "Inference for the Generalization Error", Machine
    Learning 52 (2003), 239-281. :doi:`10.1023/A:1024068626366`

    A. Benavoli, G. Corani, J. Demšar, M. Zaffalon, "Time for a Change: a Tutorial for Comparing
    Multiple Classifiers Through Bayesian Analysis", JMLR 18 (2017), 1-36.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import MultiView, compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> X = MultiView({"mean": X[:, :10], "error": X[:, 10:20], "worst": X[:, 20:]})
    >>> grid = {"C": [0.01, 0.1], "average": [], "epochs": []}
    >>> models = ["view:error", "view:worst", "pa:concatenated"]
    >>> answer = compare(X, y, cv=3, grid=grid, models=models)
    >>> [row.model for row in answer.rows]
    ['pa:concatenated', 'view:worst', 'view:error']
    >>> answer.best.value > 0.95
    True
    >>> answer.train_arguments
    {'model': 'pa:concatenated', 'settings': {'C': 0.1}}
    """
    start = clock.monotonic()
    weight, groups, time = (column_called(X, one) for one in (weight, groups, time))
    check_kind("a whole number", cv=cv, repeats=repeats, seed=seed)
    check_kind("a whole number or None", epochs=epochs, n_jobs=n_jobs)
    check_kind("a number", rope=rope)
    check_kind("a number or None", budget=budget)
    check_kind("a mapping of names or None", grid=grid)
    check_kind("a list of names or None", models=models, baselines=baselines)
    check_kind("a name or None", task=task, time=time)
    check_kind("a name or one value per row or None", y=y, groups=groups, weight=weight)
    flags = {"in_order": in_order, "random_folds": random_folds, "progressive": progressive}
    check_kind("True or False", **flags, ablate=ablate, curve=curve)
    check_kind("a Comparison or None", extend=extend)
    check_kind("a ComparisonObserver or None", observer=observer)
    encoder, scoring = encoder_with_views(encoder, views), Scoring.of(scoring)
    if task is not None:
        scoring.check_task(check_task(task))
    if encoder.max_users is not None:
        raise InputError(
            f"{argument(max_users=encoder.max_users)} is for train; compare knows all users"
        )
    for_train = {"on": on, "time": time, "weight": weight, "groups": groups}
    for_train = {name: value for name, value in for_train.items() if value is not None}
    if extend is not None and ENSEMBLE in (models or ()):
        raise InputError(
            f"the {ENSEMBLE} is made of the predictions of all models, which the comparison to "
            f"extend does not keep; compare them again, with {ENSEMBLE!r} among the models"
        )
    progressive = progressive or encoder.per is not None
    own = X.groups if isinstance(X, MultiView) else None
    grouped = "of X" if groups is None and own is not None else groups
    if progressive:
        if extend is not None:
            raise InputError("a progressive comparison is not extended; compare all models again")
        _refuse_options_of_folds(
            argument(progressive=True) if encoder.per is None else argument("per"),
            *(("cv", cv), ("repeats", repeats), ("groups", grouped), ("ablate", ablate)),
            *(("budget", budget), ("n_jobs", n_jobs), ("random_folds", random_folds)),
            ("baselines", None if encoder.per is None else baselines),
        )
    given = {"groups": grouped is not None, "in_order": in_order, "time": time is not None}
    if random_folds and any(given.values()):
        said = next(name for name, is_given in given.items() if is_given)
        raise InputError(
            f"{argument('random_folds')} and {argument(said)} contradict each other; leave one of "
            "them out"
        )
    check_seed(seed)
    if n_jobs == 0:
        raise InputError(f"{argument(n_jobs=0)}; give 1 or more, or -1 for one per core")
    if not rope >= 0.0:
        raise InputError(f"{argument(rope=rope)}; give 0 or more")
    if budget is not None and not budget > 0.0:
        raise InputError(f"{argument(budget=budget)}; give seconds, or None for whatever it takes")
    per_row = {"groups": groups, "weight": weight, "time": time}
    given_encoder = clone(encoder)  # before its views are those of a join
    X, y, views = open_views(X, y, on, views=encoder.views, per_row=per_row)
    encoder.set_params(views=views)
    rows = {"task": task, "unlabeled": True, **per_row}
    source = open_labeled(X, y, encoder=encoder, **rows)
    scoring.check_task(source.task)
    _check_options(source.task, grid or {}, epochs, progressive)
    if ablate and source.layout.n_views == 1:
        raise InputError(
            f"{argument('ablate')} takes views away, and there is one, {source.layout.names[0]!r}"
        )
    if progressive:
        source.settle_bins(streamed=True)
    predicted = make_problem(
        source.task,
        source.classes,
        scoring,
        class_rows=source.class_rows,
        folds=None if progressive else cv,
    )
    run = Run([], predicted, seed, epochs, grid or {})
    run.weighted = weight is not None or source.weighted
    run.given_metric = scoring.metric is not None or scoring.cost is not None
    if progressive:
        observer = observer or ComparisonObserver()
        if encoder.per is not None:
            names = [name for name in source.table.column_names if name not in (y, time, weight)]

            def open_as(use: str) -> LabeledSource:
                own = encoder_of_users(encoder, use, names)
                opened = open_labeled(X, y, encoder=own, **{**rows, "task": source.task})
                opened.settle_bins(streamed=True)
                return opened

            answer = compare_users(run, open_as, encoder.per, models, rope, observer)
            answer.category_views = view_for(encoder.views, names, encoder.per)
            answer.given, answer.encoders = (
                for_train,
                {use: encoder_of_users(given_encoder, use, names) for use in ROLES},
            )
            if not (in_order or time is not None):
                answer.warnings.append(
                    "rows are predicted, then learned, in the order of the source; "
                    f"{argument('time')} names a column of times, and {argument(in_order=True)} "
                    "says that they are in order"
                )
            return answer
        run.learners = choose_learners(
            *(run, source.layout, source.n_rows, models),
            baselines=baselines,
            unlabeled=source.some_unlabeled,
            stream=True,
        )
        check_grid(run.grid, run.learners)
        answer = compare_stream(run, source, rope, observer)
        answer.given, answer.encoders = for_train, {"": given_encoder}
        return answer
    run.budget = math.inf if budget is None else budget
    resources = Resources(
        Jobs(n_jobs),
        observer or ComparisonObserver(),
        Clock(run.budget, start),
    )
    column = groups if isinstance(groups, str) else None
    protocol = Protocol(cv, repeats, in_order=in_order or time is not None)
    split = GuessedSplit(source, protocol, column)
    if not (random_folds or any(given.values())):
        resources.observer.say("testing whether random folds promise too much")
        split = guess_split(run, source, protocol, rope, extend)
    options = CompareOptions(models, baselines, rope, extend, ablate, curve)
    # more threads would wait for the workers' processors, and change the last digits of sums
    with threadpool_limits(1):
        answer = compare_folds(run, split, options, resources)
    if split.groups is not None:
        for_train["groups"] = split.groups
        for kind in KINDS:  # what is in no view has none
            names = listed(getattr(given_encoder, kind))
            if split.groups in names:
                others = [name for name in names if name != split.groups]
                given_encoder.set_params(**{kind: others or getattr(ViewEncoder(), kind)})
    answer.given, answer.encoders = for_train, {"": given_encoder}
    return answer


_DEFAULTS = inspect.signature(compare).parameters


def _check_options(
    task: str, grid: Mapping[str, Any], epochs: int | None, progressive: bool
) -> None:
    """Raise an error for options that contradict each other."""
    for name in grid:
        tuned = sorted(
            {p for one in known_learners(task, ("",)) for p in (*one.grid, *one.refined)}
        )
        if name not in tuned:
            raise InputError(f"grid= names {name!r}{closest_names(name, tuned)}")
    if epochs is not None and (epochs < 1 or (progressive and epochs > 1)):
        raise InputError(f"{argument(epochs=epochs)}; give 1 or more, and 1 where progressive")


def _refuse_options_of_folds(instead: str, *given: tuple[str, Any]) -> None:
    """Raise an error for options that a progressive comparison has no use for.

    ``instead`` is the argument that makes it one.
    """
    for name, value in given:
        default = _DEFAULTS[name].default
        if value is not None and (default is None or value != default):
            raise InputError(
                f"{argument(name)} is for a comparison by folds; leave it out, or leave out "
                f"{instead}"
            )
