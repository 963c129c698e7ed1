"""A model as one SQL query: columns of a table in, prediction, probabilities and scores out.

The query has layers, each a common table expression: numbers that are used more than once are
columns of it, and the next layer selects those that are still needed.  Categories are joined with
what they weigh, and rows with the weights of networks.  Expressions are those of sqlglot, which
knows how each dialect writes them.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crossview.errors import InputError, cannot_import
from crossview.exporting.plan import Plan
from crossview.exporting.vectorized.dates import BLANKS, seconds_of_text
from crossview.exporting.vectorized.forests import MANY_NODES, WALKS, Forest
from crossview.exporting.vectorized.vectors import Operations, Vector, format_of, lower
from crossview.labels import written_label
from crossview.portable.encoding import Column, TableEncoder
from crossview.portable.scoring import Blend, Networks, Scorer, Stack, Trees, ViewSum
from crossview.tables.columns import LARGEST
from crossview.tables.dates import ISO

try:
    import sqlglot
    from sqlglot import exp
except ImportError as error:
    raise cannot_import("SQL", "sqlglot", error) from None

# by name; the most columns that a subquery may have
DIALECTS = {
    "duckdb": 100_000,
    "postgres": 1664,
    "sqlite": 2000,
    "bigquery": 10_000,
    "snowflake": 10_000,
}
# of trees as CASE in CASE, if they have more than so many each
MOST_NODES, DEEP = 100_000, 500
# those that number rows once, and join them with the weights of networks
JOIN_NETWORKS = ("duckdb", "postgres", "sqlite")
# of these columns a query is refused before it is written, as not all of them may be needed
MANY_TIMES = 2
# those whose wide vectors are one column each, a list, which is multiplied with a list of weights:
# DuckDB plans in the square of the columns, and each product has a vector of numbers in memory
HAVE_LISTS = ("duckdb",)
# numbers of a row that are a list; products of a matrix, and those of each of its sums
WIDE, MANY_PRODUCTS, LONG = 16, 100, 8
# those that take A for a, also in quotes
IGNORE_CASE = ("duckdb", "sqlite", "bigquery")
# of kernels: 760 take DuckDB a minute to plan, and twice as many eight times as long
MOST_SUPPORT_ROWS = 1000
TABLE = "rows_to_score"
# begins of the names of tables: what categories weigh, and scores of networks and large trees
VALUES, JOINED = "crossview_values_", "crossview_scores_"
FIRST_LINE = "-- a model that Crossview exported, for {}"
# terms between two parentheses: a sum must not be as deep as it is long, nor need a function
# more arguments than databases take
TERMS = 32
# CASE in CASE; the parser of SQLite has a stack of a hundred places, and each takes five
MOST_NESTED = {"sqlite": 10}
# EXP of what is below is 0 up to rounding, and an error in PostgreSQL
LEAST_EXPONENT = -700.0
# of the weights of networks
DIGITS = 12
# a product with what is smaller may underflow, which PostgreSQL refuses
LEAST_WEIGHT = 1e-290


def sql_query(
    plan: Plan, *, dialect: str = "duckdb", table: str = TABLE, keep: Sequence[str] = ()
) -> str:
    """Return the query that scores the rows of a table.

    dialect {"duckdb", "postgres", "sqlite", "bigquery", "snowflake"}: the database.
    table: the table or view with the columns of the model, maybe with its schema.
    keep: columns of the table that the query returns, too, such as an id.
    Returns query: one SELECT.  Its columns are called as those of `crossview.predict`.
    Raises InputError: the dialect is unknown, text is hashed, the model has no table, a date is
      written in a way that the database does not read, the database takes a column for another
      one, or the query would have too many columns or support rows.
    """
    if dialect not in DIALECTS:
        raise InputError(f"the dialect {dialect!r} is none of {', '.join(DIALECTS)}")
    if dialect in IGNORE_CASE and isinstance(plan.encoder, TableEncoder):
        known: dict[str, str] = {}
        for column in plan.encoder.columns:
            if (other := known.setdefault(column.name.lower(), column.name)) != column.name:
                raise InputError(
                    f"{dialect} takes column {column.name!r} for {other!r}; train with other names"
                )
    if (n := _support_rows(plan.model.scorer)) > MOST_SUPPORT_ROWS:
        raise InputError(
            f"the kernels of the model have {n:,} support rows, each a column of the query, and "
            f"{MOST_SUPPORT_ROWS:,} take a database minutes to plan; export to .onnx, .py or .js"
        )
    has_bins = isinstance(plan.encoder, TableEncoder) and plan.encoder.n_bins > 0
    query = _Query(dialect, "train without bins (--bins 0), or " if has_bins else "")
    answers = lower(plan, query)
    own = [("prediction", *answers.prediction)]
    classes = list(map(written_label, plan.model.classes or []))
    if answers.scores is not None:
        of_two = len(classes) == 2
        names = ["score"] if of_two else [f"score_{label}" for label in classes]
        own += zip(names, answers.scores, strict=True)
    if answers.probabilities is not None:
        names = [f"probability_{label}" for label in classes]
        own += zip(names, answers.probabilities, strict=True)
    views = [f"view_{view}" for view in plan.model.views]
    own += zip(views, answers.view_scores, strict=True)
    names = [*keep, *(name for name, _ in own)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two columns of the answer are called {twice[0]!r}; keep no such column")
    return query.text(_table_name(table, dialect), list(keep), own)


def _support_rows(scorer: Scorer) -> int:
    """Return the number of rows that kernels compare a row with, in all views and members."""
    if isinstance(scorer, Stack | Blend):
        return sum(_support_rows(one.scorer) for one in scorer.members)
    views = scorer.views if isinstance(scorer, ViewSum) else ()
    return sum(len(one.supports.weights) for one in views if one.supports is not None)


def _table_name(table: str, dialect: str) -> str:
    try:
        found = exp.to_table(table, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        found = None
    if not isinstance(found, exp.Table) or found.alias or not found.name:
        raise InputError(f"{table!r} is no name of a table in {dialect}; put it in quotes")
    return found.sql(dialect=dialect)


@dataclass
class _Expression:
    """One number of a row; ``level`` is the layer that has all columns which it reads.

    ``place`` is the list that it is a part of, and where, from 0 on.
    """

    expression: Any
    level: int
    place: tuple[str, int] | None = None

    @property
    def is_kept(self) -> bool:
        """Whether it is a column, or a part of one."""
        return self.place is not None or isinstance(self.expression, exp.Column)

    @property
    def column(self) -> str:
        """The name of the column that has it, where it is kept."""
        return self.expression.name if self.place is None else self.place[0]

    def product(self, weight: float) -> str:
        """Return it times a weight, as text, where it is kept."""
        name = self.expression.name
        return name if weight == 1.0 else f"{name} * {_number_text(weight)}"

    def use(self) -> Any:
        """Return it for one place in another expression."""
        return self.expression if self.expression.parent is None else self.expression.copy()


# a number, a Boolean or None for NULL is a constant
Element = _Expression | float | bool | None


@dataclass
class _Category:
    """A column of categories, and the table of what they weigh."""

    column: str
    values: list[str | float]
    weights: dict[str, list[float | None]] = field(default_factory=dict)


@dataclass(eq=False)  # arrays are not equal or not
class _Network:
    """Networks whose scores are columns of a layer; in each pass some of the views are there."""

    node: Networks
    level: int
    views: list[tuple[Vector, Vector, np.ndarray] | None]
    passes: list[list[bool]] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)

    @property
    def n_columns(self) -> int:
        """The columns of the widest table."""
        there = [view for view in self.views if view is not None]
        units = 3 + len(there) + sum(view[2].shape[0] for view in there)
        return max(units, 2 + self.node.b2.shape[1] + len(self.node.b3))


class _Query(Operations):
    """Vectors are lists of elements; ``shorter`` says what else makes a query of fewer columns."""

    def __init__(self, dialect: str, shorter: str) -> None:
        self.dialect, self.shorter = dialect, shorter
        self.writer = sqlglot.Dialect.get_or_raise(dialect).generator()
        self.layers: list[dict[str, tuple[str, set[str]]]] = [{}]
        self.names: dict[str, str] = {}  # of texts
        self.level_of: dict[str, int] = {}
        self.inputs: dict[tuple[str, str], Any] = {}
        self.categories: list[_Category] = []
        self.joined: list[_Network | Forest] = []
        self.lengths: dict[str, int] = {}  # of columns that are lists

    # --- inputs ------------------------------------------------------------------------------

    def number(self, column: Column) -> Vector:
        if ("number", column.name) not in self.inputs:
            x: Any = exp.cast(self._source(column), "double")
            # NaN is above all numbers, or compares with none
            is_sound = exp.Between(this=x, low=_number(-LARGEST), high=_number(LARGEST))
            x = exp.Case(ifs=[exp.If(this=is_sound, true=x.copy())])
            self.inputs["number", column.name] = [self._kept(x, 0)]
        return self.inputs["number", column.name]

    def seconds(self, column: Column) -> Vector:
        if ("date", column.name) not in self.inputs:
            self.inputs["date", column.name] = [self._epoch(column)]
        return self.inputs["date", column.name]

    def _epoch(self, column: Column) -> _Expression:
        """Return seconds since 1970 of a date, a timestamp or a text, which are read as text."""
        words = exp.cast(self._source(column), "text").sql()
        text = self._kept(sqlglot.parse_one(f"TRIM({BLANKS} FROM {words})"), 0).expression.name
        # databases write their own dates as in ISO 8601
        formats = dict.fromkeys([format_of(column.pattern or ""), ISO])
        name, *other = [
            self._kept_words(seconds_of_text(column.name, text, one, self._kept_words))
            for one in formats
        ]
        if other:
            name = self._kept_words(f"COALESCE({name}, {other[0]})")
        return _Expression(exp.column(name), self.level_of[name])

    def _kept_words(self, words: str) -> str:
        """Return the name of a column after all that it reads."""
        expression = sqlglot.parse_one(words)
        layer = 1 + max(self.level_of[name] for name in _columns_in(expression))
        return str(self._kept(expression, layer).expression.name)

    def category(self, column: Column, values: Sequence[str]) -> tuple[Any, Vector]:
        key = "category", column.name
        if key not in self.inputs:
            text = self._kept(self._name_of(column), 0)
            self.inputs[key] = _Category(text.expression.name, []), text
            self.categories.append(self.inputs[key][0])
        category, text = self.inputs[key]
        known, others = set(category.values), {one: self._others(one, column) for one in values}
        if self.dialect == "sqlite" and not column.boolean:
            for word, bit in (("true", 1), ("false", 0)):
                if word in others and str(bit) not in others:
                    others[word] = [bit]
        for value in values:
            for one in [value, *others[value]]:
                if one not in known and (one == value or one not in others):
                    known.add(one)
                    category.values.append(one)
                    for weights in category.weights.values():
                        weights.append(None)
        names = {one: value for value, own in others.items() for one in own}
        return (category, names), self.unary("missing", [text])

    def _name_of(self, column: Column) -> Any:
        """Return a category as the values that are looked up have it."""
        source = self._source(column)
        text: Any = exp.cast(source, "text")
        if column.boolean:
            words = text.sql()
            return sqlglot.parse_one(
                f"CASE WHEN LOWER({words}) IN ('true', '1', '1.0') THEN 'true' "
                f"WHEN LOWER({words}) IN ('false', '0', '0.0') THEN 'false' ELSE {words} END"
            )
        if self.dialect == "sqlite":  # its text of a number lacks digits; of an expression
            # numbers stay numbers, and are not compared with text
            return exp.Coalesce(this=source, expressions=[exp.null()])
        return text

    def _others(self, value: str, column: Column) -> list[str | float]:
        """Return what else the database may have for a category, of a column that is no text."""
        if column.boolean:
            return []
        number = _number_of(value)
        if self.dialect == "sqlite":
            return [] if number is None else [number]
        if number is None or not column.declared:
            return []
        return [one for one in _texts(number) if one != value]

    def view(self, name: str, width: int) -> Vector:
        raise InputError(
            f"the model has learned views of numbers ({name!r}: {width:,} columns), which no table "
            "has; SQL needs a model that was trained on a table"
        )

    def lookup(self, category: Any, rows: Mapping[str, np.ndarray], default: np.ndarray) -> Vector:
        (own, names), found = category, []
        for k, usual in enumerate(default.tolist()):
            weights: list[float | None] = []
            for value in own.values:
                row = rows.get(value, rows.get(names.get(value, value)))
                weights.append(None if row is None else float(row[k]))
            if all(one is None or one == usual for one in weights):
                found.append(_constant(usual))
                continue
            place = self.categories.index(own)
            name = f"w{len(own.weights)}"
            own.weights[name] = weights
            column: Any = exp.column(name, table=f"{VALUES}{place}")
            if not math.isnan(usual):
                column = exp.Coalesce(this=column, expressions=[_number(usual)])
            found.append(self._kept(column, 1))
        return found

    def _source(self, column: Column) -> Any:
        return exp.Column(this=exp.to_identifier(column.name, quoted=True))

    # --- arithmetic --------------------------------------------------------------------------

    def constant(self, values: Any) -> Vector:
        return [_constant(one) for one in np.asarray(values).ravel().tolist()]

    def width(self, a: Vector) -> int:
        return len(a)

    def binary(self, operation: str, a: Vector, b: Vector) -> Vector:
        if operation in ("max", "min") and len(a) >= WIDE and self.dialect in HAVE_LISTS:
            a = self.keep(a)  # which reads each number twice, as it stays missing
        n = max(len(a), len(b))
        pairs = zip(a * n if len(a) == 1 else a, b * n if len(b) == 1 else b, strict=True)
        return [self._binary(operation, x, y) for x, y in pairs]

    def _binary(self, operation: str, a: Element, b: Element) -> Element:
        if not isinstance(a, _Expression) and not isinstance(b, _Expression):
            return _fold(operation, a, b)
        if (known := _identity(operation, a, b)) is not _UNKNOWN:
            return known
        level = max(_level(a), _level(b))
        if operation in ("max", "min"):
            kind = exp.Greatest if operation == "max" else exp.Least
            made: Any = kind(this=_use(a), expressions=[_use(b)], ignore_nulls=False)
            return _Expression(made, level)
        if operation == "add":
            return _Expression(exp.Add(this=_use(a), expression=_wrapped(_use(b))), level)
        kind = _BINARY[operation]
        return _Expression(kind(this=_wrapped(_use(a)), expression=_wrapped(_use(b))), level)

    def unary(self, operation: str, a: Vector) -> Vector:
        return [self._unary(operation, one) for one in a]

    def _unary(self, operation: str, a: Element) -> Element:
        if operation == "missing":
            if not isinstance(a, _Expression):
                return a is None
            return _Expression(exp.Is(this=_wrapped(a.use()), expression=exp.null()), a.level)
        if not isinstance(a, _Expression):
            return None if a is None else _FOLDED[operation](a)
        if operation == "not":
            return _Expression(exp.Not(this=_wrapped(a.use())), a.level)
        x = a.use()
        if operation == "exp" and self.dialect != "duckdb":
            x = exp.Greatest(this=x, expressions=[_number(LEAST_EXPONENT)], ignore_nulls=False)
        kind: Any = {"exp": exp.Exp, "log": exp.Ln, "floor": exp.Floor, "abs": exp.Abs}.get(
            operation, exp.Sin
        )
        return _Expression(kind(this=x), a.level)

    def where(self, condition: Vector, a: Vector, b: Vector) -> Vector:
        n = max(len(condition), len(a), len(b))
        spread = [part * n if len(part) == 1 else part for part in (condition, a, b)]
        return [self._where(*three) for three in zip(*spread, strict=True)]

    def _where(self, condition: Element, a: Element, b: Element) -> Element:
        if not isinstance(condition, _Expression):
            return a if condition else b
        if a is b or (not isinstance(a, _Expression) and not isinstance(b, _Expression) and a == b):
            return a
        level = max(condition.level, _level(a), _level(b))
        case: Any = exp.Case(ifs=[exp.If(this=condition.use(), true=_use(a))], default=_use(b))
        if b is None:
            case.set("default", None)
        if not isinstance(a, _Expression) and not isinstance(b, _Expression):
            case = exp.cast(case, "double")  # and no decimals
        return _Expression(case, level)

    def join(self, parts: Sequence[Vector]) -> Vector:
        return [one for part in parts for one in part]

    def take(self, a: Vector, positions: Sequence[int]) -> Vector:
        return [a[i] for i in positions]

    def matmul(self, a: Vector, weights: np.ndarray) -> Vector:
        weights = np.asarray(weights, dtype=float)
        n = int(np.count_nonzero(np.abs(weights) > LEAST_WEIGHT))
        is_large = n >= max(MANY_PRODUCTS, LONG * weights.shape[1])
        if is_large and self.dialect in HAVE_LISTS and not any(one is None for one in a):
            return self._products_of_lists(a, weights)
        return [self._dot(a, column) for column in weights.T]

    def _products_of_lists(self, a: Vector, weights: np.ndarray) -> Vector:
        """Return sums of products as those of two lists: the numbers, and weights as text."""
        is_read = np.array([isinstance(one, _Expression) for one in a]) & weights.any(axis=1)
        read = np.flatnonzero(is_read)
        known = [0.0 if isinstance(one, _Expression) else float(one) for one in a] @ weights
        if not len(read):
            return list(known.tolist())
        numbers, of_lists = self._list([a[i] for i in read.tolist()], weights[read])
        name, sums = numbers.expression.name, []
        for constant, own in zip(known.tolist(), of_lists.T.tolist(), strict=True):
            made = f"LIST_INNER_PRODUCT({name}, CAST('{own}' AS DOUBLE[]))"
            product = _Expression(_text_of(made, {name}), numbers.level)
            sums.append(self._binary("add", product, constant))
        return sums

    def _list(self, a: Vector, weights: np.ndarray) -> tuple[_Expression, np.ndarray]:
        """Return the column that is a list of these numbers, and the weights in its order."""
        places = [one.place for one in a]
        if None not in places and len({name for name, _ in places}) == 1:
            name = places[0][0]
            in_order = np.zeros((self.lengths[name], weights.shape[1]))
            np.add.at(in_order, [at for _, at in places], weights)
            return _Expression(exp.column(name), a[0].level), in_order
        texts = [self._write(one.expression) for one in a]
        reads = set().union(*(_columns_in(one.expression) for one in a))
        level = 1 + max(map(_level, a))
        kept = self._kept_text(f"[{', '.join(texts)}]", level, reads)
        self.lengths[kept.expression.name] = len(a)
        return kept, weights

    def _dot(self, a: Vector, weights: np.ndarray) -> Element:
        read, known = [], 0.0
        for i in np.flatnonzero(np.abs(weights) > LEAST_WEIGHT).tolist():
            one, weight = a[i], float(weights[i])
            if one is None:
                return None
            if isinstance(one, _Expression):
                read.append((one, weight))
            else:
                known += float(one) * weight
        if not read:
            return known
        level = max(one.level for one, _ in read)
        if len(read) > 1 and all(one.is_kept for one, _ in read):
            # as text, since there are many
            texts = [one.product(weight) for one, weight in read]
            texts += [_number_text(known)] if known else []
            reads = {one.column for one, _ in read}
            return _Expression(_text_of(_text_of_sum(texts), reads, is_sum=True), level)
        terms = [_use(self._binary("mul", one, weight)) for one, weight in read]
        if known:
            terms.append(_number(known))
        return _Expression(_sum(terms), level)

    def largest(self, a: Vector) -> Vector:
        if not any(isinstance(one, _Expression) for one in a):
            return [functools.reduce(functools.partial(_fold, "max"), a)]
        if len(a) >= WIDE and self.dialect in HAVE_LISTS:
            texts = [self._write(_use(one)) for one in a]
            reads = set().union(*(_columns_in(_use(one)) for one in a))
            made = _text_of(f"LIST_MAX([{', '.join(texts)}])", reads)
            return [_Expression(made, max(map(_level, a)))]

        def greatest(terms: Sequence[Any]) -> Any:
            return exp.Greatest(this=terms[0], expressions=terms[1:], ignore_nulls=False)

        return [_Expression(_grouped([_use(one) for one in a], greatest), max(map(_level, a)))]

    def any(self, a: Vector) -> Vector:
        found = [one for one in a if isinstance(one, _Expression)]
        if not found or any(one is True for one in a):
            return [any(one is True for one in a)]
        terms = [_wrapped(one.use()) for one in found]
        return [_Expression(_grouped(terms, _chain(exp.Or)), max(map(_level, found)))]

    def trees(self, features: Vector, trees: Trees, outputs: np.ndarray, width: int) -> Vector:
        n = len(trees.left)
        if n >= MANY_NODES and self.dialect in WALKS and not trees.set_of.any():
            return self._walk(features, trees, outputs, width)
        if n > MOST_NODES and n > DEEP * len(trees.roots):
            raise InputError(
                f"the deep trees of the model have {n:,} nodes, and with more than {MOST_NODES:,} "
                f"a query does not end in {self.dialect}; export for duckdb or postgres, or to "
                ".onnx, .py or .js"
            )
        sums: list[list[Any]] = [[] for _ in range(width)]
        level = max((_level(one) for one in features), default=0)
        known, levels = [0.0] * width, [level] * width
        reads: set[str] = set()
        columns: list[str | float | None] = []
        for one in features:
            is_read = isinstance(one, _Expression)
            reads |= _columns_in(one.expression) if is_read else set()
            columns.append(self._write(_wrapped(one.expression)) if is_read else one)
        begins = np.append(0, trees.ends).astype(np.int64)
        leaves = np.repeat(np.arange(len(trees.ends)), np.diff(begins))
        firsts = np.append(begins[trees.roots], len(outputs)).tolist()
        for output in np.unique(outputs).tolist():
            own = np.flatnonzero(outputs == output)
            adds = np.zeros(len(trees.ends))
            adds[leaves[own]] = trees.values[own]
            texts = _TreeTexts(trees, columns, adds, MOST_NESTED.get(self.dialect, math.inf))
            has_some = np.diff(np.searchsorted(own, firsts)) > 0
            for root in trees.roots[has_some].tolist():
                made, seen, at = texts.below(root), reads, level
                while texts.cut:  # as text, since there are many nodes
                    at += 1
                    kept = self._kept(_text_of(made, seen), at).expression.name
                    made, seen = texts.onwards(kept), reads | {kept}
                if isinstance(made, float):
                    known[output] += made
                else:
                    sums[output].append(exp.cast(_text_of(made, seen), "double"))
                    levels[output] = max(levels[output], at)
        found: list[Element] = []
        for terms, constant, at in zip(sums, known, levels, strict=True):
            if constant and terms:
                terms.append(_number(constant))
            found.append(_Expression(_sum(terms), at) if terms else constant)
        return found

    def _walk(self, features: Vector, trees: Trees, outputs: np.ndarray, width: int) -> Vector:
        level = 1 + max((_level(one) for one in features), default=0)
        for own in self.joined:
            if isinstance(own, Forest) and own.trees is trees and own.level >= level:
                break
        else:
            own = Forest(trees, outputs, width, level)
            self.joined.append(own)
        texts = []
        for one in features:
            if isinstance(one, _Expression):
                own.reads |= _columns_in(one.expression)
                texts.append(self._write(_wrapped(one.expression)))
            else:
                texts.append("NULL" if one is None else _number_text(one))
        own.passes.append(texts)
        begin = f"{JOINED}{self.joined.index(own)}.s{len(own.passes) - 1}_"
        return [self._kept_text(f"{begin}{k}", own.level, own.reads) for k in range(width)]

    def networks(self, node: Networks, views: Sequence[Any]) -> Vector | None:
        if self.dialect not in JOIN_NETWORKS:
            return None
        elements = [one for view in views if view is not None for one in [*view[0], *view[1]]]
        level = 1 + max(map(_level, elements), default=0)
        for own in self.joined:
            if isinstance(own, _Network) and own.node is node and own.level >= level:
                break
        else:
            own = _Network(node, level, [None] * len(views))
            self.joined.append(own)
        own.views = [old or new for old, new in zip(own.views, views, strict=True)]
        for one in elements:
            own.reads |= _columns_in(one.expression) if isinstance(one, _Expression) else set()
        own.passes.append([view is not None for view in views])
        found: list[Element] = []
        for k in range(len(node.b3)):
            text = f"{JOINED}{self.joined.index(own)}.s{len(own.passes) - 1}_{k}"
            found.append(self._kept_text(text, own.level, own.reads))
        return self.add(found, self.constant(node.b3))

    def label(self, index: Vector, classes: Sequence[Any]) -> Vector:
        literals = [_label(one, self.dialect) for one in classes]
        (at,) = index
        if not isinstance(at, _Expression):
            return [_Expression(literals[int(at or 0.0)], 0)]
        (kept,) = self.keep([at])
        ifs = [
            exp.If(this=exp.EQ(this=kept.use(), expression=_number(float(i))), true=literal)
            for i, literal in enumerate(literals[:-1])
        ]
        return [_Expression(exp.Case(ifs=ifs, default=literals[-1]), kept.level)]

    # --- layers --------------------------------------------------------------------------------

    def keep(self, a: Vector) -> Vector:
        new = [one for one in a if isinstance(one, _Expression) and not one.is_kept]
        if len(new) >= WIDE and self.dialect in HAVE_LISTS:
            whole = self._list(new, np.zeros((len(new), 0)))[0]
            name = whole.expression.name
            for at, one in enumerate(new):
                one.expression = _text_of(f"{name}[{at + 1}]", {name})
                one.level, one.place = whole.level, (name, at)
            return a
        for one in new:
            kept = self._kept(one.expression, one.level + 1)
            one.expression, one.level = kept.expression, kept.level
        return a

    def _kept(self, expression: Any, layer: int) -> _Expression:
        """Return an expression, which no one else has then, as a column of a layer."""
        reads = _columns_in(expression)  # before it is written, which may change it
        text = self.writer.generate(expression, copy=expression.parent is not None)
        return self._kept_text(text, layer, reads)

    def _kept_text(self, text: str, layer: int, reads: set[str]) -> _Expression:
        if text not in self.names:
            name = self.names[text] = f"c{len(self.names)}"
            while len(self.layers) <= layer:
                self.layers.append({})
            self.layers[layer][name] = text, reads
            if len(self.layers[layer]) > MANY_TIMES * DIALECTS[self.dialect]:
                raise self._too_wide(f"more than {len(self.layers[layer]) - 1:,}")
            self.level_of[name] = layer
        name = self.names[text]
        return _Expression(exp.column(name), self.level_of[name])

    def _too_wide(self, columns: str) -> InputError:
        return InputError(
            f"the query would have {columns} columns in one step, and {self.dialect} has at most "
            f"{DIALECTS[self.dialect]:,}; {self.shorter}export to .onnx, or for duckdb"
        )

    def _write(self, expression: Any) -> str:
        return self.writer.generate(expression)

    def text(
        self,
        table: str,
        keep: Sequence[str],
        answers: Sequence[tuple[str, Element]],
    ) -> str:
        """Return the query."""
        quoted = {name: self._write(exp.to_identifier(name, quoted=True)) for name in keep}
        final, needed = [], set()
        for name, one in answers:
            expression = _use(one) if one is not None else exp.cast(exp.null(), "double")
            needed |= _columns_in(expression)
            alias = self._write(exp.to_identifier(name, quoted=True))
            final.append(f"  {self._write(expression)} AS {alias}")
        selects = []
        for level in range(len(self.layers) - 1, -1, -1):
            own = {name: one for name, one in self.layers[level].items() if name in needed}
            passed = sorted(needed - own.keys(), key=lambda name: int(name[1:]))
            lines = [f"k{i}" for i in range(len(keep))] if level else []
            lines += passed
            lines += [f"{text} AS {name}" for name, (text, _) in own.items()]
            needed = set(passed)
            if level:
                for _, reads in own.values():
                    needed |= reads
            if level == 1:
                needed |= {self.categories[i].column for i in _places(VALUES, lines)}
            selects.append((level, lines))
        selects.reverse()
        joined = {level: _places(JOINED, lines) for level, lines in selects}
        is_numbered = any(joined.values())
        most = max(len(lines) for _, lines in selects)
        for i in (i for own in joined.values() for i in own):
            most = max(most, self.joined[i].n_columns)
        if most > DIALECTS[self.dialect]:
            raise self._too_wide(f"{most:,}")
        used = _places(VALUES, [line for level, own in selects if level == 1 for line in own])
        ctes = [self._values(i) for i in used]
        for level, lines in selects:
            source = table if level == 0 else f"crossview_{level - 1}"
            if level == 0:
                lines = [f"{quoted[name]} AS k{i}" for i, name in enumerate(keep)] + lines
            if is_numbered:
                lines = [
                    "crossview_row" if level else "ROW_NUMBER() OVER () AS crossview_row",
                    *lines,
                ]
            for i in joined[level]:
                ctes += self._joined(i, source)
            lines = lines or ["1 AS c"]
            select = "SELECT\n  " + ",\n  ".join(lines) + f"\nFROM {source}"
            if level == 1:
                for i in used:
                    key = self.categories[i].column
                    select += f"\nLEFT JOIN {VALUES}{i} ON {key} = {VALUES}{i}.v"
            for i in joined[level]:
                select += f"\nJOIN {JOINED}{i} ON {JOINED}{i}.r = crossview_row"
            ctes.append(self._layer(f"crossview_{level}", select, bool(joined.get(level + 1))))
        last = [f"  k{i} AS {quoted[name]}" for i, name in enumerate(keep)] + final
        whole = ",\n".join(ctes)
        walks = " RECURSIVE" if any(isinstance(one, Forest) for one in self.joined) else ""
        return (
            f"{FIRST_LINE.format(self.dialect)}\n"
            f"WITH{walks} {whole}\nSELECT\n"
            + ",\n".join(last)
            + f"\nFROM crossview_{selects[-1][0]}\n"
        ) + ("ORDER BY crossview_row\n" if is_numbered else "")

    def _layer(self, name: str, select: str, is_shared: bool = False) -> str:
        """Return a common table expression that is computed once, and not at each use."""
        if self.dialect == "postgres":
            select += "\nOFFSET 0"
        once = " MATERIALIZED" if is_shared or self.dialect == "sqlite" else ""
        return f"{name} AS{once} (\n{select}\n)"

    def _values(self, place: int) -> str:
        """Return the table of what the categories of a column weigh."""
        one = self.categories[place]
        rows = []
        for i, value in enumerate(one.values):
            weights = [column[i] for column in one.weights.values()]
            if any(weight is not None for weight in weights):
                cells = ["NULL" if w is None else _number_text(w) for w in weights]
                is_text = isinstance(value, str)
                literal = exp.Literal.string(value) if is_text else _label(value, self.dialect)
                rows.append([self._write(literal), *cells])
        return self._table(f"{VALUES}{place}", ["v", *one.weights], rows, "v")

    def _table(
        self, name: str, names: list[str], rows: list[list[str]], key: str | None = None
    ) -> str:
        """Return a table of texts of numbers; the key, which is first, may be text.

        Without one all rows of it are read for each row.
        """
        once = "" if key else " MATERIALIZED"
        if self.dialect == "sqlite":
            lines = ",\n".join(f"  ({', '.join(row)})" for row in rows)
            return f"{name}({', '.join(names)}) AS{once} (\nVALUES\n{lines}\n)"
        kind = self._write(exp.DataType.build("double"))
        casts = ", ".join(w if w == key else f"CAST({w} AS {kind}) AS {w}" for w in names)
        if self.dialect == "bigquery":
            lines = ",\n".join(
                f"  STRUCT({', '.join(f'{c} AS {w}' for c, w in zip(row, names, strict=True))})"
                for row in rows
            )
            return f"{name} AS (\nSELECT {casts}\nFROM UNNEST([\n{lines}\n])\n)"
        lines = ",\n".join(f"  ({', '.join(row)})" for row in rows)
        lines = f"VALUES\n{lines}\n) AS t({', '.join(names)})"
        return f"{name} AS{once} (\nSELECT {casts}\nFROM ({lines}\n)"

    # --- networks and forests ------------------------------------------------------------------

    def _joined(self, place: int, source: str) -> list[str]:
        """Return the tables that have the scores of the rows of a layer."""
        own, name = self.joined[place], f"{JOINED}{place}"
        if isinstance(own, _Network):
            return self._network(own, name, source)
        tables = own.tables(self.dialect, name, source)
        shared = (f"{name}_nodes", f"{name}_x")
        return [
            f"{called} AS{' MATERIALIZED' * called.startswith(shared)} (\n{select}\n)"
            for called, select in tables
        ]

    def _weights(self, own: _Network) -> list[tuple[str, list[str], np.ndarray]]:
        """Return the tables of networks, with their columns: both layers of units, and passes.

        A unit has the number g of its network and its own, q, in it; its bias is b.
        """
        node, (k, H) = own.node, own.node.b2.shape
        there = [v for v, view in enumerate(own.views) if view is not None]
        weights = [view[2] for view in own.views if view is not None]
        g, q = np.repeat(np.arange(k), H), np.tile(np.arange(H), k)
        first = np.vstack([g, q, node.b1, node.there[there], *weights]).T
        n = first.shape[1] - 3 - len(there)
        inner = node.W2.transpose(0, 2, 1).reshape(k * H, H)
        deep = np.column_stack([g, node.b2.ravel(), inner, node.W3.reshape(k * H, -1)])
        passes = np.column_stack([np.arange(len(own.passes)), np.array(own.passes)[:, there]])
        t = [f"t{v}" for v in there]
        a, y = [f"z{i}" for i in range(H)], [f"y{i}" for i in range(len(node.b3))]
        return [
            ("units", ["g", "q", "b", *t, *(f"w{i}" for i in range(n))], first),
            ("deep", ["g", "b", *a, *y], deep),
            ("passes", ["p", *(f"m{v}" for v in there)], passes),
        ]

    def _network(self, own: _Network, name: str, source: str) -> list[str]:
        """Return the scores of networks on the rows of a layer, and the tables before them."""
        H, K, ctes = own.node.b2.shape[1], len(own.node.b3), []
        for what, names, numbers in self._weights(own):
            rows = [[_short_text(cell) for cell in row] for row in numbers.tolist()]
            ctes.append(self._table(f"{name}_{what}", names, rows))
        terms, reached = ["b"], []
        at = 0
        for v, view in enumerate(own.views):
            if view is not None:
                products = [exp.column(f"t{v}")]
                for i, one in enumerate(view[1], start=at):
                    product = self._binary("mul", one, _Expression(exp.column(f"w{i}"), 0))
                    products.append(_use(product))
                at += len(view[1])
                added = self._where(view[0][0], _Expression(_sum(products), 0), 0.0)
                reached.append(f"{self._write(_use(added))} AS o{v}")
                terms.append(f"m{v} * o{v}")
        (a,) = self.silu([_Expression(exp.column("h"), 0)])
        active = self._write(_use(a))
        units = [f"MAX(CASE WHEN q = {j} THEN a END) AS a{j}" for j in range(H)]
        h = self._write(_sum([exp.column("b"), *(exp.Var(this=f"a{j} * z{j}") for j in range(H))]))
        y = [f"y{c}" for c in range(K)]
        sums = [f"SUM(a * {one}) AS {one}" for one in y]
        found = [
            f"MAX(CASE WHEN p = {p} THEN y{c} END) AS s{p}_{c}"
            for p in range(len(own.passes))
            for c in range(K)
        ]
        steps = [
            (["crossview_row AS r", "g", "q", "b", *reached], f"{source} CROSS JOIN {name}_units"),
            (
                ["r", "p", "g", "q", f"{' + '.join(terms)} AS h"],
                f"{name}_1 CROSS JOIN {name}_passes",
            ),
            (["r", "p", "g", "q", f"{active} AS a"], f"{name}_2"),
            (["r", "p", "g", *units], f"{name}_3 GROUP BY r, p, g"),
            (
                ["r", "p", f"{h} AS h", *y],
                f"{name}_4 JOIN {name}_deep ON {name}_4.g = {name}_deep.g",
            ),
            (["r", "p", f"{active} AS a", *y], f"{name}_5"),
            (["r", "p", *sums], f"{name}_6 GROUP BY r, p"),
            (["r", *found], f"{name}_7 GROUP BY r"),
        ]
        names = [*(f"{name}_{i}" for i in range(1, len(steps))), name]
        for step, (columns, tables) in zip(names, steps, strict=True):
            ctes.append(self._layer(step, f"SELECT\n  {', '.join(columns)}\nFROM {tables}"))
        return ctes


def _places(tables: str, lines: Iterable[str]) -> list[int]:
    """Return the numbers of the tables that are read, of those whose names begin so."""
    return sorted({int(i) for i in re.findall(rf"{tables}(\d+)\.", " ".join(lines))})


# --- elements ---------------------------------------------------------------------------------

_UNKNOWN = object()
_BINARY: dict[str, Any] = {
    "sub": exp.Sub,
    "mul": exp.Mul,
    "div": exp.Div,
    "less": exp.LT,
    "or": exp.Or,
    "and": exp.And,
}
_FOLDED: dict[str, Any] = {
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "floor": math.floor,
    "abs": abs,
    "not": lambda a: not a,
}


def _constant(value: Any) -> Element:
    if isinstance(value, bool):
        return value
    return None if math.isnan(value) else float(value)


def _level(a: Element) -> int:
    return a.level if isinstance(a, _Expression) else 0


def _use(a: Element) -> Any:
    if isinstance(a, _Expression):
        return a.use()
    if a is None:
        return exp.null()
    return exp.Boolean(this=a) if isinstance(a, bool) else _number(a)


def _columns_in(expression: Any) -> set[str]:
    """Return the columns of layers that an expression reads."""
    found = set()
    for one in expression.find_all(exp.Column, exp.Var):
        if isinstance(one, exp.Var):
            found.update(one.meta.get("reads", ()))
        elif not one.table:
            found.add(one.name)
    return found


def _number_text(value: float) -> str:
    """A literal that no dialect takes for a decimal."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def _text_of(made: str | float, reads: set[str], is_sum: bool = False) -> Any:
    """Return an expression that is text already."""
    node = exp.Var(this=made if isinstance(made, str) else _number_text(made))
    node.meta.update(reads=reads, is_sum=is_sum)
    return node


