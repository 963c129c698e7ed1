"""Sections that pages of comparisons, trainings and evaluations share."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from typing import Any

import numpy as np

from crossview.catalog.metrics import metric_of
from crossview.reporting.displays.confusion import ConfusionDisplay
from crossview.reporting.displays.contributions import display_of_shares, shares_of_scores
from crossview.reporting.displays.differences import ViewDifferenceDisplay
from crossview.reporting.displays.experts import ExpertWeightsDisplay
from crossview.reporting.displays.ranking import (
    PrecisionRecall,
    ReliabilityDisplay,
    Roc,
    TargetDisplay,
    ThresholdDisplay,
)
from crossview.reporting.displays.style import short_name
from crossview.reporting.fitting_table import FittingTable
from crossview.reporting.model import interaction_tables
from crossview.reporting.page.blocks import Block, Section, code, figures, lines, table
from crossview.reporting.tables import table_of_classes
from crossview.scoring.collector import MOST_CONTRIBUTING
from crossview.scoring.diagnostics import Diagnostics
from crossview.scoring.results import in_percent

PACKAGES = ("crossview", "numpy", "scipy", "scikit-learn", "numba", "pyarrow", "duckdb")
MOST_CLASSES_CROSSED, MOST_CLASSES_SHOWN, MOST_VIEWS = 20, 100, 100
# lines of the table of classes
MOST_CLASSES_LISTED = 1000


@dataclass
class Made:
    """Provenance of a result: source, command and time, where known.

    command: the command line; empty from Python.
    source, label: what was read, and the column that was predicted.
    settings: options that were given.
    commands: what to do next: commands by the model of a comparison that they train.
    said: what was said of the columns and rows as they were read.
    """

    command: Sequence[str] = ()
    source: str | None = None
    label: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    said: Sequence[str] = ()


def counted(n: int, what: str, several: str = "") -> str:
    """Return a number of things: 1 view, 2 views."""
    return f"{n:,} {what if n == 1 else several or f'{what}s'}"


def words_of(names: Sequence[object], most: int = 5) -> str:
    """Return names as a list in a sentence: a, b and c."""
    shown = [str(name) for name in names]
    if len(shown) > most:
        return f"{len(shown)} views"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def sentence(words: str) -> str:
    """Return words as a sentence; names of models keep their case."""
    first = words.split(" ", 1)[0].rstrip(":,")
    begin = words if not first.isalpha() else words[:1].upper() + words[1:]
    return begin if begin.endswith((".", "?", "!", ",")) else f"{begin}."


def sentences(*lines: Iterable[str]) -> list[str]:
    """Return lines as sentences, each once."""
    return [sentence(line) for line in dict.fromkeys(chain(*lines))]


def how_often_right(
    metric: str, classes: Sequence[Any], positive: Any, confusion: Any
) -> list[str]:
    """Return a sentence on how often a classifier is right; none where that was not counted."""
    counts = np.asarray([] if confusion is None else confusion)
    if counts.ndim != 2 or not counts.sum(axis=1).all():
        return []
    right, called = counts.diagonal(), counts.sum(axis=0)
    of_class = right / counts.sum(axis=1)
    if len(classes) > 2:
        return [f"It is right in {in_percent(right.sum() / counts.sum())} of the rows."]
    if positive is None or metric_of(metric).scope == "classes":
        each = zip(classes, of_class, strict=True)
        parts = [f"{in_percent(share)} of the {str(label)!r} rows" for label, share in each]
        return [f"It is right in {' and '.join(parts)}."]
    k = list(classes).index(positive)
    if not called[k]:
        return [f"It finds none of the {str(positive)!r} rows."]
    return [
        f"It finds {in_percent(of_class[k])} of the {str(positive)!r} rows, and is right in "
        f"{in_percent(right[k] / called[k])} of those that it calls so."
    ]


def of_table(given: FittingTable) -> Block:
    """Return a table for a terminal as one of a page."""
    marked = frozenset(i for i, style in given.styles.items() if style == "bold")
    return table(
        *(list(given.header), [list(row) for row in given.rows]),
        texts=given.texts,
        marked=marked,
        ends=frozenset(given.section_ends),
    )


def kept_sections(
    result: Any, confusion: Any, classes: Sequence[Any], unlabeled: int
) -> list[Section]:
    """Return what any result may have kept: predictions, columns, views, experts and data."""
    return [
        _predictions(result, confusion, classes),
        _columns(result.diagnostics),
        _differing(result),
        _experts(result),
        _data(result.diagnostics, classes, unlabeled),
    ]


def _data(kept: Diagnostics | None, classes: Sequence[Any], unlabeled: int) -> Section:
    """Return the data and the views in numbers."""
    section = Section("data", "Data and views")
    if kept is None:
        return section
    if kept.views:
        rows = []
        for one in kept.views[:MOST_VIEWS]:
            kinds = ", ".join(f"{n:,} {kind}" for kind, n in one.kinds.items())
            rows.append(
                [
                    one.view,
                    kinds or "encoded already",
                    f"{one.columns:,}",
                    f"{one.used:,}",
                    f"{one.entries:.3g}",
                    f"{one.density:.2%}" if one.density < 0.995 else "100%",
                    f"{one.missing:.1%}" if one.missing else "0",
                ]
            )
        header = [
            "view",
            "kinds of columns",
            "columns",
            "used",
            "entries per row",
            "density",
            "missing",
        ]
        how = (
            f"Of {kept.views_of}, encoded. Used: encoded columns that are not 0 in some row. "
            "Density: share of their entries that are not 0. Missing: rows without the view."
        )
        section.blocks.append(table(header, rows, texts=2, text=how))
    if kept.class_rows and len(classes) == len(kept.class_rows):
        total = max(sum(kept.class_rows), 1)
        order = np.argsort([-n for n in kept.class_rows], kind="stable")[:MOST_CLASSES_SHOWN]
        rows = [
            [str(classes[k]), f"{kept.class_rows[k]:,}", f"{kept.class_rows[k] / total:.1%}"]
            for k in order.tolist()
        ]
        if unlabeled:
            rows.append(["no label", f"{unlabeled:,}", ""])
        section.finding = ", ".join(f"{name} {share}" for name, _, share in rows[:3] if share)
        section.blocks.append(table(["class", "rows", "share"], rows))
    return section


def share_blocks(result: Any) -> list[Block]:
    """Return the share of each view in the score; nothing where that is not known."""
    shares = shares_of_scores(result)
    if shares is None or len(shares) < 2:
        return []
    kept = result.diagnostics
    of_model = f" Model: {kept.view_model}." if kept is not None and kept.view_model else ""
    shown = dict(sorted(shares.items(), key=lambda one: -one[1].value)[:20])
    return figures(
        (
            "shares",
            lambda: display_of_shares(shown),
            "Mean absolute score of each view, less its mean (of several classes: for each class, "
            "less the mean of that), by the sum over views: how loud it is, and not what is lost "
            f"without it.{of_model}",
        )
    )


def _differing(result: Any) -> Section:
    """Return how much the views differ, and where they differ most."""
    section = Section("differences", "Where the views differ")
    kept = result.diagnostics
    how = "|s1 − s2| of the scores of two views; of more views the mean over their pairs."
    if kept is not None and not kept.differences and kept.view_model:
        how += f" Model: {kept.view_model}."
    section.blocks += figures(
        ("differences", lambda: ViewDifferenceDisplay.of(result), how),
    )
    if kept is None or not kept.differing:
        return section
    views = list(kept.differing[0].scores)
    for one in kept.differing:
        views += [view for view in one.scores if view not in views]
    views = views[:8]
    placed = any(one.row >= 0 for one in kept.differing)
    labeled = any(one.label for one in kept.differing)
    header = [
        "row" if placed else "",
        *(["label"] if labeled else []),
        "predicted",
        *(f"score of {view}" for view in views),
    ]
    rows = [
        [
            f"{one.row + 1:,}" if placed else f"{i + 1}",
            *([one.label] if labeled else []),
            one.predicted,
            *(f"{one.scores[view]:+.3g}" if view in one.scores else "–" for view in views),
            "; ".join(
                f"{name} missing" if cell is None else f"{name} = {cell}"
                for name, cell in one.values.items()
            ),
        ]
        for i, one in enumerate(kept.differing)
    ]
    what = "Rows in which the views differ most"
    if kept.differing_of:
        what += f", of {kept.differing_of}"
    by = f"Model: {kept.view_model}." if kept.differences and kept.view_model else ""
    section.blocks.append(table(header, rows, title=what, text=by, texts=2 + labeled, long=True))
    return section


def _columns(kept: Diagnostics | None) -> Section:
    """Return the columns that contribute most, and interactions; empty if they are not known."""
    section = Section("columns", "Strongest columns")
    if kept is None or not kept.columns:
        return section
    section.finding = ", ".join(short_name(one.column) for one in kept.columns[:3])
    largest = kept.columns[0].size
    rows = [
        [
            one.column,
            one.view,
            (f"{one.size:.3g}", one.size / largest),
            f"{one.mean:+.3g}",
            f"{one.rows:.0%}",
        ]
        for one in kept.columns
    ]
    header = ["column", "view", "difference", "mean where not 0", "rows"]
    how = (
        "A column contributes what the score changes without it. Difference: of the contributions "
        f"to at most {MOST_CONTRIBUTING} of {kept.columns_of} from their mean, on average."
    )
    if any(" near " in one.column for one in kept.columns):
        how += " Near 35: a bin of a number, which is 1 at 35 and falls to 0 at the bins beside it."
    if kept.model:
        how = f"Of {kept.model}. {how}"
    section.blocks.append(table(header, rows, texts=2, text=how))
    section.blocks += [of_table(part) for part in interaction_tables(kept.interactions)]
    return section


def _experts(result: Any) -> Section:
    """Return which expert of a stack was trusted when; empty for other models."""
    how = "Weight in the mixture after so many rows; a learned combination may predict instead."
    shown = figures(("experts", lambda: ExpertWeightsDisplay.of(result), how))
    return Section("experts", "Which expert was trusted when", shown)


def _predictions(result: Any, confusion: Any, classes: Any) -> Section:
    """Return precision and recall, ROC, calibration, threshold and the confusion matrix."""
    kept = result.diagnostics
    model = "" if kept is None or not kept.model else f" of {kept.model}"
    section = Section("predictions", f"Predictions{model}")
    if result.task == "regression":
        if kept is not None and kept.scored is not None:
            section.blocks += figures(("targets", lambda: TargetDisplay.of(result), ""))
        return section
    by_folds = getattr(result, "mode", None) == "cross-validation"
    pooled = " Rows of all folds together; the table has the mean of the folds." * by_folds
    section.blocks += figures(
        (
            "precision-recall",
            lambda: PrecisionRecall.of(result),
            f"Precision at each recall.{pooled}",
        ),
        ("roc", lambda: Roc.of(result), f"At each threshold.{pooled}"),
        (
            "calibration",
            lambda: ReliabilityDisplay.of(result),
            "Rows with about the same probability: how many are of the class? Bars: 95 % interval. "
            f"Off: the expected calibration error.{pooled}",
        ),
        (
            "threshold",
            lambda: ThresholdDisplay.of(result),
            "Precision, recall and f1 if one probability decided for all rows; the title has those "
            "of the thresholds with which the rows were predicted.",
        ),
    )
    if confusion is not None and len(classes) <= MOST_CLASSES_CROSSED:
        section.blocks.append(_crossed(confusion, classes))
    elif confusion is not None:
        section.blocks += figures(
            ("confusion", lambda: ConfusionDisplay(classes, confusion), "True class → predicted.")
        )
    if confusion is not None and 2 < len(classes) <= MOST_CLASSES_LISTED:
        section.blocks.append(of_table(table_of_classes("class", classes, confusion)))
    return section


def _crossed(confusion: Any, classes: Sequence[Any]) -> Block:
    """The confusion matrix, shaded by the share of the true class."""
    rows = []
    for label, counts in zip(classes, confusion, strict=True):
        total = max(sum(counts), 1)
        rows.append([str(label), *((f"{n:,}", n / total) for n in counts)])
    header = ["true class", *(f"predicted {label}" for label in classes)]
    return table(header, rows, title="Rows by true and predicted class")


def made_section(made: Made, settings: Mapping[str, Any], notes: Sequence[str] = ()) -> Section:
    """Return settings, versions, and the command that makes the result again."""
    section = Section("made", "How it was made")
    shown = {**settings, **{k: v for k, v in made.settings.items() if v not in (None, [], "")}}
    if made.source is not None:
        shown = {"source": made.source, **shown}
    rows = [[str(name), _plain(value)] for name, value in shown.items()]
    rows += [[name, found] for name, found in _versions().items()]
    section.blocks += lines(notes)
    if made.command:
        again = code("The command that makes it again:", shlex.join(made.command))
        section.blocks.append(again)
    section.blocks.append(table(["setting", "value"], rows, texts=2))
    return section


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}: {_plain(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _versions() -> dict[str, str]:
    found = {"python": f"{platform.python_version()} on {platform.system()} {platform.machine()}"}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
