"""A comparison as a page."""

from __future__ import annotations

import math
from typing import Any

from crossview.evaluation.result import Comparison
from crossview.evaluation.verdict import short_value
from crossview.plots.comparison import ComparisonDisplay
from crossview.plots.contributions import ViewContributionDisplay
from crossview.plots.cumulative import CumulativeErrorDisplay
from crossview.plots.curves import LearningCurveDisplay
from crossview.report.page.blocks import Page, Section, figures, lines, table, text
from crossview.report.page.sections import (
    Made,
    columns_section,
    data_section,
    differing_section,
    experts_section,
    made_section,
    ranking_section,
    sentence,
    share_section,
    words_of,
)
from crossview.report.tables import comparison_table, duration, speed, table_notes

__all__ = ["comparison_page"]

# columns of a terminal in which the table has all columns
WIDE = 200


def comparison_page(c: Comparison, made: Made | None = None) -> Page:
    """Return a comparison as a page.

    Parameters
    ----------
    c : Comparison
        From `crossview.compare`.
    made : Made, default=None
        How it was made.

    Returns
    -------
    Page
        For `render`.
    """
    made = made or Made()
    target = "" if made.label is None else f" {made.label}"
    page = Page(
        title="Comparison by crossview",
        question=f"Which way of using {words_of(list(c.views))} predicts{target} best?",
        answer=_answer(c),
        warnings=[sentence(line) for line in c.warnings],
        more=[sentence(line) for line in c.verdict[1:]],
        facts=_facts(c),
    )
    kept, row = c.diagnostics, c.recommended
    page.sections = [
        _models(c),
        _worth(c),
        data_section(kept, c.classes, c.unlabeled, "" if kept else _old("the views in numbers")),
        _curves(c),
        share_section(c, _no_views(c)),
        experts_section(c),
        differing_section(c, _no_views(c)),
        ranking_section(c, row.confusion, c.classes),
        columns_section(kept, _no_columns(c)),
        made_section(made, _settings(c)),
    ]
    return page


def _old(what: str) -> str:
    return f"This comparison has not kept {what}; make it again."


def _no_views(c: Comparison) -> str:
    if c.diagnostics is None:
        return _old("the scores of views")
    return "No model here has a score per view; add one such as pa:squared with --model."


def _answer(c: Comparison) -> str:
    """The answer in one plain sentence."""
    best, chosen = c.best, c.recommended
    value = f"{c.metric} {short_value(c, chosen.value)}"
    named = f"{chosen.model} ({chosen.title})" if chosen.title != chosen.model else chosen.model
    if len(c.rows) == 1:
        return f"{named} was measured alone: {value}."
    others = len(c.equals) - 1
    if not others:
        second = c.rows[1]
        ahead = short_value(c, abs(best.value - second.value))
        return (
            f"{named} is best of {len(c.rows)} models: {value}, ahead of {second.model} by {ahead}."
        )
    if chosen is best:
        few = "1 other is" if others == 1 else f"{others} others are"
        return (
            f"{named} is best of {len(c.rows)} models: {value}; {few} practically equal to it, and "
            "not cheaper."
        )
    return (
        f"{named} is enough: {value}, practically equal to the best of {len(c.rows)} models, "
        f"{best.model} ({short_value(c, best.value)}), and the cheapest of the {others + 1} that "
        "are."
    )


def _facts(c: Comparison) -> list[tuple[str, str]]:
    how = f"{c.folds} folds" if c.folds else "in stream order"
    facts = [
        ("rows", f"{c.n_rows:,}"),
        ("views", f"{len(c.views):,}"),
        ("models compared", f"{len(c.rows)}"),
        ("scored", f"{c.n_scored:,} rows, {how}"),
    ]
    if c.classes:
        facts.insert(2, ("classes", f"{len(c.classes):,}"))
    if c.unlabeled:
        facts.insert(1, ("without a label", f"{c.unlabeled:,}"))
    if not math.isnan(c.seconds):
        facts.append(("time", duration(c.seconds)))
    return facts


