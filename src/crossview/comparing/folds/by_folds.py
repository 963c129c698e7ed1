"""Comparison of models by folds, and diagnostics by the scores of the rows that were held out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.catalog.learner import Learner
from crossview.catalog.learners import ENSEMBLE
from crossview.comparing.candidates import (
    check_grid,
    choose_learners,
    target_scales,
    with_target_scale,
)
from crossview.comparing.folds.parts import Data, Fold
from crossview.comparing.folds.scheduler import FoldComparison, Resources
from crossview.comparing.folds.splits import FoldRows, Protocol, rare_line, split_rows
from crossview.comparing.folds.work import FoldScore
from crossview.comparing.followup import Refit, ablate, explain, has_weights, learning_curve
from crossview.comparing.guessed_split import GuessedSplit
from crossview.comparing.result.answer import (
    fingerprint,
    fold_difference,
    make_answer,
)
from crossview.comparing.result.comparison import Comparison
from crossview.comparing.result.ranking import ComparisonRow, LeftOut, least_scale
from crossview.comparing.result.verdict import CONSTANT
from crossview.comparing.run import Run
from crossview.data.labeled import LabeledSource
from crossview.data.labeled_source import code_texts
from crossview.data.summaries.leaks import LeakCheck
from crossview.errors import DivergedError, InputError
from crossview.estimators.base.held_out import notes_of_alone
from crossview.labels import known_labels
from crossview.readers.source import take_rows
from crossview.scoring.collector import DiagnosticsCollector, cells_of_row, numbers_of
from crossview.scoring.diagnostics import Diagnostics, ScoredRows, ViewNumbers, n_sampled
from crossview.scoring.models.weights import ColumnNames

NO_ENSEMBLE = "no ensemble: fewer than two of the models have a weight in a blend of them"

# rows that show an encoder what is usual in a column
ROWS_TO_ENCODE = 1000
# log odds of a model that are blended
PREDICTIONS = 200_000


@dataclasses.dataclass
class CompareOptions:
    """Options of a comparison by folds; as the parameters of `crossview.compare`."""

    models: Sequence[str] | None
    baselines: Sequence[str] | None
    rope: float
    extend: Comparison | None
    ablate: bool
    curve: bool

    @property
    def blends(self) -> bool:
        """Whether the ensemble of all models is asked for."""
        return self.models is None or ENSEMBLE in self.models

    @property
    def singles(self) -> Sequence[str] | None:
        """The models without the ensemble."""
        if self.models is None or list(self.models) == [ENSEMBLE]:
            return None
        return [name for name in self.models if name != ENSEMBLE]


def compare_folds(
    run: Run, split: GuessedSplit, options: CompareOptions, resources: Resources
) -> Comparison:
    """Compare by folds that are the same for every learner.

    run: what is predicted, and how; its learners are chosen here.
    """
    begin, source = time.monotonic(), split.source
    resources.observer.say("reading the rows")
    leaks = LeakCheck(source)
    data, protocol = _load(run, source, split.protocol, leaks)
    run.in_order = protocol.in_order
    data.splits, data.jobs = split_rows(run, data.y, protocol, len(data.unlabeled)), resources.jobs
    given: dict[str, Any] = {
        "models": options.singles,
        "baselines": options.baselines,
        "unlabeled": source.some_unlabeled,
    }
    run.learners = choose_learners(run, source.layout, None, **given)
    if options.extend is None:  # which has the grid of the models before
        check_grid(run.grid, run.learners)
    some_learn = any(one.learns_unlabeled for one in run.learners)
    data.with_unlabeled = len(data.unlabeled) > 0 and some_learn
    data.sampled, data.blended = sample_rows(run, len(data.y), source.layout.n_views)
    first = data.encode(0)
    of_views = numbers_of(source, first.X_train)
    # which ones are affordable depends on the columns that occur
    run.learners = choose_learners(run, first.X_train.layout, len(data.y), **given)
    run.learners = with_target_scale(run.learners, data.y, run.grid)
    known = fingerprint(
        *(data.y, protocol.cv, protocol.repeats, protocol.in_order),
        *(repr(one) for one in (_options(run), run.problem.chosen_by, _encoding(source))),
        *(array for array in (protocol.groups, data.weight) if array is not None),
    )
    earlier, planned = _earlier_rows(run, options.extend, known), len(data.splits)
    if options.extend is not None:
        data.splits = data.splits[: options.extend.folds]
    left_out = run.problem.left_out
    rare = [rare_line(left_out, split.protocol.cv, len(data.y))] if left_out else []
    notes = [] if protocol.groups is None else notes_of_alone(protocol.groups)
    if protocol.cv < split.protocol.cv:
        notes.append(f"{protocol.cv} folds instead of {split.protocol.cv}, one for each group")
    comparison = FoldComparison(run, data, first, resources)
    comparison.blends = options.blends and options.extend is None
    del first  # the comparison keeps it as long as it needs it

    def answer() -> Comparison:
        return _answer(
            *(run, data, comparison, earlier, options.rope, protocol.cv),
            in_order=protocol.in_order,
            planned_folds=planned,
            seconds=time.monotonic() - begin,
            fingerprint=known,
            warnings=[*rare, *split.lines, *leaks.found],
            note_lines=notes,
            split_lines=split.lines,
            groups=split.groups,
        )

    for _ in comparison.rounds():
        resources.observer.partial(answer())
    final, extended = answer(), options.extend
    row = final.explained
    learner = comparison.learners.get(row.model)

    def folds() -> Iterator[Fold]:
        for f in range(min(protocol.cv, final.folds)):
            yield data.encode(f, any(one.get("bins") for one in row.chosen))

    def refit(learner: Learner) -> Refit:
        return Refit(run, row, learner, folds, resources.jobs, final.test_share)

    if extended is not None:
        begin -= extended.seconds
        final.left_out += [one for one in extended.left_out if one.model not in run.names]
    if extended is not None and _explains_the_same(final, extended, run):
        for name in ("diagnostics", "curve", "ablation"):
            setattr(final, name, getattr(extended, name))
    else:
        models = [one.model for one in (final.recommended, *final.rows)]
        scores = {**comparison.scores, ENSEMBLE: comparison.of_ensemble}
        final.diagnostics = kept = diagnose(run, data, scores, models, of_views)
        if learner is not None and final.folds > 1:
            setting, planner = row.chosen[0], comparison.planner
            explained = has_weights(learner, setting)
            if explained and planner.allows(planner.fit(learner.name), 1):
                resources.observer.say(f"strongest columns of {learner.name}")
                columns = explain(refit(learner), *data.named(0, setting))
                kept.columns, kept.interactions = columns
                kept.columns_of = "the rows held out of the first fold"
            elif explained:
                final.left_out.append(LeftOut(learner.name, "no strongest columns", 0.0))
            whole = row.learned == 1.0
            seconds = planner.curve(learner.name) / planner.n_workers
            curve = options.curve and row.model not in CONSTANT
            if curve and whole and planner.allows(seconds, planner.n_folds):
                resources.observer.say(f"learning curve of {learner.name}")
                with _noting(final, learner.name, "no learning curve"):
                    final.curve = learning_curve(refit(learner))
            elif curve:
                final.left_out.append(LeftOut(learner.name, "no learning curve", 0.0))
    if learner is None and (entry := final.entry(row)) is not None:
        learner = entry.for_metric(run.metric, run.problem.positive_label)
    if options.ablate and not final.ablation and learner is not None and final.folds > 1:
        resources.observer.say(f"{learner.name} without each view")
        with _noting(final, learner.name, "not fitted without each view"):
            final.ablation = ablate(refit(learner))
    final.seconds = time.monotonic() - begin
    return final


def _explains_the_same(final: Comparison, earlier: Comparison, run: Run) -> bool:
    """Return whether what an earlier comparison knows of its best models is still true."""
    pairs = [(c.recommended.model, c.explained.model) for c in (final, earlier)]
    alike = pairs[0] == pairs[1] and final.folds == earlier.folds
    return alike and set(run.names).isdisjoint(pairs[0])


@contextmanager
def _noting(final: Comparison, model: str, what: str) -> Iterator[None]:
    """Note what is left out where a model diverges with fewer rows or views."""
    try:
        yield
    except DivergedError as error:
        final.left_out.append(LeftOut(model, f"{what}: {error}", 0.0, failed=True))


def _load(
    run: Run, source: LabeledSource, protocol: Protocol, leaks: LeakCheck
) -> tuple[Data, Protocol]:
    """Return all rows, and the protocol for the labeled ones."""
    rows = source.load()
    leaks.sample(rows)
    leaks.finish()
    X, y = code_texts(rows.X, source.encoder), rows.y
    labeled, unlabeled = run.by_label(y)
    groups = rows.groups
    if groups is not None:
        protocol = protocol.by_groups(groups[labeled])
    if len(labeled) < len(y):
        y = known_labels(y[labeled])
    parts = (X, y, labeled, unlabeled, source.encoder, source.layout)
    return Data(*parts, weight=rows.weight, groups=groups), protocol


def _answer(
    run: Run,
    data: Data,
    comparison: FoldComparison,
    earlier: list[ComparisonRow],
    rope: float,
    cv: int,
    **known: Any,
) -> Comparison:
    """Return the answer by the folds that are finished."""
    n = comparison.n_folds
    share = float(np.mean([fold.test_share for fold in data.splits]))
    mine = comparison.rows(cv)
    if not mine:
        errors = (f"{one.model} failed: {one.what}" for one in comparison.planner.left_out)
        raise InputError(f"no model is left to compare: {'; '.join(errors) or 'none is named'}")
    if comparison.blends and not any(row.members for row in mine):
        known["warnings"] = [*known["warnings"], NO_ENSEMBLE]
    least = least_scale(run.metric, run.problem.class_rows, n * share)
    floor = f"; standard error of {least:.2g} or more: a row of the rarest class" * (least > rope)
    names = {row.model for row in mine}
    rows = [
        dataclasses.replace(row) if n == len(row.scores) else row.by_folds(n, in_order=run.in_order)
        for row in earlier
        if row.model not in names
    ] + mine
    return make_answer(
        run,
        data.layout,
        rows,
        fold_difference(run.metric, share, least),
        rope,
        n_rows=data.n_rows,
        n_scored=len(data.y),
        unlabeled=len(data.unlabeled),
        mode="cross-validation",
        test=f"t-test over the folds, corrected for their overlap{floor}",
        folds=n,
        test_share=share,
        tries_bins=data.tries_bins,
        tries_scales=bool(target_scales(data.y, run.grid)),
        left_out=comparison.left_out,
        **known,
    )


def _options(run: Run) -> dict[str, Any]:
    """Return what changes the scores besides rows and folds; as attributes of the answer."""
    return {
        "task": run.problem.name,
        "metric": run.metric,
        "positive": run.problem.positive_label,
        "threshold": run.problem.threshold,
        "seed": run.seed,
        "epochs": run.epochs,
    }


def _encoding(source: LabeledSource) -> tuple[str, Any]:
    """Return the class of the encoder and its parameters."""
    encoder = source.encoder
    params = {} if encoder is None else encoder.get_params()
    return type(encoder).__name__, sorted(params.items())


def _earlier_rows(run: Run, extend: Comparison | None, known: str) -> list[ComparisonRow]:
    """Return the rows of an earlier comparison, of the same rows by the same folds."""
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
            "the comparison to extend has other rows, folds, encoding or choice of settings; give "
            "the same, or compare all models again"
        )
    return extend.rows


def sample_rows(run: Run, n_rows: int, n_views: int) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the labeled rows for pictures and for the ensemble, by the seed of the run.

    Returns sampled (n_rows,): at most 20,000, fewer with many classes; blended (n_rows,): these,
      and more: at most 200,000 by the number of classes.
    """
    K = len(run.problem.classes)
    order = np.random.default_rng(run.seed).permutation(n_rows)
    masks = []
    for most in (n_sampled(K, n_views), PREDICTIONS // max(1, K - 1)):
        mask = np.zeros(n_rows, dtype=bool)
        mask[order[:most]] = True
        masks.append(mask)
    sampled, blended = masks
    return sampled, sampled | blended


def diagnose(
    run: Run,
    data: Data,
    scores: Mapping[str, Mapping[int, FoldScore]],
    models: Sequence[str],
    views: list[ViewNumbers],
) -> Diagnostics:
    """Return the diagnostics of a recommended model.

    scores: by model and fold; rows of an earlier comparison have none.
    models: the recommended one, then all of them, the best first.
    views: the views of the training rows of the first fold.
    """
    found = Diagnostics(models[0], views, "the training rows of the first fold")
    if K := len(run.problem.classes):
        found.class_rows = np.bincount(run.problem.encode(data.y), minlength=K).tolist()
    mine = scores.get(found.model, {})
    found.scored = join_folds(data.splits, mine)
    found.experts = mine[0].experts if 0 in mine else None
    for model in models:
        kept = join_folds(data.splits, scores.get(model, {}))
        if kept is not None and kept.view_scores is not None:
            found.view_model, found.by_view = model, kept
            collector = DiagnosticsCollector(run.problem, data.layout.names)
            collector.add_scored(kept, _cells_of(data, data.labeled[kept.rows].tolist()))
            found.differing = collector.differing
            break
    return found


def _cells_of(data: Data, at: list[int]) -> Callable[[int], tuple[int, dict[str, str | None]]]:
    """Return a function that gives the place of a kept row in the source, and some of its cells."""
    encoder = data.encoder
    encodes = bool(ColumnNames(encoder).columns)
    if encodes:  # says which columns of a row stand out
        some = np.linspace(0, len(data.X) - 1, min(len(data.X), ROWS_TO_ENCODE)).astype(np.intp)
        encoder = clone(encoder).fit(take_rows(data.X, some))
    names = ColumnNames(encoder, getattr(data.X, "feature_names", None))

    def look_up(i: int) -> tuple[int, dict[str, str | None]]:
        encoded = encoder.transform(take_rows(data.X, np.array([at[i]]))) if encodes else None
        return at[i], cells_of_row(data.X, at[i], names, encoded)

    return look_up


def join_folds(splits: Sequence[FoldRows], scores: Mapping[int, FoldScore]) -> ScoredRows | None:
    """Return the kept rows of all folds, each row once, in their order."""
    parts, places = [], []
    seen: set[int] = set()
    for f, score in sorted(scores.items()):
        test = splits[f].test
        if score.kept is None or not seen.isdisjoint(test[:1].tolist()):
            break  # the folds of a repetition have the same rows
        seen.update(test.tolist())
        parts.append(score.kept)
        places.append(test[score.kept.rows])
    if not parts or not sum(map(len, places)):
        return None
    rows = np.concatenate(places)
    order = np.argsort(rows, kind="stable")
    joined: dict[str, Any] = {"rows": rows[order]}
    for one in dataclasses.fields(ScoredRows):
        arrays = [getattr(part, one.name) for part in parts]
        if one.name not in joined and one.name != "learned":
            is_there = all(array is not None for array in arrays)
            joined[one.name] = np.concatenate(arrays)[order] if is_there else None
    return ScoredRows(**joined)
