"""Scores of regression trees whose nodes stand in arrays.

At a node a row goes left if its feature x is at most the threshold, or if its category is in the
set of the node; where x is missing (NaN) the node says which way.  A leaf adds a value to each of
some scores, tree after tree, as in scikit-learn, so that sums are the same numbers.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import FIVE, ONE

# of a set: categories are numbered from 0, and one word has 32 of them
WORDS_OF_SET = 8
CATEGORIES = 32.0 * WORDS_OF_SET
LAST_BIT = np.uint64(31)


class Trees(NamedTuple):
    """The nodes of all trees, one tree after the other; all arrays are read-only.

    A child stands after its parent, so that each row gets to a leaf, which has the children 0.
    """

    roots: np.ndarray  # uint32 (n_trees,): the first node of each tree
    children: np.ndarray  # uint32 (n_nodes, 2): left and right
    feature: np.ndarray  # uint32 (n_nodes,)
    threshold: np.ndarray  # float64 (n_nodes,)
    set_of: np.ndarray  # uint32 (n_nodes,): the row of `sets`; 0: the feature is a number
    missing_left: np.ndarray  # bool (n_nodes,)
    ends: np.ndarray  # uint32 (n_nodes,): where in `outputs` a leaf ends; it begins at another end
    outputs: np.ndarray  # uint32 (n_entries,): a score
    values: np.ndarray  # float64 (n_entries,): what is added to it
    sets: np.ndarray  # uint32 (n_sets, 8): categories that go left, one bit each


@inlined_borrowing
def leaf_of(x, root, trees):
    """Return the leaf that a row gets to."""
    node = root
    while trees.children[node, 0] > 0:
        value, which = x[trees.feature[node]], trees.set_of[node]
        if np.isnan(value):
            left = trees.missing_left[node]
        elif which == 0:
            left = value <= trees.threshold[node]
        elif 0.0 <= value < CATEGORIES:
            code = np.uint64(value)
            left = (np.uint64(trees.sets[which, code >> FIVE]) >> (code & LAST_BIT)) & ONE > 0
        else:  # no category
            left = trees.missing_left[node]
        node = trees.children[node, 0 if left else 1]
    return node


@borrowing
def score_rows(X, trees, scores):
    """scores[i, k] <- scores[i, k] + what the leaves of row i add to k; NaN is missing."""
    for i in range(np.uint64(X.shape[0])):
        for t in range(np.uint64(len(trees.roots))):
            leaf = leaf_of(X[i], trees.roots[t], trees)
            begin = trees.ends[leaf - ONE] if leaf > 0 else np.uint32(0)
            for e in range(begin, trees.ends[leaf]):
                scores[i, trees.outputs[e]] += trees.values[e]
