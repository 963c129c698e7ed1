"""Labels that the model does not know: their rows are errors of what it predicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crossview.catalog.metrics import metric_of
from crossview.evaluating.spec import EvaluationSpec
from crossview.labels import as_labels
from crossview.scoring.metrics import BlockTally, Tally
from crossview.scoring.metrics.tally import MOST_CELLS, added
from crossview.scoring.models.fitted_model import ClassLabels, ModelRows
from crossview.scoring.problems import Classification, Scored


class ClassificationWithUnknown(Classification):
    """A model of more than two classes on rows of which some are of others.

    Metrics of the predicted classes, and of the place of the label, count these rows as errors: the
    others are classes that are never predicted, and the least probable ones.  Metrics of scores and
    probabilities, of which there are none for these classes, are those of the rows that are left.
    """

    def __init__(self, known: Classification, unknown: Mapping[Any, int]) -> None:
        classes = np.array([*known.classes.tolist(), *unknown])
        super().__init__(np.sort(classes), metric=known.metric, threshold=None)
        self.known, self.unknown = known, dict(unknown)
        self._columns = self.encode(known.classes)

    def is_of_model(self, y: np.ndarray) -> np.ndarray:
        """Return which rows are of a class of the model."""
        return np.asarray(np.isin(y, self.known.classes))

    def tally(self, most_cells: int = MOST_CELLS) -> Tally:
        """Return a tally of metrics of scores and probabilities."""
        return self.known.tally(most_cells)

    def block_tally(self, scored: Scored, metric: str | None = None) -> BlockTally:
        """Return a tally per block of this metric."""
        if metric_of(metric or self.metric).kind in ("decision", "place"):
            return super().block_tally(scored, metric)
        return self.known.block_tally(self.of_model(scored), metric)

    def count(
        self, tally: Tally | BlockTally, y: np.ndarray, scored: Scored, **blocks: Any
    ) -> None:
        """Count those of some rows that are rows of the tally's classes."""
        if tally.n_classes == len(self.classes):
            p = scored.probabilities
            if p is not None:  # a class of the model comes before the others also where it is 0
                least = np.full_like(p, -1.0)
                least[:, self._columns] = p[:, self._columns]
                scored = scored._replace(probabilities=least)
            super().count(tally, y, scored, **blocks)
            return
        rows = self.is_of_model(y)
        own = {name: None if all_ is None else all_[rows] for name, all_ in blocks.items()}
        self.known.count(tally, y[rows], self.of_model(scored.take(rows)), **own)

    def of_model(self, scored: Scored) -> Scored:
        """Return rows with the columns and the codes of the classes of the model."""
        p, predicted = scored.probabilities, scored.predicted
        return Scored(
            scored.scores[:, self._columns],
            None if p is None else p[:, self._columns],
            None if predicted is None else np.searchsorted(self._columns, predicted),
        )


@dataclass
class UnknownLabels:
    """Rows of each label that the model does not know, and rows with a label; parts add up."""

    found: dict[Any, int] = field(default_factory=dict)
    n_labeled: int = 0

    def __add__(self, other: UnknownLabels) -> UnknownLabels:
        return added(self, other, "found", "n_labeled")


def count_unknown(spec: EvaluationSpec, rows: ModelRows, y: Any = None) -> UnknownLabels:
    """Return the rows of the labels that the model does not know.  Only the labels are read."""
    reader, total = spec.labels(), UnknownLabels()
    assert isinstance(reader, ClassLabels)
    given = None if y is None or isinstance(y, str) else as_labels(y)
    batches = (
        (None if spec.label is None else columns[spec.label], batch.y)
        for columns, batch in rows.kept()
    )
    for column, own in batches if given is None else [(given, None)]:
        total = total + UnknownLabels(*reader.count_unknown(own if column is None else column))
    return total


def take_as_errors(spec: EvaluationSpec, count: Callable[[], UnknownLabels]) -> bool:
    """Let the task of an evaluation count rows of unknown labels as errors, unless they are none.

    count: counts the labels, where that is of use.
    Returns: whether it does.  Not where they say that the labels are others altogether: one for two
    classes, more labels than the model has classes, more than half of the rows, or text in place of
    numbers.
    """
    classes = spec.fitted.classes
    if classes is None or len(classes) < 3 or not isinstance(spec.task, Classification):
        return False
    unknown = count()
    found = unknown.found
    alike = all(type(one) is type(classes[0]) or _are_numbers(one, classes[0]) for one in found)
    if not alike or len(found) > len(classes) or 2 * sum(found.values()) > unknown.n_labeled:
        return False
    spec.task = ClassificationWithUnknown(spec.task, dict(Counter(found).most_common()))
    return True


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
