"""``crossview inspect``."""

from __future__ import annotations

import sys

from crossview.cli.loading import load_heavy
from crossview.cli.options import STANDARD
from crossview.cli.output import make_console, standard_output
from crossview.errors import InputError

OPTIONS = """
--weights FILE: Write all weights that are not 0 to this file instead, by view, column, value and
    class. Ends in .csv, .parquet or .jsonl; - for CSV on stdout.
--names FILE: Rows of Vowpal Wabbit, such as those that were learned, in which the names of features
    are looked up: a model has their slots only (--invert_hash of Vowpal Wabbit).
--top: How many columns of each view, or interactions of each order, to show. "age near 35" is a bin
    of the number age: it is 1 at 35, and falls to 0 at the bins beside it.
"""


def run(
    model: str,
    weights: str | None = None,
    names: str | None = None,
    top: int = 10,
) -> None:
    """Show a model: its views, weights and strongest columns, or interactions between views."""
    from crossview.cli.opening import model_input

    with model_input(model) as file:
        load_heavy()
        _inspect(str(file), top, weights, names)


def _inspect(model: str, top: int, weights: str | None, names: str | None) -> None:
    """Show a model file, or write its weights."""
    from sklearn.pipeline import Pipeline

    from crossview.reporting.model import model_tables
    from crossview.saving import model_files
    from crossview.saving.training_info import read_training_info
    from crossview.scoring.models.weights import find_names
    from crossview.scoring.models.weights import weights as write_weights

    if top < 0:
        raise InputError(f"--top {top}; give 0 or more")
    if weights is not None:
        with standard_output(weights, ".csv") as file:
            n_rows = write_weights(model, file, names=names)
        if weights != STANDARD:
            print(f"{n_rows:,} weights, wrote {weights}", file=sys.stderr)
        return
    fitted = model_files.load(model)
    encoder, learner = None, fitted
    if isinstance(fitted, Pipeline):
        encoder, learner = fitted[0], fitted[-1]
    if not hasattr(learner, "column_weights"):
        raise InputError("holds no learner to inspect", file=str(model))
    if names is not None:
        find_names(encoder, names)
    console = make_console()
    for part in model_tables(learner, encoder, read_training_info(model, learner), top=top):
        console.print(part)
