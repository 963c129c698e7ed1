"""An evaluation as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator

from crossview.catalog.metrics import metric_of
from crossview.evaluating.evaluation import Estimate, Evaluation
from crossview.reporting.fitting_table import FittingTable
from crossview.reporting.tables import number, tables_of_classes
from crossview.scoring.drift import drift_warnings
from crossview.scoring.results import in_digits

# beyond, the file of --json has them
MOST_CLASSES_CROSSED = 10


def evaluation_tables(evaluation: Evaluation) -> Iterator[str | FittingTable]:
    """Yield all that was found below the summary."""
    e = evaluation
    yield from _notes(e)
    yield ""
    yield metrics_table(e)
    if e.confusion is not None:
        yield ""
        yield from tables_of_classes("class", e.classes, e.confusion)
    if e.confusion is not None and len(e.classes) <= MOST_CLASSES_CROSSED:
        yield ""
        header = ["class", *(f"predicted {label}" for label in e.classes)]
        lines = [
            [str(label), *(f"{count:,}" for count in counts)]
            for label, counts in zip(e.classes, e.confusion, strict=True)
        ]
        yield FittingTable(header, lines)
    for table in (_calibration(e), views_table(e), *slice_tables(e), windows_table(e)):
        if table is not None:
            yield ""
            yield table
    if e.without_time:
        yield f"{e.without_time:,} rows without a time are in no window"
    warnings = [f"warning: {line}" for line in drift_warnings(e.drift)]
    if warnings:
        yield ""
        yield from warnings


def _notes(e: Evaluation) -> Iterator[str]:
    """Return notes on rows left out and on the decision threshold."""
    if e.skipped:
        yield f"{e.skipped:,} rows without a label were skipped"
    for line in (*e.of_one_class, *e.one_class):
        yield f"warning: {line}"
    yield from e.notes
    yield from missing_lines(e)
    if len(e.classes) > 2 and metric_of(e.metric).scope != "rows":
        yield e.metric_words


def missing_lines(e: Evaluation) -> Iterator[str]:
    """Yield a line per view, and per column, that the rows have not."""
    for view in e.missing_views:
        yield f"view {view!r} is missing in all rows; predicted by the others"
    for column in e.null_columns:
        yield f"column {column!r} is missing: null"


def metrics_table(e: Evaluation) -> FittingTable:
    """Return all metrics with their intervals."""
    rows = [[name, *_with_interval(e, one)] for name, one in e.metrics.items()]
    return FittingTable(["metric", "value", "95 % interval"], rows)


def _with_interval(e: Evaluation, estimate: Estimate) -> list[str]:
    value, low, high = estimate
    interval = "–" if math.isnan(low) else f"{e.short(low)} to {e.short(high)}"
    return [e.short(value), interval]


def _signed(e: Evaluation, value: float) -> str:
    return e.short(value) if math.isnan(value) or value < 0 else f"+{e.short(value)}"


def _calibration(e: Evaluation) -> FittingTable | None:
    if not e.calibration:
        return None
    what = "most probable class" if e.positive is None else str(e.positive)
    header = [f"probability of {what}", "rows", "mean probability", f"share of {what}"]
    rows = [
        [
            f"{one.low:.3f} to {one.high:.3f}",
            f"{one.rows:,}",
            number(one.probability),
            number(one.share),
        ]
        for one in e.calibration
    ]
    return FittingTable(header, rows)


def views_table(e: Evaluation) -> FittingTable | None:
    """Return what each view is worth; None where that was not asked for."""
    if not e.views:
        return None
    alone = any(one.alone is not None for one in e.views)
    header = ["view", f"{e.metric} if missing", "difference", "95 % interval"]
    rows = [
        [
            one.view,
            e.short(one.missing.value),
            _signed(e, one.difference.value),
            _with_interval(e, one.difference)[1],
            *([] if one.alone is None else [e.short(one.alone.value)]),
        ]
        for one in e.views
    ]
    return FittingTable([*header, *([f"{e.metric} alone"] if alone else [])], rows)


def slice_tables(e: Evaluation) -> Iterator[FittingTable]:
    """Yield the metric by the values of each column."""
    for column in e.by:
        header = [column.column, "rows", e.metric, "95 % interval", "difference"]
        rows = [
            [
                one.value,
                f"{one.rows:,}",
                *_with_interval(e, one.metric),
                _signed(e, one.difference),
            ]
            for one in column.slices
        ]
        yield FittingTable(header, rows)


def windows_table(e: Evaluation) -> FittingTable | None:
    """Return the metric over time; None without windows."""
    if not e.windows:
        return None
    moved = any(one.moved for window in e.windows for one in window.drift)
    header = ["from", "rows", e.loss, e.metric, "95 % interval", *(["moved"] if moved else [])]
    rows = [
        [
            one.start,
            f"{one.rows:,}",
            in_digits(one.loss),
            *_with_interval(e, one.metric),
            ", ".join(f"{d.view} {d.what} {d.index:.2f}" for d in one.drift if d.moved),
        ][: len(header)]
        for one in e.windows
    ]
    return FittingTable(header, rows, wrapped=["moved"])
