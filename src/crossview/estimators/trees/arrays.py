"""Fitted trees as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from crossview.algorithms.trees.scores import WORDS_OF_SET, Trees
from crossview.saving.schema import Array


class FittedTrees(NamedTuple):
    """Trees, what the scores begin with, and the gain of each feature, of which the sum is 1."""

    trees: Trees
    baseline: np.ndarray  # (n_scores,)
    gains: np.ndarray  # (n_features,)


def trees_schema(
    state: Mapping[str, np.ndarray], n_scores: int, n_features: int
) -> dict[str, Array]:
    """Return what the arrays look like."""
    last = len(state["value"]) - 1
    return {
        "roots": Array("u4", ("trees",), 0, last),
        "outputs": Array("u4", ("trees",), 0, n_scores - 1),
        "children": Array("u4", ("nodes", 2), 0, last, holds=_ends),
        "feature": Array("u4", ("nodes",), 0, n_features - 1),
        "threshold": Array("f8", ("nodes",), -np.inf, np.inf),
        "set_of": Array("u4", ("nodes",), 0, len(state["sets"]) - 1),
        "missing_left": Array("b1", ("nodes",)),
        "value": Array("f8", ("nodes",)),
        "sets": Array("u4", ("sets", WORDS_OF_SET), 0, 2**32 - 1),
    }


def _ends(children: np.ndarray) -> bool:
    """Return whether each path ends: children stand after their parent, or both are 0."""
    places = np.arange(len(children))[:, None]
    return bool(((children == 0).all(axis=1) | (children > places).all(axis=1)).all())
