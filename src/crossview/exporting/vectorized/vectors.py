"""A plan as arithmetic on vectors: what programs without loops per row, SQL and ONNX, are made of.

`lower` writes the equations of `crossview.portable` once, with the `Operations` of a target.  A
vector has one number, or Boolean, per row and position; two operands have the same width, or one
has the width 1.  A missing number is NaN, and NULL in SQL; what is made of it stays missing, until
`where` chooses another value.

Programs look categories up, and hash nothing.  A category counts by its name as training saw it;
one that has no stored name is there, and has no weight.  The hash of Python finds for it the slot
of another category at times, and its weight.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crossview.errors import InputError, some_names
from crossview.exporting.plan import Plan
from crossview.portable.encoding import Column, NumberEncoder, TableEncoder
from crossview.portable.encoding import View as EncodedView
from crossview.portable.scoring import (
    Blend,
    Calibration,
    Cosines,
    Gaussians,
    Machine,
    Member,
    Model,
    Networks,
    Scorer,
    Stack,
    Supports,
    Table,
    Trees,
    ViewSum,
)

# of a target
Vector = Any
LEAST = 1e-6  # of the probabilities of experts
LEAST_OF_MEMBERS = 1e-4
SECONDS_OF_DAY = 86_400.0
# whose exponential is a number
LARGEST_EXPONENT = 700.0


class Operations(ABC):
    """Arithmetic of a target."""

    # --- inputs ---

    @abstractmethod
    def number(self, column: Column) -> Vector:
        """Return a column of numbers, missing where it is null, NaN, or above 1e100 in size."""

    @abstractmethod
    def seconds(self, column: Column) -> Vector:
        """Return a column of dates as seconds since 1970 in UTC."""

    @abstractmethod
    def category(self, column: Column, values: Sequence[str]) -> tuple[Any, Vector]:
        """Return a column of categories for `lookup`, and whether it is missing."""

    @abstractmethod
    def view(self, name: str, width: int) -> Vector:
        """Return a view of numbers, all of them missing where the view is."""

    @abstractmethod
    def lookup(self, category: Any, rows: Mapping[str, np.ndarray], default: np.ndarray) -> Vector:
        """Return the row of the category of each row; else, also if it is missing, the default."""

    # --- arithmetic ---

    @abstractmethod
    def constant(self, values: Any) -> Vector:
        """Return the same numbers, or Booleans, for each row."""

    @abstractmethod
    def width(self, a: Vector) -> int:
        """Return the number of positions."""

    @abstractmethod
    def binary(self, operation: str, a: Vector, b: Vector) -> Vector:
        """Return add, sub, mul, div, max, min, less, or, and of two vectors."""

    @abstractmethod
    def unary(self, operation: str, a: Vector) -> Vector:
        """Return exp, log, sin, floor, abs, not, or missing."""

    @abstractmethod
    def where(self, condition: Vector, a: Vector, b: Vector) -> Vector:
        """Return a where the condition is true, else b."""

    @abstractmethod
    def join(self, parts: Sequence[Vector]) -> Vector:
        """Return vectors one after the other."""

    @abstractmethod
    def take(self, a: Vector, positions: Sequence[int]) -> Vector:
        """Return these positions of a vector."""

    @abstractmethod
    def matmul(self, a: Vector, weights: np.ndarray) -> Vector:
        """Return ``a'weights``, where nothing is missing."""

    @abstractmethod
    def largest(self, a: Vector) -> Vector:
        """Return the maximum over the positions."""

    @abstractmethod
    def any(self, a: Vector) -> Vector:
        """Return whether any position is true."""

    @abstractmethod
    def trees(self, features: Vector, trees: Trees, outputs: np.ndarray, width: int) -> Vector:
        """Return the sums of what leaves add to each of the outputs."""

    @abstractmethod
    def label(self, index: Vector, classes: Sequence[Any]) -> Any:
        """Return the class at a position."""

    def keep(self, a: Vector) -> Vector:
        """Return a vector that is used more than once."""
        return a

    def networks(self, node: Networks, views: Sequence[Any]) -> Vector | None:
        """Return the scores of networks where a target has a form of its own for them.

        Of each view that is there: whether it is, what is read of it, and the weights of that.
        """
        return None

    # --- in words ---

    def add(self, *parts: Vector) -> Vector:
        """Return a sum."""
        total = parts[0]
        for part in parts[1:]:
            total = self.binary("add", total, part)
        return total

    def sub(self, a: Vector, b: Vector) -> Vector:
        """Return a difference."""
        return self.binary("sub", a, b)

    def mul(self, a: Vector, b: Vector) -> Vector:
        """Return a product."""
        return self.binary("mul", a, b)

    def div(self, a: Vector, b: Vector) -> Vector:
        """Return a quotient."""
        return self.binary("div", a, b)

    def clip(self, a: Vector, low: float, high: float) -> Vector:
        """Return numbers between two limits."""
        least = self.binary("max", a, self.constant([low]))
        return self.binary("min", least, self.constant([high]))

    def silu(self, h: Vector) -> Vector:
        """Return h / (1 + exp(-h)), of numbers of which exp(-h) is one."""
        least = self.sub(self.constant([0.0]), h)
        odds = self.unary("exp", self.clip(least, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        return self.div(h, self.add(self.constant([1.0]), odds))

    def total(self, a: Vector) -> Vector:
        """Return the sum over the positions."""
        return self.matmul(a, np.ones((self.width(a), 1)))

    def either(self, *conditions: Vector) -> Vector:
        """Return whether one of these is true."""
        return conditions[0] if len(conditions) == 1 else self.any(self.join(conditions))

    def negation(self, condition: Vector) -> Vector:
        """Return whether it is false."""
        return self.unary("not", condition)


@dataclass
class _View:
    """A view of the rows.

    ``dense`` are its columns before the slots, times the factor; ``categories`` have the column of
    each known name.
    """

    present: Vector
    dense: Vector
    n_dense: int
    categories: list[tuple[Any, Vector, dict[str, int]]]
    factor: float
    # what was computed of it, by the arrays that it was computed with
    kept: dict[Any, Any] = field(default_factory=dict)


@dataclass
class Answers:
    """The outputs of a program; None if the model does not define one.

    ``prediction`` is a label or a number, and ``view_scores`` is missing where a view is; with
    several classes they are those of the predicted class, relative to the mean of all.
    """

    prediction: Any
    scores: Vector | None
    probabilities: Vector | None
    view_scores: Vector


def lower(plan: Plan, ops: Operations) -> Answers:
    """Write the encoder and the model of a plan with the operations of a target."""
    return _Lowering(plan, ops).answers()


class _Lowering:
    def __init__(self, plan: Plan, ops: Operations) -> None:
        self.plan, self.ops = plan, ops
        self.zero, self.one = ops.constant([0.0]), ops.constant([1.0])
        self.nothing = ops.constant([math.nan])
        self.sums_of_trees: dict[tuple[int, ...], Vector] = {}

    # --- answers -----------------------------------------------------------------------------

    def answers(self) -> Answers:
        """Prediction, scores, probabilities and the scores of the views."""
        ops, model = self.ops, self.plan.model
        views = self._views()
        scores = ops.keep(self._score(model.scorer, list(views)))
        own = self._view_scores(model.scorer, views)
        if model.classes is None:
            mean, scale = (0.0, 1.0) if model.units is None else map(float, model.units)
            prediction = self._as_target(self._scaled(scores, scale, [mean]), model)
            own = [self._scaled(one, scale, [mean]) for one in own]
            return Answers(prediction, None, None, self._of_views(views, own))
        index, p = self._index(scores), None
        if model.calibration is not None:
            p = ops.keep(self._probabilities(scores, model.calibration, len(model.classes)))
            if isinstance(model.threshold, float):
                above = ops.binary("less", ops.constant([model.threshold]), ops.take(p, [1]))
                index = ops.where(above, self.one, self.zero)
            elif model.threshold is not None:
                index = self._index(ops.keep(ops.div(p, ops.constant(model.threshold))))
        if model.n_scores > 1:
            own = [self._above_mean(one, index) for one in own]
        label = ops.label(index, model.classes)
        return Answers(label, scores, p, self._of_views(views, own))

    def _of_views(self, views: Sequence[_View], scores: Sequence[Vector]) -> Vector:
        pairs = zip(views, scores, strict=True)
        return self.ops.join([self.ops.where(x.present, s, self.nothing) for x, s in pairs])

    def _index(self, scores: Vector) -> Vector:
        """Return the position of the predicted class by its scores."""
        ops = self.ops
        if len(self.plan.model.classes or []) == 1:
            return self.zero
        if ops.width(scores) == 1:
            return ops.where(ops.binary("less", self.zero, scores), self.one, self.zero)
        top, K = ops.keep(ops.largest(scores)), ops.width(scores)
        # the first of the highest, as the largest of their positions below zero
        below = ops.constant(-np.arange(K, dtype=float))
        others = ops.constant([1.0 - K])
        found = ops.where(ops.binary("less", scores, top), others, below)
        return ops.keep(ops.sub(self.zero, ops.largest(found)))

    def _above_mean(self, scores: Vector, index: Vector) -> Vector:
        """Return how much the score at a position is above the mean of all."""
        ops, K = self.ops, self.ops.width(scores)
        scores = ops.keep(scores)
        away = ops.unary("abs", ops.sub(index, ops.constant(np.arange(float(K)))))
        own = ops.where(ops.binary("less", away, ops.constant([0.5])), scores, self.zero)
        return ops.sub(ops.total(own), ops.matmul(scores, np.full((K, 1), 1.0 / K)))

    def _scaled(self, a: Vector, scale: float, offset: Any) -> Vector:
        ops = self.ops
        return ops.add(ops.mul(a, ops.constant([float(scale)])), ops.constant(offset))

    def _probabilities(self, scores: Vector, by: Calibration, n_classes: int) -> Vector:
        """Return the probabilities of the classes."""
        ops = self.ops
        if n_classes == 1:
            return self.one
        z = ops.keep(self._scaled(scores, by.slope, by.offset))
        if ops.width(z) > 1:
            return self._softmax(z)
        odds = ops.keep(ops.unary("exp", ops.sub(self.zero, ops.unary("abs", z))))
        whole = ops.add(odds, self.one)
        high, low = ops.div(self.one, whole), ops.div(odds, whole)
        is_low = ops.binary("less", z, self.zero)
        return ops.join([ops.where(is_low, high, low), ops.where(is_low, low, high)])

    def _softmax(self, z: Vector) -> Vector:
        ops = self.ops
        e = ops.keep(ops.unary("exp", ops.sub(z, ops.keep(ops.largest(z)))))
        return ops.div(e, ops.keep(ops.total(e)))

    def _log_softmax(self, z: Vector) -> Vector:
        ops = self.ops
        away = ops.keep(ops.sub(z, ops.keep(ops.largest(z))))
        return ops.sub(away, ops.keep(ops.unary("log", ops.total(ops.unary("exp", away)))))

    # --- encoder ------------------------------------------------------------------------------

    def _views(self) -> list[_View]:
        ops, encoder = self.ops, self.plan.encoder
        if isinstance(encoder, NumberEncoder):
            views = []
            for name, width, factor, scales in zip(
                encoder.views, encoder.widths, encoder.factors, encoder.scales, strict=True
            ):
                x = ops.view(name, width)
                there = ops.negation(ops.unary("missing", x))
                of_columns = [factor * scales.get(j, 1.0) for j in range(width if scales else 1)]
                dense = ops.mul(ops.where(there, x, self.zero), ops.constant(of_columns))
                views.append(_View(ops.any(there), dense, width, [], factor))
            return views
        texts = [
            encoder.columns[one.column].name
            for view in encoder.views
            for one in view.hashed
            if one.form != "category"
        ]
        texts += [
            encoder.columns[one.column].name
            for view in encoder.views
            for one in view.numbers
            if encoder.columns[one.column].kind == "text"
        ]
        if texts:
            raise InputError(
                f"text is hashed ({some_names(list(dict.fromkeys(texts)))}), which neither SQL nor "
                "ONNX can do; export to .py or .js, or train without it"
            )
        return [self._view(encoder, view) for view in encoder.views]

    def _view(self, encoder: TableEncoder, view: EncodedView) -> _View:
        """Return a view: numbers, whether they are missing, bins, categories."""
        ops, numbers, n = self.ops, view.numbers, len(view.numbers)
        cells: dict[int, Vector] = {}
        there, parts = [], []
        for one in numbers:
            column = encoder.columns[one.column]
            if one.column not in cells:
                is_date = column.kind == "date"
                cells[one.column] = self._date(column) if is_date else ops.number(column)
                there.append(ops.negation(ops.unary("missing", ops.take(cells[one.column], [0]))))
            parts.append(ops.take(cells[one.column], [one.part]))
        categories = []
        for own in view.hashed:
            slots = {name: slot for slot, name in self.plan.names.get(view.name, {}).items()}
            slots |= self.plan.more_names.get(view.name, {})
            names = {
                name[len(own.prefix) :]: view.first_slot + slot
                for name, slot in slots.items()
                if name.startswith(own.prefix)
            }
            category, is_missing = ops.category(encoder.columns[own.column], list(names))
            categories.append((category, ops.negation(is_missing), names))
            there.append(ops.negation(is_missing))
        present = ops.keep(ops.either(*there)) if there else ops.constant([False])
        blocks = []
        if n:
            x = ops.join(parts)
            is_missing = ops.unary("missing", x)
            mean = ops.constant([one.mean for one in numbers])
            scale = ops.constant([one.scale or 1.0 for one in numbers])
            used = ops.constant([float(one.scale is not None) for one in numbers])
            z = ops.mul(ops.div(ops.sub(x, mean), scale), used)
            says = ops.constant([float(one.says_missing) for one in numbers])
            blocks += [ops.where(is_missing, self.zero, z), ops.where(is_missing, says, self.zero)]
            if encoder.n_bins:
                blocks.append(self._bins(x, is_missing, numbers, encoder.n_bins))
        n_dense = n * (2 + encoder.n_bins)
        dense = self.zero
        if blocks:
            dense = ops.keep(ops.mul(ops.join(blocks), ops.constant([view.factor])))
        return _View(present, dense, n_dense, categories, view.factor)

    def _bins(self, x: Vector, is_missing: Vector, numbers: Sequence[Any], n_bins: int) -> Vector:
        """Return the shares of the knots around each number: 1 - |position - k|, or 0."""
        ops, n = self.ops, len(numbers)
        position = ops.constant(np.zeros(n))
        for k in range(n_bins - 1):
            low, inverse = np.zeros(n), np.zeros(n)
            for c, one in enumerate(numbers):
                if k + 1 < len(one.knots):
                    low[c], inverse[c] = one.knots[k], 1.0 / (one.knots[k + 1] - one.knots[k])
            if inverse.any():
                part = ops.mul(ops.sub(x, ops.constant(low)), ops.constant(inverse))
                position = ops.add(position, ops.clip(part, 0.0, 1.0))
        position = ops.keep(position)
        lengths = np.array([len(one.knots) if len(one.knots) > 1 else 0 for one in numbers])
        hats = []
        for k in range(n_bins):
            away = ops.unary("abs", ops.sub(position, ops.constant([float(k)])))
            hat = ops.binary("max", ops.sub(self.one, away), self.zero)
            hat = ops.mul(hat, ops.constant((lengths > k).astype(float)))
            hats.append(ops.where(is_missing, self.zero, hat))
        order = [k * n + c for c in range(n) for k in range(n_bins)]
        return ops.take(ops.join(hats), order)

    def _date(self, column: Column) -> Vector:
        """Return the numbers of a date (`tables.dates.date_numbers`)."""
        ops = self.ops

        def c(value: float) -> Vector:
            return ops.constant([float(value)])

        def whole(a: Vector, by: float) -> Vector:
            return ops.unary("floor", ops.div(a, c(by)))

        seconds = ops.keep(ops.seconds(column))
        day = ops.keep(whole(seconds, SECONDS_OF_DAY))
        # year and month: Hinnant, "chrono-compatible low-level date algorithms"
        shifted = ops.keep(ops.add(day, c(719_468)))
        era = ops.keep(whole(shifted, 146_097))
        of_era = ops.keep(ops.sub(shifted, ops.mul(era, c(146_097))))
        leaps = ops.sub(whole(of_era, 36_524), ops.add(whole(of_era, 1460), whole(of_era, 146_096)))
        year = ops.keep(whole(ops.add(of_era, leaps), 365))
        before = ops.sub(ops.add(ops.mul(year, c(365)), whole(year, 4)), whole(year, 100))
        of_year = ops.keep(ops.sub(of_era, before))
        march = ops.keep(whole(ops.add(ops.mul(of_year, c(5)), c(2)), 153))
        is_late = ops.binary("less", march, c(10))
        month = ops.keep(ops.add(march, ops.where(is_late, c(3), c(-9))))
        year = ops.add(year, ops.mul(era, c(400)), ops.where(is_late, c(0), c(1)))
        monday = ops.keep(ops.add(day, c(3)))
        weekday = ops.sub(monday, ops.mul(whole(monday, 7), c(7)))
        second = ops.unary("floor", ops.sub(seconds, ops.mul(day, c(SECONDS_OF_DAY))))
        steps = [(ops.sub(month, c(1)), 12), (weekday, 7), (second, SECONDS_OF_DAY)]
        circles = []
        for step, n in steps:
            angle = ops.keep(ops.mul(step, c(2.0 * math.pi / n)))
            for circle in (ops.unary("sin", angle), self._cosine(angle)):
                # as the encoder rounds them, so that trees see equal numbers
                rounded = ops.unary("floor", ops.add(ops.mul(circle, c(1e12)), c(0.5)))
                circles.append(ops.div(rounded, c(1e12)))
        days = ops.div(seconds, c(SECONDS_OF_DAY))
        return ops.keep(ops.join([days, year, *circles]))

    def _cosine(self, angle: Vector) -> Vector:
        return self.ops.unary("sin", self.ops.add(angle, self.ops.constant([math.pi / 2])))

    # --- columns of views ---------------------------------------------------------------------

    def _linear(self, x: _View, table: Table, width: int, power: int = 1) -> Vector:
        """Return ``values'x`` of the columns of a table, or of their squares."""
        key = id(table), power
        if key not in x.kept:
            # the table is kept too, so that no other one gets its id
            x.kept[key] = table, self.ops.keep(self._dot(x, table, width, power))
        return x.kept[key][1]

    def _dot(self, x: _View, table: Table, width: int, power: int) -> Vector:
        ops, total = self.ops, self.ops.constant(np.zeros(width))
        if not len(table.columns):
            return total
        own = table.columns < x.n_dense
        if own.any():
            weights = np.zeros((x.n_dense, width))
            weights[table.columns[own]] = table.values[own]
            dense = x.dense if power == 1 else ops.mul(x.dense, x.dense)
            total = ops.add(total, ops.matmul(dense, weights))
        factor = x.factor**power
        slots = dict(zip(table.columns[~own].tolist(), table.values[~own], strict=True))
        for category, _, names in x.categories:
            rows = {name: slots[at] * factor for name, at in names.items() if at in slots}
            if rows:
                total = ops.add(total, ops.lookup(category, rows, np.zeros(width)))
        return total

    def _sqnorm(self, x: _View) -> Vector:
        """Return ``x'x``; each category that is there is one column."""
        if "sqnorm" not in x.kept:
            ops = self.ops
            total = ops.total(ops.mul(x.dense, x.dense)) if x.n_dense else self.zero
            one = ops.constant([x.factor**2])
            for _, there, _ in x.categories:
                total = ops.add(total, ops.where(there, one, self.zero))
            x.kept["sqnorm"] = ops.keep(total)
        return x.kept["sqnorm"]

    def _has_value(self, x: _View) -> Vector:
        if "has value" not in x.kept:
            ops = self.ops
            found = [there for _, there, _ in x.categories]
            if x.n_dense:
                found.append(ops.any(ops.binary("less", self.zero, ops.unary("abs", x.dense))))
            x.kept["has value"] = ops.keep(
                ops.binary("and", x.present, ops.either(*found)) if found else x.present
            )
        return x.kept["has value"]

    # --- scorers ------------------------------------------------------------------------------

    def _score(self, scorer: Scorer, views: Sequence[_View | None]) -> Vector:
        """Return the scores, with what stands in for missing views."""
        ops, total = self.ops, self._score_of_kind(scorer, views)
        if scorer.missing is None:
            return total
        *each, of_none = scorer.missing
        for x, added in zip(views, each, strict=True):
            if added.any():
                own = ops.constant(added)
                total = ops.add(total, own if x is None else ops.where(x.present, self.zero, own))
        if of_none.any():
            there, own = [x.present for x in views if x is not None], ops.constant(of_none)
            is_there = ops.either(*there) if there else None
            total = ops.add(total, own if is_there is None else ops.where(is_there, self.zero, own))
        return total

    def _score_of_kind(self, scorer: Scorer, views: Sequence[_View | None]) -> Vector:
        """Return the scores; a view that is None is missing in every row."""
        if isinstance(scorer, ViewSum):
            return self._sum(scorer, views)
        if isinstance(scorer, Machine):
            return self._machine(scorer, views)
        if isinstance(scorer, Trees):
            return self._of_trees(scorer, views)
        if isinstance(scorer, Networks):
            return self._networks(scorer, views)
        if isinstance(scorer, Stack):
            return self._stack(scorer, views)
        return self._blend(scorer, views)

    def _view_scores(self, scorer: Scorer, views: Sequence[_View]) -> list[Vector]:
        """Return the scores of each view, where it is there."""
        if scorer.view_scores == "own" and isinstance(scorer, ViewSum):
            terms, takes, n = self._terms(scorer, views)
            ops, shared = self.ops, self.ops.constant(scorer.shared)
            return [
                ops.add(terms[v], ops.where(takes[v], ops.div(shared, n), self.zero))
                for v in range(len(views))
            ]
        if scorer.view_scores == "own" and isinstance(scorer, Trees):
            K, V = len(scorer.baseline), len(views)
            own = self._tree_sums(scorer, views)
            base = self.ops.constant(scorer.baseline / V)
            each = [list(range(v * K, v * K + K)) for v in range(V)]
            return [self.ops.add(self.ops.take(own, at), base) for at in each]
        V = len(views)
        return [
            self._score(scorer, [x if u == v else None for u, x in enumerate(views)])
            for v in range(V)
        ]

    def _terms(
        self, node: ViewSum, views: Sequence[_View | None]
    ) -> tuple[dict[int, Vector], dict[int, Vector], Vector]:
        """Return the terms of the views, which take part, and how many, at least 1."""
        ops, K = self.ops, len(node.shared)
        terms, takes = {}, {}
        for v, x in enumerate(views):
            if x is None:
                continue
            part = node.views[v]
            term = ops.add(
                ops.constant(part.intercept),
                self._linear(x, part.weights, K),
            )
            if part.cosines is not None:
                term = ops.add(term, self._cosines(part.cosines, [x]))
            if part.supports is not None:
                term = ops.add(term, self._supports(part.supports, x))
            terms[v], takes[v] = ops.keep(term), x.present
        if node.skips_empty and takes:
            full = {v: self._has_value(views[v]) for v in takes}  # type: ignore[arg-type]
            some = ops.keep(ops.either(*full.values()))
            none = ops.negation(some)
            takes = {
                v: ops.keep(ops.either(full[v], ops.binary("and", none, there)))
                for v, there in takes.items()
            }
        n = self.zero
        for there in takes.values():
            n = ops.add(n, ops.where(there, self.one, self.zero))
        return terms, takes, ops.keep(ops.binary("max", n, self.one))

    def _sum(self, node: ViewSum, views: Sequence[_View | None]) -> Vector:
        ops = self.ops
        terms, takes, n = self._terms(node, views)
        total = ops.constant(np.zeros(len(node.shared)))
        for v, term in terms.items():
            total = ops.add(total, ops.where(takes[v], term, self.zero))
        if node.shared.any() and takes:
            some = ops.either(*takes.values())
            total = ops.add(total, ops.where(some, ops.constant(node.shared), self.zero))
        if node.mean:
            total = ops.div(total, n)
        total = ops.add(total, ops.constant(node.constant))
        if node.cosines is not None:
            total = ops.add(total, self._cosines(node.cosines, views))
        if node.gaussians is not None:
            total = ops.add(total, self._gaussians(node.gaussians, views))
        return total

    def _cosines(self, node: Cosines, views: Sequence[_View | None]) -> Vector:
        ops, n = self.ops, len(node.phases)
        angles = ops.constant(node.phases)
        for v, slopes in zip(node.views, node.slopes, strict=True):
            x = views[v]
            if x is not None:
                own = self._linear(x, slopes, n)
                angles = ops.add(angles, ops.where(x.present, own, self.zero))
        return ops.matmul(ops.keep(self._cosine(angles)), node.weights)

    def _gaussians(self, node: Gaussians, views: Sequence[_View | None]) -> Vector:
        ops, parts = self.ops, []
        for v, *own in zip(node.views, node.columns, node.means, node.factors, strict=True):
            (columns, means, factors), x = own, views[v]
            n = len(columns)
            if x is None:
                parts.append(ops.constant(np.zeros(n)))
                continue
            away = ops.sub(self._linear(x, Table(columns, np.eye(n)), n), ops.constant(means))
            z = ops.mul(away, ops.constant(factors))
            parts.append(ops.where(x.present, z, self.zero))
        if not parts:
            return ops.constant(np.zeros(node.weights.shape[1]))
        z = ops.keep(ops.join(parts))
        dots, norms = ops.matmul(z, -2.0 * node.centers.T), (node.centers**2).sum(axis=1)
        squares = ops.add(dots, ops.constant(norms), ops.total(ops.mul(z, z)))
        squares = ops.binary("max", squares, self.zero)
        found = ops.keep(ops.unary("exp", ops.sub(self.zero, squares)))
        sums = ops.matmul(found, node.weights)
        return sums if node.limits is None else ops.clip(ops.keep(sums), *node.limits)

    def _supports(self, node: Supports, x: _View) -> Vector:
        ops, n = self.ops, len(node.weights)
        if n == 0:
            return ops.constant(np.zeros(node.weights.shape[1]))
        columns = sorted({c for one in node.columns for c in one})
        at, values = {c: i for i, c in enumerate(columns)}, np.zeros((len(columns), n))
        for j, (own, z) in enumerate(zip(node.columns, node.values, strict=True)):
            values[[at[c] for c in own], j] = z
        dots = self._linear(x, Table(np.array(columns, dtype=np.intp), values), n)
        if node.kernel == "rbf":
            norms = (values**2).sum(axis=0)
            away = ops.add(self._scaled(dots, -2.0, norms), self._sqnorm(x))
            away = ops.binary("max", away, self.zero)
            found = ops.unary("exp", ops.mul(away, ops.constant([-node.gamma])))
        elif node.kernel == "linear":
            found = dots
        else:
            base, degree = self._scaled(dots, node.gamma, [node.coef0]), int(node.degree)
            if degree != node.degree or degree < 1:
                raise InputError(f"a kernel with degree={node.degree} has no such form")
            found, base = ops.keep(base), ops.keep(base)
            for _ in range(degree - 1):
                found = ops.mul(found, base)
        found = ops.add(found, ops.constant([node.constant]))
        return ops.matmul(ops.keep(found), node.weights)

    def _machine(self, node: Machine, views: Sequence[_View | None]) -> Vector:
        ops, K, k = self.ops, len(node.intercept), node.n_factors
        each = np.repeat(np.eye(K), k, axis=0)  # sums over the factors of each score
        sums = []
        for part in node.parts:
            x, own = views[part.view], ops.constant(part.bias)
            if x is not None:
                dot = self._linear(x, part.factors, K * k)
                own = ops.add(own, ops.where(x.present, dot, self.zero))
            sums.append(ops.keep(own))
        scores = ops.constant(node.intercept)
        if node.model == "products":
            for group in node.groups:
                product = sums[group[0]]
                for p in group[1:]:
                    product = ops.mul(product, sums[p])
                scores = ops.add(scores, ops.matmul(ops.keep(product), each))
            return scores
        total = ops.keep(ops.add(*sums))
        if node.model == "all pairs":
            less = ops.constant(np.zeros(K * k))
            for part in node.parts:
                x = views[part.view]
                if x is not None:
                    if ("squared", id(part)) not in x.kept:
                        table = Table(part.factors.columns, part.factors.values**2)
                        x.kept["squared", id(part)] = part, table
                    own = self._linear(x, x.kept["squared", id(part)][1], K * k, power=2)
                    less = ops.add(less, ops.where(x.present, own, self.zero))
        else:
            less = ops.add(*(ops.mul(own, own) for own in sums))
        pairs = ops.mul(ops.sub(ops.mul(total, total), ops.keep(less)), ops.constant([0.5]))
        first, others = each.copy(), each.copy()
        first[np.arange(K * k) % k != 0] = 0.0
        others[np.arange(K * k) % k == 0] = 0.0
        return ops.add(scores, ops.matmul(total, first), ops.matmul(ops.keep(pairs), others))

    def _features(self, node: Trees, views: Sequence[_View | None]) -> Vector:
        """Return what the trees split."""
        ops, parts = self.ops, []

        def missing_with(x: _View | None, own: Any, width: int) -> None:
            # features of a view, which are missing where it is
            if x is None:
                parts.append(ops.constant(np.full(width, math.nan)))
            else:
                parts.append(ops.where(x.present, own(x), self.nothing))

        for coded in node.coded:
            table = Table(coded.columns, coded.codes[:, None].astype(float))
            nothing = np.array([math.nan])
            missing_with(views[coded.view], lambda x, t=table, d=nothing: self._row_of(x, t, d), 1)
        numbers, order = node.numbers.reshape(-1, 2), []
        for v, x in enumerate(views):
            positions = np.flatnonzero(numbers[:, 0] == v)
            if len(positions):
                distinct, place = np.unique(numbers[positions, 1], return_inverse=True)
                chosen = np.zeros((len(distinct), len(positions)))
                chosen[place, np.arange(len(positions))] = 1.0
                table, n = Table(distinct, chosen), len(positions)
                missing_with(x, lambda x, t=table, n=n: self._linear(x, t, n), n)
                order += positions.tolist()
        for one in node.components:
            width = one.loadings.values.shape[1]
            missing_with(
                views[one.view],
                lambda x, t=one.loadings, w=width: self._linear(x, t, w),
                width,
            )
        for own in node.statistics:
            prior = np.append(node.prior, 0.0)
            missing_with(
                views[own.view],
                lambda x, t=own.statistics, d=prior: self._row_of(x, t, d),
                len(prior),
            )
        if not parts:
            return ops.constant([math.nan])
        joined = ops.join(parts)
        places = np.arange(ops.width(joined))
        # numbers were collected view by view
        places[len(node.coded) + np.array(order, dtype=np.intp)] = len(node.coded) + np.arange(
            len(order)
        )
        return ops.keep(ops.take(joined, places.tolist()))

    def _row_of(self, x: _View, table: Table, default: np.ndarray) -> Vector:
        """Return the row of values of the last column that a row has, else the default."""
        ops, found = self.ops, self.ops.constant(default)
        slots = dict(zip(table.columns.tolist(), table.values, strict=True))
        for column in [one for one in slots if one < x.n_dense]:
            size = ops.unary("abs", ops.take(x.dense, [column]))
            is_there = ops.binary("less", self.zero, size)
            found = ops.where(is_there, ops.constant(slots[column]), found)
        own = [
            (category, {name: at for name, at in names.items() if at in slots})
            for category, _, names in x.categories
        ]
        own = [(category, names) for category, names in own if names]
        # several columns of categories may have slots of these: the last slot decides
        last, width = ops.constant([-1.0]), len(default)
        for category, names in own:
            rows = {name: np.append(slots[at], float(at)) for name, at in names.items()}
            nothing = np.append(np.full(width, math.nan), -2.0)
            row = ops.keep(ops.lookup(category, rows, nothing))
            values, at = ops.take(row, range(width)), ops.take(row, [width])
            is_later = ops.binary("less", last, at)
            found = ops.keep(ops.where(is_later, values, found))
            last = at if len(own) == 1 else ops.keep(ops.binary("max", last, at))
        return found

    def _networks(self, node: Networks, views: Sequence[_View | None]) -> Vector:
        ops, H = self.ops, node.b2.shape[1]
        parts = [
            None if x is None else (x.present, *self._inputs(node, v, x))
            for v, x in enumerate(views)
        ]
        if (found := ops.networks(node, parts)) is not None:
            return found
        h = ops.constant(node.b1)
        for there, part in zip(node.there, parts, strict=True):
            if part is not None:
                present, inputs, weights = part
                own = ops.add(ops.constant(there), ops.matmul(inputs, weights))
                h = ops.add(h, ops.where(present, own, self.zero))
        a, scores = ops.keep(ops.silu(ops.keep(h))), ops.constant(node.b3)
        for j, (W2, b2, W3) in enumerate(zip(node.W2, node.b2, node.W3, strict=True)):
            own = ops.take(a, range(j * H, j * H + H))
            deep = ops.keep(ops.add(ops.matmul(own, W2), ops.constant(b2)))
            scores = ops.add(scores, ops.matmul(ops.keep(ops.silu(deep)), W3))
        return scores

    def _inputs(self, node: Networks, v: int, x: _View) -> tuple[Vector, np.ndarray]:
        """Return what networks read of a view, and the weights of it in the first layer."""
        key = "inputs", id(node)
        if key not in x.kept:
            ops, parts, weights = self.ops, [], []
            at = np.flatnonzero(node.numbers[:, 0] == v)
            if len(at):
                n, T = node.low[at].shape
                spread = Table(node.numbers[at, 1], np.repeat(np.eye(n), T, axis=1))
                away = ops.sub(self._linear(x, spread, n * T), ops.constant(node.low[at].ravel()))
                ramps = ops.mul(away, ops.constant(node.factor[at].ravel()))
                parts.append(ops.clip(ops.keep(ramps), 0.0, 1.0))
                weights.append(node.ramps[at].reshape(n * T, -1))
            if len(node.columns[v].columns):
                parts.append(self._columns(x, node.columns[v].columns))
                weights.append(node.columns[v].values)
            for one, loaded in zip(node.components, node.loaded, strict=True):
                if one.view == v and one.width:
                    parts.append(self._linear(x, one.loadings, one.width))
                    weights.append(loaded)
            if not parts:
                parts, weights = [self.zero], [np.zeros((1, len(node.b1)))]
            x.kept[key] = ops.keep(ops.join(parts)), np.vstack(weights)
        return x.kept[key]

    def _columns(self, x: _View, columns: np.ndarray) -> Vector:
        """Return the values of some columns of a view, ascending."""
        ops = self.ops
        dense = ops.take(x.dense, columns[columns < x.n_dense].tolist())
        place = {at: i for i, at in enumerate(columns[columns >= x.n_dense].tolist())}
        if not place:
            return dense
        places = ops.constant(np.arange(float(len(place))))
        slots, factor = ops.constant(np.zeros(len(place))), ops.constant([x.factor])
        for category, _, names in x.categories:
            rows = {n: np.array([float(place[at])]) for n, at in names.items() if at in place}
            if rows:
                code = ops.keep(ops.lookup(category, rows, np.array([-1.0])))
                away = ops.unary("abs", ops.sub(code, places))
                is_there = ops.binary("less", away, ops.constant([0.5]))
                slots = ops.add(slots, ops.where(is_there, factor, self.zero))
        return ops.join([dense, slots]) if len(place) < len(columns) else slots

    def _tree_sums(self, node: Trees, views: Sequence[_View | None]) -> Vector:
        """Return the sums over the trees; where views have scores of their own, by view."""
        K = len(node.baseline)
        outputs, width = node.outputs, K
        if len(node.leaf_views):
            outputs, width = node.leaf_views * K + node.outputs, K * len(views)
        kept = self.sums_of_trees
        key = id(node), *(id(x) for x in views)
        if key not in kept:
            features = self._features(node, views)
            kept[key] = self.ops.keep(self.ops.trees(features, node, outputs, width))
        return kept[key]

    def _of_trees(self, node: Trees, views: Sequence[_View | None]) -> Vector:
        ops, K = self.ops, len(node.baseline)
        sums = self._tree_sums(node, views)
        each = np.tile(np.eye(K), (ops.width(sums) // K, 1))
        sums = ops.add(ops.matmul(sums, each), ops.constant(node.baseline))
        if not node.shares:
            return sums
        sums = ops.keep(sums)
        odds = ops.div(sums, ops.sub(self.one, sums)) if K == 1 else sums
        return ops.unary("log", odds)

    # --- several models -----------------------------------------------------------------------

    def _member(self, node: Member, views: Sequence[_View | None], n_classes: int) -> Vector:
        """Return what a member of a stack or blend says."""
        views = views if node.view is None else [views[node.view]]
        scores = self.ops.keep(self._score(node.scorer, views))
        if node.calibration is not None:
            return self.ops.keep(self._probabilities(scores, node.calibration, n_classes))
        if node.units is not None:
            own = self._scaled(scores, float(node.units[1]), [float(node.units[0])])
            return self._as_target(own, node)
        return scores

    def _as_target(self, values: Vector, node: Member | Model) -> Vector:
        """Return what is predicted on a scale of the targets in their units."""
        if node.target_scale is None:
            return values
        assert node.reach is not None  # with the scale
        found = self.ops.unary("exp", self.ops.clip(values, *map(float, node.reach)))
        return found if node.target_scale == "log" else self.ops.sub(found, self.one)

    def _blend(self, node: Blend, views: Sequence[_View | None]) -> Vector:
        ops, z = self.ops, self.ops.constant(node.intercept)
        n_classes = len(node.intercept) + 1
        for weight, member in zip(node.weights.tolist(), node.members, strict=True):
            own = self._member(member, views, n_classes)
            if node.task == "classes":
                least = self.ops.constant([LEAST_OF_MEMBERS])
                logs = ops.keep(ops.unary("log", ops.binary("max", own, least)))
                own = ops.sub(ops.take(logs, range(1, n_classes)), ops.take(logs, [0]))
            if node.limits is not None:
                own = ops.clip(own, *map(float, node.limits))
            z = ops.add(z, ops.mul(own, ops.constant([weight])))
        if ops.width(z) == 1:
            return z
        return self._log_softmax(ops.keep(ops.join([self.zero, z])))

    def _stack(self, node: Stack, views: Sequence[_View | None]) -> Vector:
        ops = self.ops
        n_classes = 2 if node.task == "two classes" else len(node.weights) - len(node.members)
        answers: list[tuple[Vector | None, Vector | None]] = []  # and whether it says anything
        for member in node.members:
            x = None if member.view is None else views[member.view]
            if member.view is not None and x is None:
                answers.append((None, None))
                continue
            own = self._member(member, views, n_classes)
            if node.task == "two classes":
                own = ops.clip(ops.take(own, [1]), LEAST, 1.0 - LEAST)
            elif node.task == "several classes":
                own = self._floored(own)
            answers.append((ops.keep(own), None if x is None else x.present))
        nothing = {"two classes": [0.5], "numbers": [0.0]}.get(
            node.task, [1.0 / n_classes] * n_classes
        )
        mixture = self._mixture(node, answers, nothing)
        if not node.stacks:
            if node.task == "numbers":
                return mixture
            if node.task == "two classes":
                return ops.unary("log", ops.div(mixture, ops.sub(self.one, mixture)))
            return ops.unary("log", mixture)
        n = len(node.members)
        z = ops.constant(node.weights[n:])
        for weight, (own, there) in zip(node.weights[:n].tolist(), answers, strict=True):
            if own is None:
                own = mixture
            elif there is not None:
                own = ops.keep(ops.where(there, own, mixture))
            if node.task == "two classes":
                own = ops.unary("log", ops.div(own, ops.sub(self.one, own)))
            elif node.task == "several classes":
                logs = ops.keep(ops.unary("log", own))
                own = ops.sub(logs, ops.keep(self._scaled(ops.total(logs), 1.0 / n_classes, [0.0])))
            z = ops.add(z, ops.mul(own, ops.constant([weight])))
        if node.task == "numbers":
            return z
        if node.task == "two classes":
            most = math.log(1.0 / LEAST - 1.0)
            return ops.clip(ops.keep(z), -most, most)
        return ops.unary("log", self._floored(self._softmax(ops.keep(z))))

    def _floored(self, p: Vector) -> Vector:
        ops = self.ops
        p = ops.keep(ops.binary("max", p, ops.constant([LEAST])))
        return ops.div(p, ops.keep(ops.total(p)))

    def _mixture(
        self,
        node: Stack,
        answers: Sequence[tuple[Vector | None, Vector | None]],
        nothing: Sequence[float],
    ) -> Vector:
        """Return the mixture of what the experts say that say anything."""
        ops, total, whole = self.ops, self.ops.constant(np.zeros(len(nothing))), self.zero
        for weight, (own, there) in zip(node.mixture.tolist(), answers, strict=True):
            if own is None:
                continue
            w, part = ops.constant([weight]), ops.mul(own, ops.constant([weight]))
            if there is not None:
                w, part = ops.where(there, w, self.zero), ops.where(there, part, self.zero)
            whole, total = ops.add(whole, w), ops.add(total, part)
        whole = ops.keep(whole)
        is_some = ops.binary("less", self.zero, whole)
        safe = ops.where(is_some, whole, self.one)
        return ops.keep(ops.where(is_some, ops.div(total, safe), ops.constant(nothing)))


def format_of(pattern: str) -> str:
    """Return the format of dates whose portable pattern this is."""
    text = pattern.removeprefix(r"[\t\n\f\r ]*").removesuffix(r"[\t\n\f\r ]*")
    text = text.partition("(?:[T ]")[0]
    text = re.sub(r"\(\?P<(\w)>(?:[^()]|\([^()]*\))*\)", r"%\1", text)
    return re.sub(r"\\(.)", r"\1", text)
