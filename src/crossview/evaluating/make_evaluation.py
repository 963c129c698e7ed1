"""From counts to the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crossview.errors import InputError
from crossview.evaluating.counting import Counts
from crossview.evaluating.evaluation import (
    Evaluation,
    Slice,
    SlicedColumn,
    ViewEvaluation,
    Window,
)
from crossview.evaluating.slices import ByValue
from crossview.evaluating.spec import WINDOW, EvaluationSpec
from crossview.scoring.diagnostics import Diagnostics, expert_weights
from crossview.scoring.fitted_model import ModelRows
from crossview.scoring.problems import Problem


def nothing_to_evaluate(skipped: int, file: str | None) -> InputError:
    """Return the error for rows none of which has a label; ``skipped`` says how many there are."""
    what = "row has a label" if skipped else "row is there"
    return InputError(f"no {what}, so there is nothing to evaluate", file=file)


def make_evaluation(spec: EvaluationSpec, counts: Counts, rows: ModelRows) -> Evaluation:
    """Return the evaluation that the counts of all rows give."""
    fitted, task = spec.fitted, spec.task
    threshold = getattr(fitted.learner, "threshold_", None)
    missing = list(rows.missing_views)
    shown = [view for view in spec.view_names if counts.views and view not in missing]
    return Evaluation(
        model=fitted.info.get("model"),
        task=task.name,
        label=spec.label,
        classes=fitted.classes or [],
        positive=task.positive_label,
        positive_by=task.positive_by,
        threshold=None if threshold is None else task.of_other_side(threshold),
        metric=task.metric,
        n_rows=counts.all.tally.n_rows,
        skipped=counts.skipped,
        metrics=counts.all.estimates(),
        trained=_trained_value(fitted.info, task),
        calibration=counts.all.calibration() if spec.with_probabilities else [],
        confusion=counts.all.confusion(),
        views=[_view(counts, view) for view in shown],
        missing_views=missing,
        null_columns=list(rows.null_columns),
        by=[_sliced(counts, one) for one in spec.slices],
        windows=_windows(spec, counts, missing),
        without_time=counts.without_time,
        loss="squared error"
        if fitted.classes is None
        else "log loss"
        if spec.with_probabilities
        else "hinge loss",
        drift=[] if counts.drift is None else counts.drift.drifts(missing),
        diagnostics=_diagnostics(spec, counts),
    )


def _trained_value(info: Mapping[str, Any], task: Problem) -> float | None:
    """The same metric in training, where the model file says it."""
    before = info.get("metric")
    same = isinstance(before, dict) and before.get("name") == task.metric
    if not (same and info.get("positive") == task.positive_label):
        return None
    value = before.get("value") if before else None
    return value if isinstance(value, float) else None


def _view(counts: Counts, view: str) -> ViewEvaluation:
    missing, alone = counts.views[view, "missing"], counts.views.get((view, "alone"))
    return ViewEvaluation(
        view,
        missing=missing.estimate(),
        difference=missing.minus(counts.all.deciding),
        alone=None if alone is None else alone.estimate(),
    )


def _sliced(counts: Counts, slices: ByValue) -> SlicedColumn:
    """The metric by the values of a column."""
    whole = counts.all.deciding.estimate().value
    found = []
    for code, name in enumerate(slices.names):
        if part := counts.parts.get((slices.column, code)):
            estimate = part.metric.estimate()
            found.append(Slice(name, part.metric.n_rows, estimate, estimate.value - whole))
    return SlicedColumn(slices.column, found)


def _windows(spec: EvaluationSpec, counts: Counts, missing_views: list[str]) -> list[Window]:
    """The windows, in their order."""
    windows = spec.windows
    if windows is None:
        return []
    codes = sorted(code for column, code in counts.parts if column is WINDOW)
    parts = [(code, counts.parts[WINDOW, code]) for code in codes]
    return [
        Window(
            start=windows.start(code) + part.starts_at,
            rows=part.metric.n_rows,
            loss=part.loss / part.metric.n_rows,
            metric=part.metric.estimate(),
            drift=[] if part.drift is None else part.drift.drifts(missing_views),
        )
        for code, part in parts
    ]


def _diagnostics(spec: EvaluationSpec, counts: Counts) -> Diagnostics:
    """Return what pictures need; the confusion matrix counts the rows of each class."""
    model, scored = spec.fitted.info.get("model") or "", counts.kept.sample.scored()
    return Diagnostics(
        model=model,
        views=counts.start.numbers,
        views_of="the first batch",
        class_rows=[sum(line) for line in counts.all.confusion() or []],
        scored=scored,
        view_model=model,
        by_view=None if scored is None or scored.view_scores is None else scored,
        differing=counts.kept.differing,
        columns=counts.start.strong,
        columns_of="the rows of the first batch",
        experts=expert_weights(spec.fitted.learner),
    )
