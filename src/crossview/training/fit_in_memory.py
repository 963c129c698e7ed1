"""Learners that need all rows: as in `compare` by folds."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from crossview.compiling import seconds_of_compiling
from crossview.data.labeled_source import code_texts
from crossview.data.row_columns import with_row_location
from crossview.data.row_sketch import RowSketch, hash_rows
from crossview.data.summaries.leaks import LeakCheck
from crossview.errors import InputError
from crossview.labels import has_label
from crossview.readers.source import take_rows
from crossview.scoring.models.trained import Trained
from crossview.scoring.problems import Classification
from crossview.training.held_out import (
    can_hold_out,
    held_out_scores,
    notes_of_groups,
    threshold_of,
    tune,
)
from crossview.training.job import Job, target_notes
from crossview.training.last_rows import LastRows, diagnose
from crossview.views import MultiView


def fit_in_memory(job: Job) -> Trained:
    """Fit the learner to all rows in memory, as in `compare` by folds, on all cores."""
    # it takes long to load
    from joblib import parallel_config

    with parallel_config(n_jobs=-1):
        return _fit_in_memory(job)


def _fit_in_memory(job: Job) -> Trained:
    entry, learner, source, about = job.entry, job.learner, job.source, job.about
    task = job.task.for_model(learner)
    start, compiled = time.perf_counter(), seconds_of_compiling()
    rows = source.load()
    leaks = LeakCheck(source)
    leaks.sample(rows)
    rows = replace(rows, X=code_texts(rows.X, job.encoder))
    y = rows.y
    known = np.flatnonzero(has_label(y))
    n_missing = len(y) - len(known)
    if not len(known):
        raise InputError("no row has a label to learn from", file=source.file)
    encoder = job.encoder
    if encoder is not None:
        encoder.fit(take_rows(rows.X, known))
    if not entry.learns_unlabeled:
        rows = rows.take(known)
    data, y, weight, groups = rows.X, rows.y, rows.weight, rows.groups
    X = data if encoder is None else encoder.transform(data)
    X = X if groups is None else X.with_groups(groups)
    tuned = None
    if isinstance(task, Classification) and task.tunes:
        tuned = _fit_and_tune(learner, task, X, y, weight, about["seed"])
    else:
        with with_row_location(rows):
            learner.fit(X, y, weight)
        if task.fixed_threshold is not None:
            learner.set_threshold(task.fixed_threshold)
    last, classes = LastRows.of(X, rows, job), isinstance(task, Classification)
    seconds, compiled = time.perf_counter() - start, seconds_of_compiling() - compiled
    return Trained(
        encoder=encoder,
        learner=learner,
        **about,
        rows=len(known),
        unlabeled=n_missing if entry.learns_unlabeled else 0,
        skipped=0 if entry.learns_unlabeled else n_missing,
        passes=None,
        order=None,
        seconds=seconds,
        compiled=compiled,
        loss=None,
        accuracy=None,
        metric={"name": task.metric, "value": None},
        class_rows=task.class_rows,
        predicted_rows=tuned or (last.predicted(learner) if classes else None),
        **threshold_of(learner, task),
        **last.about(entry, learner, len(X), with_scores=False, encoder=encoder),
        row_sketch=RowSketch().with_rows(hash_rows(data, encoder)).to_json(),
        warnings=[
            *leaks.finish(),
            *target_notes(job, leaks.labels),
            *notes_of_groups(task, groups, y),
        ],
        diagnostics=diagnose(source, task, learner, encoder, last, about["name"]),
    )


def _fit_and_tune(
    learner: Any, task: Classification, X: MultiView, y: np.ndarray, weight: Any, seed: int
) -> list[int] | None:
    """Fit the learner; the rows held out by three folds calibrate it, and choose its threshold.

    So the fits by which `fit` itself would calibrate it serve both.  Returns how many of these rows
    are predicted as each class.
    """
    calibration = learner.calibration
    if can_hold_out(learner, y):
        learner.calibration = "none"
    learner.fit(X, y, weight)
    scored = held_out_scores(learner, task, X, y, weight, seed)
    if scored is None:
        return None
    predicted = tune(learner, task, *scored)
    learner.calibration = calibration
    return list(predicted.tolist())
