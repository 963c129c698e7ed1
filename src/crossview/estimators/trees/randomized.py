"""Extremely randomized trees on several views."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.utils import check_random_state

from crossview.algorithms.trees.scores import WORDS_OF_SET
from crossview.estimators.documentation import described, document_parameters, with_parameters
from crossview.estimators.parameters import ATTRIBUTES
from crossview.estimators.trees.arrays import FittedTrees, joined
from crossview.estimators.trees.features import LearnedFeatures, Targets
from crossview.estimators.trees.learner import (
    TREES,
    TreesClassifier,
    TreesModel,
    TreesRegressor,
)
from crossview.estimators.validation import Interval

PARAMETERS = TREES | described(
    """
    n_estimators : int
        Number of trees, whose mean is what is predicted.  More of them are a little better, take
        proportionally longer and make a larger model file.
    max_features : float or None
        Share of the features that each split chooses among, drawn anew for each split, in (0, 1].
        A lower share gives trees that differ more; a higher one is better where few of many columns
        matter.  Typical values: 0.1 to 1.  None: of classes the square root of their number, of
        numbers all.
    max_leaf_nodes : int or None
        Most leaves of a tree, which is grown by the split that gains most first.  Fewer of them
        make a smaller model file.  None: 4,000.
    min_samples_leaf : int or None
        Fewest rows of a leaf.  More of them are better where labels are noisy.  None: 1.
    """
)

MOST_LEAVES = 4000
# orders of the rows for target statistics, each of which some trees learn from
ORDERS = 4
# of a class, so that no log odds are infinite
LEAST_SHARE = 1e-6
# a threshold may be the largest value of the rows that are not missing, as a 32-bit number
ROUNDING = 2.0**-24
# beyond it the span of a feature overflows
LARGEST = 1e300


@with_parameters
class RandomizedTrees(TreesModel):
    """Base class of both learners: parameters of randomized trees."""

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Real, 0, 1, closed="right"), None],
    }

    n_estimators: int = 100
    max_features: float | None = None
    n_jobs: int | None = None

    def _fit_trees(
        self, learned: LearnedFeatures, targets: Targets, random_state: np.random.RandomState
    ) -> FittedTrees:
        n, n_classes = len(targets.y), targets.n_classes
        most = self.max_leaf_nodes or MOST_LEAVES
        model = (ExtraTreesClassifier if n_classes else ExtraTreesRegressor)(
            max_features=self.max_features or ("sqrt" if n_classes else 1.0),
            max_leaf_nodes=most if most < n else None,
            min_samples_leaf=self.min_samples_leaf or 1,
            n_jobs=effective_n_jobs(self.n_jobs),
            # what was drawn for features depends on the number of rows, and a weight is a number
            random_state=check_random_state(self.random_state),
        )
        n_orders = min(ORDERS, self.n_estimators) if learned.vary else 1
        parts: list[dict[str, Any]] = []
        gains = np.zeros(learned.features.ends[-1])
        # one more tree knows the shares of the classes alone
        n_all = self.n_estimators + (n_classes > 0)
        for i in range(n_orders):
            X = np.clip(learned.draw(random_state), -LARGEST, LARGEST)
            low, span = _range_of(X)
            model.set_params(n_estimators=len(range(i, self.n_estimators, n_orders)))
            # scikit-learn rounds to float32, of which a range from 0 to 1 has most
            with _filters_kept():
                model.fit((X - low) / span, targets.y, targets.weight)
                gains += model.feature_importances_ / n_orders
            found = [one.tree_ for one in model.estimators_]
            parts += trees_of(found, low, span, n_classes, 1.0 / n_all)
        baseline = np.zeros(1)
        if n_classes:
            prior = np.bincount(targets.y, targets.weight, n_classes) / targets.weight.sum()
            prior = np.clip(prior, LEAST_SHARE, 1.0 - LEAST_SHARE)
            baseline = (prior[1:] if n_classes == 2 else prior / prior.sum()) / n_all
        sets = np.zeros((1, WORDS_OF_SET), dtype=np.uint32)
        return FittedTrees(joined(parts, sets), baseline, gains)


@contextmanager
def _filters_kept() -> Iterator[None]:
    """Keep the filters of warnings while threads of scikit-learn grow trees.

    Each thread sets those of the whole process, so that others may find none, and warn of that, and
    those of the user would be gone.
    """
    with warnings.catch_warnings(record=True) as said:
        yield
    for one in said:
        if "sklearn.utils.parallel" not in str(one.message):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _range_of(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest value of each feature, and how far the highest one is from it."""
    is_known = ~np.isnan(X)
    low = np.min(X, axis=0, where=is_known, initial=np.inf)
    high = np.max(X, axis=0, where=is_known, initial=-np.inf)
    low = np.where(low <= high, low, 0.0)
    return low, np.where(high > low, high - low, 1.0)


