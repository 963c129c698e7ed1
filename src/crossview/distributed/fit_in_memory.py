"""A support vector machine for the rows of files, which workers read once and keep."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.data.labeled import LabeledBatch
from crossview.distributed.cluster import compute, share
from crossview.distributed.mixing import Rounds
from crossview.distributed.rows import Part, RowWork
from crossview.distributed.svm import fit_svm
from crossview.errors import InputError
from crossview.saving.pipelines import pipeline, steps
from crossview.views import MultiView


def fit_in_memory(
    client: Any, work: RowWork, partitions: Sequence[Sequence[Part]], start: Any
) -> Rounds:
    """Learn all rows that are not held out, each in the memory of the worker that read it."""
    parts = [part for partition in partitions for part in partition]
    encoder, learner = steps(start)
    if encoder is not None:
        seen = client.gather(
            compute(client, _statistics, [(work, part, encoder) for part in parts])
        )
        encoder = seen[0].merge_with(seen[1:]) if len(seen) > 1 else seen[0]
    known = share(client, encoder)
    rows = compute(client, _rows, [(work, part, known) for part in parts])
    counts = client.gather(compute(client, _count, [(one,) for one in rows]))
    if not sum(counts):
        raise InputError("the files have no row to learn from")
    kept = [one for one, n in zip(rows, counts, strict=True) if n]
    # held-out rows calibrate it
    fitted = fit_svm(clone(learner).set_params(calibration="none"), kept, client=client)
    fitted.calibration = learner.calibration
    model = pipeline(encoder, fitted)
    return Rounds(model=model, future=share(client, model), n_rounds=1, rows=sum(counts))


def _statistics(work: RowWork, part: Part, encoder: Any) -> Any:
    """Return what an encoder learns from the rows of a part."""
    seen, source = copy.deepcopy(encoder), part.rows()
    for batch in work.learned(part):
        source.encode(batch, seen, True)
    return seen


def _rows(work: RowWork, part: Part, encoder: Any) -> tuple[MultiView, np.ndarray, Any] | None:
    """The rows of a part, their labels and weights; None if there is no row."""
    source = part.rows()
    batches = [
        replace(batch, X=source.encode(batch, encoder, False)) for batch in work.learned(part)
    ]
    if not batches:
        return None
    rows = LabeledBatch.join(batches)
    return rows.X, rows.y, rows.weight


def _count(rows: tuple | None) -> int:
    return 0 if rows is None else len(rows[1])
