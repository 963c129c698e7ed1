"""Learning in rounds: the views label unlabeled rows together, more of them in each round.

Algorithm 1 labels a row at each draw, from views that have hardly learned.  Here the views learn
the labeled rows first.  Then, ROUNDS times, the joint scores choose unlabeled rows and label them,
and the views learn again from the start, half of the steps from labeled rows and half from those:

    label    the class c with the highest joint score s_c, the mean of the views; with two classes
             the sign of s
    order    by the margin: s_c minus the second highest score; with two classes |s|
    number   of class c in round r: trust * r / ROUNDS * share_c * unlabeled rows, where share_c is
             the share of the class among the labeled rows, and `trust` is that in the joint label

So the most certain rows come first, no class takes the rows of another, and unlabeled rows weigh
no more than labeled ones.  Only rows with two views or more are labeled: one view alone cannot
agree with itself.

A class weight applies to the rows that get the class, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from crossview.algorithms.kernel.quota import trust
from crossview.algorithms.kernel.schedule import draw_rows

ROUNDS = 5
FOLDS = 3

# n_iterations="auto": the first number of steps, and the most of them
FIRST_STEPS = 1000
MAX_STEPS, MAX_PASSES = 10_000, 10

# then a round has at least this number of steps per row that it labels
STEPS_PER_ROW = 4

# the mean loss of held-out rows must fall by this share for the steps to double
MIN_DECREASE = 0.01


class Learner(NamedTuple):
    """The functions of a learner: learn from the start, and score."""

    fit: Callable[[np.ndarray, np.ndarray, np.ndarray], None]  # draws, labels, weights
    score: Callable[[np.ndarray], np.ndarray]  # rows; the joint scores (m, K)


class Drawable(NamedTuple):
    """Rows that can be drawn."""

    labels: np.ndarray  # (n, K): -1 and 1, or a number; NaN in an unlabeled row
    weight: np.ndarray  # (n,)
    known: np.ndarray  # the rows with a label and a weight
    unknown: np.ndarray  # the rows with a weight and no label
    squared: bool = False  # regression: labels are numbers

    @property
    def classes(self) -> np.ndarray:
        """The class of each row in ``known``; one for all of a regression."""
        if self.squared:
            return np.zeros(len(self.known), dtype=np.intp)
        return top_classes(self.labels[self.known])[0]

    def losses(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return the loss of labeled rows with these scores."""
        labels = self.labels[rows]
        if self.squared:
            return (labels - scores) ** 2
        return np.maximum(0.0, 1.0 - labels * scores)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return max(2, self.labels.shape[1])


def drawable(labels: np.ndarray, weight: np.ndarray, squared: bool = False) -> Drawable:
    """Return the rows that can be drawn: none has weight 0."""
    counts, labeled = weight > 0.0, ~np.isnan(labels[:, 0])
    known, unknown = np.flatnonzero(counts & labeled), np.flatnonzero(counts & ~labeled)
    return Drawable(labels, weight, known, unknown, squared)


def draw(rows: np.ndarray, steps: int, random_state: np.random.RandomState) -> np.ndarray:
    """Return the row of each step, one of ``rows``."""
    return rows[random_state.randint(len(rows), size=steps)]


def top_classes(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the class with the highest score of each row, and its margin."""
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0.0).astype(np.intp), np.abs(scores[:, 0])
    ordered = np.sort(scores, axis=1)
    return scores.argmax(axis=1), ordered[:, -1] - ordered[:, -2]


def labels_of(classes: np.ndarray, K: int) -> np.ndarray:
    """Return the labels (n, K), -1 and 1, of rows of these classes."""
    if K == 1:
        return np.where(classes == 1, 1.0, -1.0)[:, None]
    return np.where(classes[:, None] == np.arange(K), 1.0, -1.0)


def choose_rows(scores: np.ndarray, shares: np.ndarray, part: float) -> np.ndarray:
    """Return the rows to label: the most certain of each class, ``part * shares`` of all."""
    top, margin = top_classes(scores)
    chosen = []
    for c, share in enumerate(shares):
        own = np.flatnonzero(top == c)
        best = own[np.argsort(-margin[own], kind="stable")]
        chosen.append(best[: int(part * share * len(scores))])
    return np.sort(np.concatenate(chosen))


def split_folds(
    classes: np.ndarray, random_state: np.random.RandomState
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rest and the held-out rows of stratified folds; none if a class has one row."""
    counts = np.bincount(classes)
    n_folds = min(FOLDS, int(counts[counts > 0].min()))
    fold = np.empty(len(classes), dtype=np.intp)
    for c in np.flatnonzero(counts):
        fold[random_state.permutation(np.flatnonzero(classes == c))] = (
            np.arange(counts[c]) % n_folds
        )
    for f in range(n_folds if n_folds > 1 else 0):
        yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)