def trees_of(
    trees: Sequence[Any], low: np.ndarray, span: np.ndarray, n_classes: int, factor: float
) -> Iterator[dict[str, Any]]:
    """Yield the arrays of trees of scikit-learn, whose features are ``(x - low) / span``.

    A leaf adds ``factor`` times its share of each class that it has, of two classes of the second.
    """
    for tree in trees:
        children = np.column_stack([tree.children_left, tree.children_right])
        is_inner = children[:, 0] >= 0
        value = tree.value[:, 0]
        if n_classes:
            value = value / value.sum(axis=1, keepdims=True)
            value = value[:, 1:] if n_classes == 2 else value
        value[is_inner] = 0.0
        leaf, output = np.nonzero(value)
        feature = np.where(is_inner, tree.feature, 0)
        threshold = low[feature] + (tree.threshold + ROUNDING) * span[feature]
        yield {
            "children": np.where(is_inner[:, None], children, 0),
            "feature": feature.astype(np.uint32),
            "threshold": np.where(is_inner, threshold, 0.0),
            "set_of": np.zeros(len(feature), dtype=np.uint32),
            "missing_left": is_inner & (tree.missing_go_to_left == 1),
            "ends": np.cumsum(np.bincount(leaf, minlength=len(feature))),
            "outputs": output.astype(np.uint32),
            "values": factor * value[leaf, output],
        }


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class MultiViewExtraTreesClassifier(RandomizedTrees, TreesClassifier):
    """Extremely randomized trees on the columns of all views.

    Each split is the best one of random thresholds of some features, one threshold each.  Trees of
    all rows, grown until a leaf has rows of one class, differ by that alone, and their mean is
    smooth: near to the mean label of the nearest rows.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, which multiplies the sample weight.  "balanced": inversely
        proportional to the summed weight of its rows.

    Attributes
    ----------
    classes_
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in what the splits gained.
    layout_, n_features_in_, feature_names_in_

    See Also
    --------
    MultiViewTreesClassifier : Boosted trees; its notes say which features are split.
    MultiViewKernelRidgeClassifier : Also near to the labels of near rows.

    Notes
    -----
    The trees are those of scikit-learn's `ExtraTreesClassifier`, in which each feature is scaled to
    the range from 0 to 1, so that its 32-bit numbers have most digits.  All columns of categories
    are split by their target statistics; with more than ten classes, by numbers of their 63 most
    frequent values, in no order.

    The share of a class is the mean over the trees, and one more that has the frequencies of the
    classes in all rows, so that no class is impossible; the scores are log odds of these shares.

    `contributions` scores each row again without each of its entries.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63 (2006),
    section 2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from crossview import MultiViewExtraTreesClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> model = MultiViewExtraTreesClassifier(views, random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.95)
    True
    """

    def _gives_shares(self) -> bool:
        return True


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class MultiViewExtraTreesRegressor(RandomizedTrees, TreesRegressor):
    """Extremely randomized trees for numbers, on the columns of all views.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in what the splits gained.
    layout_, n_features_in_, feature_names_in_

    See Also
    --------
    MultiViewExtraTreesClassifier : The same for classes; its notes say how columns are split.
    MultiViewTreesRegressor : Boosted trees for numbers.

    Notes
    -----
    The trees are those of scikit-learn's `ExtraTreesRegressor`, of targets that are scaled to a
    mean near 0 and a variance near 1, so that their unit does not matter.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63 (2006),
    section 2.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from crossview import MultiViewExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = MultiViewExtraTreesRegressor([4, 6], min_samples_leaf=5, random_state=0)
    >>> bool(model.fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.4)
    True
    """
