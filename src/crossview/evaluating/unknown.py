"""Labels that the model does not know: their rows are errors of what it predicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from crossview.catalog.metrics import metric_of
from crossview.evaluating.spec import EvaluationSpec
from crossview.labels import as_labels
from crossview.scoring.metrics import BlockTally, Tally
from crossview.scoring.metrics.tally import MOST_CELLS
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


def count_unknown(spec: EvaluationSpec, rows: ModelRows, y: Any) -> dict[Any, int] | None:
    """Return the rows of each label that the model does not know, the most frequent first.

    None where they say that the labels are others altogether: one for two classes, more labels
    than the model has classes, more than half of the rows, or text in place of numbers.  Only the
    labels are read.
    """
    reader, found, n_labeled = spec.labels(), Counter[Any](), 0
    classes = spec.fitted.classes
    if classes is None or len(classes) < 3 or not isinstance(reader, ClassLabels):
        return None
    given = None if y is None or isinstance(y, str) else as_labels(y)
    batches = (
        (None if spec.label is None else columns[spec.label], batch.y)
        for columns, batch in rows.kept()
    )
    for column, own in batches if given is None else [(given, None)]:
        more, n = reader.count_unknown(own if column is None else column)
        found += Counter(more)
        n_labeled += n
    alike = all(type(one) is type(classes[0]) or _are_numbers(one, classes[0]) for one in found)
    if not alike or len(found) > len(classes) or 2 * found.total() > n_labeled:
        return None
    return dict(found.most_common())


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
