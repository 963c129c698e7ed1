"""The trees that scikit-learn fits, and their arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from crossview.algorithms.trees.scores import WORDS_OF_SET, Trees
from crossview.estimators.base.held_out import folds_of_groups, rows_of_new_classes
from crossview.estimators.trees.arrays import joined
from crossview.estimators.trees.features import LearnedFeatures, Targets

# bins of each feature of few rows, of which more overfit, and of more than so many
MAX_BINS, MORE_BINS, ROWS_OF_MORE = 63, 255, 10_000
# bags, and the rows up to which there are so many; of several classes each bag has many trees, so
# there are as many of few classes, of some classes if rows are few, and else half, or one
BAGS, ROWS_OF_BAGS = 4, 10_000
FEW_CLASSES, SOME_CLASSES, ROWS_OF_CLASSES = 4, 20, 2000
# learning rate and most iterations: each iteration has a tree per class, so with more
# than `FEW_CLASSES` it pays to have fewer iterations
OF_FEW_CLASSES, OF_MANY_CLASSES, MOST_LEAVES = (0.1, 300), (0.2, 100), 15
# features that a split chooses among, at least: of few the best one is no copy of the others
FEWEST_FEATURES = 6
# rows of a leaf of the models of scikit-learn
ROWS_OF_LEAF = 20


class FittedTree(NamedTuple):
    """A tree of scikit-learn, the score that it adds to, and the factor of its values."""

    tree: Any
    output: int
    factor: float


def trees_in(model: Any, factor: float = 1.0) -> list[FittedTree]:
    """Return the trees up to the iteration with the lowest loss of the held-out rows, if any."""
    losses = model.validation_score_  # the first one before any tree
    best = max(int(np.argmax(losses)), 1) if len(losses) else model.n_iter_
    return [
        FittedTree(tree, k, factor)
        for trees in model._predictors[:best]
        for k, tree in enumerate(trees)
    ]


class HeldOut:
    """The rows that each bag holds out: some of each class, or of its groups one fold.

    fraction: of the rows.
    any: whether there are enough rows to hold some out.
    """

    def __init__(
        self, targets: Targets, fraction: float, random_state: np.random.RandomState
    ) -> None:
        y, self.n_classes, _, groups = targets
        self.y, self.random_state = y, random_state
        # the only row of a class is learned
        self.often = np.arange(len(y))
        if self.n_classes:
            self.often = np.flatnonzero(np.bincount(y)[y] > 1)
        self.size = int(np.ceil(fraction * len(y)))
        fewest = max(self.n_classes, 1)
        self.any = fewest <= self.size <= len(self.often) - fewest
        self.folds: list[np.ndarray] = []
        if self.any and groups is not None:
            n_folds = max(2, round(len(y) / self.size))
            classes = y if self.n_classes else None
            folds = folds_of_groups(n_folds, classes, groups, random_state)
            for rest, held in (folds[f] for f in random_state.permutation(len(folds))):
                if len(known := np.setdiff1d(held, rows_of_new_classes(classes, rest, held))):
                    self.folds.append(known)
            self.any = bool(self.folds)

    def draw(self, bag: int) -> np.ndarray:
        """Return the rows that a bag holds out."""
        if not self.any:
            return self.often[:0]
        if self.folds:
            return self.folds[bag % len(self.folds)]
        classes, given = self.y[self.often] if self.n_classes else None, self.random_state
        return train_test_split(
            self.often, test_size=self.size, stratify=classes, random_state=given
        )[1]


def bags_of(n_classes: int, n: int) -> int:
    """Return how many bags there are of so many classes (0: numbers) and rows."""
    few = n_classes <= (SOME_CLASSES if n <= ROWS_OF_CLASSES else FEW_CLASSES)
    bags = BAGS if few else BAGS // 2 if n_classes <= SOME_CLASSES else 1
    return max(1, min(bags, bags * ROWS_OF_BAGS // n))


def fit_bags(
    learner: Any,
    learned: LearnedFeatures,
    targets: Targets,
    ptr: np.ndarray,
    random_state: np.random.RandomState,
) -> tuple[list[FittedTree], np.ndarray]:
    """Return the trees, bag after bag, and the mean over the bags of what the scores begin with."""
    n, n_classes = len(targets.y), targets.n_classes
    held_out = HeldOut(targets, learner.validation_fraction, random_state)
    views = learned.features.views(ptr)
    groups = [np.flatnonzero(views == view).tolist() for view in np.unique(views)]
    rows_of_leaf = max(1, min(ROWS_OF_LEAF, n // (ROWS_OF_LEAF * max(n_classes, 1))))
    rate, iterations = OF_MANY_CLASSES if n_classes > FEW_CLASSES else OF_FEW_CLASSES
    kind = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    model = kind(
        learning_rate=learner.learning_rate or rate,
        max_iter=learner.max_iter or iterations,
        max_leaf_nodes=learner.max_leaf_nodes or MOST_LEAVES,
        max_features=min(1.0, max(learner.max_features, FEWEST_FEATURES / max(len(views), 1))),
        min_samples_leaf=learner.min_samples_leaf or rows_of_leaf,
        l2_regularization=learner.l2_regularization,
        max_bins=MORE_BINS if n > ROWS_OF_MORE else MAX_BINS,
        categorical_features=list(range(len(learned.features.code_views))) or None,
        interaction_cst=groups if learner.additive else None,
        early_stopping=held_out.any,
        n_iter_no_change=learner.n_iter_no_change,
        random_state=random_state,
    )
    n_bags = learner.n_bags or bags_of(n_classes, n)
    n_bags = n_bags if held_out.any or learned.vary else 1  # they would all be the same
    # weights that are all the same change nothing but the time
    weight = targets.weight if np.ptp(targets.weight) > 0.0 else None
    found: list[FittedTree] = []
    baselines = []
    for bag in range(n_bags):
        X, y = learned.draw(random_state), targets.y
        held, given = held_out.draw(bag), {}
        own = np.setdiff1d(np.arange(n), held, assume_unique=True)
        if held_out.any:
            given = {"X_val": X[held], "y_val": y[held]}
            given |= {} if weight is None else {"sample_weight_val": weight[held]}
        model.fit(X[own], y[own], None if weight is None else weight[own], **given)
        found += trees_in(model, 1.0 / n_bags)
        baselines.append(model._baseline_prediction.reshape(-1))
    return found, np.mean(baselines, axis=0)


def trees_of(found: Sequence[FittedTree]) -> Trees:
    """Return the arrays of fitted trees."""
    parts, n_sets = [], 1  # set 0 stands for numbers
    sets = [np.zeros((1, WORDS_OF_SET), dtype=np.uint32)]
    for tree, output, factor in found:
        nodes = tree.nodes
        inner, coded = nodes["is_leaf"] == 0, nodes["is_categorical"] == 1
        children = np.column_stack([nodes["left"], nodes["right"]]).astype(np.int64)
        parts.append(
            {
                "children": np.where(inner[:, None], children, 0),
                "feature": np.where(inner, nodes["feature_idx"], 0).astype(np.uint32),
                "threshold": np.where(inner & ~coded, nodes["num_threshold"], 0.0),
                "set_of": np.where(coded, nodes["bitset_idx"] + n_sets, 0).astype(np.uint32),
                "missing_left": inner & (nodes["missing_go_to_left"] == 1),
                "ends": np.cumsum(~inner),
                "outputs": np.full(np.sum(~inner), output, dtype=np.uint32),
                "values": factor * nodes["value"][~inner],
            }
        )
        sets.append(np.asarray(tree.raw_left_cat_bitsets, np.uint32).reshape(-1, WORDS_OF_SET))
        n_sets += len(sets[-1])
    return joined(parts, np.concatenate(sets))


def gains_of(found: Sequence[FittedTree], n_features: int) -> np.ndarray:
    """Return the share that the splits on each feature have in what all of them gained."""
    gains = np.zeros(n_features)
    for tree, _, factor in found:
        nodes = tree.nodes[tree.nodes["is_leaf"] == 0]
        np.add.at(gains, nodes["feature_idx"], factor * np.maximum(nodes["gain"], 0.0))
    return gains / max(gains.sum(), np.finfo(float).tiny)
