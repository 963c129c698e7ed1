"""Tables for a terminal, and the same as Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from crossview.catalog.metrics import metric_of
from crossview.catalog.names import TASKS

if TYPE_CHECKING:
    from crossview.evaluation.result import Comparison

__all__ = ["comparison_notes", "comparison_table", "make_table", "to_markdown"]


# short, for a column of a table
SYMBOLS = {
    "disagreement": "γ",
    "confidence": "η",
    "initial_variance": "a",
    "alpha": "α",
    "learning_rate": "lr",
    "lam": "λ",
}


def make_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    texts: int = 1,
    wrapped: Sequence[str] = (),
) -> Table:
    """Return a plain table whose first ``texts`` columns are text, and the others numbers.

    Where the terminal is narrow, text and the columns ``wrapped`` take more lines.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for i, name in enumerate(header):
        longest_word = max(map(len, " ".join(row[i] for row in [header, *rows]).split()))
        if i < texts:
            table.add_column(name, min_width=min(16, longest_word))
        elif name in wrapped:
            table.add_column(name, justify="right", overflow="fold")
        else:
            table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def comparison_table(comparison: Comparison) -> Table:
    """Return a `Comparison` as a table for a terminal; the best row is bold and marked.

    Parameters
    ----------
    comparison : Comparison
        From `crossview.compare`.

    Returns
    -------
    rich.table.Table
        One row per way of using the views.
    """
    header, rows = _cells(comparison)
    table = make_table(header, rows, wrapped=["chosen"])
    table.rows[comparison.best].style = "bold"
    return table


def comparison_notes(comparison: Comparison) -> list[str]:
    """Return the notes below the table: the verdict, the evaluation, the test of p."""
    c = comparison
    about = c.metric
    labeled = c.n_rows - c.unlabeled
    rows = "labeled rows" if c.unlabeled else "rows"
    scope = metric_of(c.metric).scope
    if len(c.classes) > 2 and scope != "rows":
        about += f" (mean over {len(c.classes)} classes)"
    elif c.positive is not None and scope == "class":
        about += f" of {c.positive!r}"
    chosen = ", ".join(_chosen(c))
    if c.mode == "progressive":
        how = [
            f"{about}: {c.n_scored} {rows}, each predicted and then learned, in stream order",
            f"{chosen}: chosen on the {labeled - c.n_scored} {rows} before them",
        ]
    else:
        how = [
            f"{about}: mean ± standard deviation over {c.folds} folds of {labeled} {rows}",
            f"{chosen}: chosen in each training part; the most frequent choice is shown",
        ]
    if any(not math.isnan(row.threshold) for row in c.rows):
        how.append(_about_cuts(c))
    if c.unlabeled:
        only = " and ".join(c.learns_unlabeled)
        what = f"only {only} learns from them" if only else "no row above learns from them"
        how.insert(
            0, f"{c.unlabeled:,} of {c.n_rows:,} rows have no label: none is scored, and {what}"
        )
    passes = [f"{row.model} {row.epochs}" for row in c.rows if row.epochs > 1]
    if passes and c.epochs is None:
        how.append(
            "passes until early stopping, by the loss on a held-out tenth of the training rows "
            f"(median over the folds): {', '.join(passes)}; 1 for the others"
        )
    benefit = [c.unlabeled_benefit] if c.unlabeled_benefit else []
    return [c.verdict, *benefit, *how, f"p: against the best row ({c.test})"]


def _about_cuts(c: Comparison) -> str:
    """What the column of thresholds says."""
    what = f"cut: {c.positive!r} is predicted where its probability is above this threshold"
    if not c.tuned:
        return what
    measure = metric_of(c.metric).threshold_for or c.metric
    if c.mode == "progressive":
        return f"{what}, the best for {measure} on the rows before each row; the last one is shown"
    return (
        f"{what}, the best for {measure} on rows held out of each training part; the median over "
        "the folds is shown"
    )


def to_markdown(comparison: Comparison) -> str:
    """Return a `Comparison` as Markdown: the table, the best row in bold, and the verdict.

    Parameters
    ----------
    comparison : Comparison
        From `crossview.compare`.

    Returns
    -------
    str
        Lines of text.
    """
    header, rows = _cells(comparison)
    rows[comparison.best] = [f"**{cell}**" if cell else "" for cell in rows[comparison.best]]
    align = ["---", *["---:"] * (len(header) - 1)]
    lines = ["| " + " | ".join(_escaped(row)) + " |" for row in [header, align, *rows]]
    notes = [f"- {note}" for note in comparison_notes(comparison)]
    return "\n".join([*lines, "", *notes])


def _cells(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    # the columns that the metric is not already
    errors = comparison.task == "regression"
    others = [name for name in TASKS[comparison.task][1:] if name != comparison.metric]
    titles = {"roc_auc": "AUC", "expected_calibration_error": "ECE"}
    short = {"accuracy": "acc.", "roc_auc": "AUC"}
    cuts = any(not math.isnan(row.threshold) for row in comparison.rows)
    header = [
        "views",
        titles.get(comparison.metric, comparison.metric),
        *(["cut"] if cuts else []),
        *(short.get(name, name) for name in others),
        "rows/s",
        "chosen",
        "p",
    ]
    rows = []
    decimals = _decimals(comparison.rows[comparison.best].value) if errors else 3
    for i, row in enumerate(comparison.rows):
        value = number(row.value, decimals)
        if not math.isnan(row.std):
            value += f" ± {number(row.std, decimals)}"
        rows.append(
            [
                row.title,
                value,
                *([number(row.threshold, 2)] if cuts else []),
                *(number(getattr(row, name), decimals) for name in others),
                speed(row.rows_per_second),
                " ".join(
                    value if isinstance(value, str) else f"{SYMBOLS.get(name, name)}={value:g}"
                    for name, value in row.setting.items()
                ),
                "best" if i == comparison.best else p_value(row.p),
            ]
        )
    return header, rows


def _chosen(comparison: Comparison) -> list[str]:
    """Names of the parameters that were chosen, with their symbols."""
    names = dict.fromkeys(name for row in comparison.rows for name in row.setting)
    return [f"{name} ({SYMBOLS[name]})" if name in SYMBOLS else name for name in names]


def number(value: float, decimals: int = 3) -> str:
    """Return a value with some decimals, or a dash for what is not defined."""
    return "–" if math.isnan(value) else f"{value:.{decimals}f}"


def _decimals(value: float) -> int:
    """So many that a value has four digits: an error has the unit of what is predicted."""
    if not (value > 0.0 and math.isfinite(value)):
        return 3
    return max(0, 3 - math.floor(math.log10(value)))


def p_value(p: float | None) -> str:
    """Return a probability to two digits."""
    if p is None or math.isnan(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def speed(rows_per_second: float) -> str:
    """Return rows per second to two digits: 950, 83k, 1.2M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if rows_per_second >= size:
            value = rows_per_second / size
            return f"{value:.1f}{unit}" if value < 10 else f"{value:.0f}{unit}"
    return f"{rows_per_second:.0f}"


def _escaped(cells: Sequence[Any]) -> list[str]:
    return [str(cell).replace("|", "\\|") for cell in cells]
