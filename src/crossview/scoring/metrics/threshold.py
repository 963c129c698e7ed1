"""Thresholds: which probability predicts a class.

Of two classes the second is predicted above a threshold t, placed where a metric of the predicted
classes is best on rows that were not learned.  Rows with equal probabilities are predicted alike,
so with m distinct probabilities there are m + 1 ways to predict; all are tried, from the counts of
both classes below each threshold.

Of more classes each has a threshold t_c, and argmax_c p_c / t_c is predicted; of two that is the
same with 1 - t and t.  They are found one after the other, on a grid of log t_c.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crossview.catalog.metrics import metric_of
from crossview.errors import InputError
from crossview.labels import decide
from crossview.saving.schema import Array
from crossview.scoring.metrics.measure import (
    confusion_matrix,
    value_of_confusion,
    values_of_confusions,
)
from crossview.scoring.metrics.tally import COUNT, Resumable, counts_of_shape

# of the log odds; they bound the error of a threshold, not the memory per row
BINS = 1 << 12
# rows that are counted one by one, which for more is slower than a histogram of them
FEW = 256
# least probability of a class
TINY = 1e-12
# two values that differ by less are equal
ROUNDING = 1e-12
# of more classes each has too few rows for a threshold of its own
MOST_CLASSES = 30
# log t of a class, and how often all classes are gone through
GRID, ROUNDS = np.linspace(-3.0, 3.0, 61), 5
# a gain of less is none
LEAST_GAIN = 1e-4
# rows of which a stream keeps the probabilities of 3 to 30 classes
MOST_KEPT = 4096
# least gain for labels that thresholds of several classes must have
WORTH = 0.01
# a threshold is placed again once the rows have grown by this factor
GROWTH_NUMERATOR, GROWTH_DENOMINATOR = 21, 20


def best_threshold(
    name: str, codes: np.ndarray | None, probabilities: np.ndarray, *, positive: int = 1
) -> tuple[float, float]:
    """Return the threshold that is best for a metric of the predicted classes, and its value.

    A row is predicted as class 1 if its probability is above the threshold.  A threshold lies
    midway between two probabilities; 0 predicts class 1 in every row, and 1 in none.  Of equally
    good thresholds the one nearest to ½ is taken.  Precision and recall have trivial optima, so
    their threshold is that of f1.  The rows, with codes 0 or 1 and probabilities of class 1, were
    not learned; the value is optimistic: the threshold was chosen on the same rows.  Without
    codes each row counts for both classes, by its probabilities: if these are right, the threshold
    varies less than with the classes, which are noisy.

    >>> import numpy as np
    >>> best_threshold("f1", np.array([0, 0, 1, 1]), np.array([0.1, 0.3, 0.2, 0.4]))
    (0.15000000000000002, 0.8)
    """
    distinct, place = np.unique(probabilities, return_inverse=True)
    counts: np.ndarray
    if codes is None:
        ones = np.bincount(place) * distinct
        counts = np.column_stack([np.bincount(place) - ones, ones])
    else:
        counts = np.bincount(2 * place + codes, minlength=2 * len(distinct)).reshape(-1, 2)
    middle = distinct[:-1] + np.diff(distinct) / 2.0
    between = np.where(middle < distinct[1:], middle, distinct[:-1])
    # a probability of 0 is never above a threshold
    lowest = [-np.inf] if distinct[0] == 0.0 else [0.0]
    return _best(name, counts, np.concatenate([lowest, between, [1.0]]), positive)


def _best(
    name: str, counts: np.ndarray, thresholds: np.ndarray, positive: int
) -> tuple[float, float]:
    """The best of m + 1 thresholds around m groups of rows, given the rows per group and class."""
    confusion = np.zeros((2, 2, len(thresholds)), dtype=counts.dtype)  # sums along a row are fast
    confusion[:, 0, 1:] = counts.T.cumsum(axis=1)
    confusion[:, 1] = confusion[:, 0, -1:] - confusion[:, 0]
    confusion = confusion.transpose(2, 0, 1)
    placed_for = metric_of(name).threshold_for or name
    values = values_of_confusions(placed_for, confusion, positive)
    if not metric_of(placed_for).higher_is_better:
        values = -values
    values = np.where(thresholds < 0.0, -np.inf, values)
    highest = values.max()
    equals = np.flatnonzero(values >= highest - ROUNDING * max(1.0, abs(highest)))
    best = equals[np.abs(thresholds[equals] - 0.5).argmin()]
    return float(thresholds[best]), value_of_confusion(name, confusion[best], positive)


def best_thresholds(
    name: str,
    codes: np.ndarray | None,
    probabilities: np.ndarray,
    by_score: np.ndarray | None = None,
) -> list[float] | None:
    """Return the threshold of each class that is best for a metric of the predicted classes.

    Each row, with probabilities (n_samples, n_classes), counts for all classes by these, which are
    taken to be right: one threshold per class fits the noise of the classes of few rows.  With
    codes, they are equal unless others gain more than a point, and than 0.5 / √n_samples, for
    these classes: they cost accuracy, and less is noise.  Those of more than 30 classes are equal.
    The sum is 1.  There are none unless they gain as much over ``by_score``, the codes of the
    highest scores.  Precision and recall have trivial optima, so theirs are those of f1.

    >>> import numpy as np
    >>> p = np.array([[0.9, 0.06, 0.04], [0.6, 0.3, 0.1], [0.6, 0.1, 0.3]] * 5)
    >>> (p / best_thresholds("f1", None, p)).argmax(axis=1)[:3].tolist()
    [0, 1, 2]
    """
    n, K = probabilities.shape
    placed_for = metric_of(name).threshold_for or name
    sign = 1.0 if metric_of(placed_for).higher_is_better else -1.0
    log_p, d = np.log(np.maximum(probabilities, TINY)), np.zeros(K)  # d: -log t

    def values(confusion: np.ndarray) -> np.ndarray:
        return sign * values_of_confusions(placed_for, confusion, 1)

    best = -np.inf
    for _ in range(ROUNDS if K <= MOST_CLASSES else 0):
        before = best
        for c in range(K):
            moved = log_p + d
            moved[:, c] = -np.inf
            other = moved.argmax(axis=1)
            # of the grid, from where on the row is predicted as class c
            lead = moved[np.arange(n), other] - log_p[:, c]
            start = np.searchsorted(GRID, lead, side="right")
            cells = start * K + other
            size = (len(GRID) + 1) * K
            lost = [np.bincount(cells, column, size) for column in probabilities.T]
            by_start = np.stack(lost).reshape(K, len(GRID) + 1, K).transpose(1, 0, 2)
            gone = by_start.cumsum(axis=0)[:-1]  # rows that class c has at each place of the grid
            confusion = by_start.sum(axis=0) - gone
            confusion[:, :, c] += gone.sum(axis=2)
            found = values(confusion)
            here = int(np.abs(GRID - d[c]).argmin())
            best = max(best, found[here])
            if found.max() > best + LEAST_GAIN:
                d[c], best = GRID[found.argmax()], found.max()
        if best <= before + LEAST_GAIN:
            break
    t, equal = np.exp(-d) / np.exp(-d).sum(), np.full(K, 1.0 / K)
    if codes is not None:
        said = [(probabilities / own).argmax(axis=1) for own in (equal, t)]
        said += [] if by_score is None else [by_score]
        of_equal, of_t, *of_scores = (
            sign * value_of_confusion(placed_for, confusion_matrix(codes, one, K), 1)
            for one in said
        )
        worth = max(WORTH, 0.5 * n**-0.5)  # of few rows a gain is noise
        t, of_t = (t, of_t) if of_t > of_equal + worth else (equal, of_equal)
        if any(of_t <= value + worth for value in of_scores):
            return None
    return list(t.tolist())


class RunningThreshold(Resumable):
    """The threshold for a metric by the rows so far: each row is decided, then counted.

    Memory does not grow with the stream.  The log odds l of the rows are counted per class, as
    l / (1 + |l|) in 4,096 equal bins; the threshold, a probability of class 1, is the best of those
    between bins.  It is placed again after each of the first 20 rows, then when the rows have grown
    by a twentieth.  As long as one class has no row, it is None, and a score above 0 decides.
    Counts of two streams add up to those of both.

    >>> import numpy as np
    >>> running = RunningThreshold("f1")
    >>> p = np.array([0.1, 0.4, 0.2, 0.3])
    >>> running.decide(np.array([0, 1, 0, 1]), np.array([-2.0, -0.5, -1.5, -1.0]), p).tolist()
    [0, 0, 0, 0]
    >>> round(running.threshold, 2)
    0.25
    """

    OPTIONAL = ("threshold",)

    def __init__(self, name: str, *, positive: int = 1) -> None:
        self.name, self.positive = name, positive
        self.counts = np.zeros((BINS, 2), dtype=np.int64)
        self.n_rows = 0
        self.threshold: float | None = None
        self._next_position = 1

    def _state_schema(self) -> dict[str, Array]:
        return {
            "counts": counts_of_shape(self.counts.shape),
            "n_rows": COUNT,
            "threshold": Array("f8", (1,), 0.0, 1.0),
            "_next_position": Array("i8", (1,), 1, np.iinfo(np.int64).max),
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from counts that `get_state` of an equal object returned."""
        super().set_state(state)
        if self._next_position <= self.n_rows:
            raise InputError("the threshold of the counts was not placed where it must have been")

    def decide(
        self, codes: np.ndarray, scores: np.ndarray, probabilities: np.ndarray
    ) -> np.ndarray:
        """Return the predicted class of each row by the rows before it, and count the rows.

        Scores and probabilities of class 1 are those before the row was learned.
        """
        predicted = np.empty(len(codes), dtype=np.intp)
        bins = ((_squashed_log_odds(probabilities) + 1.0) * (BINS / 2)).astype(np.intp)
        cells = 2 * np.minimum(bins, BINS - 1) + codes
        done = 0
        while done < len(codes):
            part = slice(done, done + self._next_position - self.n_rows)
            above = scores[part] > 0.0
            if self.threshold is not None:
                above = probabilities[part] > self.threshold
            predicted[part] = above
            self._count(cells[part])
            self.n_rows += len(codes[part])
            done = part.stop
            if self.n_rows == self._next_position:
                self.place()
        return predicted

    def _count(self, cells: np.ndarray) -> None:
        """Count rows, by the position of their bin and class among the counts."""
        if len(cells) < FEW:
            np.add.at(self.counts.reshape(-1), cells, 1)
        else:
            self.counts += np.bincount(cells, minlength=2 * BINS).reshape(BINS, 2)

    def place(self) -> float | None:
        """Place the threshold by all rows so far, and return it; None without both classes."""
        n = self.n_rows
        self._next_position = max(n + 1, n * GROWTH_NUMERATOR // GROWTH_DENOMINATOR)
        occupied = np.flatnonzero(self.counts[:, 0] | self.counts[:, 1])
        counts = self.counts[occupied]
        if counts[:, 0].any() and counts[:, 1].any():
            # midway between the upper edge of a bin and the lower edge of the next one with rows
            middle = (occupied[:-1] + 1 + occupied[1:]) / BINS - 1.0
            between = 1.0 / (1.0 + np.exp(-middle / (1.0 - np.abs(middle))))
            thresholds = np.concatenate([[0.0], between, [1.0]])
            self.threshold, _ = _best(self.name, counts, thresholds, self.positive)
        return self.threshold

    def predicted_rows(self) -> list[int] | None:
        """Return how many of the rows so far the threshold predicts as each class."""
        if self.threshold is None:
            return None
        cut = 2.0 * self.threshold - 1.0  # right at both ends, where the odds are not finite
        if 0.0 < self.threshold < 1.0:
            cut = float(_squashed_log_odds(np.array(self.threshold)))
        middle = (np.arange(BINS) + 0.5) / (BINS / 2) - 1.0
        second = int(self.counts[middle > cut].sum())
        return [self.n_rows - second, second]


class RunningThresholds(Resumable):
    """The thresholds of more than two classes by the rows so far, as `RunningThreshold`.

    Of rows 0, s, 2 s, ... probabilities and class are kept, at most 4,096, fewer of more than 30
    classes; s doubles when that many are there.  The thresholds are placed again when the rows have
    doubled.

    >>> import numpy as np
    >>> running = RunningThresholds("f1", 3)
    >>> p = np.array([[0.9, 0.06, 0.04], [0.6, 0.3, 0.1], [0.6, 0.1, 0.3]] * 5)
    >>> running.decide(np.tile([0, 1, 2], 5), np.log(p), p).tolist()[-3:]
    [0, 1, 2]
    """

    OPTIONAL = ("threshold",)

    def __init__(self, name: str, n_classes: int) -> None:
        self.name, self.n_classes = name, n_classes
        self.kept = np.empty((0, n_classes + 2))  # probabilities, and codes: by score, and true
        self.n_rows, self.step = 0, 1
        self.threshold: list[float] | None = None
        self._next_position = 1

    def _state_schema(self) -> dict[str, Array]:
        K = self.n_classes
        return {
            "kept": Array(
                "f8", ("kept", K + 2), low=[0.0] * (K + 2), high=[1.0] * K + 2 * [K - 1.0]
            ),
            "n_rows": COUNT,
            "step": Array("i8", (1,), 1, np.iinfo(np.int64).max),
            "threshold": Array("f8", (K,), 0.0, 1.0),
            "_next_position": Array("i8", (1,), 1, np.iinfo(np.int64).max),
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from counts that `get_state` of an equal object returned."""
        super().set_state(state)
        is_code = self.kept[:, -2:] == np.floor(self.kept[:, -2:])
        if len(self.kept) != -(-self.n_rows // self.step) or not is_code.all():
            raise InputError("the rows that were kept for the thresholds are others")
        if self._next_position <= self.n_rows:
            raise InputError("the threshold of the counts was not placed where it must have been")

    def decide(
        self, codes: np.ndarray, scores: np.ndarray, probabilities: np.ndarray
    ) -> np.ndarray:
        """Return the predicted class of each row by the rows before it, and count the rows.

        Scores and probabilities, (n_samples, n_classes), are those before the row was learned.
        """
        predicted, done = np.empty(len(codes), dtype=np.intp), 0
        rows = np.column_stack([probabilities, decide(scores), codes])
        while done < len(codes):
            part = slice(done, done + self._next_position - self.n_rows)
            predicted[part] = decide(scores[part], probabilities[part], self.threshold)
            self._keep(rows[part])
            done = part.stop
            if self.n_rows == self._next_position:
                self.place()
        return predicted

    def _keep(self, rows: np.ndarray) -> None:
        """Keep some of the next rows."""
        at = np.arange(self.n_rows, self.n_rows + len(rows))
        self.n_rows += len(rows)
        chosen = at % self.step == 0
        if chosen.any():
            self.kept = np.concatenate([self.kept, rows[chosen]])
        while len(self.kept) > MOST_KEPT * MOST_CLASSES // max(self.n_classes, MOST_CLASSES):
            self.kept, self.step = self.kept[::2], 2 * self.step

    def place(self) -> list[float] | None:
        """Place the thresholds by the rows so far, and return them; None with a single class."""
        self._next_position = max(self.n_rows + 1, 2 * self.n_rows)
        by_score, codes = self.kept[:, -2:].T.astype(np.intp)
        if len(np.unique(codes)) > 1:
            self.threshold = best_thresholds(self.name, codes, self.kept[:, :-2], by_score)
        return self.threshold


def _squashed_log_odds(probabilities: np.ndarray) -> np.ndarray:
    p = np.clip(probabilities, 1e-300, 1.0 - 2.0**-53)
    log_odds = np.log(p) - np.log1p(-p)
    return np.asarray(log_odds / (1.0 + np.abs(log_odds)))
