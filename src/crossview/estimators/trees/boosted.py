"""Gradient-boosted trees on several views."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from crossview.estimators.documentation import described, document_parameters, with_parameters
from crossview.estimators.parameters import ATTRIBUTES
from crossview.estimators.trees.arrays import FittedTrees
from crossview.estimators.trees.boosting import fit_bags, gains_of, trees_of
from crossview.estimators.trees.features import MOST_CODES, LearnedFeatures, Targets
from crossview.estimators.trees.learner import (
    TREES,
    TreesClassifier,
    TreesModel,
    TreesRegressor,
)
from crossview.estimators.validation import Interval

PARAMETERS = TREES | described(
    """
    additive : bool
        Whether each tree has columns of one view alone, so that the score is a sum of one score
        per view.  False: a tree may have columns of all views, which interact.
    learning_rate : float or None
        Factor of the value of each leaf, in (0, inf).  A lower value needs more trees, and is a
        little better.  Typical values: 0.03 to 0.3.  None: 0.1; of more than 4 classes 0.2.
    max_leaf_nodes : int or None
        Most leaves of a tree.  More of them fit interactions of more columns, and overfit few rows.
        Typical values: 4 to 64.  None: 15.
    max_features : float
        Share of the features that each split chooses among, drawn anew for each split, in (0, 1];
        6 of them at least.  A lower share gives trees that differ more, which is better where many
        columns say much the same, such as words or sensors; a higher one is better where few of
        many columns matter, and by what they are together.  Typical values: 0.1 to 1.
    min_samples_leaf : int or None
        Fewest rows of a leaf.  None: 20, or of few rows a twentieth of those that a class has on
        average.
    l2_regularization : float
        Penalty on the squared values of the leaves, in [0, inf).  A higher value makes leaves of
        few rows more careful.
    validation_fraction : float
        Fraction of the rows to hold out, in [0, 1): trees are added as long as the loss on these
        rows decreases, and those after the lowest loss are dropped.  0: ``max_iter`` trees.
    n_iter_no_change : int
        Number of iterations without a lower loss on the held-out rows before `fit` stops.
    n_bags : int or None
        Number of models whose mean score is the score; each holds out other rows, and takes the
        rows in another order for target statistics.  More of them are a little better and take
        proportionally longer.  None: 4; of more than 4 classes and 2,000 rows 2, and of more than
        20 classes 1, because each class has trees of its own; of more than 10,000 rows fewer.
    max_categories : int
        A column of categories with up to this number of values, at most 63, is split into sets of
        values; one with more by the mean target of each value.  See the notes.
    """
)


@with_parameters
class BoostedTrees(TreesModel):
    """Base class of both learners: parameters of boosting."""

    _parameter_constraints: ClassVar[dict] = {
        "additive": ["boolean"],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "max_features": [Interval(Real, 0, 1, closed="right")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "n_bags": [Interval(Integral, 1, None, closed="left"), None],
        "max_categories": [Interval(Integral, 0, MOST_CODES, closed="both")],
    }

    fits_on_one_core: ClassVar[bool] = True

    additive: bool = False
    learning_rate: float | None = None
    max_iter: int | None = None
    max_features: float = 0.2
    l2_regularization: float = 1.0
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    n_bags: int | None = None
    max_categories: int = 8

    def _max_codes(self) -> int:
        return self.max_categories

    def _has_view_sums(self) -> bool:
        return bool(self.additive and hasattr(self, "classes_"))

    def _fit_trees(
        self, learned: LearnedFeatures, targets: Targets, random_state: np.random.RandomState
    ) -> FittedTrees:
        found, baseline = fit_bags(self, learned, targets, self._slots.ptr, random_state)
        return FittedTrees(trees_of(found), baseline, gains_of(found, learned.features.ends[-1]))

    @property
    def n_iter_(self) -> int:
        """Number of iterations of all bags; each has one tree, of several classes one per class."""
        return len(self._learned["roots"]) // len(self._state["baseline"])


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class MultiViewTreesClassifier(BoostedTrees, TreesClassifier):
    """Gradient-boosted trees on the columns of all views, or one sum of trees per view.

    Parameters
    ----------
    max_iter : int or None, default=None
        Most trees of each bag; of several classes, most trees of each class.  None: 300; of more
        than 4 classes 100.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, which multiplies the sample weight.  "balanced": inversely
        proportional to the summed weight of its rows.  Probabilities stay those of the rows without
        it.

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


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class MultiViewTreesRegressor(BoostedTrees, TreesRegressor):
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
    The trees are those of scikit-learn's `HistGradientBoostingRegressor`, of targets that are
    scaled to a variance near 1, so that their unit does not matter.  Numbers, categories, words and
    missing views are split, and models stored, as by `MultiViewTreesClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from crossview import MultiViewTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = MultiViewTreesRegressor([4, 6], random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """
