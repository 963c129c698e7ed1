"""Training of one model on the files that the workers of a cluster read."""

from __future__ import annotations

import copy
import inspect
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from crossview.catalog.learners import LEARNERS
from crossview.data.guessed_task import task_of
from crossview.data.labeled_source import encoder_with_views
from crossview.distributed.cluster import check_client, compute, result, results
from crossview.distributed.mixing import Mixer
from crossview.distributed.sources import (
    check_partitions,
    cut_evenly,
    find_partitions,
    is_dask_frame,
    open_frame,
)
from crossview.distributed.svm import fit_in_memory
from crossview.distributed.worker_rows import (
    HeldOut,
    Part,
    RowWork,
    label_counts,
    parts_of,
)
from crossview.encoding.encode import ViewEncoder
from crossview.encoding.statistics import LAST_PLACED
from crossview.errors import InputError, argument
from crossview.readers.source import Source, input_files, open_source
from crossview.saving.files import MODEL, check_writable
from crossview.saving.model_files import save
from crossview.saving.pipelines import pipeline, steps
from crossview.scoring.models.trained import Trained
from crossview.scoring.problems import Classification, Scored
from crossview.scoring.specification import Scoring
from crossview.training.held_out import threshold_of, tune
from crossview.training.job import Job, new_job, target_notes, weight_notes
from crossview.training.last_rows import LastRows
from crossview.training.train import DEFAULT_MODEL
from crossview.training.train import train as train_here

# options of `crossview.train` that need one machine
NOT_DISTRIBUTED = ("time", "epochs", "init", "checkpoint", "log")


def train(
    X: Any,
    y: str | None = None,
    *,
    client: Any,
    output: str | os.PathLike[str] | None = None,
    n_partitions: int | None = None,
    n_rounds: int | None = None,
    observer: Callable[[int, int, float | None], None] = lambda *_: None,
    **options: Any,
) -> Trained:
    """Train a model on files that the workers of a Dask cluster read.

    Every worker learns its partitions, shuffled, from the common model; the models are merged,
    weighted by rows, and the next round begins (iterative parameter mixing, `fit`). An SVM for
    a measure has no rounds: its rows stay in the memory of the workers, and the model is the
    solution for all of them together (`fit_svm`). The workers read the rows themselves. One of
    ten rows of the last file or row group of each partition is held out, of more than 500,000
    such rows about 50,000: the scores of one half of them calibrate the model and place its
    threshold, those of the other half measure it.

    Parameters
    ----------
    X : path, glob, list of paths, Source or dask.dataframe.DataFrame
        Files that all workers and this process can open by the same names, as on a file system that
        they share; or a Dask data frame, whose partitions are computed anew in each round unless it
        was persisted.
    y : str, default=None
        The label column; None if the format has labels.
    client : distributed.Client
        Connection to the cluster.
    output : path-like, default=None
        The model file to write, as from `crossview.train`.
    n_partitions : int, default=None
        How many models learn at the same time, each from consecutive files, row groups or
        partitions of the data frame.  The result depends on it, and not on the number of workers.
        None: as many as the cluster has threads.
    n_rounds : int, default=None
        Passes over all rows.  None: until the held-out loss gets no better.  Not for an SVM.
    observer : callable
        Is called after each round with its number, the rows, and the held-out loss.
    **options
        Those of `crossview.train`, such as ``model``, ``settings``, ``views``, ``encoder``,
        ``classes``, ``scoring`` and ``seed``; without ``time``, ``epochs``, ``init``,
        ``checkpoint`` and ``log``.

    Returns
    -------
    Trained
        As from `crossview.train`.  ``loss``, ``accuracy`` and ``metric`` are those of the held-out
        rows; ``passes`` is the number of rounds, if there are any.

    Raises
    ------
    InputError
        The model learns all rows at once or has no merge; the source is no files, or has fewer
        files or row groups than partitions; an option does not apply.

    Notes
    -----
    In the first round each partition is encoded by the statistics of its own rows so far; they are
    merged to those of all rows, which later rounds use.  With ``bins`` the knots come from the
    first 4096 values of each column.  `crossview.train` cannot go on from the model (``init``),
    because it has no progressive counts.

    Examples
    --------
    >>> from crossview.distributed import connected, train
    >>> with connected("local:2") as client:  # doctest: +SKIP
    ...     trained = train("clicks/*.parquet", "click", client=client, model="pa:squared")
    """
    check_client(client)
    began = time.perf_counter()
    options = _checked(options)
    check_streams(options["model"], options["task"], options["settings"])
    if output is not None:
        check_writable(output, MODEL, [] if is_dask_frame(X) else input_files(X))
    if n_rounds is not None and n_rounds < 1:
        raise InputError(f"n_rounds={n_rounds}; give 1 or more")
    check_partitions(n_partitions)
    encoder = encoder_with_views(options["encoder"], options["views"])
    if encoder.max_users is not None:
        raise InputError(
            f"{argument(max_users=encoder.max_users)} drops who was not seen for longest, which "
            "no worker knows of all rows; leave it out, or train in one process"
        )
    stream, frames = (
        open_frame(X)
        if is_dask_frame(X)
        else (open_source(X, views=encoder.views, hash_bits=encoder.hash_bits), [])
    )
    job, n = _job(stream, frames, y, client, n_partitions, encoder, options)
    task = job.task.for_model(job.learner)
    work = RowWork(task, options["seed"], bool(options["in_order"]))
    partitions = parts_of(job.source, n, frames)
    last = [blocks[-1] for blocks in partitions]
    held_out = compute(client, work.rows_held_out, [(part,) for part in last])
    start = pipeline(_started(job, frames, client), job.learner)
    if job.entry.divided:
        if n_rounds is not None:
            raise InputError(f"n_rounds={n_rounds}: model {job.entry.name!r} has no rounds")
        rounds = fit_in_memory(client, work, partitions, start)
        observer(1, rounds.rows, None)
    else:
        mixer = Mixer(client, work, partitions, held_out, observer)
        rounds = mixer.run(start, n_rounds, is_fitted=False)
    encoder, learner = steps(rounds.model)
    scoring = compute(client, work.held_out, [(rounds.future, one) for one in held_out])
    scored = HeldOut.of_all(results(client, scoring), job.source.file)
    chosen_by, measured = scored.take(slice(0, None, 2)), scored.take(slice(1, None, 2))
    if isinstance(task, Classification):
        if task.fixed_threshold is not None:
            learner.set_threshold(task.fixed_threshold)
        if task.tunes:
            tune(learner, task, chosen_by.scores, chosen_by.y, chosen_by.weight)
        elif task.needs_probabilities or (job.entry.divided and learner.calibration != "none"):
            learner.calibrate(chosen_by.scores, chosen_by.y, chosen_by.weight)
    job.name_columns(encoder)
    learned = LastRows(scored.X)
    learned.stand_in(learner, rounds.rows)
    answer = Trained(
        encoder=encoder,
        learner=learner,
        **job.about,
        rows=rounds.rows,
        unlabeled=0,
        skipped=0,
        passes=None if job.entry.divided else rounds.n_rounds,
        order=None if job.entry.divided else work.order,
        seconds=time.perf_counter() - began,
        **_measured(task, learner, measured),
        class_rows=task.class_rows,
        scored="held-out rows",
        **threshold_of(learner, task),
        **learned.about(job.entry, learner, rounds.rows, with_scores=True),
        row_sketch=rounds.sketch.to_json(),
    )
    answer.warn_of_one_class()
    labels = [] if isinstance(task, Classification) else [scored.y]
    answer.warnings += [*target_notes(job, labels), *weight_notes(job, bool(options["weight"]))]
    if output is not None:
        save(answer.fitted, output, info=answer.info)
    return answer


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """The options of `crossview.train` with their defaults; others are an error."""
    known = inspect.signature(train_here).parameters
    for name in options:
        if name in NOT_DISTRIBUTED:
            raise InputError(f"{argument(name)} does not apply on a Dask cluster; leave it out")
        if name not in known or name in ("X", "y", "output"):
            raise InputError(f"train has no option {name!r}")
    if options.get("weight") is not None and not isinstance(options["weight"], str):
        raise InputError(
            f"{argument('weight')} is the name of a column where workers read the rows"
        )
    return {name: options.get(name, one.default) for name, one in known.items()}


def check_streams(model: str | None, task: str | None, settings: Mapping[str, Any] | None) -> None:
    """Raise an error for a model that learns all rows at once."""
    for entry in LEARNERS:
        named = entry.name == model and task in (None, entry.task)
        if named and not (entry.divided or entry.is_streamed(settings or {})):
            switch = ", ".join(f"{name}={value}" for name, value in entry.stream_params.items())
            way = f"set {switch}, or train it" if switch else "train it"
            raise InputError(
                f"model {model!r} learns all rows at once, and is not distributed; {way} without a "
                "cluster"
            )


def _job(
    stream: Source,
    frames: list[Any],
    y: str | None,
    client: Any,
    n: int | None,
    encoder: ViewEncoder,
    options: dict[str, Any],
) -> tuple[Job, int]:
    """Return the training job, its rows, and the number of partitions."""
    n = find_partitions(client, stream.n_blocks, n, stream.file)
    task, classes, counts = options["task"], options["classes"], None
    if task is None and frames:  # no row is here
        task = "classification"
    task = task_of(task, stream, y)
    if task == "classification" and classes is None and (y is None) != stream.has_columns:
        counts = _label_counts(stream, frames, y, client, n)
        classes = sorted(counts)
    rows: dict[str, Any] = {"classes": classes, "unlabeled": False}
    if counts is not None:
        rows["class_rows"] = [counts[label] for label in classes]
    if stream.has_columns:
        # partitions of a data frame stay on their workers
        rows |= {"weight": options["weight"]}
        if frames:
            rows["recognize"] = ()
    elif options["weight"] is not None:
        raise InputError(
            f"{argument('weight')} names a column, and the files hold rows with their weights"
        )
    else:
        encoder.set_params(views=None)
    scoring = Scoring.of(options["scoring"])
    scoring.check_task(task)
    settings, seed = options["settings"] or {}, options["seed"]
    model = options["model"] or DEFAULT_MODEL
    return new_job(stream, y, model, settings, encoder, task, scoring, seed, **rows), n


def _label_counts(
    stream: Source, frames: list[Any], y: str | None, client: Any, n: int
) -> Counter[Any]:
    """The rows of each label, each partition read by a worker."""
    if stream.has_columns:
        assert y is not None
        stream = stream.as_written([y]).select([y])
    cuts = cut_evenly(stream.n_blocks, n)
    parts = [(stream.of_blocks(slice(a, b)), frames[a:b], y) for a, b in cuts]
    return sum(results(client, compute(client, label_counts, parts)), Counter())


def _started(job: Job, frames: list[Any], client: Any) -> Any:
    """The encoder with its columns, and where there are bins, their knots."""
    encoder: Any = copy.deepcopy(job.source.encoder)
    if getattr(encoder, "bins", None):
        first = Part(job.source.of_blocks(slice(0, 1)), 0, frames[:1])
        (state,) = compute(client, _first_state, [(first, encoder)])
        encoder.set_state(result(client, state))
    return encoder


def _first_state(part: Part, encoder: Any) -> dict[str, np.ndarray]:
    """The state of the encoder with the knots of the first values, and no other statistics."""
    seen = copy.deepcopy(encoder)
    seen.partial_fit(next(iter(part.rows().read())).X)
    state, own = dict(encoder.get_state()), seen.get_state()
    state |= {name: own[name] for name in ("n_knots", "knots")}
    state["n_values"] = np.full_like(own["n_values"], LAST_PLACED)  # they stay
    return state


def _measured(task: Any, learner: Any, scored: HeldOut) -> dict[str, Any]:
    """Loss, accuracy and metric of held-out rows."""
    tally, classes = task.tally(), isinstance(task, Classification)
    told = Scored(scored.scores)
    if classes:
        p = learner.probabilities(scored.scores) if task.needs_probabilities else None
        told = Scored(scored.scores, p, task.encode(learner.decide(scored.scores)))
    task.count(tally, scored.y, told)

    def value(name: str) -> float | None:
        found = tally.value(name)
        return None if np.isnan(found) else float(found)

    return {
        "loss": tally.loss / tally.n_rows,
        "accuracy": value("accuracy") if classes else None,
        "metric": {"name": task.metric, "value": value(task.metric)},
        "predicted_rows": tally.confusion.sum(axis=0).tolist() if classes else None,
    }
