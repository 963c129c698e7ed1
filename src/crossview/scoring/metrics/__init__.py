"""Metrics by name, for rows in memory and for a stream of any length.

An entry of `crossview.catalog` names the function of each metric.  What the function takes and
returns depends on its kind: see `decision` for metrics of the predicted classes, `order` for
those of the order of the scores, `place` for those of the place of the label among the classes,
`probability` for those of the probabilities, and `error` for those of predicted numbers.  `measure`
applies a metric to rows in memory; `Tally` and `ErrorTally` apply it to a stream, and `BlockTally`
to a stream without each block of its rows.  `threshold` places the thresholds of classes for a
decision.

Classes are given by their codes, 0 to ``n_classes - 1`` in sorted order, and scores as
`decision_function` gives them.  Where a number is predicted, the numbers and their predictions
take their places.
"""

from crossview.labels import decide
from crossview.scoring.metrics.blocks import BlockTally
from crossview.scoring.metrics.measure import (
    classes_averaged,
    compares_classes,
    confusion_matrix,
    error_of_shares,
    hinge_losses,
    is_bounded,
    least_rows,
    measure,
    ordering,
    running_sum,
    signed_score,
    values_of_confusions,
    within_bounds,
)
from crossview.scoring.metrics.tally import ErrorTally, Tally
from crossview.scoring.metrics.threshold import (
    RunningThreshold,
    RunningThresholds,
    best_threshold,
    best_thresholds,
)

__all__ = [
    "BlockTally",
    "ErrorTally",
    "RunningThreshold",
    "RunningThresholds",
    "Tally",
    "best_threshold",
    "best_thresholds",
    "classes_averaged",
    "compares_classes",
    "confusion_matrix",
    "decide",
    "error_of_shares",
    "hinge_losses",
    "is_bounded",
    "least_rows",
    "measure",
    "ordering",
    "running_sum",
    "signed_score",
    "values_of_confusions",
    "within_bounds",
]