def _short_text(value: float) -> str:
    """A literal of a weight that sums of many are within 1e-9 with."""
    return _number_text(float(f"{value:.{DIGITS}g}")) if value != int(value) else str(int(value))


def _number(value: float) -> Any:
    return exp.Literal(this=_number_text(value), is_string=False)


def _wrapped(expression: Any) -> Any:
    is_sum = isinstance(expression, exp.Var) and expression.meta.get("is_sum")
    if is_sum or isinstance(expression, exp.Binary | exp.Not | exp.Is):
        return exp.Paren(this=expression)
    return expression


def _sum(terms: Sequence[Any]) -> Any:
    """A sum, in parentheses of a few terms each."""
    return _grouped(terms, _chain(exp.Add))


def _text_of_sum(terms: Sequence[str]) -> str:
    """The same of texts."""
    while len(terms) > TERMS:
        groups = [terms[first : first + TERMS] for first in range(0, len(terms), TERMS)]
        terms = [f"({' + '.join(own)})" if len(own) > 1 else own[0] for own in groups]
    return " + ".join(terms)


def _chain(kind: Any) -> Callable[[Sequence[Any]], Any]:
    """Return the function that writes an operator between terms."""

    def chained(terms: Sequence[Any]) -> Any:
        total = terms[0]
        for one in terms[1:]:
            total = kind(this=total, expression=one)
        return total

    return chained


