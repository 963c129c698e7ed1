"""Smaller descriptions: what does not matter for the loss of some rows is dropped or rounded.

In this order, each as far as its part of the tolerance allows: members of a stack or blend, those
of least weight first, with their mean in the intercept; weights and factors of columns, by their
part in the scores of the rows; precision, as multiples of a step per table; document frequencies
of rare words, which then have one for all; and more weights.

The mean log loss of the rows, or of numbers the mean squared error, grows by 0.1 % at most; and in
units of the loss predictions move by 0.5 % at most.  Without the second bound the labels of few
rows might happen to be in favor of what is dropped, and those of other rows would not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from crossview.exporting import runtime as untyped
from crossview.exporting.plan import Plan
from crossview.portable.as_json import as_json
from crossview.portable.encoding import TableEncoder
from crossview.portable.scoring import (
    SAID,
    Blend,
    Machine,
    Member,
    Model,
    Networks,
    Scorer,
    Stack,
    Table,
    Trees,
    ViewSum,
)

runtime: Any = untyped

# of the loss, relative: what it may grow by, and how far predictions may move; and the part of it
# after each step
TOLERANCE, MOVES = 1e-3, 5e-3
PARTS = {"members": 0.3, "weights": 0.7, "levels": 0.8, "frequencies": 0.9, "rest": 1.0}
# of the largest value of a table, in steps
LEVELS = (15, 31, 63, 127, 255, 1023, 4095, 16383, 65535)
# tried before a bisection: shares of what may be dropped
SHARES = (1.0, 0.99, 0.98, 0.96, 0.94, 0.91, 0.88, 0.84, 0.8, 0.7, 0.6, 0.4, 0.2)
BISECTIONS = 5
LEAST = 1e-15


class Pruned(NamedTuple):
    """Result of pruning: how much was dropped, and the loss before and after."""

    n_members: int
    n_weights: int
    n_left: int
    levels: int | None
    before: float
    after: float
    n_rows: int


def prune(plan: Plan, rows: Sequence[dict[str, Any]], targets: Sequence[Any]) -> Pruned:
    """Make a plan smaller in place, such that the loss of these rows is at most 0.1 % higher."""
    return _Pruning(plan, rows, targets).run()


class _Rows(NamedTuple):
    """Encoded rows: a matrix per view, and whether each view is there."""

    views: list[sp.csr_array]
    present: np.ndarray
    mappings: list[list[dict[int, float] | None]]

    def select(self, view: int | None) -> _Rows:
        """Return the rows as a member of one view sees them."""
        if view is None:
            return self
        own = [[row[view]] for row in self.mappings]
        return _Rows([self.views[view]], self.present[:, [view]], own)


class _Pruning:
    """A plan that becomes smaller, and the rows that say how small it may be."""

    def __init__(self, plan: Plan, rows: Sequence[dict[str, Any]], targets: Sequence[Any]) -> None:
        self.plan, self.given = plan, rows
        classes = plan.model.classes
        self.y = np.array(targets if classes is None else [classes.index(y) for y in targets])
        self.rows = self._encode()
        self._fixed: dict[Any, np.ndarray] = {}  # scores of what is not pruned
        self.first = self._predicted()
        self.before = self._loss(self.first)

    def run(self) -> Pruned:
        """Drop and round in turn."""
        n_members = self._drop_members()
        n_weights, _ = self._drop_weights("weights")
        levels, n_zero = self._round()
        self._drop_frequencies()
        n_more, n_left = self._drop_weights("rest")
        after, n_dropped = self._loss(self._predicted()), n_weights + n_zero + n_more
        return Pruned(n_members, n_dropped, n_left, levels, self.before, after, len(self.given))

    def _fits(self, part: str) -> bool:
        """Return whether loss and predictions are within the tolerance up to a step."""
        most, predicted = self.before * PARTS[part], self._predicted()
        grows = self._loss(predicted) - self.before
        return grows <= TOLERANCE * most and self._away(predicted) <= MOVES * most

    # --- the loss --------------------------------------------------------------------------

    def _encode(self) -> _Rows:
        encoder = as_json(self.plan.encoder)
        encode = runtime.ENCODERS[encoder["kind"]](encoder).encode
        mappings = list(map(encode, self.given))
        views = []
        for v, width in enumerate(self.plan.model.widths):
            own = [row[v] or {} for row in mappings]
            indptr = np.cumsum([0, *map(len, own)])
            columns = [column for row in own for column in row]
            values = [value for row in own for value in row.values()]
            views.append(sp.csr_array((values, columns, indptr), shape=(len(own), width)))
        present = np.array([[view is not None for view in row] for row in mappings])
        return _Rows(views, present, mappings)

    def _predicted(self) -> np.ndarray:
        """Return probabilities of all classes, or numbers."""
        model = self.plan.model
        scores = self._scores(model.scorer, self.rows)
        if model.classes is None:
            about = _about(model)
            return np.array([runtime.says(about, row)[0] for row in scores.tolist()])
        assert model.calibration is not None
        calibration = as_json(model.calibration)
        return np.array([runtime.probabilities(row, calibration) for row in scores.tolist()])

    def _loss(self, predicted: np.ndarray) -> float:
        """Return the mean log loss, or the mean squared error."""
        if predicted.ndim == 1:
            return float(np.mean((predicted - self.y) ** 2))
        of_class = predicted[np.arange(len(predicted)), self.y]
        return float(-np.log(np.maximum(of_class, LEAST)).mean())

    def _away(self, predicted: np.ndarray) -> float:
        """Return how far predictions are from those before, in units of the loss.

        That is the mean divergence of Kullback and Leibler, or the mean squared difference: what
        the loss of other rows grows by if the model was right before.
        """
        if predicted.ndim == 1:
            return float(np.mean((predicted - self.first) ** 2))
        p, q = (np.maximum(one, LEAST) for one in (self.first, predicted))
        return float((p * np.log(p / q)).sum(axis=1).mean())

    def _scores(self, scorer: Scorer, rows: _Rows) -> np.ndarray:
        """Return what `runtime.score` gives for each row."""
        scores = self._scores_of_kind(scorer, rows)
        if scorer.missing is None:
            return scores
        lacks = ~rows.present
        return scores + np.column_stack([lacks, lacks.all(axis=1)]) @ scorer.missing

    def _scores_of_kind(self, scorer: Scorer, rows: _Rows) -> np.ndarray:
        if isinstance(scorer, ViewSum) and not any(one.supports for one in scorer.views):
            return _scores_of_sum(scorer, rows)
        if isinstance(scorer, Machine):
            return _scores_of_machine(scorer, rows)
        if isinstance(scorer, Networks):
            return _scores_of_networks(scorer, rows)
        if isinstance(scorer, Stack | Blend):
            members = [self.says(member) for member in scorer.members]
            node = as_json(type(scorer)(**{**vars(scorer), "members": []}))
            each = zip(*members, strict=True)
            return np.array([runtime.combine(node, list(found)) for found in each])
        key = id(scorer), id(rows.mappings) if rows is self.rows else 0
        changes = isinstance(scorer, Trees) and bool(scorer.components)
        if changes or key not in self._fixed:
            prepared = runtime.prepared(as_json(scorer))
            self._fixed[key] = np.array([runtime.score(prepared, row) for row in rows.mappings])
        return self._fixed[key]

    def says(self, member: Member) -> list[list[float] | None]:
        """Return what a member says of each row."""
        own = self.rows.select(member.view)
        about, scores = _about(member), self._scores(member.scorer, own).tolist()
        found: list[list[float] | None] = [runtime.says(about, row) for row in scores]
        if member.view is not None:
            missing = np.flatnonzero(~own.present[:, 0])
            for i in missing.tolist() if isinstance(self.plan.model.scorer, Stack) else ():
                found[i] = None
        return found

    # --- members ---------------------------------------------------------------------------

    def _drop_members(self) -> int:
        """Drop members of least weight as long as the loss allows it."""
        scorer, dropped = self.plan.model.scorer, 0
        while isinstance(scorer, Stack | Blend) and len(scorer.members) > 1:
            inputs = [_inputs(scorer, self.says(member)) for member in scorer.members]
            K = len(scorer.members)
            spread = [float(np.nan_to_num(one.std(axis=0)).max()) for one in inputs]
            order = np.argsort(np.abs(_weights_of(scorer)[:K]) * spread)
            before = dict(vars(scorer))
            for k in order[:3].tolist():
                _drop_member(scorer, k, inputs[k].mean(axis=0))
                if self._fits("members"):
                    dropped += 1
                    break
                vars(scorer).update(before)
            else:
                return dropped
        return dropped

    # --- weights ---------------------------------------------------------------------------

    def _tables(self) -> Iterator[tuple[Any, str, np.ndarray]]:
        """Yield what has a table, its field, and the importance of its columns."""
        scorer = self.plan.model.scorer
        parts = [(scorer, self.rows, 1.0)]
        if isinstance(scorer, Stack | Blend):
            parts = []
            for member, weight in zip(scorer.members, _weights_of(scorer), strict=False):
                slope = 1.0 if member.calibration is None else member.calibration.slope
                unit = 1.0 if member.units is None else float(member.units[1])
                if member.target_scale is not None:  # by how much an exponential grows
                    unit *= float(np.mean([said[0] for said in self.says(member) if said]))
                part = abs(float(weight)) * slope * unit
                parts.append((member.scorer, self.rows.select(member.view), part))
        for own, rows, weight in parts:
            norms = [np.sqrt((X * X).sum(axis=0)) for X in rows.views]
            if isinstance(own, ViewSum):
                share = weight / (len(own.views) if own.mean else 1)
                for v, term in enumerate(own.views):
                    yield term, "weights", share * _sizes(term.weights, norms[v])
            elif isinstance(own, Trees):
                for one in own.components:
                    yield one, "loadings", weight * _sizes(one.loadings, norms[one.view])
            elif isinstance(own, Machine):
                others = _slopes_of_machine(own, rows)
                for part_, other in zip(own.parts, others, strict=True):
                    yield part_, "factors", weight * _sizes(part_.factors, norms[part_.view], other)

    def _drop_weights(self, step: str) -> tuple[int, int]:
        """Drop columns that count least; return how many, and how many are left."""
        tables = [(part, name, getattr(part, name), size) for part, name, size in self._tables()]
        sizes = np.concatenate([np.empty(0), *(size for *_, size in tables)])
        ordered, n = np.sort(sizes), len(sizes)

        def keep(dropped: int) -> None:
            least = ordered[dropped - 1] if dropped else -1.0
            for part, name, table, size in tables:
                own = size > least
                setattr(part, name, Table(table.columns[own], table.values[own], table.step))

        def fits(dropped: int) -> bool:
            keep(dropped)
            return self._fits(step)

        dropped = _largest(fits, n)
        keep(dropped)
        left = sum(len(getattr(part, name).columns) for part, name, *_ in tables)
        return n - left, left

    # --- document frequencies and digits -----------------------------------------------------

    def _drop_frequencies(self) -> None:
        """Give all words that are in few texts the same document frequency."""
        encoder = self.plan.encoder
        if not isinstance(encoder, TableEncoder):
            return
        texts = [
            (v, k, one.slots, one.df)
            for v, view in enumerate(encoder.views)
            for k, one in enumerate(view.hashed)
            if one.slots is not None and one.df is not None
        ]
        bounds = np.unique(np.concatenate([np.zeros(1), *(df for *_, df in texts)]))

        def keep(k: int) -> None:
            for v, at, slots, df in texts:
                one, rare = encoder.views[v].hashed[at], df <= bounds[k]  # those have their mean
                one.slots, one.df = slots[~rare], df[~rare]
                one.default_df = round(float(df[rare].mean()), 2) if rare.any() else 0.0
            self.rows = self._encode()

        def fits(k: int) -> bool:
            keep(k)
            return self._fits("frequencies")

        if texts:
            keep(_largest(fits, len(bounds) - 1))

    def _round(self) -> tuple[int | None, int]:
        """Round all tables to as few levels as the loss allows; return how many, and new zeros."""
        tables = [(part, name, getattr(part, name)) for part, name, _ in self._tables()]
        for levels in LEVELS:
            n_zero = 0
            for part, name, table in tables:
                rounded = _rounded(table, levels)
                n_zero += len(table.columns) - len(rounded.columns)
                setattr(part, name, rounded)
            if self._fits("levels"):
                return levels, n_zero
        for part, name, table in tables:
            setattr(part, name, table)
        return None, 0


def _rounded(table: Table, levels: int) -> Table:
    """Return multiples of a step that is the largest value over ``levels``, without zeros."""
    largest = float(np.abs(table.values).max(initial=0.0))
    if not largest:
        return table
    step = float(f"{largest / levels:.4g}")
    multiples = np.rint(table.values / step)
    own = multiples.any(axis=1)
    return Table(table.columns[own], multiples[own] * step, step)


def _largest(fits: Callable[[int], bool], n: int) -> int:
    """Return the largest number up to n that was found to fit; 0 always does."""
    high = n + 1
    for share in SHARES:
        low = round(share * n)
        if low < high and fits(low):
            break
        high = min(low, high)
    else:
        low = 0
    for _ in range(BISECTIONS):
        middle = (low + high) // 2
        if middle in (low, high):
            break
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _sizes(table: Table, norms: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """Return how much each column of a table counts in these rows."""
    values = np.abs(table.values)
    values = values.max(axis=1, initial=0.0) if others is None else values @ others
    return np.asarray(values * norms[table.columns])


# --- scores of many rows ----------------------------------------------------------------------


def _dots(X: sp.csr_array, table: Table, width: int) -> np.ndarray:
    if not len(table.columns):
        return np.zeros((X.shape[0], width))
    return np.asarray(X[:, table.columns] @ table.values)


def _scores_of_sum(scorer: ViewSum, rows: _Rows) -> np.ndarray:
    """Return what `runtime.score` gives for each row."""
    K, there = len(scorer.constant), rows.present
    full = there & np.stack([np.diff(X.indptr) > 0 for X in rows.views], axis=1)
    takes = there
    if scorer.skips_empty:
        takes = np.where(full.any(axis=1, keepdims=True), full, there)
    n = takes.sum(axis=1, keepdims=True)
    total = np.where(n > 0, scorer.shared, 0.0)
    for v, term in enumerate(scorer.views):
        own = term.intercept + _dots(rows.views[v], term.weights, K)
        if term.cosines is not None:
            own = own + _cosines(term.cosines, [rows.views[v]])
        total = total + np.where(takes[:, [v]], own, 0.0)
    total = total / np.maximum(n, 1) if scorer.mean else total
    if scorer.cosines is not None:
        total = total + _cosines(scorer.cosines, rows.views)
    if scorer.gaussians is not None:
        total = total + _gaussians(scorer.gaussians, rows)
    return np.asarray(total + scorer.constant)


def _gaussians(node: Any, rows: _Rows) -> np.ndarray:
    parts = [np.zeros((len(rows.present), 0))]
    for v, columns, means, factors in zip(
        node.views, node.columns, node.means, node.factors, strict=True
    ):
        z = (rows.views[v][:, columns].toarray() - means) * factors
        parts.append(z * rows.present[:, [v]])
    z = np.hstack(parts)
    away = (z * z).sum(axis=1)[:, None] + (node.centers**2).sum(axis=1) - 2.0 * z @ node.centers.T
    sums = np.asarray(np.exp(-np.maximum(away, 0.0)) @ node.weights)
    return sums if node.limits is None else np.clip(sums, *node.limits)


def _cosines(cosines: Any, views: list[sp.csr_array]) -> np.ndarray:
    angles = cosines.phases
    for v, slopes in zip(cosines.views, cosines.slopes, strict=True):
        angles = angles + _dots(views[v], slopes, len(cosines.phases))
    return np.asarray(np.cos(angles) @ cosines.weights)


def _scores_of_networks(node: Networks, rows: _Rows) -> np.ndarray:
    """Return what `runtime.score` gives for each row."""
    h, there = node.b1 + rows.present @ node.there, rows.present
    for (v, column), low, factor, weights in zip(
        node.numbers.tolist(), node.low, node.factor, node.ramps, strict=True
    ):
        x = rows.views[v][:, [column]].toarray()
        ramps = np.clip((x - low) * factor, 0.0, 1.0) * there[:, [v]]
        h += ramps @ weights
    for X, table in zip(rows.views, node.columns, strict=True):
        h += _dots(X, table, h.shape[1])
    for one, weights in zip(node.components, node.loaded, strict=True):
        h += _dots(rows.views[one.view], one.loadings, one.width) @ weights
    a, scores, H = h * expit(h), np.tile(node.b3, (len(h), 1)), node.b2.shape[1]
    for j, (W2, b2, W3) in enumerate(zip(node.W2, node.b2, node.W3, strict=True)):
        deep = a[:, j * H : j * H + H] @ W2 + b2
        scores += (deep * expit(deep)) @ W3
    return scores


def _sums_of_machine(machine: Machine, rows: _Rows) -> list[np.ndarray]:
    return [
        part.bias
        + np.where(
            rows.present[:, [part.view]],
            _dots(rows.views[part.view], part.factors, len(part.bias)),
            0.0,
        )
        for part in machine.parts
    ]


def _scores_of_machine(machine: Machine, rows: _Rows) -> np.ndarray:
    """Return what `runtime.score` gives for each row."""
    sums, k, K = _sums_of_machine(machine, rows), machine.n_factors, len(machine.intercept)
    if machine.model == "products":
        each = sum(np.prod([sums[p] for p in group], axis=0) for group in machine.groups)
        return np.asarray(machine.intercept + np.reshape(each, (-1, K, k)).sum(axis=2))
    less = sum(own * own for own in sums)
    if machine.model == "all pairs":
        less = np.zeros(sums[0].shape)
        for part in machine.parts:
            X = rows.views[part.view]
            squares = Table(part.factors.columns, part.factors.values**2)
            own = _dots(X * X, squares, len(part.bias))
            less = less + np.where(rows.present[:, [part.view]], own, 0.0)
    total = sum(sums)
    pairs = (0.5 * (total * total - less)).reshape(-1, K, k)
    pairs[:, :, 0] = np.reshape(total, (-1, K, k))[:, :, 0]
    return np.asarray(machine.intercept + pairs.sum(axis=2))


def _slopes_of_machine(machine: Machine, rows: _Rows) -> list[np.ndarray]:
    """Return by what the scores grow with the sums of each part, as root mean squares."""
    sums = _sums_of_machine(machine, rows)
    found = []
    for p in range(len(machine.parts)):
        if machine.model == "products":
            group = next(group for group in machine.groups if p in group)
            others = [sums[q] for q in group if q != p]
            slope = np.prod(others, axis=0) if others else np.ones(sums[p].shape)
        else:
            slope = np.asarray(sum(sums) - (sums[p] if machine.model == "cross pairs" else 0.0))
            slope = slope.copy()
            slope[:, :: machine.n_factors] = 1.0
        found.append(np.sqrt((slope * slope).mean(axis=0)))
    return found


# --- stacks and blends ------------------------------------------------------------------------


def _weights_of(scorer: Stack | Blend) -> np.ndarray:
    """Return the weights by which members are combined, and those of their constants."""
    return scorer.weights if isinstance(scorer, Blend) or scorer.stacks else scorer.mixture


def _about(model: Model | Member) -> dict[str, Any]:
    """Return what makes an answer of a score, as `runtime.says` takes it."""
    parts = {name: getattr(model, name) for name in SAID}
    return {name: as_json(value) for name, value in parts.items() if value is not None}


def _inputs(scorer: Stack | Blend, found: list[list[float] | None]) -> np.ndarray:
    """Return the values that the weight of a member multiplies, for each row that it sees."""
    p = np.array([one for one in found if one is not None], dtype=np.float64)
    if not len(p):
        return np.zeros((1, 1))
    if scorer.task == "numbers":
        return p
    if isinstance(scorer, Blend):
        L = np.log(np.maximum(p, 1e-4))
        return np.asarray(L[:, 1:] - L[:, :1])
    p = np.clip(p, runtime.LEAST, 1.0 - runtime.LEAST)
    if scorer.task == "two classes":
        return np.log(p[:, 1:] / (1.0 - p[:, 1:]))
    L = np.log(p)
    return np.asarray(L - L.mean(axis=1, keepdims=True))


def _drop_member(scorer: Stack | Blend, k: int, mean: np.ndarray) -> None:
    """Drop member k, whose mean goes to the intercept; arrays and lists are replaced."""
    K, v = len(scorer.members), scorer.weights.copy()
    if isinstance(scorer, Blend):
        scorer.intercept = scorer.intercept + v[k] * mean
    else:
        v[K:] += v[k] * mean
        scorer.mixture = np.delete(scorer.mixture, k)
    scorer.weights = np.delete(v, k)
    scorer.members = [one for at, one in enumerate(scorer.members) if at != k]
