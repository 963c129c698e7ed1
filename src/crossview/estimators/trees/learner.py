"""Trees on several views: what boosted ones and randomized ones share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from crossview.algorithms.trees.scores import (
    Paths,
    Trees,
    longest_path,
    score_rows,
    score_without,
)
from crossview.batch import blocks_of_width, entries_of, read_only, rows_at
from crossview.estimators.base import (
    ImportancesModel,
    Schema,
    State,
    StatePart,
    ViewClassifier,
    ViewRegressor,
)
from crossview.estimators.base.held_out import groups_to_fit
from crossview.estimators.documentation import described, with_parameters
from crossview.estimators.parameters import PARAMETERS
from crossview.estimators.targets import (
    weighted_classes,
    without_unit,
)
from crossview.estimators.trees.arrays import FittedTrees, trees_schema
from crossview.estimators.trees.features import (
    MOST_COMPONENTS,
    Features,
    LearnedFeatures,
    Targets,
    Wanted,
    changes_without,
    column_shares,
    features_of,
    portable_features,
)
from crossview.estimators.validation import Interval
from crossview.jobs.threads import threadpool_limits
from crossview.kernels.rows import Rows
from crossview.portable.scoring import Trees as PortableTrees
from crossview.saving.schema import Array
from crossview.views import MultiView

TREES = PARAMETERS | described(
    """
    max_columns : int
        Of a view with more columns, besides those of categories, trees get this number of columns,
        and components of all of them.
    n_components : int
        Components of such a view, from a truncated singular value decomposition; 0: none.
    random_state : int, RandomState or None
        Seed of the held-out rows, the order of the rows for target statistics, and the components.
        Pass an int for reproducible results.
    """
)

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


def log_odds(shares: np.ndarray) -> np.ndarray:
    """Return log odds of the second of two classes, or logarithms of the shares of more."""
    return np.log(shares) - (np.log1p(-shares) if shares.shape[1] == 1 else 0.0)


@with_parameters
class TreesModel(ImportancesModel):
    """Base class of all trees: the features that they split, and their scores."""

    _parameter_constraints: ClassVar[dict] = {
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left"), None],
        "max_columns": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 0, MOST_COMPONENTS, closed="both")],
    }

    views: Any = field(default=None, kw_only=False)
    max_leaf_nodes: int | None = None
    min_samples_leaf: int | None = None
    max_columns: int = 200
    n_components: int = 30
    random_state: Any = None

    # --- learning ----------------------------------------------------------------

    @abstractmethod
    def _fit_trees(
        self, learned: LearnedFeatures, targets: Targets, random_state: np.random.RandomState
    ) -> FittedTrees:
        """Fit the trees to the features of the training rows."""

    def _max_codes(self) -> int:
        """Return the most values of a column of categories whose sets are split."""
        return 0

    def _has_view_sums(self) -> bool:
        """Return whether each tree has columns of one view alone."""
        return False

    def _gives_shares(self) -> bool:
        """Return whether sums of leaves are shares of classes, whose log odds are the scores."""
        return False

    def _learn(self, X: Any, rows: Rows, targets: Targets) -> None:
        """Fit the trees to some rows of X."""
        random_state = check_random_state(self.random_state)
        categories = X.categories if isinstance(X, MultiView) else ()
        wanted = Wanted(self.max_columns, self.n_components, self._max_codes())
        # threads wait for each other at every node of a tree, which takes far longer than the work
        with threadpool_limits(1):
            learned = LearnedFeatures(rows, categories, targets, wanted, random_state)
            trees, baseline, gains = self._fit_trees(learned, targets, random_state)
        features = learned.features
        self._state = {
            **features._asdict(),
            **trees._asdict(),
            "baseline": baseline,
            "importances": gains @ column_shares(rows, features, targets),
        }

    # --- scores ------------------------------------------------------------------

    def _parts(self, state: State) -> list[StatePart]:
        return [_TreesState(state, self), *super()._parts(state)]

    def _add_scores(self, rows: Rows, trees: Trees, scores: np.ndarray) -> np.ndarray:
        """Add what the trees say of the rows; return the scores."""
        features = _TreesState(self._state, self).features()
        for at in blocks_of_width(len(scores), features.ends[-1]):
            X = read_only(features_of(rows_at(rows, at), features))
            score_rows(X, trees, scores[at[0] : at[-1] + 1])
        return scores

    def _sums(self, rows: Rows) -> np.ndarray:
        """Return the sums of the leaves of all trees."""
        baseline = np.tile(self._state["baseline"], (len(rows.indptr) - 1, 1))
        return self._add_scores(rows, _TreesState(self._state, self).trees(), baseline)

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        return log_odds(self._sums(rows)) if self._gives_shares() else self._sums(rows)

    def _portable_scorer(self) -> PortableTrees:
        own = _TreesState(self._state, self)
        trees, features, ptr = own.trees(), own.features(), self._slots.ptr
        is_own = self._has_view_sums()
        views = self._views_of_leaves(trees) if is_own else np.empty(0, np.intp)
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
            feature=trees.feature,
            threshold=threshold,
            left=trees.children[:, 0],
            right=trees.children[:, 1],
            missing_left=trees.missing_left.astype(np.uint8),
            set_of=trees.set_of,
            sets=trees.sets,
            ends=trees.ends,
            outputs=trees.outputs,
            values=trees.values,
            baseline=self._state["baseline"],
            shares=int(self._gives_shares()),
            view_scores="own" if is_own else "alone",
            leaf_views=views,
        )

    def _views_of_leaves(self, trees: Trees) -> np.ndarray:
        """Return the view of what each leaf adds, which is that of the root of its tree."""
        views = _TreesState(self._state, self).features().views(self._slots.ptr)
        begins = np.append(0, trees.ends)[np.append(trees.roots, len(trees.ends))]
        return np.repeat(views[trees.feature[trees.roots]], begins[1:] - begins[:-1])

    def _scores_of_views(self, rows: Rows) -> np.ndarray:
        """Return sums of each view's trees if they are additive, else scores of each view alone."""
        if not self._has_view_sums():
            return super()._scores_of_views(rows)
        own = _TreesState(self._state, self)
        n, V, K = len(rows.indptr) - 1, len(rows.ptr) - 1, self._n_scores()
        trees = own.trees()
        views = self._views_of_leaves(trees)
        outputs = read_only((views * K + trees.outputs).astype(np.uint32))
        baseline = np.tile(np.tile(self._state["baseline"] / V, V), (n, 1))
        return self._add_scores(rows, trees._replace(outputs=outputs), baseline).reshape(n, V, K)

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        own, row = _TreesState(self._state, self), entries_of(rows)[0]
        trees, features = own.trees(), own.features()
        X = features_of(rows, features)
        n_trees, n_features = len(trees.roots), X.shape[1]
        most = n_trees * int(longest_path(read_only(X), trees))
        paths = Paths(
            *(np.empty((most, 2), dtype=np.int64), np.empty(n_features, dtype=np.int64)),
            *(np.empty(n_trees, dtype=np.uint32), np.empty(n_trees, dtype=np.uint64)),
            np.empty(n_features),
        )
        more = np.zeros((len(row), self._n_scores()))
        score_without(X, trees, changes_without(rows, features), paths, more)
        if not self._gives_shares():
            return -more
        sums = self._sums(rows)
        return log_odds(sums)[row] - log_odds(sums[row] + more)


@with_parameters
class TreesClassifier(TreesModel, ViewClassifier):
    """Base class of trees for classes."""

    scores_are_log_odds = True

    class_weight: Any = None
    calibration: str = "none"

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, labels, weight = self._rows_to_fit(X, y, sample_weight)
        found = weighted_classes(labels, weight, self.class_weight)
        self.classes_, codes, weight, of_classes = found
        groups = groups_to_fit(X, sample_weight)
        self._learn(X, rows, Targets(codes, len(self.classes_), weight, groups))
        if not self._gives_shares():  # which of pure leaves are those of the rows
            self._take_out_weights(of_classes)
        self._calibrate_by_folds(X, y, sample_weight)


@with_parameters
class TreesRegressor(TreesModel, ViewRegressor):
    """Base class of trees for numbers."""

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, y, weight = self._rows_to_fit(X, y, sample_weight)
        # what scikit-learn takes for no gain does not know the unit of the targets
        numbers, center, scale = without_unit(y, weight)
        self._learn(X, rows, Targets(numbers, 0, weight, groups_to_fit(X, sample_weight)))
        self._state["values"] = scale * self._state["values"]
        self._state["baseline"] = center + scale * self._state["baseline"]
        self._see_targets(y)
