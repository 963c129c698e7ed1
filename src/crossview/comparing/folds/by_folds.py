"""From a source of rows to an answer, by folds."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from crossview.comparing.answer import (
    fingerprint,
    fold_difference,
    follow,
    make_answer,
)
from crossview.comparing.candidates import choose_learners
from crossview.comparing.comparison import Comparison, ComparisonRow, LeftOut
from crossview.comparing.folds.parts import Data, Fold, FoldSource
from crossview.comparing.folds.scheduler import FoldComparison, Resources
from crossview.comparing.folds.splits import FoldRows, Protocol, split_rows
from crossview.comparing.followup.ablation import ablate
from crossview.comparing.followup.explaining import explain, has_weights
from crossview.comparing.followup.learning_curve import learning_curve
from crossview.comparing.followup.refit import Again
from crossview.comparing.held_out_scores import keep, sample_rows
from crossview.comparing.run import Run
from crossview.data.labeled import LabeledSource
from crossview.data.summaries.leak_check import LeakCheck
from crossview.errors import InputError
from crossview.labels import known_labels
from crossview.scoring.row_values import numbers_of

__all__ = ["Wanted", "compare_folds"]


@dataclasses.dataclass
class Wanted:
    """What is asked of a comparison by folds; as the parameters of `crossview.compare`."""

    models: Sequence[str] | None
    baselines: Sequence[str] | None
    protocol: Protocol
    rope: float
    extend: Comparison | None = None
    ablate: bool = False
    curve: bool = False


def compare_folds(
    run: Run, source: LabeledSource, wanted: Wanted, resources: Resources
) -> Comparison:
    """Compare by folds that are the same for every learner.

    Parameters
    ----------
    run : Run
        What is predicted, and how; its learners are chosen here.
    source : LabeledSource
        The rows.
    wanted : Wanted
        What is asked for.
    resources : Resources
        Workers, observer and deadline.

    Returns
    -------
    Comparison
        The answer.
    """
    begin = time.time()
    resources.observer.say("reading the rows")
    leaks = LeakCheck(source)
    data, protocol = _load(run, source, wanted.protocol, leaks)
    splits = split_rows(run, data.y, protocol, len(data.unlabeled))
    given: dict[str, Any] = {
        "models": wanted.models,
        "baselines": wanted.baselines,
        "unlabeled": source.some_unlabeled,
    }
    run.learners = choose_learners(run, source.layout, None, **given)
    some_learn = any(one.learns_unlabeled for one in run.learners)
    data.with_unlabeled = len(data.unlabeled) > 0 and some_learn
    data.sampled = sample_rows(run, len(data.y), source.layout.n_views)
    encoded = FoldSource(data, splits, resources.jobs)
    first = encoded.encode(0)
    of_views = numbers_of(source, first.X_train)
    # which ones are affordable depends on the columns that occur
    run.learners = choose_learners(run, first.X_train.layout, len(data.y), **given)
    known = fingerprint(
        *(data.y, protocol.cv, protocol.repeats, protocol.in_order),
        *(repr(one) for one in (_options(run), _encoding(source))),
        *(array for array in (protocol.groups, data.weight) if array is not None),
    )
    earlier = _earlier_rows(run, wanted.extend, known)
    comparison = FoldComparison(run, encoded, first, resources)
    del first  # the comparison keeps it as long as it needs it

    def answer() -> Comparison:
        return _answer(
            *(run, data, splits, comparison, earlier, wanted.rope),
            in_order=protocol.in_order,
            planned_folds=len(splits),
            seconds=time.time() - begin,
            fingerprint=known,
            warnings=leaks.found,
        )

    for _ in comparison.rounds():
        resources.observer.partial(answer())
    final = answer()
    recommended = final.recommended.model
    final.diagnostics = keep(
        *(run, data, splits, comparison.scores, [row.model for row in final.rows]),
        {
            "model": recommended,
            "views": of_views,
            "views_of": "the training rows of the first fold",
        },
    )

    def folds() -> Iterator[Fold]:
        for f in range(min(protocol.cv, final.folds)):
            yield encoded.encode(f, any(one.get("bins") for one in final.recommended.chosen))

    learner = comparison.learners.get(final.recommended.model)
    if learner is not None and final.folds > 1:
        again = Again(run, final.recommended, learner, folds, resources.jobs, final.test_share)
        setting, planner = final.recommended.chosen[0], comparison.planner
        explained = has_weights(learner, setting)
        if explained and planner.allows(planner.costs.fit(learner.name), 1):
            resources.observer.say(f"strongest columns of {learner.name}")
            kept = final.diagnostics
            kept.columns, kept.interactions = explain(again, *data.named(splits[0], setting))
            kept.columns_of = "the rows held out of the first fold"
        elif explained:
            final.left_out.append(LeftOut(learner.name, "no strongest columns", 0.0))
        whole = final.recommended.learned == 1.0
        seconds = planner.curve(learner.name) / planner.n_workers
        if wanted.curve and whole and planner.allows(seconds, planner.n_folds):
            resources.observer.say(f"learning curve of {learner.name}")
            final.curve = learning_curve(again)
        elif wanted.curve:
            final.left_out.append(LeftOut(learner.name, "no learning curve", 0.0))
        if wanted.ablate:
            resources.observer.say(f"{learner.name} without each view")
            final.ablation = ablate(again)
    final.seconds = time.time() - begin
    return final


def _load(
    run: Run, source: LabeledSource, protocol: Protocol, leaks: LeakCheck
) -> tuple[Data, Protocol]:
    """All rows, and the protocol for the labeled ones."""
    rows = source.load()
    leaks.sample(rows)
    leaks.finish()
    X, y = rows.X, rows.y
    labeled, unlabeled = run.by_label(y)
    if protocol.groups is not None:
        if len(protocol.groups) != len(y):
            raise InputError(f"{len(protocol.groups)} groups for {len(y)} rows")
        protocol = dataclasses.replace(protocol, groups=protocol.groups[labeled])
    if len(unlabeled):
        y = known_labels(y)
    parts = (X, y, labeled, unlabeled, source.encoder, source.layout)
    return Data(*parts, weight=rows.weight), protocol


def _answer(
    run: Run,
    data: Data,
    splits: Sequence[FoldRows],
    comparison: FoldComparison,
    earlier: list[ComparisonRow],
    rope: float,
    **known: Any,
) -> Comparison:
    """The answer by the folds that are finished."""
    n = comparison.n_folds
    share = float(np.mean([fold.test_share for fold in splits]))
    mine = comparison.rows()
    if not mine:
        errors = (f"{one.model} failed: {one.what}" for one in comparison.planner.left_out)
        raise InputError(f"no model is left to compare: {'; '.join(errors)}")
    names = {row.model for row in mine}
    rows = [_first_folds(row, n) for row in earlier if row.model not in names] + mine
    answer = make_answer(
        run,
        data.layout,
        rows,
        fold_difference(run.metric, share),
        rope,
        n_rows=data.n_rows,
        n_scored=len(data.y),
        unlabeled=len(data.unlabeled),
        mode="cross-validation",
        test="t-test over the folds, corrected for their overlap",
        folds=n,
        test_share=share,
        left_out=comparison.planner.left_out,
        **known,
    )
    answer.followed = follow(run.metric, answer.rows, rope, share) if n > 1 else None
    return answer


def _first_folds(row: ComparisonRow, n: int) -> ComparisonRow:
    """A copy of a row, by its first folds: the others may not have finished more."""
    row = dataclasses.replace(row)
    if n < len(row.scores):
        row.scores, row.inner, row.chosen = row.scores[:n], row.inner[:n], row.chosen[:n]
        row.value, row.std = float(np.mean(row.scores)), float(np.std(row.scores, ddof=1))
        row.others = {name: values[:n] for name, values in row.others.items()}
        for name, values in row.others.items():
            setattr(row, name, float(np.mean(values)))
    return row


def _options(run: Run) -> dict[str, Any]:
    """What changes the scores of a model, besides rows and folds; as attributes of the answer."""
    return {
        "task": run.task.name,
        "metric": run.metric,
        "positive": run.task.positive_label,
        "threshold": run.task.threshold,
        "seed": run.seed,
        "epochs": run.epochs,
    }


def _encoding(source: LabeledSource) -> tuple[str, Any]:
    """How the rows become views: by which encoder, with which parameters."""
    encoder = source.encoder
    params = {} if encoder is None else encoder.get_params()
    return type(encoder).__name__, sorted(params.items())


def _earlier_rows(run: Run, extend: Comparison | None, known: str) -> list[ComparisonRow]:
    """The rows of a comparison of the same rows by the same folds."""
    if extend is None:
        return []
    for name, value in _options(run).items():
        if (other := getattr(extend, name)) != value:
            raise InputError(
                f"the comparison to extend has {name}={other!r}, and this one {value!r}; give the "
                "same, or compare all models again"
            )
    if extend.fingerprint != known:
        raise InputError(
            "the comparison to extend has other rows, folds or encoding; give the same, or compare "
            "all models again"
        )
    if extend.folds != extend.planned_folds:
        raise InputError(
            f"the comparison to extend has {extend.folds} of {extend.planned_folds} folds; compare "
            "all models again, with a larger budget"
        )
    return extend.rows
