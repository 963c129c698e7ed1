"""Columns that tell the label, and may be known only after it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.data.summaries.columns import Target
from crossview.data.summaries.table import TableSummary
from crossview.errors import LeakWarning, argument
from crossview.labels import has_label, places_of
from crossview.tables.arrow import floats, kind_of_labels, labels_as, pyarrow
from crossview.tables.dates import split_format

if TYPE_CHECKING:
    from crossview.data.labeled import LabeledBatch

# a relation, a correlation or an agreement from which on a column is the label
LEAKS = 0.98
# of "is missing", and of the least or greatest of many values, which are seldom related so closely
# to an honest label
EDGE_LEAKS = 0.9
# rows of a class, and of the others, from which on they say something
FEW_ROWS = 10
# rows of other classes that chance would give, where there is none
EXPECTED_OTHERS = 20.0
# values of a number up to which all together may be codes; more are as often those of a group
MOST_LEVELS = 20
KNOWN_LATER = "if it is only known after the label, leave it out"
ALMOST = "tells the label almost exactly"
# columns that tell the label, up to which each has a line of its own
MOST_LINES = 5
# rows, and cells, that are looked at: a second of one core
MOST_ROWS, MOST_CELLS = 100_000, 2_500_000
FEWEST_ROWS = 1000


def explain_leak(leak: str, column: str, rows: str = "") -> str:
    """Return how a column tells the label, and what to do; ``rows`` says in which rows it does."""
    known = f"{leak} ({rows})" if rows else leak
    return f"{known}; {KNOWN_LATER}: {argument(ignore=column)}"


def find_leaks(summary: TableSummary) -> dict[str, str]:
    """Return the columns that tell the label, and how, in words.

    These are tried on each column: whether it is missing; each value of categories, alone and all
    together; of numbers the correlation, limits between the classes, a value that one class has
    alone, the least and the greatest value, and where they have few values each of them, and all
    together.  A class of fewer than ten rows says nothing.
    """
    target, found = summary.target, {}
    if target.values is None or not target.usable:
        return {}
    relations = summary.moments.relations(target)
    separates = summary.moments.separates(FEW_ROWS)
    for i, name in enumerate(summary.names):
        leak = _missing_tells(summary, i)
        if leak is None and name in summary.numbers:
            c = summary.numbers[name]
            leak = _value_of_one_class(summary, name, c) or _edge_tells(summary, name, c)
            if leak is None and (separates[c] or _levels_tell(summary, c)):
                leak = ALMOST
            elif leak is None and relations[c] >= LEAKS:
                many = not target.numbers and len(target.classes) > 2
                leak = None if many and summary.moments.least_relation(c) < LEAKS else ALMOST
        elif leak is None and name in summary.values:
            leak = _values_tell(summary, name)
        if leak is not None:
            found[name] = leak
    return found


def _missing_tells(summary: TableSummary, i: int) -> str | None:
    """Return how "is missing" tells the label, if it does."""
    filled, missing = summary.missing.counts(i)
    if not (filled.any() and missing.any()):
        return None
    if summary.target.numbers:
        return _missing_tells_number(summary, i, int(filled[0]), int(missing[0]))
    of_class = (filled + missing).astype(np.float64)
    sides = [("is filled", filled), ("is missing", missing)]
    sides.sort(key=lambda side: side[1].sum())
    word, inside = sides[0]
    (k,), (phi,) = _class_inside(inside[None], of_class)
    if phi >= EDGE_LEAKS:
        return f"{word} in {_rows_of_class(summary.target, k, inside, of_class)}"
    for word, inside in sides:
        k = int(inside.argmax())
        by_chance = inside[k] * (1.0 - of_class[k] / of_class.sum())
        if inside[k] == inside.sum() and by_chance >= EXPECTED_OTHERS:
            return f"{word} in {_rows_of_class(summary.target, k, inside, of_class)}"
    return None


def _missing_tells_number(
    summary: TableSummary, i: int, n_filled: int, n_missing: int
) -> str | None:
    """Return that the numbers to predict are all higher, or lower, where a column is filled."""
    if min(n_filled, n_missing) < FEW_ROWS:
        return None
    (low, high), (low_missing, high_missing) = summary.missing.ranges(i)
    if low > high_missing:
        return f"is filled in exactly the {n_filled:,} rows whose label is above {high_missing:.6g}"
    if high < low_missing:
        return f"is filled in exactly the {n_filled:,} rows whose label is below {low_missing:.6g}"
    return None


def _class_inside(inside: np.ndarray, of_class: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The class that most rows of each group have, and the correlation φ of the two.

    ``inside`` are the rows of each class in groups, a group per line.
    """
    k = inside.argmax(axis=1)
    both, n, m, own = inside.max(axis=1), of_class.sum(), inside.sum(axis=1), of_class[k]
    with np.errstate(invalid="ignore", divide="ignore"):
        phi = (n * both - m * own) / np.sqrt(own * (n - own) * (m * (n - m)))
    return k, np.where(np.minimum(own, n - own) < FEW_ROWS, 0.0, np.nan_to_num(phi))