def _models(c: Comparison) -> Section:
    """The table of the models, and its picture."""
    section = Section("models", "Models")
    section.blocks += figures(
        (
            "models",
            lambda: ComparisonDisplay.of(c),
            f"Lines: 95 % interval of the difference to the best. Shaded: within {c.rope:.3g} of "
            "the best, which is practically equal. Hollow: baselines of scikit-learn.",
        )
    )
    whole = comparison_table(c, WIDE)
    header = list(whole.header)
    rows: list[list[Any]] = [list(row) for row in whole.rows]
    at, cost, timed = header.index("worse"), header.index("rows/s"), c.mode != "progressive"
    header[cost : cost + 1] = ["learned/s", *["predicted/s"] * timed]
    header.insert(at, "difference (95 %)")
    for cells, row in zip(rows, c.rows, strict=True):
        cells[cost + 1 : cost + 1] = [speed(row.predicted_per_second)] * timed
        cells.insert(at, _difference(c, row.difference))
        cells[:2] = [(cells[0], cells[1])]  # the model, and below it what it is
    del header[1]
    section.blocks.append(
        table(
            *(header, rows),
            marked=frozenset([c.rows.index(c.recommended)]),
            ends=frozenset([len(c.equals) - 1]),
            title="The best first; above the line: practically equal; in bold: recommended",
        )
    )
    section.blocks += lines(f"{note}." for note in [*table_notes(c), _about_speed(c)])
    if c.unlabeled_benefit:
        section.blocks.append(text(sentence(c.unlabeled_benefit)))
    return section


def _about_speed(c: Comparison) -> str:
    """What the speeds in the table are."""
    if c.mode == "progressive":
        return "learned/s: rows that one core scores and then learns, without reading and encoding"
    return (
        "learned/s, predicted/s: rows that one core learns (steps of learners that draw rows) and "
        "scores per second, without reading and encoding; the median over the folds"
    )


def _difference(c: Comparison, difference: object) -> str:
    if difference is None:
        return "–"
    low, high = difference.interval()  # type: ignore[attr-defined]
    if math.isnan(low):
        return "–"
    return f"{short_value(c, low)} to {short_value(c, high)}"


def _worth(c: Comparison) -> Section:
    """What each view is worth."""
    section = Section("worth", "What each view is worth")
    alone = [row for row in c.rows if row.model.startswith("view:")]
    if c.ablation:
        section.blocks += figures(
            (
                "worth",
                lambda: ViewContributionDisplay.of(c),
                f"{c.recommended.model} learned again without the view; lines: 95 % interval.",
            )
        )
        rows = []
        for one in c.ablation:
            for what, value, change in (
                ("learned without it", one.without, one.without_difference),
                ("missing in the rows to predict", one.missing, one.missing_difference),
            ):
                cells = [one.view, what, short_value(c, value), short_value(c, change.location)]
                rows.append([*cells, _difference(c, change)])
        header = ["view", "what", c.metric, "difference", "95 % interval"]
        section.blocks.append(table(header, rows, texts=2))
    if alone:
        rows = [
            [
                row.model.removeprefix("view:"),
                short_value(c, row.value),
                _difference(c, row.difference),
            ]
            for row in alone
        ]
        section.blocks.append(
            table(
                ["view alone", c.metric, "difference to the best (95 %)"],
                rows,
                title="Each view alone",
            )
        )
    if not c.ablation and c.recommended.model.startswith("view:"):
        words = f"{c.recommended.model} uses one view: nothing is lost without the others."
        section.blocks.append(text(words))
    elif not c.ablation and c.mode != "progressive":
        how = "crossview compare --ablate measures what is lost without each view."
        section.blocks.append(text(how))
    return section


def _curves(c: Comparison) -> Section:
    """More rows: the learning curve, and the error along a stream."""
    section = Section("rows", "More rows")
    section.blocks += figures(
        (
            "learning-curve",
            lambda: LearningCurveDisplay.of(c),
            f"{c.recommended.model}; shaded: one standard deviation over the folds.",
        ),
        (
            "errors",
            lambda: CumulativeErrorDisplay.of(c),
            "Each row is predicted before it is learned; both axes are logarithmic.",
        ),
    )
    if c.mode != "progressive":
        what = "crossview compare --progressive shows the error along the rows, in their order."
        section.blocks.append(text(what))
    elif not section.blocks:
        section.blocks.append(text(_old("the errors along the stream")))
    return section


def _no_columns(c: Comparison) -> str:
    if c.diagnostics is None:
        return _old("the strongest columns")
    entry, model = c.entry(c.recommended), c.recommended.model
    if entry is None:
        return f"{model} is a model of scikit-learn, whose weights a comparison does not read."
    if entry.explained_by == "support rows":
        return f"{model} has a kernel: its scores come from rows, and columns have no weights."
    return (
        f"There was no time for the strongest columns, or {model} was compared earlier; "
        "crossview train --report names them."
    )


def _settings(c: Comparison) -> dict[str, object]:
    shown: dict[str, object] = {
        "mode": c.mode if not c.in_order else f"{c.mode}, in order of time",
        "metric": c.metric,
        "positive class": c.positive,
        "region of practical equivalence": c.rope,
        "test": c.test,
        "seed": c.seed,
        "train options": " ".join(c.train_options),
        "fingerprint": c.fingerprint,
    }
    return {name: value for name, value in shown.items() if value not in (None, "")}
