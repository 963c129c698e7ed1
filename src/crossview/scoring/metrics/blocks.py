"""A metric of a stream without each block of its rows, for the jackknife."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from crossview.catalog.metrics import metric_of, parse_metric
from crossview.errors import InputError
from crossview.labels import decide
from crossview.scoring.metrics.measure import (
    mean_of_defined,
    ordering,
    value_of_confusion,
    values_of_confusions,
)
from crossview.scoring.metrics.place import places_of_labels
from crossview.scoring.metrics.probability import CALIBRATION_BINS, count_in_bins
from crossview.scoring.metrics.tally import added

# a full stream has 32 to 64: enough for Student's t, and long enough for errors that follow
# each other to be in the same block
MOST_BLOCKS = 64
# of the scores, per class and block
BINS = 256
# beyond it a score is in the first or the last bin
LARGEST = 1e9


class BlockTally:
    """Counts of a stream of predictions per block of consecutive rows, for one metric.

    Memory does not grow with the stream: a block is one row at first, and when there are 64 blocks
    and one more row comes, they are merged in pairs.  So the blocks depend on the number of rows
    only, and not on the batches.  Where several machines count one stream, `begin_at` says where
    the rows of each begin, and the sum of their tallies has the blocks of the stream.

    Where rows belong together, `update` is told the blocks, and tallies add up in any order.

    There are 0 classes where a number is predicted.  The scores, or what else orders the rows, are
    counted in bins around the median of ``typical_scores``, those of rows before the stream, in
    units of their interquartile range, or where that is 0 of their standard deviation; without any
    around 0, in units of 1.  Of numbers ``typical_scores`` are predictions, near the numbers.

    >>> import numpy as np
    >>> tally = BlockTally("accuracy", n_classes=2)
    >>> tally.update(np.array([0, 1, 1]), np.array([-1.0, 2.0, -0.5]))
    >>> whole, without, rows = tally.values()
    >>> round(whole, 2), without.tolist(), rows.tolist()
    (0.67, [0.5, 0.5, 1.0], [1, 1, 1])
    """

    def __init__(
        self,
        metric: str,
        *,
        n_classes: int = 0,
        positive: int = 1,
        typical_scores: np.ndarray | None = None,
    ) -> None:
        self._metric, kind = metric, metric_of(metric).kind
        self.n_classes = n_classes
        if kind == "order":
            self._counts: Any = _Scores(n_classes, positive, typical_scores)
        elif kind == "decision":
            self._counts = _Decisions(n_classes, positive)
        elif kind == "place":
            self._counts = _Places(n_classes)
        else:
            self._counts = _Bins() if kind == "calibration" else _Sums(metric)
        if kind == "explained":
            self._counts = _Explained(typical_scores)
        self._cells = np.zeros((MOST_BLOCKS, *self._counts.shape), dtype=self._counts.dtype)
        self.n_rows, self.block_rows, self.first_row = 0, 1, 0
        self._given: np.ndarray | None = None  # the rows of each block, if it is told

    def begin_at(self, first_row: int, n_rows: int) -> None:
        """Begin at a row of a stream of ``n_rows``, whose other rows are counted elsewhere."""
        self.first_row = first_row
        while n_rows > MOST_BLOCKS * self.block_rows:
            self.block_rows *= 2

    def update(
        self,
        codes: np.ndarray,
        scores: np.ndarray,
        probabilities: np.ndarray | None = None,
        predicted: np.ndarray | None = None,
        *,
        blocks: np.ndarray | None = None,
    ) -> None:
        """Count some more rows, as `Tally` and `ErrorTally` do.

        blocks: the block of each row, from 0 to 63; always or never.
        """
        if blocks is not None and len(codes):
            self._counts.add(self._cells, blocks, codes, scores, probabilities, predicted)
            rows = np.bincount(blocks, minlength=MOST_BLOCKS)
            self._given = rows if self._given is None else self._given + rows
            self.n_rows += len(codes)
            return
        done = 0
        while done < len(codes):
            position = self.first_row + self.n_rows
            if position == MOST_BLOCKS * self.block_rows:
                half = MOST_BLOCKS // 2
                self._cells[:half] = self._cells[::2] + self._cells[1::2]
                self._cells[half:] = 0
                self.block_rows *= 2
            room = MOST_BLOCKS * self.block_rows - position
            part = slice(done, min(done + room, len(codes)))
            block = (position + np.arange(part.stop - done)) // self.block_rows
            rest = (None if rows is None else rows[part] for rows in (probabilities, predicted))
            self._counts.add(self._cells, block, codes[part], scores[part], *rest)
            self.n_rows += part.stop - done
            done = part.stop

    def __add__(self, other: BlockTally) -> BlockTally:
        told = self._given is not None or other._given is not None
        follows = other.first_row == self.first_row + self.n_rows
        if not told and not (follows and other.block_rows == self.block_rows):
            raise InputError(
                "two tallies of blocks add up where the rows of one follow those of the other in a "
                "stream; these do not, or the rows have changed since they were counted"
            )
        total = added(self, other, "_cells", "n_rows")
        if told:
            given = [one._given for one in (self, other) if one._given is not None]
            total._given = np.sum(given, axis=0)
        return total

    def values(self, metric: str | None = None) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the metric of all rows and without each block, and the rows of each block.

        ``metric`` may be another one of the same kind, *decision*, *order* or *place*.  It is NaN
        where it is not defined.  One of order has far more ties than that of `Tally`: what counts
        are its differences.
        """
        ends = self.block_rows * np.arange(MOST_BLOCKS + 1)
        rows = np.diff(ends.clip(self.first_row, self.first_row + self.n_rows))
        rows = rows if self._given is None else self._given
        there = rows > 0
        rows = rows[there]
        whole = self._cells.sum(axis=0, keepdims=True)
        without = whole - self._cells[there]
        kept = np.concatenate([[self.n_rows], self.n_rows - rows])
        values = np.full(1 + len(rows), math.nan)
        some = kept > 0
        if some.any():
            cells = np.concatenate([whole, without])[some]
            values[some] = self._counts.values(metric or self._metric, cells, kept[some])
        return float(values[0]), values[1:], rows

    def value(self, metric: str | None = None) -> float:
        """Return the metric of all rows, or another of the same kind; NaN also where it is 0 / 0.

        Unlike here, 0 / 0 counts as 0 in `values`, so that a prediction can be compared with others
        that avoid it.
        """
        if not isinstance(self._counts, _Decisions):
            return self.values(metric)[0]
        confusion, positive = self._cells.sum(axis=0), self._counts.positive
        return value_of_confusion(metric or self._metric, confusion, positive, undefined=math.nan)

    @property
    def confusion(self) -> np.ndarray:
        """The rows per true and predicted class, of metrics of the predicted classes."""
        return np.asarray(self._cells.sum(axis=0))

    def rows_of_share(self, metric: str) -> float:
        """Return of how many rows a metric of the same kind, as of `values`, is a share.

        Of a mean over classes those of the rarest one.
        """
        return float(self._counts.rows_of_share(metric, self._cells.sum(axis=0)))