def _rows_of_class(target: Target, k: int, inside: np.ndarray, of_class: np.ndarray) -> str:
    """Describe the rows inside by the label of nearly all."""
    label = f"whose label is {target.classes[k]!r}"
    others, rest = int(inside.sum() - inside[k]), int(of_class.sum() - of_class[k])
    if inside[k] == of_class[k] and not others:
        return f"exactly the {of_class[k]:,.0f} rows {label}"
    rows = f"{inside[k]:,.0f} of the {of_class[k]:,.0f} rows {label}"
    return f"{rows}, and in {f'{others:,}' if others else 'none'} of the {rest:,} others"


def _value_of_one_class(summary: TableSummary, name: str, c: int) -> str | None:
    """Return that a number is the same in all rows of one class, and in no other row."""
    target = summary.target
    if target.numbers:
        return None
    for k, value, n in summary.moments.constants(c):
        rest = summary.n_rows - target.n_missing - n
        if min(n, rest) >= FEW_ROWS:
            label = f"whose label is {target.classes[k]!r}"
            return f"is {summary.show(name, value)} in exactly the {n:,} rows {label}"
    return None


def _edge_tells(summary: TableSummary, name: str, c: int) -> str | None:
    """Return how the least or greatest value, or one of few, tells the label, if it does.

    So do the days of a study: whoever was well to its end has the same number of them.
    """
    target, distinct = summary.target, summary.moments.distinct[c]
    if target.numbers or (distinct is not None and len(distinct[0]) < 3):
        return None
    of_class = summary.moments.rows_of_classes(c)
    if not len(of_class):  # no row has a label
        return None
    edges = summary.moments.edges(c)
    values, counts = summary.moments.counts(c) or (np.empty(0), np.empty((0, len(of_class))))
    groups = np.vstack([*(side for _, *sides in edges for side in sides), counts])
    classes, phi = _class_inside(groups, of_class)
    if phi.max() < EDGE_LEAKS:
        return None
    size, best = groups.sum(axis=1), -1
    # of an edge and the other values, first what fewer rows have
    of_edges = [i for least in (0, 2) for i in sorted((least, least + 1), key=size.__getitem__)]
    for i in [*of_edges, *range(4, len(phi))]:
        if phi[i] >= EDGE_LEAKS and (best < 0 or phi[i] > phi[best] + 1e-9):
            best = i
    value = float(values[best - 4] if best > 3 else edges[best // 2][0])
    words = summary.show(name, value)
    if best < 4:
        edge, beside = (("least", "above "), ("greatest", "below "))[best // 2]
        words = f"{beside * (best % 2)}{words}, its {edge} value,"
    return f"is {words} in {_rows_of_class(target, int(classes[best]), groups[best], of_class)}"


def _levels_tell(summary: TableSummary, c: int) -> bool:
    """Return whether the values of a number, if they are few, tell the label as categories do."""
    known = None if summary.target.numbers else summary.moments.counts(c)
    if known is None or not 2 < len(known[0]) <= MOST_LEVELS:
        return False
    return _agreement(known[1]) >= LEAKS


def _values_tell(summary: TableSummary, name: str) -> str | None:
    """Return how one value of a column of categories tells the label, or all together do."""
    values, target = summary.values[name], summary.target
    if target.numbers:
        return ALMOST if (values.relation(target) or 0.0) >= LEAKS else None
    if not values.complete:
        return None
    counts = values.counts_of_classes
    if counts.shape[1] < 2:
        return None
    of_class = counts.sum(axis=0)
    classes, phi = _class_inside(counts[:-1], of_class)
    if len(phi) and phi.max() >= LEAKS:
        best = np.flatnonzero(phi >= phi.max() - 1e-9)  # yes and no: what fewer rows have
        v = int(best[counts[best].sum(axis=1).argmin()])
        rows = _rows_of_class(target, int(classes[v]), counts[v], of_class)
        return f"is {shortened(values.values[v].as_py())!r} in {rows}"
    return ALMOST if _agreement(counts) >= LEAKS else None


def _agreement(counts: np.ndarray) -> float:
    """Cohen's κ of the label and of what the other rows of the same value have most often.

    A value of a single row says nothing, and if most rows have such, all say nothing.
    """
    of_value = counts.sum(axis=1)
    shared, n_rows = counts[of_value > 1.0], of_value.sum()
    of_class = shared.sum(axis=0)
    if (of_class >= FEW_ROWS).sum() < 2 or of_class.sum() < 0.5 * n_rows:
        return 0.0
    order = np.argsort(shared, axis=1)
    first, second = order[:, -1], order[:, -2]
    most, more = (np.take_along_axis(shared, k[:, None], 1)[:, 0] for k in (first, second))
    # without the row itself; a tie speaks for the other class
    guess = np.where(most - 1.0 > more, first, second)
    n, width = float(of_class.sum()), len(of_class)
    guessed = np.bincount(guess, weights=most, minlength=width)
    guessed += np.bincount(first, weights=shared.sum(axis=1) - most, minlength=width)
    right, by_chance = float(most[guess == first].sum()), float(guessed @ of_class) / n
    return (right - by_chance) / (n - by_chance) if n > by_chance else 0.0


def shortened(value: Any, most: int = 40) -> str:
    """Return a value in one line of so many characters at most."""
    line = " ".join(str(value).split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


class LeakCheck:
    """A search for columns that tell the label, in the first rows of a LabeledSource that are
    learned.

    ``found`` has a line for each leak, once `finish` was called; rows without columns have none.
    ``labels`` are those of the rows that were looked at.
    """

    def __init__(self, source: Any) -> None:
        self.found: list[str] = []
        self.labels: list[np.ndarray] = []
        self._summary: TableSummary | None = None
        self._source = source
        self._left: int | None = None

    def _room(self) -> int:
        """Rows that are still to be looked at."""
        if self._left is None:
            self._left = 0
            if self._source.has_columns:
                n_columns = sum(len(group) for group in self._source.columns.values())
                most = max(FEWEST_ROWS, min(MOST_ROWS, MOST_CELLS // max(1, n_columns)))
                self._left = min(most, self._source.n_rows)  # later passes read them again
        return self._left

    def see(self, batch: LabeledBatch) -> None:
        """Look at a batch, as far as there is room."""
        n = min(self._room(), len(batch))
        if not n:
            return
        self._left = self._room() - n
        X, y = batch.X.slice(0, n), batch.y[:n]
        if self._summary is None:
            target = Target(not len(self._source.classes))
            encoder = self._source.encoder
            how = {"formats": dict(map(split_format, encoder.declared_columns()["date"]))}
            self._summary = TableSummary(
                X.schema, encoder.kinds(), target, values_of_text=False, **how
            )
        self.labels.append(y)
        done = 0
        for piece in X.combine_chunks().to_batches():
            labels = _labels(y[done : done + len(piece)], self._source.classes)
            self._summary.add(piece, labels)
            done += len(piece)

    def sample(self, rows: LabeledBatch) -> None:
        """Look at rows that are all in memory: at evenly spaced ones, where they are many."""
        if 0 < (n := self._room()) < len(rows):
            rows = rows.take(np.linspace(0, len(rows) - 1, n).astype(np.intp))
        self.see(rows)

    def finish(self) -> list[str]:
        """Return a line for each leak, and warn of it."""
        summary, self._summary, self._left = self._summary, None, 0
        if summary is None:
            return self.found
        fewer = summary.n_rows < self._source.n_rows
        rows = f"of {summary.n_rows:,} rows" if fewer else ""
        leaks = find_leaks(summary)
        if len(leaks) <= MOST_LINES:
            self.found = [f"{name}: {explain_leak(leaks[name], name, rows)}" for name in leaks]
        else:
            some = f" {rows}" if rows else ""
            self.found = [
                f"{', '.join(leaks)}: each tells the label, or a class of it, almost exactly{some} "
                f"(crossview describe says how); {KNOWN_LATER}: {argument(ignore=[*leaks])}"
            ]
        for line in self.found:
            warnings.warn(line, LeakWarning, stacklevel=3)
        return self.found


def _labels(y: np.ndarray, classes: np.ndarray) -> Any:
    """Labels, or numbers where there are no classes, as an Arrow array; without pandas."""
    if not len(classes):
        return floats(y)
    known, places = has_label(y), np.full(len(y), np.nan)
    places[known] = places_of(y[known], classes)
    values = classes.tolist()
    rows = floats(places).cast(pyarrow().int64())
    return labels_as(values, kind_of_labels(values)).take(rows)