def _grouped(terms: Sequence[Any], of: Callable[[Sequence[Any]], Any]) -> Any:
    """Return what ``of`` makes of a few terms, and of those it made, until one is left."""
    while len(terms) > 1:
        groups = [terms[first : first + TERMS] for first in range(0, len(terms), TERMS)]
        terms = [of(own) if len(own) > 1 else own[0] for own in groups]
        terms = list(map(_wrapped, terms)) if len(terms) > 1 else terms
    return terms[0]


def _fold(operation: str, a: Any, b: Any) -> Element:
    """The result for two constants."""
    if operation in ("or", "and"):
        return bool(a or b) if operation == "or" else bool(a and b)
    if a is None or b is None:
        return False if operation == "less" else None
    if operation == "less":
        return bool(a < b)
    found = {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "div": lambda: a / b,
        "max": lambda: max(a, b),
        "min": lambda: min(a, b),
    }[operation]()
    return float(found)


def _identity(operation: str, a: Element, b: Element) -> Any:
    """The result where one operand changes nothing, or decides."""
    if operation in ("or", "and"):
        for one, other in ((a, b), (b, a)):
            if isinstance(one, bool):
                return one if one is (operation == "or") else other
        return _UNKNOWN
    if a is None or b is None:
        return False if operation == "less" else None
    if operation == "add" and not isinstance(a, _Expression) and a == 0.0:
        return b
    if operation in ("add", "sub") and not isinstance(b, _Expression) and b == 0.0:
        return a
    if operation == "mul":
        for one, other in ((a, b), (b, a)):
            if not isinstance(one, _Expression) and one in (0.0, 1.0):
                return 0.0 if one == 0.0 else other
    if operation == "div" and not isinstance(b, _Expression) and b == 1.0:
        return a
    return _UNKNOWN


