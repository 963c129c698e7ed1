"""Fitted trees as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from crossview.algorithms.trees.scores import WORDS_OF_SET, Trees
from crossview.saving.schema import Array


class FittedTrees(NamedTuple):
    """Trees, what the scores begin with, and the gain of each feature, of which the sum is 1."""

    trees: Trees
    baseline: np.ndarray  # (n_scores,)
    gains: np.ndarray  # (n_features,)


def joined(parts: Sequence[Mapping[str, Any]], sets: np.ndarray) -> Trees:
    """Return trees, one after the other; ``children`` and ``ends`` of each are its own."""
    roots = np.cumsum([0, *(len(part["feature"]) for part in parts)])[:-1]
    before = np.cumsum([0, *(len(part["values"]) for part in parts)])[:-1]
    children = [
        np.where((a := part["children"]) > 0, a + root, 0)
        for part, root in zip(parts, roots, strict=True)
    ]
    ends = [part["ends"] + begin for part, begin in zip(parts, before, strict=True)]
    names = ("feature", "threshold", "set_of", "missing_left", "outputs", "values")
    return Trees(
        roots=roots.astype(np.uint32),
        children=np.concatenate(children).astype(np.uint32),
        ends=np.concatenate(ends).astype(np.uint32),
        sets=sets,
        **{name: np.concatenate([part[name] for part in parts]) for name in names},
    )


def trees_schema(
    state: Mapping[str, np.ndarray], n_scores: int, n_features: int
) -> dict[str, Array]:
    """Return what the arrays look like."""
    last = len(state["ends"]) - 1
    return {
        "roots": Array("u4", ("trees",), 0, last),
        "children": Array("u4", ("nodes", 2), 0, last, holds=_ends),
        "feature": Array("u4", ("nodes",), 0, n_features - 1),
        "threshold": Array("f8", ("nodes",), -np.inf, np.inf),
        "set_of": Array("u4", ("nodes",), 0, len(state["sets"]) - 1),
        "missing_left": Array("b1", ("nodes",)),
        "ends": Array("u4", ("nodes",), 0, len(state["values"]), holds=_ascends),
        "outputs": Array("u4", ("entries",), 0, n_scores - 1),
        "values": Array("f8", ("entries",)),
        "sets": Array("u4", ("sets", WORDS_OF_SET), 0, 2**32 - 1),
    }


def _ends(children: np.ndarray) -> bool:
    """Return whether each path ends: children stand after their parent, or both are 0."""
    places = np.arange(len(children))[:, None]
    return bool(((children == 0).all(axis=1) | (children > places).all(axis=1)).all())


def _ascends(ends: np.ndarray) -> bool:
    return bool((ends[1:] >= ends[:-1]).all())
