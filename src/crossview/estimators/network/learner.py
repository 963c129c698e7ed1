"""Networks on the columns of all views, for classes and for numbers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from crossview.algorithms import network
from crossview.algorithms.network import Data, Learning, Network, Units
from crossview.batch import blocks_of_width, entries_of, read_only, rows_at, view_of
from crossview.errors import InputError
from crossview.estimators import parameters
from crossview.estimators.base import (
    ImportancesModel,
    Schema,
    State,
    StatePart,
    ViewClassifier,
    ViewRegressor,
)
from crossview.estimators.base.held_out import Split, folds_to_fit, groups_to_fit
from crossview.estimators.documentation import described, document_parameters, with_parameters
from crossview.estimators.network.features import (
    MOST_COLUMNS,
    Features,
    LearnedFeatures,
    changes_without,
    features_of,
)
from crossview.estimators.targets import weighted_classes
from crossview.estimators.trees.features import Targets, portable_components
from crossview.estimators.validation import Interval
from crossview.jobs.threads import threadpool_limits
from crossview.kernels.rows import Rows
from crossview.portable.scoring import Networks, Table
from crossview.saving.schema import Array

PARAMETERS = parameters.PARAMETERS | described(
    """
    n_members : int
        Number of networks, whose mean score is what is predicted.  More of them are a little
        better, and take proportionally longer.
    n_hidden : int
        Units of each of the two hidden layers.  Typical values: 32 to 256.
    dropout : float
        Probability that a hidden unit is 0 in a step, in [0, 1).  More of it is better where rows
        are few or labels are noisy.
    learning_rate : float
        Size of the first steps of Adam, which falls to 0 in ``max_epochs`` passes.
    max_epochs : int or None
        Most passes over the rows.  The weights are those of the pass after which the loss of rows
        held out, a sixth of them, was lowest; twelve passes without a lower one are the last.
        None: 60, or as many as 300,000 rows make, but 10 at least.
    max_columns : int
        Of a view with more columns, networks get this number of them, and 50 components of all.
    random_state : int, RandomState or None
        Seed of the held-out rows, the first weights, the order of the rows and the dropout.  Pass
        an int for reproducible results.
    """
)

# folds of the rows; each network holds out another one
FOLDS = 6
# passes of None, and without rows to hold out
MOST_EPOCHS, ROWS_OF_ALL, FEWEST_EPOCHS, BLIND_EPOCHS = 60, 300_000, 10, 20
# rows of a step: the fewest, and the most steps of a pass as long as there are fewer than the most
FEWEST_OF_STEP, STEPS_OF_A_PASS, MOST_OF_STEP = 64, 125, 512
# rows whose scores tell the importance of columns, and numbers in them: each is left out in turn
ROWS_OF_IMPORTANCES, ENTRIES_OF_IMPORTANCES = 500, 100_000


class _NetworkState(StatePart):
    """What features are made of, and the weights of the networks that read them."""

    def features(self) -> Features:
        """Return what features are made of."""
        return Features(*(self.state[name] for name in Features._fields))

    def units(self) -> Units:
        """Return the networks, for their loop."""
        return Units(*(read_only(self.state[name].astype(np.float64)) for name in Units._fields))

    def schema(self) -> Schema:
        n_features = self.features().ends(self.slots.n_views)[-1]
        j, H = self.state["b2"].shape if self.state["b2"].ndim == 2 else (0, 0)
        return {
            **Features.schema(self.state, self.slots.ptr),
            "W1": Array("f4", (n_features, j * H)),
            "b1": Array("f4", (j * H,)),
            "W2": Array("f4", (j, H, H)),
            "b2": Array("f4", (j, H)),
            "W3": Array("f4", (j, H, self.n_scores)),
            "b3": Array("f8", (self.n_scores,)),
            "importances": Array("f8", (self.slots.n_columns,), 0.0, 1.0),
        }


@with_parameters
class NetworkModel(ImportancesModel):
    """Base class of both learners: the features that networks read, and their scores."""

    _parameter_constraints: ClassVar[dict] = {
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_epochs": [Interval(Integral, 1, None, closed="left"), None],
        "max_columns": [Interval(Integral, 1, None, closed="left")],
    }

    views: Any = field(default=None, kw_only=False)
    n_members: int = 4
    n_hidden: int = 64
    dropout: float = 0.2
    learning_rate: float = 0.002
    max_epochs: int | None = None
    max_columns: int = MOST_COLUMNS
    n_jobs: int | None = None
    random_state: Any = None

    # --- learning ----------------------------------------------------------------

    def _learn(self, rows: Rows, targets: Targets) -> None:
        """Learn the networks from rows."""
        random_state = check_random_state(self.random_state)
        center, scale = 0.0, 1.0
        y, h = targets.y, targets.weight / targets.weight.mean()
        if not targets.n_classes:
            center = float(np.average(y, weights=h))
            scale = float(np.sqrt(np.average((y - center) ** 2, weights=h))) or 1.0
            y = ((y - center) / scale).astype(np.float32)
        # two threads take longer than one for matrices of this size, and change the last digits
        with threadpool_limits(1, "blas"), np.errstate(over="ignore", invalid="ignore"):
            learned = LearnedFeatures(rows, targets, self.max_columns, random_state)
            data = Data(learned.inputs, y, h.astype(np.float32), targets.n_classes)
            nets = self._learn_members(data, self._splits(targets, random_state), random_state)
        units = Units.of([learned.weights_of_features(net) for net in nets])
        units = units._replace(
            W3=units.W3 * np.float32(scale), b3=center + scale * units.b3.astype(np.float64)
        )
        if not all(np.isfinite(array).all() for array in units):
            raise InputError("numbers of X or y are too large; scale them")
        self._state = {
            **learned.features._asdict(),
            **units._asdict(),
            "importances": np.zeros(self._slots.n_columns),
        }
        self._state["importances"] = self._importances(rows, random_state)

    def _splits(self, targets: Targets, random_state: np.random.RandomState) -> list[Split]:
        """Return the rows that learn and those held out, of each fold."""
        n, codes = len(targets.y), targets.y if targets.n_classes else None
        n_folds = min(FOLDS, n if codes is None else int(np.bincount(codes).max()))
        if n_folds < 2:
            return [(np.arange(n), np.empty(0, dtype=np.intp))]
        seed = random_state.randint(2**31 - 1)
        return folds_to_fit(n_folds, n, codes, targets.groups, seed)

    def _learn_members(
        self, data: Data, splits: list[Split], random_state: np.random.RandomState
    ) -> list[Network]:
        seeds = random_state.randint(2**31 - 1, size=self.n_members)

        def learn(i: int) -> Network:
            rest, held_out = splits[i % len(splits)]
            n = len(rest)
            blind = BLIND_EPOCHS if not len(held_out) else MOST_EPOCHS
            how = Learning(
                int(self.n_hidden),
                float(self.dropout),
                float(self.learning_rate),
                min(max(FEWEST_OF_STEP, n // STEPS_OF_A_PASS), MOST_OF_STEP),
                self.max_epochs or max(min(blind, ROWS_OF_ALL // n), FEWEST_EPOCHS),
            )
            rng = np.random.RandomState(seeds[i])
            return network.learn(data, rest, held_out, how, rng)

        threads = min(effective_n_jobs(self.n_jobs), int(self.n_members))
        if threads == 1:  # the thread that fits counts what it takes
            return [learn(i) for i in range(self.n_members)]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(learn, range(self.n_members)))

    def _importances(self, rows: Rows, random_state: np.random.RandomState) -> np.ndarray:
        """Return the mean size of what each column adds to the scores, as shares."""
        n = len(rows.indptr) - 1
        at_once = max(1, ENTRIES_OF_IMPORTANCES * n // max(1, len(rows.data)))
        some = np.sort(random_state.permutation(n)[: min(ROWS_OF_IMPORTANCES, at_once)])
        part = rows_at(rows, some)
        sizes = np.abs(self._entry_contributions(part)).sum(axis=1)
        found = np.bincount(entries_of(part)[1], sizes, minlength=self._slots.n_columns)
        total = float(found.sum())
        return found / total if total > 0.0 else found

    # --- scores ------------------------------------------------------------------

    def _parts(self, state: State) -> list[StatePart]:
        return [_NetworkState(state, self), *super()._parts(state)]

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        own = _NetworkState(self._state, self)
        features, units = own.features(), own.units()
        scores = np.zeros((len(rows.indptr) - 1, self._n_scores()))
        h1, buffers = np.empty(len(units.b1)), np.empty((2, self._state["b2"].shape[1]))
        for at in blocks_of_width(len(scores), len(units.W1)):
            X = read_only(features_of(rows_at(rows, at), features))
            network.score_rows(X, units, h1, buffers, scores[at[0] : at[-1] + 1])
        return scores

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        own, row = _NetworkState(self._state, self), entries_of(rows)[0]
        features, units = own.features(), own.units()
        without = np.zeros((len(row), self._n_scores()))
        X = read_only(features_of(rows, features))
        memory = np.empty((4, len(units.b1)))
        network.score_changed(X, units, changes_without(rows, features), memory, without)
        return self._joint_scores(rows)[row] - without

    def _portable_scorer(self) -> Networks:
        own, ptr = _NetworkState(self._state, self), self._slots.ptr
        features, units = own.features(), own.units()
        V, T, k = len(ptr) - 1, features.low.shape[1], features.loadings.shape[1]
        ramps, others, components, views = np.split(units.W1, features.ends(V)[:-1])
        of_number = view_of(features.numbers, ptr)
        of_column = view_of(features.columns, ptr)
        loaded = components.reshape(len(features.wide_views), k, units.W1.shape[1])
        return Networks(
            numbers=np.column_stack([of_number, features.numbers - ptr[of_number]]),
            low=features.low,
            factor=features.factor,
            ramps=ramps.reshape(len(of_number), T, units.W1.shape[1]),
            columns=[
                Table(features.columns[of_column == v] - ptr[v], others[of_column == v])
                for v in range(V)
            ],
            components=portable_components(features, ptr),
            loaded=list(loaded),
            there=views,
            b1=units.b1,
            W2=units.W2,
            b2=units.b2,
            W3=units.W3,
            b3=units.b3,
        )


@document_parameters(PARAMETERS, attributes=parameters.ATTRIBUTES)
@with_parameters
class MultiViewNetworkClassifier(NetworkModel, ViewClassifier):
    """Several small neural networks on the columns of all views.

    Minimizes the log loss of the training rows by Adam with dropout, in each network until other
    rows, which it holds out, have no lower loss.  Numbers enter as piecewise linear functions
    between their quantiles, so that they need no scaling, and outliers do no harm.  Networks are
    smooth where trees are not: in an ensemble with them they are often what brings most.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, which multiplies the sample weight.  "balanced": inversely
        proportional to the summed weight of its rows.  Probabilities stay those of the rows without
        it.

    Attributes
    ----------
    classes_
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in how much the scores change without it, in up to 500 training rows.
    layout_, n_features_in_, feature_names_in_

    Raises
    ------
    InputError
        Numbers of X are so large that weights overflow.

    See Also
    --------
    MultiViewKernelRidgeClassifier : Also smooth, of few columns and rows.
    MultiViewTreesClassifier : Boosted trees.

    Notes
    -----
    A network has two hidden layers with the activation ``h σ(h)``, and the score is the log odds of
    the second of two classes, or has one number per class, whose softmax is what is predicted.  A
    number x is 16 ramps ``min(max((x - k_i) / (k_(i+1) - k_i), 0), 1)`` of its quantiles k, and the
    normal quantile of its rank, a linear map of them; where there are more than 128 numbers that
    alone, of 8 ramps.  Columns that fewer than three rows have are not read.

    Rows held out are those of another sixth for each network, whole groups where X has some.  A
    step takes 64 rows, or more where a pass would have more than 125 steps, up to 512.

    `contributions` scores each row again without each of its entries.

    References
    ----------
    Y. Gorishniy, I. Rubachev, A. Babenko, "On embeddings for numerical features in tabular deep
    learning", NeurIPS 2022, equation 1.
    D. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
    N. Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting",
    Journal of Machine Learning Research 15 (2014).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from crossview import MultiViewNetworkClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> model = MultiViewNetworkClassifier(views, random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.95)
    True
    """

    scores_are_log_odds = True

    class_weight: Any = None
    calibration: str = "none"

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, labels, weight = self._rows_to_fit(X, y, sample_weight)
        found = weighted_classes(labels, weight, self.class_weight)
        self.classes_, codes, weight, of_classes = found
        groups = groups_to_fit(X, sample_weight)
        self._learn(rows, Targets(codes, len(self.classes_), weight, groups))
        self._take_out_weights(of_classes)
        self._calibrate_by_folds(X, y, sample_weight)


@document_parameters(PARAMETERS, attributes=parameters.ATTRIBUTES)
@with_parameters
class MultiViewNetworkRegressor(NetworkModel, ViewRegressor):
    """Several small neural networks for numbers, on the columns of all views.

    Minimizes the squared error of the training rows as `MultiViewNetworkClassifier` minimizes the
    log loss.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in how much the prediction changes without it, in up to 500 training
        rows.
    layout_, n_features_in_, feature_names_in_

    Raises
    ------
    InputError
        Numbers of X or y are so large that weights overflow.

    See Also
    --------
    MultiViewNetworkClassifier : The same for classes; its notes say what networks read.
    MultiViewTreesRegressor : Boosted trees for numbers.

    References
    ----------
    Those of `MultiViewNetworkClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from crossview import MultiViewNetworkRegressor
    >>> X, y = make_friedman1(1000, random_state=0)
    >>> model = MultiViewNetworkRegressor([5, 5], random_state=0).fit(X[:500], y[:500])
    >>> bool(model.score(X[500:], y[500:]) > 0.9)
    True
    """

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, y, weight = self._rows_to_fit(X, y, sample_weight)
        self._learn(rows, Targets(y, 0, weight, groups_to_fit(X, sample_weight)))
        self._see_targets(y)
