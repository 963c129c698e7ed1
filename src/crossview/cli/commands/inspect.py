"""``crossview inspect``."""

from __future__ import annotations

import sys

from sklearn.pipeline import Pipeline

from crossview.cli.loading import after_loading
from crossview.cli.opening import STANDARD, make_console, standard_output
from crossview.errors import InputError
from crossview.reporting.model import model_tables
from crossview.saving import model_files
from crossview.saving.training_info import read_training_info
from crossview.scoring.weights import weights as write_weights

__all__ = ["run"]


@after_loading
def run(model: str, top: int, weights: str | None) -> None:
    """``crossview inspect``."""
    if top < 0:
        raise InputError(f"--top {top}; give 0 or more")
    if weights is not None:
        with standard_output(weights, ".csv") as file:
            n_rows = write_weights(model, file)
        if weights != STANDARD:
            print(f"{n_rows:,} weights, wrote {weights}", file=sys.stderr)
        return
    fitted = model_files.load(model)
    encoder, learner = None, fitted
    if isinstance(fitted, Pipeline):
        encoder, learner = fitted[0], fitted[-1]
    if not hasattr(learner, "column_weights"):
        raise InputError("holds no learner to inspect", file=str(model))
    console = make_console()
    for part in model_tables(learner, encoder, read_training_info(model, learner), top=top):
        console.print(part)
