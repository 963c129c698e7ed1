"""Tables and descriptions for a terminal, and the same as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.catalog.names import TASKS
from crossview.comparing.result.verdict import CONSTANT, about_left_out, short_value
from crossview.describing.describe import Description, percent
from crossview.errors import argument
from crossview.reporting.fitting_table import FittingTable

if TYPE_CHECKING:
    from crossview.comparing.result.comparison import Comparison
    from crossview.scoring.significance import Posterior

# columns of a terminal from which on the table says what each model is
WIDE = 120
# classes in a table of a terminal; of more the worst ones, and pages have all
MOST_CLASSES_SHOWN, WORST_CLASSES = 20, 10

# short, for a column of a table
SYMBOLS = {
    "disagreement": "γ",
    "confidence": "η",
    "initial_variance": "a",
    "alpha": "α",
    "learning_rate": "lr",
    "lam": "λ",
}


def comparison_table(comparison: Comparison, width: int | None = None) -> FittingTable:
    """Return a `Comparison` as a table for a terminal.

    The best row is first, an ensemble apart from the models; an arrow marks the recommended one.
    """
    wide = (width or 80) >= WIDE
    header, rows = _cells(comparison, wide=wide)
    table = FittingTable(header, rows, texts=1 + wide, wrapped=["chosen"])
    for i, row in enumerate(comparison.rows):
        table.styles[i] = "bold" if row is comparison.recommended else "dim" * row.baseline
    if comparison.best.members:
        table.section_ends.add(0)
    return table


def class_tables(comparison: Comparison) -> Iterator[str | FittingTable]:
    """Yield how the recommended model does on each class; nothing where that was not counted."""
    row = comparison.recommended
    if row.confusion is not None:
        yield from tables_of_classes(f"{row.model}: class", comparison.classes, row.confusion)


def tables_of_classes(
    title: str, classes: Sequence[Any], confusion: Any
) -> Iterator[str | FittingTable]:
    """Yield how each class is predicted; of many the worst ones, and where all are."""
    if len(classes) <= MOST_CLASSES_SHOWN:
        yield table_of_classes(title, classes, confusion)
        return
    counts = np.asarray(confusion)
    right, rows, called = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
    f1 = 2.0 * right / np.maximum(rows + called, 1)
    there = np.flatnonzero(rows)
    worst = there[np.lexsort((-rows[there], f1[there]))][:WORST_CLASSES]
    yield table_of_classes(title, classes, confusion, worst.tolist())
    yield (
        f"the {len(worst)} of {len(classes)} classes with the lowest f1; --report FILE has all of "
        "them, and --json FILE the rows per true and predicted class"
    )


def table_of_classes(
    title: str, classes: Sequence[Any], confusion: Any, shown: Sequence[int] | None = None
) -> FittingTable:
    """Return how each class is predicted; ``shown`` are the codes of some of them."""
    counts = np.asarray(confusion)
    right = counts.diagonal()
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = right / counts.sum(axis=0), right / counts.sum(axis=1)
        f1 = 2.0 * right / (counts.sum(axis=0) + counts.sum(axis=1))
    wrong = counts - np.diag(right)
    lines = [
        [
            str(label),
            f"{counts[k].sum():,}",
            *(number(float(value[k])) for value in (precision, recall, f1)),
            f"{classes[wrong[k].argmax()]} ({wrong[k].max():,})" * bool(wrong[k].any()),
        ]
        for k, label in enumerate(classes)
    ]
    lines = lines if shown is None else [lines[k] for k in shown]
    header = [title, "rows", "precision", "recall", "f1", "most often taken for"]
    return FittingTable(header, lines)


def comparison_head(comparison: Comparison) -> list[str]:
    """Return the lines above the table: the metric and its classes, and what to be warned of."""
    c = comparison
    warnings = [f"warning: {line}" for line in c.warnings]
    return [*([c.metric_words] if c.classes else []), *c.notes, *warnings]


def comparison_notes(comparison: Comparison) -> list[str]:
    """Return the notes below the table: the verdict, the evaluation, what was left out."""
    c = comparison
    notes = [*c.verdict, *([c.unlabeled_benefit] if c.unlabeled_benefit else [])]
    return [*notes, *_about_curve(c), *view_notes(c), *table_notes(c)]


def table_notes(comparison: Comparison) -> list[str]:
    """Return the notes that explain the table: its columns, and what was left out."""
    c = comparison
    notes = [*_about_folds(c), *_about_cuts(c), *_about_passes(c)]
    if len(c.views) == 1:
        notes.append(
            f"one view, {next(iter(c.views))!r}: models that only several views tell apart are "
            f"left out ({argument('views')} makes several)"
        )
    if len(c.rows) > 1:
        notes.append(
            f"worse: probability that the model is worse than the best by more than "
            f"{short_value(c, c.rope)}; p: of no difference{_adjusted_for(c)} ({c.test})"
        )
    return [*notes, *about_left_out(c)]


def _adjusted_for(c: Comparison) -> str:
    """Say for how many tests p is adjusted; of two models there is one test, and nothing to say."""
    n = len(c.rows)
    if n == 2:
        return ""
    pairs = c.mode == "progressive"
    return f", adjusted for {f'all {math.comb(n, 2)} pairs of' if pairs else n - 1} models"


def _about_curve(c: Comparison) -> list[str]:
    """Say whether more rows would help."""
    if c.curve is None:
        return []
    values = ", ".join(f"{point.rows:,}: {short_value(c, point.value)}" for point in c.curve.points)
    gain = c.curve.last_doubling
    low, high = c.interval_of(gain)
    return [
        f"{benefit_of_rows(gain, c.rope)}: {c.explained.model} by the number of training rows: "
        f"{values}; the last doubling gains {short_value(c, gain.location)} ({short_value(c, low)} "
        f"to {short_value(c, high)})"
    ]


def benefit_of_rows(gain: Posterior, rope: float) -> str:
    """Return whether more rows would help, by what the last doubling gained."""
    low, high = gain.interval()
    if high <= rope:
        return "more rows would bring little"
    if low > 0.0:
        return "more rows would help"
    known = gain.location > rope
    return "more rows may help" if known else "it is not known whether more rows would help"


def view_notes(c: Comparison) -> list[str]:
    """Return a line per view on how much it contributes, if that was measured."""
    notes = []
    if c.explained.model.startswith("view:"):
        notes.append(f"{c.explained.model} uses one view: nothing is lost without the others")
    for one in c.ablation:
        parts = []
        for what, value, change in (
            ("without it", one.without, one.without_difference),
            ("where it is missing", one.missing, one.missing_difference),
        ):
            low, high = c.interval_of(change)
            parts.append(
                f"{what} {short_value(c, value)} ({short_value(c, change.location)}, 95 % interval "
                f"{short_value(c, low)} to {short_value(c, high)})"
            )
        notes.append(f"view {one.view}: {c.explained.model} {'; '.join(parts)}")
    return notes


def _about_folds(c: Comparison) -> list[str]:
    """Say which metric was measured, on which rows."""
    labeled = c.n_rows - c.unlabeled
    rows = "labeled rows" if c.unlabeled else "rows"
    chosen = ", ".join(_chosen(c))
    notes = []
    if c.unlabeled:
        only = " and ".join(c.learns_unlabeled)
        what = f"only {only} learns from them" if only else "no row above learns from them"
        notes.append(
            f"{c.unlabeled:,} of {c.n_rows:,} rows have no label: none is scored, and {what}"
        )
    if c.mode == "progressive":
        notes.append(
            f"{c.metric}: {c.n_scored:,} {rows}, each predicted and then learned, in stream order"
        )
        where = (
            "chosen on the first tenth of them, 10,000 at most; each of these counts as the values "
            "said that were best before it"
        )
    else:
        notes.append(
            f"{c.metric}: mean ± standard deviation over {c.folds} folds of {labeled:,} {rows}"
        )
        repeated = c.folds * c.test_share > 1.0 + 1e-6
        if repeated and c.recommended.confusion is not None:
            notes.append("rows of a class: each row counts once per repetition of the folds")
        notes += _about_kept_rows(c)
        shown = "last" if c.in_order else "most frequent"
        where = f"chosen in each training part; the {shown} choice is shown"
    return [*notes, *([f"{chosen}: {where}"] if chosen else [])]


def _about_kept_rows(c: Comparison) -> list[str]:
    """Say of how many rows an ensemble is made and scored, where models keep some of many."""
    row, most = c.recommended, max(int(np.sum(one.confusion or 0)) for one in c.rows)
    n = int(np.sum(row.confusion or 0))
    if not 0 < n < most:
        return []
    return [
        f"the {row.model} is made of {n:,} of the {most:,} rows held out, and scored on them: with "
        f"{len(c.classes)} classes no more are kept"
    ]


def _about_passes(c: Comparison) -> list[str]:
    passes = [
        f"{row.model} {row.epochs}"
        for row in c.rows
        if row.epochs > 1 and (entry := c.entry(row)) is not None and entry.stops_early
    ]
    if not passes or c.epochs is not None:
        return []
    return [
        "passes until early stopping, by the loss on a held-out tenth of the training rows "
        f"(median over the folds): {', '.join(passes)}"
    ]


def _about_cuts(c: Comparison) -> list[str]:
    """Explain the column of thresholds, and those of more than two classes, which are in none."""
    if len(c.classes) > 2 and c.threshold_for is not None:
        rows = "before each row" if c.mode == "progressive" else "held out of each training part"
        return [
            f"each class has a threshold where that gains {c.threshold_for} on the rows {rows}; "
            f"{argument(threshold=None)} leaves them out"
        ]
    if all(math.isnan(row.threshold) for row in c.rows):
        return []
    what = f"cut: {c.positive!r} is predicted where its probability is above this threshold"
    if c.threshold_for is None:
        return [what]
    measure = c.threshold_for
    if c.mode == "progressive":
        return [
            f"{what}, the best for {measure} on the rows before each row; the last one is shown"
        ]
    return [
        f"{what}, the best for {measure} on rows held out of each training part; the median over "
        "the folds is shown"
    ]


def to_markdown(comparison: Comparison) -> str:
    """Return a `Comparison` as Markdown: the metric, the table, and the verdict.

    The recommended row is in bold.
    """
    header, rows = _cells(comparison, wide=True)
    chosen = comparison.rows.index(comparison.recommended)
    rows[chosen] = [f"**{cell}**" if cell else "" for cell in rows[chosen]]
    align = ["---", "---", *["---:"] * (len(header) - 2)]
    lines = [
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"
        for row in [header, align, *rows]
    ]
    notes = [f"- {note}" for note in comparison_notes(comparison)]
    head = [part for line in comparison_head(comparison) for part in (line, "")]
    return "\n".join([*head, *lines, "", *notes])


def _cells(c: Comparison, *, wide: bool) -> tuple[list[str], list[list[str]]]:
    # the columns that the metric is not already
    errors = c.task == "regression"
    others = [name for name in TASKS[c.task][1:] if name != c.metric]
    names = {"roc_auc": "AUC", "expected_calibration_error": "ECE"}
    short = {"accuracy": "acc.", "roc_auc": "AUC"}
    cuts = any(not math.isnan(row.threshold) for row in c.rows)
    header = [
        "model",
        *(["what it is"] if wide else []),
        names.get(c.metric, c.metric),
        "worse",
        *(["p"] if wide else []),
        *(["cut"] if cuts else []),
        *(short.get(name, name) for name in others),
        *(["rows/s"] if wide else []),
        "chosen",
    ]
    rows = []
    decimals = _decimals(c.best.value) if errors else 3
    for row in c.rows:
        value = number(row.value, decimals)
        if not math.isnan(row.std):
            value += f" ± {number(row.std, decimals)}"
        worse = math.nan if row.difference is None else row.difference.areas(c.rope).worse
        rows.append(
            [
                ("→ " if row is c.recommended and len(c.rows) > 1 else "") + row.model,
                *([row.title] if wide else []),
                value,
                "best" if row is c.best else number(worse, 2),
                *(["" if row.model in CONSTANT else p_value(row.p_adjusted)] if wide else []),
                *([number(row.threshold, 2)] if cuts else []),
                *(number(getattr(row, name), decimals) for name in others),
                *([speed(row.rows_per_second)] if wide else []),
                _setting(row.setting) + _share(row.learned),
            ]
        )
    return header, rows


def _share(learned: float) -> str:
    """Return the share of training rows that a model learned from, unless it is all."""
    return "" if learned == 1.0 else f" ({learned:.0%} of rows)"


def _setting(setting: dict[str, Any]) -> str:
    """The chosen parameters, with short names."""
    return " ".join(
        f"{SYMBOLS.get(name, name)}={value}"
        if isinstance(value, bool)
        else value
        if isinstance(value, str)
        else f"{SYMBOLS.get(name, name)}={value:g}"
        for name, value in setting.items()
    )


def _chosen(comparison: Comparison) -> list[str]:
    """Names of the parameters that were chosen, with their symbols."""
    names: dict[str, None] = {}
    for row in comparison.rows:
        entry = None if row.baseline else comparison.entry(row)
        given = {} if entry is None else entry.lighter  # by the budget
        names |= dict.fromkeys(n for n, value in row.setting.items() if given.get(n) != value)
    return [f"{name} ({SYMBOLS[name]})" if name in SYMBOLS else name for name in names]


def number(value: float, decimals: int = 3) -> str:
    """Return a value with some decimals; a dash if it is not defined."""
    return "–" if math.isnan(value) else f"{value:.{decimals}f}"


def _decimals(value: float) -> int:
    """Return the decimals that give a value four digits, as errors have the unit of the label."""
    if not (value > 0.0 and math.isfinite(value)):
        return 3
    return max(0, 3 - math.floor(math.log10(value)))


def p_value(p: float | None) -> str:
    """Return a probability to two digits."""
    if p is None or math.isnan(p):
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def speed(rows_per_second: float) -> str:
    """Return rows per second to two digits (950, 83k, 1.2M); a dash if they are unknown."""
    if math.isnan(rows_per_second):
        return "–"
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if rows_per_second >= size:
            value = rows_per_second / size
            return f"{value:.1f}{unit}" if value < 10 else f"{value:.0f}{unit}"
    return f"{rows_per_second:.0f}"


def description_table(description: Description) -> FittingTable:
    """Return a `Description` as a table: one row per column."""
    header, *rows = description.cells()
    return FittingTable(header, rows, texts=4)


def rows_table(description: Description) -> FittingTable:
    """Return a `Description` as a table: one row per view."""
    n_rows = max(description.n_rows, 1)
    return FittingTable(
        ["view", "columns", "used", "entries per row", "empty", "range"],
        [
            [
                one.name,
                f"{one.width:,}",
                f"{one.used:,}",
                f"{one.entries / n_rows:.3g}",
                percent(one.empty_rows, n_rows) if one.empty_rows else "",
                "" if one.minimum is None else f"{one.minimum:.6g} to {one.maximum:.6g}",
            ]
            for one in description.views
        ],
    )