def _number_of(name: str) -> int | float | None:
    """Return the number that has this name as a category; None: there is none."""
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?", name):
        return None
    number = int(name) if name.lstrip("-").isdigit() else float(name)
    return number if str(number) == name else None


def _texts(number: int | float) -> list[str]:
    """Return the texts that databases write of a number in columns of floats, also of 32 bits.

    PostgreSQL writes powers from 1e15, of 32 bits from 1e6; others as Python.
    """
    found = []
    for kind, digits in ((np.float64, 15), (np.float32, 6)):
        try:
            x = kind(number)
        except OverflowError:
            continue
        if np.isfinite(x) and x == number:
            power = np.format_float_scientific(x, trim="-", exp_digits=2)
            is_far = not -5 < int(power.partition("e")[2]) < digits
            found += [str(x), power if is_far else np.format_float_positional(x, trim="-")]
    return [*dict.fromkeys(found)] if number else ["0.0", "-0.0", "-0"]


def _label(label: Any, dialect: str) -> Any:
    if isinstance(label, str):
        return exp.Literal.string(label)
    if isinstance(label, bool):
        return exp.Literal.number(int(label)) if dialect == "sqlite" else exp.Boolean(this=label)
    return _number(label) if isinstance(label, float) else exp.Literal.number(label)


