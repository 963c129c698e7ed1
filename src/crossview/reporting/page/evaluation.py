"""An evaluation as a page."""

from __future__ import annotations

import math
from typing import Any

from crossview.evaluating.evaluation import Evaluation
from crossview.reporting.displays.contributions import ViewContributionDisplay
from crossview.reporting.displays.curves import MetricOverTimeDisplay
from crossview.reporting.evaluation import evaluation_tables
from crossview.reporting.fitting_table import FittingTable
from crossview.reporting.page.blocks import Block, Page, Section, figures, table, text
from crossview.reporting.page.sections import (
    Made,
    columns_section,
    data_section,
    differing_section,
    experts_section,
    how_often_right,
    made_section,
    of_table,
    ranking_section,
    sentence,
    share_blocks,
)
from crossview.reporting.page.training import model_section
from crossview.reporting.tables import table_of_classes
from crossview.scoring.results import metric_words

__all__ = ["evaluation_page"]

# classes that are shown beside the metrics; more in the section of the predictions only
MOST_CLASSES_BESIDE = 10


def evaluation_page(
    e: Evaluation, made: Made | None = None, fitted: Any = None, info: Any = None
) -> Page:
    """Return an evaluation as a page."""
    made = made or Made(label=e.label)
    target = "" if e.label is None else f" {e.label}"
    value, low, high = e.metrics[e.metric]
    metric = metric_words(e.metric, [str(one) for one in e.classes], str(e.positive))
    sure = "" if math.isnan(low) else f" ({_interval(e, low, high)}, 95 % interval)"
    return Page(
        title="Evaluation by crossview",
        question=f"How good is {e.model or 'the model'} at predicting{target}?",
        answer=sentence(f"{metric} = {e.short(value)}{sure}"),
        facts=_facts(e),
        more=[
            *how_often_right(e.metric, e.classes, e.positive, e.confusion),
            *(sentence(line) for line in e.notes),
        ],
        pictures=_worth(e),
        doubts=[sentence(line) for line in dict.fromkeys([*_doubts(e), *made.said])],
        sections=[
            _metrics(e),
            *_slices(e),
            _over_time(e),
            _drift(e),
            ranking_section(e, e.confusion, e.classes),
            columns_section(e.diagnostics),
            differing_section(e),
            experts_section(e),
            data_section(e.diagnostics, e.classes, e.skipped),
            *([] if fitted is None else [model_section(fitted, info or {})]),
            made_section(made, _settings(e)),
        ],
    )


def _facts(e: Evaluation) -> list[str]:
    facts = [f"{e.n_rows:,} rows", *([f"{len(e.classes):,} classes"] * (len(e.classes) > 2))]
    return [*facts, *([f"{e.skipped:,} without a label"] * bool(e.skipped))]


def _doubts(e: Evaluation) -> list[str]:
    return [
        *e.warnings,
        *(
            f"view {view!r} is missing in all rows; predicted without it"
            for view in e.missing_views
        ),
        *(f"column {column!r} is missing: null" for column in e.null_columns),
    ]


def _interval(e: Evaluation, low: float, high: float) -> str:
    return "–" if math.isnan(low) else f"{e.short(low)} to {e.short(high)}"


def _metrics(e: Evaluation) -> Section:
    """Return all metrics, how each class is predicted, and what each view is worth."""
    rows = [
        [name, e.short(one.value), _interval(e, one.low, one.high)]
        for name, one in e.metrics.items()
    ]
    marked = frozenset([list(e.metrics).index(e.metric)])
    blocks = [table(["metric", "value", "95 % interval"], rows, marked=marked)]
    if e.confusion is not None and len(e.classes) <= MOST_CLASSES_BESIDE:
        blocks.append(of_table(table_of_classes("class", e.classes, e.confusion)))
    alone = any(one.alone is not None for one in e.views)
    header = ["view", f"{e.metric} if missing", "difference", "95 % interval"]
    rows = [
        [
            one.view,
            e.short(one.missing.value),
            e.short(one.difference.value),
            _interval(e, one.difference.low, one.difference.high),
            *([] if one.alone is None else [e.short(one.alone.value)]),
        ]
        for one in e.views
    ]
    if rows:
        blocks.append(table([*header, *([f"{e.metric} alone"] if alone else [])], rows))
    return Section("metrics", "Metrics", blocks, opened=True)


def _slices(e: Evaluation) -> list[Section]:
    """Return the metric by the values of columns."""
    header = ["rows", e.metric, "95 % interval", "difference"]
    found = []
    for i, sliced in enumerate(e.by):
        rows = [
            [
                one.value,
                f"{one.rows:,}",
                e.short(one.metric.value),
                _interval(e, one.metric.low, one.metric.high),
                e.short(one.difference),
            ]
            for one in sliced.slices
        ]
        blocks = [table([sliced.column, *header], rows)]
        found.append(Section(f"by-{i}", f"By {sliced.column}", blocks, opened=True))
    return found


def _worth(e: Evaluation) -> list[Block]:
    """Return what each view is worth as pictures."""
    how = "The same rows predicted with the view missing; lines: 95 % interval."
    lost = [("worth", lambda: ViewContributionDisplay.of(e), how)] if e.views else []
    return [*figures(*lost), *share_blocks(e)]


def _over_time(e: Evaluation) -> Section:
    section = Section("time", "Over time", opened=True)
    if not e.windows:
        return section
    section.blocks += figures(
        ("time", lambda: MetricOverTimeDisplay.of(e), "Lines: 95 % interval of each window.")
    )
    found = [part for part in evaluation_tables(e) if isinstance(part, FittingTable)]
    section.blocks += [of_table(part) for part in found if part.header[0] == "from"]
    if e.without_time:
        section.blocks.append(text(f"{e.without_time:,} rows without a time are in no window."))
    return section


def _drift(e: Evaluation) -> Section:
    moved = [one for one in e.drift if one.moved]
    section = Section("drift", "Drift by view", opened=bool(moved))
    if not e.drift:
        return section
    rows = [
        [
            one.view,
            one.what,
            f"{one.index:.3g}",
            f"{one.limit:.3g}",
            f"{one.before:.3g}",
            f"{one.now:.3g}",
            "yes" if one.moved else "no",
        ]
        for one in e.drift
    ]
    header = ["view", "what", "index", "limit", "in training", "now", "moved"]
    title = (
        "No view has moved since training"
        if not moved
        else f"Moved since training: {', '.join(dict.fromkeys(one.view for one in moved))}"
    )
    how = (
        "Population stability index of the norms and scores of each view; in training and now: "
        "medians, of missing the share of the rows."
    )
    marked = frozenset(i for i, one in enumerate(e.drift) if one.moved)
    section.finding = title
    section.blocks.append(table(header, rows, title=title, text=how, texts=2, marked=marked))
    return section


def _settings(e: Evaluation) -> dict[str, Any]:
    shown = {
        "model": e.model,
        "task": e.task,
        "label": e.label,
        "metric": e.metric,
        "positive class": e.positive,
        "threshold": e.threshold,
        "loss": e.loss,
    }
    if e.trained is not None:
        shown[f"{e.metric} in the first pass of training, before each row was learned"] = e.trained
    return {name: value for name, value in shown.items() if value not in (None, "")}