class _Decisions:
    """Rows per true and predicted class."""

    dtype = np.int64

    def __init__(self, n_classes: int, positive: int) -> None:
        self.positive = positive
        self.shape = (n_classes, n_classes)

    def add(self, cells: Any, block: Any, codes: Any, scores: Any, p: Any, predicted: Any) -> None:
        predicted = decide(scores) if predicted is None else predicted
        _count(cells, block, codes, predicted)

    def values(self, metric: str, cells: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        return values_of_confusions(metric, cells, self.positive)

    def rows_of_share(self, metric: str, cells: np.ndarray) -> float:
        scope, name = metric_of(metric).scope, parse_metric(metric)[0]
        if scope == "rows":
            return cells.sum()
        rows = cells.sum(axis=0 if name == "precision" else 1)
        if scope == "class" and len(rows) == 2:
            return rows[self.positive]
        return rows[rows > 0].min(initial=cells.sum())


class _Scores:
    """Rows per bin of the scores of a class: those of the others, and those of the class."""

    dtype = np.int64

    def __init__(self, n_classes: int, positive: int, typical: Any) -> None:
        self.positive = positive
        self.shape = (1 if n_classes == 2 else n_classes, 2, BINS)
        self.center, self.unit = np.zeros(self.shape[0]), np.ones(self.shape[0])
        if typical is not None and len(typical):
            low, self.center, high = np.quantile(
                typical.reshape(len(typical), -1), [0.25, 0.5, 0.75], axis=0
            )
            spread = np.where(high > low, high - low, typical.std(axis=0))
            self.unit = np.where(spread > 0.0, spread, 1.0)

    def add(self, cells: Any, block: Any, codes: Any, scores: Any, p: Any, predicted: Any) -> None:
        with np.errstate(over="ignore"):  # of huge values
            z = (ordering(scores, p).reshape(len(codes), -1) - self.center) / self.unit
        z = np.clip(z, -LARGEST, LARGEST)
        bins = np.minimum(((z / (1.0 + np.abs(z)) + 1.0) * (BINS / 2)).astype(np.intp), BINS - 1)
        for k in range(self.shape[0]):
            mine = codes == (1 if self.shape[0] == 1 else k)
            _count(cells, block, k, mine, bins[:, k])

    def values(self, metric: str, cells: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        if self.shape[0] == 1 and self.positive == 0:
            cells = cells[:, :, ::-1, ::-1]
        k = parse_metric(metric)[1].get("k")
        if isinstance(k, float):
            k = max(1, round(k * n_rows[0]))
        # the same share of the rows without a block
        shares = [()] * len(cells) if k is None else [(k * n / n_rows[0],) for n in n_rows]
        return np.array(
            [
                mean_of_defined(_of_order(metric, histogram, share) for histogram in some)
                for some, share in zip(cells, shares, strict=True)
            ]
        )

    def rows_of_share(self, metric: str, cells: np.ndarray) -> float:
        rows = cells.sum(axis=2)
        if self.shape[0] == 1 and self.positive == 0:
            rows = rows[:, ::-1]
        n, (name, own) = rows[0].sum(), parse_metric(metric)
        if name == "precision_at_k":
            return own["k"] if isinstance(own["k"], int) else max(1, round(own["k"] * n))
        rows = rows[(rows > 0).all(axis=1)]
        return (rows if name == "roc_auc" else rows[:, 1]).min(initial=n)


def _of_order(metric: str, histogram: np.ndarray, share: tuple) -> float:
    """A metric of the order of the scores of one class."""
    if not histogram.any(axis=1).all() or (share and share[0] > histogram.sum()):
        return math.nan
    side, bins = np.nonzero(histogram)
    function = metric_of(metric).function()
    return float(function(side == 1, bins.astype(np.float64), histogram[side, bins], *share))


class _Places:
    """Rows per place of the label among the classes."""

    dtype = np.int64

    def __init__(self, n_classes: int) -> None:
        self.shape = (n_classes,)

    def add(self, cells: Any, block: Any, codes: Any, scores: Any, p: Any, predicted: Any) -> None:
        _count(cells, block, places_of_labels(codes, ordering(scores, p)))

    def values(self, metric: str, cells: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        own = metric_of(metric).function()(np.arange(cells.shape[1]), **parse_metric(metric)[1])
        return np.asarray(cells[:, own].sum(axis=1) / n_rows)

    def rows_of_share(self, metric: str, cells: np.ndarray) -> float:
        return cells.sum()


class _Sums:
    """The sum of the losses or errors of the rows, or of the squared errors."""

    shape: tuple[int, ...] = ()
    dtype = np.float64

    def __init__(self, metric: str) -> None:
        self.metric = metric_of(metric)

    def add(self, cells: Any, block: Any, codes: Any, scores: Any, p: Any, predicted: Any) -> None:
        terms = self.metric.function()(codes, scores if self.metric.kind == "error" else p)
        np.add.at(cells, block, terms**2 if self.metric.root_mean_square else terms)

    def values(self, metric: str, cells: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        means = cells / n_rows
        return np.sqrt(np.maximum(means, 0.0)) if self.metric.root_mean_square else means


class _Explained:
    """Sums of the squared errors, and of the numbers, less about their mean, and their squares."""

    shape: tuple[int, ...] = (3,)
    dtype = np.float64

    def __init__(self, typical: Any) -> None:
        self.center = 0.0 if typical is None or not len(typical) else float(np.median(typical))

    def add(self, cells: Any, block: Any, codes: Any, scores: Any, p: Any, predicted: Any) -> None:
        away = codes - self.center
        np.add.at(cells, block, np.stack([(scores - codes) ** 2, away, away**2], axis=1))

    def values(self, metric: str, cells: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        squares, away, away2 = cells.T
        return np.asarray(metric_of(metric).function()(squares, away2 - away**2 / n_rows))


class _Bins:
    """Sums per bin of the probability, for the calibration error."""

    shape = (3, CALIBRATION_BINS)
    dtype = np.float64

    def add(self, cells: Any, block: Any, codes: Any, scores: Any, p: Any, predicted: Any) -> None:
        for b in np.unique(block):
            count_in_bins(cells[b], codes[block == b], p[block == b])

    def values(self, metric: str, cells: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        return np.array([metric_of(metric).function()(*sums) for sums in cells])


def _count(cells: np.ndarray, *place: Any) -> None:
    """Add 1 at each place; NumPy is fast with one index only."""
    np.add.at(cells.reshape(-1), np.ravel_multi_index(np.broadcast_arrays(*place), cells.shape), 1)