class _TreeTexts:
    """Trees below their nodes as nested CASE; a number where it is one.

    columns: of each feature its text, or its value where that is known.
    adds: of each leaf what it adds to a score.
    most: nested CASE at most; a node below has its number there, as text, and is in ``cut``.
    """

    def __init__(
        self,
        trees: Trees,
        columns: Sequence[str | float | None],
        adds: np.ndarray,
        most: float,
    ) -> None:
        self.trees, self.columns, self.adds, self.most = trees, columns, adds, most
        self.cut: list[int] = []
        self.coded = [set(one.codes.tolist()) for one in trees.coded]

    def onwards(self, column: str) -> str:
        """Return what the nodes that were cut say, where a column has the number of one."""
        cut, self.cut = self.cut, []
        cases = []
        for at in cut:
            made = self.below(at)
            cases.append(
                f"WHEN '{at}' THEN {made if isinstance(made, str) else _number_text(made)}"
            )
        return f"CASE {column} {' '.join(cases)} ELSE {column} END"

    def below(self, at: int, depth: int = 0) -> str | float:
        """Return what a node and its children say."""
        trees = self.trees
        if not trees.left[at]:
            return float(self.adds[at])
        column = self.columns[trees.feature[at]]
        left, right = int(trees.left[at]), int(trees.right[at])
        missing_left = bool(trees.missing_left[at])
        if not isinstance(column, str):
            is_left = missing_left if column is None else column <= trees.threshold[at]
            return self.below(left if is_left else right, depth)
        if depth == self.most:
            self.cut.append(at)
            return f"'{at}'"
        first, other = (right, left) if missing_left else (left, right)
        # a missing number, for which no comparison is true, goes the way of ELSE
        if trees.set_of[at]:
            of_left = trees.sets[trees.set_of[at]]
            codes = [
                _number_text(code)
                for code in sorted(self.coded[trees.feature[at]])
                if 0 <= code < 256
                and bool(int(of_left[int(code) >> 5]) >> (int(code) & 31) & 1) is not missing_left
            ]
            if not codes:
                return self.below(other, depth)
            condition = f"{column} IN ({', '.join(codes)})"
        else:
            limit = _number_text(float(trees.threshold[at]))
            condition = f"{column} {'>' if missing_left else '<='} {limit}"
        below = self.below(first, depth + 1), self.below(other, depth + 1)
        if below[0] == below[1]:
            return below[0]
        values = [one if isinstance(one, str) else _number_text(one) for one in below]
        return f"CASE WHEN {condition} THEN {values[0]} ELSE {values[1]} END"
