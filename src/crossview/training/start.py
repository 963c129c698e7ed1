"""Models from which training goes on with other rows."""

from __future__ import annotations

import copy
import os
from collections.abc import Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from crossview.errors import InputError
from crossview.saving.model_files import load, load_progress
from crossview.saving.pipelines import steps
from crossview.saving.schema import MAX_COUNT, check_header
from crossview.saving.training_info import read_training_info

# the part of the header of a finished model from which training goes on with other rows
FINISHED = "finished"
SCHEMA: dict[str, Any] = {
    FINISHED: {"threshold": (float, str, None), "unlabeled": int, "skipped": int}
}


@dataclass
class Start:
    """A finished model from which training goes on with other rows.

    fitted: the encoder and the learner; its own copy.
    info: the metadata of the model.
    counts: of all rows that it has learned, each predicted before.
    threshold: what was asked for.
    unlabeled, skipped: rows without a label that were learned and passed over.
    """

    fitted: Any
    info: dict[str, Any]
    counts: dict[str, np.ndarray]
    threshold: float | str | None
    unlabeled: int
    skipped: int

    @classmethod
    def read(cls, model: Any) -> Start:
        """Return the model of a file, or of what `train` returned."""
        if hasattr(model, "progress"):
            fitted, info, progress = copy.deepcopy((model.fitted, model.info, model.progress))
            name = None
        else:
            fitted, name = load(model), os.fspath(model)
            info = read_training_info(model, steps(fitted)[1])
            try:
                progress = load_progress(model)
            except InputError:
                progress = None
        if progress is None:
            raise InputError(
                "holds no counts to go on from: it was not written by train, or learned all rows "
                "at once; train on all rows again",
                file=name,
            )
        header, counts = progress
        if FINISHED not in header:
            raise InputError(
                "is the checkpoint of an unfinished run; go on by checkpoint= and resume=",
                file=name,
            )
        try:
            check_header(header, SCHEMA, "training")
            start = cls(fitted, info, counts, **header[FINISHED])
            start._check()
        except InputError as error:
            raise InputError(f"is a damaged model file: {error.message}", file=name) from None
        return start

    def _check(self) -> None:
        """Raise an error if metadata and counts are of other rows; the counts say the rest."""
        if not self.info.get("metric") or "tally.n_rows" not in self.counts:
            raise InputError("it lacks the metric, or its counts")
        if self.counts["tally.n_rows"].tolist() != [self.info["rows"]]:
            raise InputError("its counts are not of the rows that it has learned")
        if not (0 <= self.unlabeled <= MAX_COUNT and 0 <= self.skipped <= MAX_COUNT):
            raise InputError("its rows without a label are no number")

    @staticmethod
    def progress(
        counts: dict[str, np.ndarray], threshold: float | str | None, unlabeled: int, skipped: int
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a finished model keeps, so that training can go on from it."""
        rows = {"unlabeled": unlabeled, "skipped": skipped}
        return {FINISHED: {"threshold": threshold, **rows}}, counts

    def refuse(self, **options: Any) -> None:
        """Raise an error for an option that the model has already."""
        for name, value in options.items():
            if value is not None and not (isinstance(value, Sized) and not len(value)):
                raise InputError(f"leave {name}= out; the model of init= has its own")
