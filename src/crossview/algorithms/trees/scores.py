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


class Changes(NamedTuple):
    """What the features of a row are without an entry; of row i the entries ptr[i] .. ptr[i + 1].

    Entry e changes the features from ``ends[e - 1]`` to ``ends[e]``, and takes its value times the
    loadings from those that begin at ``first``.
    """

    ptr: np.ndarray  # uint64 (n_rows + 1,)
    ends: np.ndarray  # uint64 (n_entries + 1,), of which the first is 0
    feature: np.ndarray  # uint32 (n_changes,)
    value: np.ndarray  # float64 (n_changes,)
    data: np.ndarray  # float64 (n_entries,): the values; 0: it has no loadings
    loading: np.ndarray  # uint32 (n_entries,): its row of the loadings
    first: np.ndarray  # uint32 (n_entries,)
    loadings: np.ndarray  # float64 (n, n_components)


class Paths(NamedTuple):
    """Buffers for the trees in which a row passes a node of a feature."""

    links: np.ndarray  # int64 (n_trees * longest path, 2): a tree, and the next link of the feature
    first_link: np.ndarray  # int64 (n_features,); -1: none
    leaves: np.ndarray  # uint32 (n_trees,)
    seen: np.ndarray  # uint64 (n_trees,): the entry after which a tree was looked at
    before: np.ndarray  # float64 (n_features,)


@inlined_borrowing
def next_node(x, node, trees):
    """Return the child of an inner node that a row goes to."""
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
    return trees.children[node, 0 if left else 1]


@inlined_borrowing
def leaf_of(x, root, trees):
    """Return the leaf that a row gets to."""
    node = root
    while trees.children[node, 0] > 0:
        node = next_node(x, node, trees)
    return node


@inlined_borrowing
def add_leaf(leaf, factor, trees, scores):
    """scores[k] <- scores[k] + factor times what a leaf adds to k."""
    begin = trees.ends[leaf - ONE] if leaf > 0 else np.uint32(0)
    for e in range(begin, trees.ends[leaf]):
        scores[trees.outputs[e]] += factor * trees.values[e]


@borrowing
def score_rows(X, trees, scores):
    """scores[i, k] <- scores[i, k] + what the leaves of row i add to k; NaN is missing."""
    for i in range(np.uint64(X.shape[0])):
        for t in range(np.uint64(len(trees.roots))):
            add_leaf(leaf_of(X[i], trees.roots[t], trees), 1.0, trees, scores[i])


@borrowing
def longest_path(X, trees):
    """Return the most nodes that a row passes in a tree."""
    most = np.uint64(0)
    for i in range(np.uint64(X.shape[0])):
        for t in range(np.uint64(len(trees.roots))):
            node, n = trees.roots[t], np.uint64(0)
            while trees.children[node, 0] > 0:
                node = next_node(X[i], node, trees)
                n += ONE
            most = max(most, n)
    return most


@borrowing
def score_without(X, trees, changes, paths, found):
    """found[e, k] <- what the leaves of the row of entry e add to k more without it.

    Only trees count in which the row passes a node of a feature that the entry changes; ``links``
    has a list of them for each feature.
    """
    links, first_link, leaves, seen, before = paths
    loadings, width = changes.loadings, np.uint64(changes.loadings.shape[1])
    for t in range(len(seen)):
        seen[t] = 0
    for i in range(np.uint64(X.shape[0])):
        x = X[i]
        for f in range(np.uint64(len(first_link))):
            first_link[f] = -1
        n = 0
        for t in range(len(trees.roots)):
            node = trees.roots[t]
            while trees.children[node, 0] > 0:
                f = trees.feature[node]
                if first_link[f] < 0 or links[first_link[f], 0] != t:
                    links[n, 0], links[n, 1] = t, first_link[f]
                    first_link[f] = n
                    n += 1
                node = next_node(x, node, trees)
            leaves[t] = node
        for e in range(changes.ptr[i], changes.ptr[i + ONE]):
            begin, end, first = changes.ends[e], changes.ends[e + ONE], changes.first[e]
            own = width if changes.data[e] != 0.0 else np.uint64(0)
            for c in range(begin, end):
                f = changes.feature[c]
                before[f] = x[f]
                x[f] = changes.value[c]
            for c in range(own):
                before[first + c] = x[first + c]
                x[first + c] -= changes.data[e] * loadings[changes.loading[e], c]
            for c in range(end - begin + own):
                f = changes.feature[begin + c] if c < end - begin else first + c - (end - begin)
                link = first_link[f]
                while link >= 0:
                    t = links[link, 0]
                    link = links[link, 1]
                    if seen[t] == e + ONE:
                        continue
                    seen[t] = e + ONE
                    leaf, last = leaf_of(x, trees.roots[t], trees), leaves[t]
                    if leaf != last:
                        add_leaf(leaf, 1.0, trees, found[e])
                        add_leaf(last, -1.0, trees, found[e])
            for c in range(begin, end):
                f = changes.feature[c]
                x[f] = before[f]
            for c in range(own):
                x[first + c] = before[first + c]
