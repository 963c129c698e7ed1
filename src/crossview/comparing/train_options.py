"""The command that trains what a comparison recommends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossview.catalog.learner import OF_COMPARE, Learner
from crossview.catalog.metrics import metric_of
from crossview.catalog.names import SYMMETRIC, TASKS

if TYPE_CHECKING:
    from crossview.comparing.comparison import Comparison, ComparisonRow

__all__ = ["train_options"]


def train_options(c: Comparison, entry: Learner, row: ComparisonRow) -> list[str]:
    """Return the options of ``crossview train`` that train a row on all data.

    Parameters
    ----------
    c : Comparison
        From `crossview.compare`.
    entry : Learner
        The entry of that row.
    row : ComparisonRow
        The row.

    Returns
    -------
    options : list of str
        The words of a command line.
    """
    options = ["--task", c.task] if c.task == "regression" else []
    options += ["--model", row.model]
    for name, value in row.setting.items():
        if name in OF_COMPARE:
            continue
        word = value if isinstance(value, bool | str) else f"{value:g}"
        options += ["--set", f"{name}={word}"]
    if c.mode == "progressive" or c.in_order:
        options.append("--in-order")
    if c.mode == "progressive":
        for name, value in entry.stream_params.items():
            options += ["--set", f"{name}={value}"]
    two, fixed = len(c.classes) == 2, isinstance(c.threshold, float)
    guessed = c.positive_by == "guess"
    # train places the threshold for its metric, too
    default = SYMMETRIC if two and guessed else TASKS[c.task][0]
    if entry.trained_for_metric or (two and c.metric != default):
        options += ["--metric", c.metric]
    # train reads the name as well, and needs no guess for a metric of both classes
    needed = not guessed or fixed or metric_of(c.metric).scope == "class"
    if two and needed and c.positive_by != "name":
        options += ["--positive", str(c.positive)]
    if two and c.threshold != "tuned":
        options += ["--threshold", f"{c.threshold:g}" if fixed else "none"]
    if row.setting.get("bins"):
        options += ["--bins", str(row.setting["bins"])]
    passes = row.setting.get("epochs", row.epochs)
    return [*options, *(["--epochs", str(passes)] if passes > 1 else [])]
