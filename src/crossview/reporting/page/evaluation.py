"""An evaluation as a page."""

from __future__ import annotations

import math
from typing import Any

from crossview.errors import some_names
from crossview.evaluating.evaluation import Evaluation
from crossview.reporting.displays.contributions import ViewContributionDisplay
from crossview.reporting.displays.curves import MetricOverTimeDisplay
from crossview.reporting.evaluation import (
    metrics_table,
    missing_lines,
    slice_tables,
    views_table,
    windows_table,
)
from crossview.reporting.page.blocks import Block, Page, Section, figures, table, text
from crossview.reporting.page.sections import (
    Made,
    how_often_right,
    kept_sections,
    made_section,
    of_table,
    sentence,
    sentences,
    share_blocks,
)
from crossview.reporting.page.training import model_section
from crossview.reporting.tables import table_of_classes
from crossview.scoring.results import metric_words, thresholds_in_words

# classes that are shown beside the metrics; more in the section of the predictions only
MOST_CLASSES_BESIDE = 10


def evaluation_page(
    e: Evaluation, made: Made | None = None, fitted: Any = None, info: Any = None
) -> Page:
    """Return an evaluation as a page."""
    made = made or Made(label=e.label)
    target = "" if e.label is None else f" {e.label}"
    value, low, high = map(e.short, e.metrics[e.metric])
    classes = [str(one) for one in e.classes]
    metric = metric_words(e.metric, classes, str(e.positive), averaged=e.averaged)
    sure = (
        ""
        if math.isnan(e.metrics[e.metric].low)
        else f" ({low} to {high}, 95 % interval{e.by_groups})"
    )
    return Page(
        title="Evaluation by crossview",
        question=f"How good is {e.model or 'the model'} at predicting{target}?",
        answer=sentence(f"{metric} = {value}{sure}"),
        facts=_facts(e),
        more=[
            *how_often_right(e.metric, e.classes, e.positive, e.confusion),
            *sentences(e.notes),
        ],
        pictures=_worth(e),
        doubts=[
            sentence(line) for line in dict.fromkeys([*e.warnings, *missing_lines(e), *made.said])
        ],
        sections=[
            _metrics(e),
            *_slices(e),
            _over_time(e),
            _drift(e),
            *kept_sections(e, e.confusion, e.classes, e.skipped),
            *([] if fitted is None else [model_section(fitted, info or {})]),
            made_section(made, _settings(e)),
        ],
    )


def _facts(e: Evaluation) -> list[str]:
    facts = [f"{e.n_rows:,} rows", *([f"{len(e.classes):,} classes"] * (len(e.classes) > 2))]
    return [*facts, *([f"{e.skipped:,} without a label"] * bool(e.skipped))]


def _metrics(e: Evaluation) -> Section:
    """Return all metrics, how each class is predicted, and what each view is worth."""
    metrics = metrics_table(e)
    metrics.styles[list(e.metrics).index(e.metric)] = "bold"
    tables = [metrics]
    if e.confusion is not None and len(e.classes) <= MOST_CLASSES_BESIDE:
        tables.append(table_of_classes("class", e.classes, e.confusion))
    if (views := views_table(e)) is not None:
        tables.append(views)
    return Section("metrics", "Metrics", list(map(of_table, tables)), opened=True)


def _slices(e: Evaluation) -> list[Section]:
    return [
        Section(f"by-{i}", f"By {one.header[0]}", [of_table(one)], opened=True)
        for i, one in enumerate(slice_tables(e))
    ]


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
    section.blocks += [of_table(one) for one in [windows_table(e)] if one is not None]
    if e.without_time:
        section.blocks.append(text(f"{e.without_time:,} rows without a time are in no window."))
    return section


def _drift(e: Evaluation) -> Section:
    moved = [one for one in e.drift if one.moved]
    shown = [one for one in e.drift if one.column is None or one.moved]
    names = dict.fromkeys(one.column or one.view for one in moved)
    section = Section("drift", "Drift", opened=bool(moved))
    if not e.drift:
        return section
    rows = [
        [
            one.column or one.view,
            one.what,
            f"{one.index:.3g}",
            f"{one.limit:.3g}",
            f"{one.before:.3g}",
            f"{one.now:.3g}",
            "yes" if one.moved else "no",
        ]
        for one in shown
    ]
    header = ["view or column", "what", "index", "limit", "in training", "now", "moved"]
    title = (
        "No view and no column has moved since training"
        if not moved
        else f"Moved since training: {some_names([*names])}"
    )
    how = (
        "Population stability index of the norms and scores of each view, and of the columns that "
        "moved; in training and now: medians, of what is missing or new the share of the rows."
    )
    marked = frozenset(i for i, one in enumerate(shown) if one.moved)
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
        "threshold": thresholds_in_words(e.threshold, e.model_classes),
        "loss": e.loss,
    }
    if e.trained is not None:
        shown[f"{e.metric} in the first pass of training, before each row was learned"] = e.trained
    return {name: value for name, value in shown.items() if value not in (None, "")}
