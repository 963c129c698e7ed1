"""Learned state of a machine: initialization, conversion, growth, merge, and interactions.

The arrays are the fields of `Machine`, ``seed``, and ``ptr``, the first column of each view.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from crossview.algorithms import merging
from crossview.algorithms.machines import init
from crossview.algorithms.machines.state import (
    FACTORIZED,
    MULTI_VIEW,
    TENSOR,
    Machine,
)
from crossview.batch import read_only
from crossview.errors import InputError, closest_names
from crossview.estimators.base import Models, Schema, State, StatePart
from crossview.saving.schema import Array
from crossview.saving.touched import zeros
from crossview.views import ViewLayout


class Interaction(NamedTuple):
    """One interaction of the score: a product of columns, one per view, and its weight.

    ``columns`` are positions within the views, in the order of `view_columns`; ``label`` is the
    class of the score, None for two classes and for regression.
    """

    views: tuple[str, ...]
    columns: tuple[int, ...]
    weight: float
    label: Any


# what follows from the parameters, the columns and the random numbers
SAME = ("class_ids", "seed", "views", "column_offset", "ends", "ptr")


def resolve_groups(groups: Sequence[Sequence[str]] | None, names: Sequence[str]) -> list[list[int]]:
    """Return the views of each group by position; one group of all views for None."""
    if groups is None:
        return [list(range(len(names)))]
    found = []
    for group in groups:
        listed = isinstance(group, Collection) and not isinstance(group, str)
        named = listed and all(isinstance(name, str) for name in group)
        if not named or not len(group) or len(set(group)) < len(group):
            raise InputError(
                f"groups= contains {group!r}; give each group as a list of different view names, "
                "such as [['user', 'ad'], ['ad', 'query']]"
            )
        for name in group:
            if name not in names:
                raise InputError(f"groups= names {name!r}{closest_names(str(name), names)}")
        found.append([list(names).index(name) for name in group])
    if not found:
        raise InputError("groups= is empty; leave it at None for one group of all views")
    return found


@lru_cache
def _keys(seed: int, n_parts: int) -> np.ndarray:
    """Return the seed of each part's initial weights."""
    return read_only(init.part_keys(seed, n_parts))


