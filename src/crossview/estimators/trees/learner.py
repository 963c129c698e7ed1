"""Gradient-boosted trees on several views."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from crossview.algorithms.trees.scores import Trees, score_rows
from crossview.batch import read_only, rows_at
from crossview.estimators.base import (
    ColumnWeights,
    Schema,
    State,
    StatePart,
    ViewClassifier,
    ViewLearner,
    ViewRegressor,
)
from crossview.estimators.base.learner import (
    NUMBERS_AT_ONCE,
    rows_with_views,
    scores_without_entries,
)
from crossview.estimators.documentation import ParameterDoc, document_parameters, with_parameters
from crossview.estimators.parameters import ATTRIBUTES, CALIBRATION, ONLINE, TARGET_SCALE, VIEWS
from crossview.estimators.targets import (
    class_codes,
    class_weights,
    several_classes,
)
from crossview.estimators.trees.boosting import fit_bags, gains_of, trees_of, trees_schema
from crossview.estimators.trees.features import (
    MOST_CODES,
    MOST_COMPONENTS,
    Features,
    LearnedFeatures,
    Targets,
    Wanted,
    column_shares,
    features_of,
    portable_features,
)
from crossview.estimators.validation import Interval
from crossview.kernels.rows import Rows
from crossview.portable.scoring import Trees as PortableTrees
from crossview.saving.schema import Array
from crossview.views import MultiView

PARAMETERS: dict[str, ParameterDoc] = VIEWS | {
    "target_scale": TARGET_SCALE,
    "additive": (
        "bool",
        """
        Whether each tree has columns of one view alone, so that the score is a sum of one score
        per view.  False: a tree may have columns of all views, which interact.
        """,
    ),
    "learning_rate": (
        "float or None",
        """
        Factor of the value of each leaf, in (0, inf).  A lower value needs more trees, and is a
        little better.  Typical values: 0.03 to 0.3.  None: 0.1; of more than 4 classes 0.2.
        """,
    ),
    "max_leaf_nodes": (
        "int or None",
        """
        Most leaves of a tree.  More of them fit interactions of more columns, and overfit few rows.
        Typical values: 4 to 64.  None: 15.
        """,
    ),
    "max_features": (
        "float",
        """
        Share of the features that each split chooses among, drawn anew for each split, in (0, 1];
        6 of them at least.  A lower share gives trees that differ more, which is better where many
        columns say much the same, such as words or sensors; a higher one is better where few of
        many columns matter, and by what they are together.  Typical values: 0.1 to 1.
        """,
    ),
    "min_samples_leaf": (
        "int or None",
        """
        Fewest rows of a leaf.  None: 20, or of few rows a twentieth of those that a class has on
        average.
        """,
    ),
    "l2_regularization": (
        "float",
        """
        Penalty on the squared values of the leaves, in [0, inf).  A higher value makes leaves of
        few rows more careful.
        """,
    ),
    "validation_fraction": (
        "float",
        """
        Fraction of the rows to hold out, in [0, 1): trees are added as long as the loss on these
        rows decreases, and those after the lowest loss are dropped.  0: ``max_iter`` trees.
        """,
    ),
    "n_iter_no_change": (
        "int",
        "Number of iterations without a lower loss on the held-out rows before `fit` stops.",
    ),
    "n_bags": (
        "int or None",
        """
        Number of models whose mean score is the score; each holds out other rows, and takes the
        rows in another order for target statistics.  More of them are a little better and take
        proportionally longer.  None: 4; of more than 4 classes and 2,000 rows 2, and of more than
        20 classes 1, because each class has trees of its own; of more than 10,000 rows fewer.
        """,
    ),
    "max_categories": (
        "int",
        """
        A column of categories with up to this number of values, at most 63, is split into sets of
        values; one with more by the mean target of each value.  See the notes.
        """,
    ),
    "max_columns": (
        "int",
        """
        Of a view with more columns, besides those of categories, trees get this number of columns,
        and components of all of them.
        """,
    ),
    "n_components": (
        "int",
        "Components of such a view, from a truncated singular value decomposition; 0: none.",
    ),
    "n_jobs": (
        "int",
        """
        Threads of `fit`.  With more than one the last digits of sums depend on their number, and so
        in rare cases does a tree.
        """,
    ),
    "random_state": (
        "int, RandomState or None",
        """
        Seed of the held-out rows, the order of the rows for target statistics, and the components.
        Pass an int for reproducible results.
        """,
    ),
}


# of features that other programs compute
ROUNDING = 1e-12


class _TreesState(StatePart):
    """Arrays of the trees, and of the features that they split."""

    def features(self) -> Features:
        """Return what features are made of."""
        return Features(*(self.state[name] for name in Features._fields))

    def trees(self) -> Trees:
        """Return the trees, for their loop."""
        return Trees(*(read_only(self.state[name]) for name in Trees._fields))

    def schema(self) -> Schema:
        n_features = self.features().ends[-1]
        return {
            **Features.schema(self.state, self.slots.ptr, self.n_scores),
            **trees_schema(self.state, self.n_scores, n_features),
            "baseline": Array("f8", (self.n_scores,)),
            "importances": Array("f8", (self.slots.n_columns,), 0.0, 1.0),
        }


@with_parameters
class TreesModel(ViewLearner):
    """Base class of both learners: features, trees, and their scores."""

    _parameter_constraints: ClassVar[dict] = {
        "additive": ["boolean"],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_features": [Interval(Real, 0, 1, closed="right")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left"), None],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "n_bags": [Interval(Integral, 1, None, closed="left"), None],
        "max_categories": [Interval(Integral, 0, MOST_CODES, closed="both")],
        "max_columns": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 0, MOST_COMPONENTS, closed="both")],
        "n_jobs": [Interval(Integral, 1, None, closed="left")],
    }

    views: Any = field(default=None, kw_only=False)
    additive: bool = False
    learning_rate: float | None = None
    max_iter: int | None = None
    max_leaf_nodes: int | None = None
    max_features: float = 0.2
    min_samples_leaf: int | None = None
    l2_regularization: float = 1.0
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    n_bags: int | None = None
    max_categories: int = 8
    max_columns: int = 200
    n_components: int = 30
    n_jobs: int = 1
    random_state: Any = None

    # --- learning ----------------------------------------------------------------

    def _learn(self, X: Any, rows: Rows, targets: Targets) -> None:
        """Fit the trees to some rows of X."""
        random_state = check_random_state(self.random_state)
        categories = X.categories if isinstance(X, MultiView) else ()
        wanted = Wanted(self.max_columns, self.n_components, self.max_categories)
        learned = LearnedFeatures(rows, categories, targets, wanted, random_state)
        features = learned.features
        found, baseline = fit_bags(self, learned, targets, self._slots.ptr, random_state)
        gains = gains_of(found, features.ends[-1])
        self._state = {
            **features._asdict(),
            **trees_of(found)._asdict(),
            "baseline": baseline,
            "importances": gains @ column_shares(rows, features, targets),
        }

    # --- scores ------------------------------------------------------------------

    def _parts(self, state: State) -> list[StatePart]:
        return [_TreesState(state, self), *super()._parts(state)]

    def _add_scores(self, rows: Rows, trees: Trees, scores: np.ndarray) -> np.ndarray:
        """Add what the trees say of the rows; return the scores."""
        features = _TreesState(self._state, self).features()
        size = max(1, NUMBERS_AT_ONCE // features.ends[-1])
        for begin in range(0, len(scores), size):
            part = rows_at(rows, np.arange(begin, min(begin + size, len(scores))))
            score_rows(read_only(features_of(part, features)), trees, scores[begin : begin + size])
        return scores

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        baseline = np.tile(self._state["baseline"], (len(rows.indptr) - 1, 1))
        return self._add_scores(rows, _TreesState(self._state, self).trees(), baseline)

    def _portable_scorer(self) -> PortableTrees:
        own = _TreesState(self._state, self)
        trees, features, ptr = own.trees(), own.features(), self._slots.ptr
        is_own = bool(self.additive and hasattr(self, "classes_"))
        views = features.views(ptr)[trees.feature[trees.roots]] if is_own else np.empty(0, np.intp)
        # a threshold may be a value that rows have, which other programs compute with other
        # rounding; sums of components have more of it.  JSON has no infinity
        first, end = features.ends[1:3]
        is_sum = (trees.feature >= first) & (trees.feature < end)
        largest = np.finfo(np.float64).max
        threshold = np.clip(trees.threshold, -largest / 2, largest / 2)
        # statistics and codes are looked up, and a threshold may be a last bit below the prior
        margin = np.where(trees.feature < end, np.abs(threshold) + is_sum, 0.0)
        threshold = threshold + ROUNDING * margin
        return PortableTrees(
            **portable_features(features, ptr),
            roots=trees.roots,
            outputs=trees.outputs,
            feature=trees.feature,
            threshold=threshold,
            left=trees.children[:, 0],
            right=trees.children[:, 1],
            missing_left=trees.missing_left.astype(np.uint8),
            set_of=trees.set_of,
            sets=trees.sets,
            value=trees.value,
            baseline=self._state["baseline"],
            view_scores="own" if is_own else "alone",
            tree_views=views,
        )

    def _scores_of_views(self, rows: Rows) -> np.ndarray:
        """Return sums of each view's trees if they are additive, else scores of each view alone."""
        if not (self.additive and hasattr(self, "classes_")):
            return self._scores_alone(rows, rows_with_views)
        own = _TreesState(self._state, self)
        n, V, K = len(rows.indptr) - 1, len(rows.ptr) - 1, self._n_scores()
        trees = own.trees()
        views = own.features().views(self._slots.ptr)[trees.feature[trees.roots]]
        outputs = read_only((views * K + trees.outputs).astype(np.uint32))
        baseline = np.tile(np.tile(self._state["baseline"] / V, V), (n, 1))
        return self._add_scores(rows, trees._replace(outputs=outputs), baseline).reshape(n, V, K)

    @property
    def n_iter_(self) -> int:
        """Number of iterations of all bags; each has one tree, of several classes one per class."""
        check_is_fitted(self, "_state")
        return len(self._state["roots"]) // len(self._state["baseline"])

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in what the splits gained; the sum is 1."""
        check_is_fitted(self, "_state")
        return self._columns.spread(self._state["importances"]).copy()

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(None, importance=self.feature_importances_[None])

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        width = _TreesState(self._state, self).features().ends[-1]
        return scores_without_entries(self, rows, self._state["importances"] > 0.0, width)


@document_parameters(
    PARAMETERS,
    {"class_weight": ONLINE["class_weight"], "calibration": CALIBRATION},
    attributes=ATTRIBUTES,
)
@with_parameters
class MultiViewTreesClassifier(TreesModel, ViewClassifier):
    """Gradient-boosted trees on the columns of all views, or one sum of trees per view.

    Parameters
    ----------
    max_iter : int or None, default=None
        Most trees of each bag; of several classes, most trees of each class.  None: 300; of more
        than 4 classes 100.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, which multiplies the sample weight.  "balanced": inversely
        proportional to the frequency of the class.

    Attributes
    ----------
    classes_
    n_iter_ : int
        Number of iterations of all bags together, each of one tree or, of several classes, one per
        class.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in what the splits gained.
    layout_, n_features_in_, feature_names_in_

    See Also
    --------
    FactorizationMachineClassifier : Products of columns, learned online.

    Notes
    -----
    The trees are those of scikit-learn's `HistGradientBoostingClassifier`, a gradient
    boosting on binned columns.  A view that is missing in a row is NaN for them, and each split
    learns where such rows go.

    They split columns of numbers as they are.  A `ViewEncoder` also tells which of its columns are
    the values of one column of categories.  If these are more than ``max_categories``, the trees
    split their ordered target statistics: with the rows in random order, a row gets the mean target
    of the rows before it that have the same value, drawn to the mean of all rows, and the number of
    these rows.  How much it is drawn is chosen for each column, so that the statistics predict
    best; so rare values say little, as ids of devices should.  A value that training did not have
    is one of no rows.  Other columns of a view, such as words, are the ``max_columns`` with the
    highest F statistic and ``n_components`` components, where they are more than ``max_columns``.
    Columns of a plain matrix are numbers.

    `contributions` scores each row again without each of its entries.

    A model file holds the trees as arrays; scores are those of scikit-learn to within rounding.

    References
    ----------
    L. Prokhorenkova, G. Gusev, A. Vorobev, A. V. Dorogush, A. Gulin, "CatBoost: unbiased boosting
    with categorical features", NeurIPS 2018.
    G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from crossview import MultiViewTreesClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> model = MultiViewTreesClassifier(views, additive=True, random_state=0).fit(X, y)
    >>> model.view_scores(X).shape, bool(model.score(X, y) > 0.97)
    ((569, 3), True)
    """

    scores_are_log_odds = True  # by the log loss

    class_weight: Any = None
    calibration: str = "none"

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, labels, weight = self._rows_to_fit(X, y, sample_weight)
        self.classes_ = classes = several_classes(labels, self.class_weight)
        codes = class_codes(labels, classes)
        if self.class_weight is not None:
            weight = weight * class_weights(self.class_weight, classes, labels)[codes]
        with threadpool_limits(int(self.n_jobs)):
            self._learn(X, rows, Targets(codes, len(classes), weight))
            self._calibrate_by_folds(X, y, sample_weight)


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class MultiViewTreesRegressor(TreesModel, ViewRegressor):
    """Gradient-boosted trees for numbers, on the columns of all views, or of each view.

    Parameters
    ----------
    max_iter : int or None, default=None
        Most trees of each bag.  None: 300.

    Attributes
    ----------
    n_iter_ : int
        Number of trees of all bags together.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in what the splits gained.
    layout_, n_features_in_, feature_names_in_

    See Also
    --------
    MultiViewTreesClassifier : The same for classes; its notes say how columns are split.
    FactorizationMachineRegressor : Products of columns, learned online.

    Notes
    -----
    The trees are those of scikit-learn's `HistGradientBoostingRegressor`.  Numbers, categories,
    words and missing views are split, and models stored, as by `MultiViewTreesClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from crossview import MultiViewTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = MultiViewTreesRegressor([4, 6], random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, y, weight = self._rows_to_fit(X, y, sample_weight)
        with threadpool_limits(int(self.n_jobs)):
            self._learn(X, rows, Targets(y, 0, weight))
        self._see_targets(y)