def choose_steps(learner: Learner, data: Drawable, random_state: np.random.RandomState) -> int:
    """Return the steps after which a held-out part of the labeled rows gets no better.

    They double from FIRST_STEPS on until the mean hinge loss of the held-out rows falls by less
    than MIN_DECREASE (of numbers: their squared loss); the most are MAX_PASSES passes over the
    labeled rows, and MAX_STEPS if those are fewer steps.
    """
    most = max(MAX_STEPS, MAX_PASSES * len(data.known))
    rest, held_out = next(split_folds(data.classes, random_state), (None, None))
    if rest is None:
        return most
    steps, least = FIRST_STEPS, np.inf
    while True:
        learner.fit(draw(data.known[rest], steps, random_state), data.labels, data.weight)
        test = data.known[held_out]
        loss = data.losses(test, learner.score(test)).mean()
        if loss > (1.0 - MIN_DECREASE) * least:
            return steps // 2
        if 2 * steps > most:
            return steps
        steps, least = 2 * steps, loss


def trust_in_agreement(
    learner: Learner, data: Drawable, steps: int, random_state: np.random.RandomState
) -> float:
    """Return the `trust` in the joint label, from held-out labeled rows."""
    right = 0
    for rest, held_out in split_folds(data.classes, random_state):
        learner.fit(draw(data.known[rest], steps, random_state), data.labels, data.weight)
        top, _ = top_classes(learner.score(data.known[held_out]))
        right += int((top == data.classes[held_out]).sum())
    return float(trust(right, len(data.known), data.n_classes))


def learn_in_rounds(
    learner: Learner,
    data: Drawable,
    steps: int,
    steps_per_row: int,
    random_state: np.random.RandomState,
) -> None:
    """Learn the labeled rows, then with them the unlabeled rows that the views label together.

    A round has ``steps`` steps, and at least ``steps_per_row`` per row that it labels.
    """
    labels, weight, known, unknown, _ = data
    trusted = trust_in_agreement(learner, data, steps, random_state) if len(unknown) else 0.0
    learner.fit(draw(known, steps, random_state), labels, weight)
    counts = np.bincount(data.classes, minlength=data.n_classes)
    class_weight = np.bincount(data.classes, weight[known], data.n_classes) / np.maximum(counts, 1)
    for r in range(1, ROUNDS + 1):
        scores = learner.score(unknown)
        chosen = choose_rows(scores, counts / len(known), trusted * r / ROUNDS)
        if not len(chosen):
            continue
        rows, (top, _) = unknown[chosen], top_classes(scores[chosen])
        new_labels, new_weight = labels.copy(), weight.copy()
        new_labels[rows] = labels_of(top, labels.shape[1])
        new_weight[rows] *= class_weight[top]
        enough = max(steps, steps_per_row * len(rows))
        draws = draw_rows("rounds", known, rows, enough, random_state)
        learner.fit(draws, new_labels, new_weight)


def learn(
    learner: Learner,
    data: Drawable,
    schedule: str,
    steps: int | None,
    random_state: np.random.RandomState,
) -> None:
    """Learn rows that are drawn by a schedule; ``steps`` None: as many as `choose_steps` says."""
    if not len(data.known):
        return
    steps_per_row = 0
    if steps is None:
        steps, steps_per_row = choose_steps(learner, data, random_state), STEPS_PER_ROW
        if schedule == "alternating" and len(data.unknown):
            steps = max(2 * steps, steps_per_row * len(data.unknown))
    if schedule == "rounds":
        learn_in_rounds(learner, data, steps, steps_per_row, random_state)
        return
    weight = data.weight
    if schedule == "alternating" and len(data.unknown):
        # half of the steps are of each kind: with weight 2 both means have weight 1
        weight = 2.0 * weight
    draws = draw_rows(schedule, data.known, data.unknown, steps, random_state)
    learner.fit(draws, data.labels, weight)