class MachineState(StatePart):
    """The arrays of a machine, in the layers and the precision of its optimizer.

    groups: the views of each group.
    ptr: first column of each view, and the end.
    layers: number of values per parameter: 2 for AdaGrad, with its sum of squared gradients.
    dtype: single precision for AdaGrad, else double: 8 factors and their sums then fill one cache
      line, and it is precise enough for the sums of squares.
    """

    def __init__(self, state: State, learner: Any) -> None:
        super().__init__(state, learner)
        self.model, self.order = learner._model(), int(learner.order)
        self.groups = resolve_groups(learner.groups, learner.layout_.names)
        self.ptr = self.slots.ptr
        adagrad = learner.optimizer == "adagrad"
        self.layers = 2 if adagrad else 1
        self.dtype: type = np.float32 if adagrad else np.float64
        self.init_scale = float(learner.init_scale)

    @property
    def n_columns_of_class(self) -> int:
        """Number of weights per column and class."""
        if self.model == TENSOR:
            return 1
        n_factors = int(self.learner.n_factors)
        if self.model != MULTI_VIEW:
            return n_factors + 1
        return n_factors if max(map(len, self.groups)) > 1 else 1

    def start(self) -> None:
        """Add the arrays, in which no column was seen."""
        seed = int(check_random_state(self.learner.random_state).randint(2**31))
        self.state |= self._initial(seed, np.arange(self.n_scores, dtype=np.uint64)).state

    def _initial(self, seed: int, class_ids: np.ndarray) -> MachineState:
        """Return the machine of these classes in which no column was seen."""
        new = copy.copy(self)
        new.state, new.n_scores = {}, len(class_ids)
        new.state |= {
            name: one.copy() if isinstance(one, np.ndarray) else zeros(one.shape, one.dtype)  # type: ignore[arg-type]
            for name, one in new.schema().items()
        }
        new.state |= {"class_ids": class_ids, "seed": np.asarray([seed], dtype=np.int64)}
        size = self.init_scale if self.learner.init == "published" else 0.0
        init.init_bias_rows(new.machine(), size)
        return new

    def schema(self) -> Schema:
        """Return what the arrays look like; parameters and columns say where the parts are."""
        ptr = self.ptr
        views = [v for group in self.groups for v in group]
        widths = [int(ptr[v + 1] - ptr[v]) for v in views]
        slots = np.cumsum([0, *widths])
        offsets = [slot - int(ptr[v]) for slot, v in zip(slots[:-1], views, strict=True)]
        kind, layers = np.dtype(self.dtype).str[1:], self.layers
        n = self.n_scores * self.n_columns_of_class
        return {
            "A": Array(kind, (int(slots[-1]), layers, n)),
            "B": Array(kind, (len(views), layers, n)),
            "c": Array("f8", (layers, self.n_scores)),
            "views": np.asarray(views, dtype=np.uint64),
            "column_offset": np.asarray(offsets, dtype=np.int64).view(np.uint64),
            "ends": np.cumsum([len(group) for group in self.groups]).astype(np.uint64),
            "seen": Array("b1", (int(slots[-1]),)),
            "ptr": np.asarray(ptr, dtype=np.int64),
            "class_ids": Array("u8", (self.n_scores,), 0, 2**31),
            "seed": Array("i8", (1,), 0, 2**31),
        }

    def saved(self) -> State:
        """Return the arrays that have other layers or another precision than the optimizer's."""
        layers, dtype = self.layers, self.dtype
        if self.state["A"].dtype == dtype and self.state["A"].shape[1] == layers:
            return {}
        cast: State = {}
        for name, axis in (("A", 1), ("B", 1), ("c", 0)):
            value = self.state[name]
            if value.shape[axis] > layers:
                value = value[0:1] if axis == 0 else value[:, 0:1]
            elif value.shape[axis] < layers:
                value = np.concatenate([value, np.zeros_like(value)], axis=axis)
            kind = np.float64 if name == "c" else dtype
            cast[name] = np.ascontiguousarray(value, dtype=kind)
        return cast

    def cast(self) -> None:
        """Convert the arrays to the form of the optimizer."""
        self.state |= self.saved()

    def machine(self) -> Machine:
        """Return the state for the learning loops."""
        state = self.state
        # linear weights start at 0: those of a group of one part, unless it has pairs
        pairs = self.model in FACTORIZED
        sizes: list[float] = []
        for end in state["ends"].tolist():
            n_parts = end - len(sizes)
            sizes += [self.init_scale if n_parts > 1 or pairs else 0.0] * n_parts
        return Machine(
            state["A"],
            state["B"],
            state["c"],
            read_only(state["views"]),
            read_only(state["column_offset"]),
            read_only(state["ends"]),
            self.model,
            state["seen"],
            _keys(int(state["seed"][0]), len(state["B"])),
            read_only(np.array(sizes)),
            read_only(state["class_ids"]),
            self.order,
        )

    def merged(self, models: Models) -> State:
        """Return the mean of the parameters, and of AdaGrad's sums.

        A column that some models have not seen has the mean of those that have: the others still
        have its initial weights, which they do not store.  The mean of the sums is that of the
        start and the mean of what each model has added.  The sum of what all have added, as of one
        stream of all rows, would make the steps of later rounds small, where a mean over models is
        small already.
        """
        merged = {name: models.states[0][name] for name in SAME}
        for state in models.states[1:]:
            if not all(np.array_equal(state[name], merged[name]) for name in ("class_ids", "seed")):
                raise InputError(
                    "machines with other initial weights have no mean; give them the same "
                    "random_state and classes, or let them go on from copies of one model"
                )
        seen = models.of("seen")
        merged["seen"] = np.logical_or.reduce(seen)
        merged["A"] = merging.seen_mean(models.of("A"), seen, models.shares)
        return merged | {name: models.mean(name) for name in ("B", "c")}

    def grow(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Make room for more columns, as if present from the start."""
        old = self.state | self.saved()
        machine = self._initial(int(old["seed"][0]), old["class_ids"])
        new = machine.state
        old_parts = {part: p for p, part in enumerate(_parts(old))}
        slots = {}
        for p, part in enumerate(_parts(new)):
            if part in old_parts:
                own = np.arange(*old["ptr"][part[1] : part[1] + 2])
                slots[p] = part_slots(new, p, moved[own]), part_slots(old, old_parts[part], own)
                new["seen"][slots[p][0]] = old["seen"][slots[p][1]]
        init.init_seen_columns(machine.machine(), self.ptr.view(np.uint64))
        A, B, old_A, old_B = (_by_class(s, name) for s in (new, old) for name in "AB")
        k = old_B.shape[3]
        old_groups = {group for group, _ in old_parts}
        for p, part in enumerate(_parts(new)):
            if part in old_parts:
                here, there = slots[p]
                A[here, :, :, :k] = old_A[there]
                B[p, :, :, :k] = old_B[old_parts[part]]
            elif part[0] in old_groups and self.model == MULTI_VIEW:
                # a view that is added later starts as the factor 1
                B[p, 0, :, :k] = 1.0
                B[p, 0, :, k:] = 0.0
        new["c"][:] = old["c"]
        self.state |= new

    def restart(self, columns: np.ndarray) -> None:
        """Let some columns be ones that were not seen."""
        for p, v in enumerate(self.state["views"].tolist()):
            own = columns[(columns >= self.ptr[v]) & (columns < self.ptr[v + 1])]
            slots = part_slots(self.state, p, own)
            self.state["A"][slots], self.state["seen"][slots] = 0.0, False

    def insert_class(self, n_classes: int, position: int, n_rows: int) -> None:
        """Add a class with initial weights, and the intercept of one that no row had."""
        old = self.state | self.saved()
        sources, class_ids = _class_sources(old, n_classes, position, self.model)
        machine = self._initial(int(old["seed"][0]), class_ids)
        new = machine.state
        new["seen"][:] = old["seen"]
        init.init_seen_columns(machine.machine(), self.ptr.view(np.uint64))
        first = np.zeros(len(new["B"]), dtype=bool)  # the first part of each group
        first[np.append(0, new["ends"][:-1]).astype(np.intp)] = True
        in_first = np.repeat(first, np.diff(new["ptr"])[new["views"].astype(np.intp)])
        for a, source in enumerate(sources):
            if source is None:
                continue
            b, share = source
            new["c"][:, a] = old["c"][:, b]
            new["c"][0, a] *= share
            for name, of_first in (("A", in_first), ("B", first)):
                value, before = _by_class(new, name)[:, :, a], _by_class(old, name)[:, :, b]
                if self.model in (MULTI_VIEW, TENSOR):
                    value[:] = before
                    value[of_first, 0] *= share
                else:
                    # pairs keep their sign: a negative share starts anew
                    value[:, :, 0] = before[:, :, 0]
                    value[:, 0, 0] *= share
                    if share == 1.0:
                        value[:, :, 1:] = before[:, :, 1:]
        if n_classes > 1:
            new["c"][0, position] = self.learner._score_of_new_class(n_rows)
        self.state |= new


def part_slots(state: Mapping[str, np.ndarray], p: int, columns: np.ndarray) -> np.ndarray:
    """Return the rows of A that hold these columns in part ``p``."""
    return (columns.astype(np.uint64) + state["column_offset"][p]).astype(np.intp)


def _parts(state: Mapping[str, np.ndarray]) -> list[tuple[int, int]]:
    """Return group and view of each part."""
    ends, views = state["ends"].tolist(), state["views"].tolist()
    return [(int(np.searchsorted(ends, p, side="right")), v) for p, v in enumerate(views)]


def _by_class(state: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Return A or B with an axis for the classes: (n, layers, K, k)."""
    value = state[name]
    return value.reshape(*value.shape[:2], len(state["class_ids"]), -1)


def _class_sources(
    old: State, n_classes: int, position: int, model: int
) -> tuple[list[tuple[int, float] | None], np.ndarray]:
    """Return the old score and its factor for each new score (None: no old one), and class ids."""
    class_ids = old["class_ids"]
    sources: list[Any]
    if n_classes == 1:  # the only class so far is the positive one
        return [(0, -1.0 if position == 1 else 1.0)], class_ids
    if n_classes == 2:
        # half for the second class, half against the first; all for it where pairs keep their sign
        sources, ids = [None, (0, 1.0)] if model in FACTORIZED else [(0, -0.5), (0, 0.5)], [0, 1]
    else:
        sources, ids = [(a, 1.0) for a in range(n_classes)], class_ids.tolist()
    sources.insert(position, None)
    return sources, np.insert(ids, position, max(ids) + 1).astype(np.uint64)
