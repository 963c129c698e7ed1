"""A comparison as a page."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import Any

from crossview.comparing.comparison import Comparison
from crossview.comparing.ranking import ComparisonRow
from crossview.comparing.verdict import (
    CONSTANT,
    best_baseline,
    is_clear,
    learns_nothing,
    name_of,
    short_value,
)
from crossview.reporting.displays.comparison import AnswerDisplay, ComparisonDisplay
from crossview.reporting.displays.contributions import ViewContributionDisplay
from crossview.reporting.displays.cumulative import CumulativeErrorDisplay
from crossview.reporting.displays.curves import LearningCurveDisplay
from crossview.reporting.page.blocks import Block, Page, Section, figures, fold, lines, table, text
from crossview.reporting.page.sections import (
    Made,
    columns_section,
    data_section,
    differing_section,
    experts_section,
    made_section,
    ranking_section,
    sentence,
    share_blocks,
    words_of,
)
from crossview.reporting.tables import comparison_table, duration, speed, table_notes

__all__ = ["comparison_page"]

# columns of a terminal in which the table has all columns
WIDE = 200
# models of the short table, before those that are shown for another reason
MOST_SHOWN = 6
NOT_KEPT = "This comparison has not kept what most pictures need; make it again to see them."


def comparison_page(c: Comparison, made: Made | None = None) -> Page:
    """Return a comparison as a page."""
    made = made or Made()
    target = "" if made.label is None else f" {made.label}"
    action, command = _action(c, made)
    page = Page(
        title="Comparison by crossview",
        question=f"Which way of using {words_of(list(c.views))} predicts{target} best?",
        answer=_answer(c),
        action=action,
        command=command,
        picture=next(iter(figures(("answer", lambda: AnswerDisplay(c), _about_answer(c)))), None),
        warnings=[sentence(line) for line in c.warnings],
        more=[sentence(line) for line in c.notes],
        detail=[sentence(line) for line in c.verdict] if len(c.rows) > 1 else [],
        facts=_facts(c),
    )
    kept, row = c.diagnostics, c.recommended
    page.sections = [
        _models(c),
        _worth(c),
        _curves(c),
        ranking_section(c, row.confusion, c.classes),
        columns_section(kept),
        differing_section(c),
        experts_section(c),
        data_section(kept, c.classes, c.unlabeled),
        made_section(made, _settings(c), [] if kept is not None else [NOT_KEPT]),
    ]
    return page


def _answer(c: Comparison) -> str:
    """The answer in one plain sentence, with what it is measured by and how sure that is."""
    best, chosen = c.best, c.recommended
    named = name_of(chosen)
    named = named if chosen.members or named == chosen.model else f"{named} ({chosen.model})"
    value = f"{c.metric_words} {short_value(c, chosen.value)}"
    if len(c.rows) == 1:
        return f"{_begun(named)} was measured alone: {value}."
    if (interval := c.interval(chosen)) is not None:
        low, high = (short_value(c, end) for end in interval)
        value += f" (on new rows {low} to {high}, 95 % interval)"
    if learns_nothing(c):
        what = "mean" if c.task == "regression" else "most frequent class"
        return sentence(
            f"no model is clearly better than always predicting the {what}; recommended is "
            f"{named}, {value}"
        )
    return f"{_begun(named)} is recommended: {value}, {_measured_by(c, best, chosen)}."


def _begun(words: str) -> str:
    """Words at the beginning of a sentence; the name of a model alone keeps its case."""
    return words[:1].upper() + words[1:] if " " in words else words


def _measured_by(c: Comparison, best: ComparisonRow, chosen: ComparisonRow) -> str:
    """Compare the recommended model with the best baseline, else with the other models."""
    theirs = best_baseline(c)
    if chosen.baseline:
        ours = next((row for row in c.rows if not row.baseline), None)
        if ours is None:
            return f"of {len(c.rows)} models, none of which is Crossview's"
        told = "clearly ahead of" if is_clear(c, ours) else "which cannot be told from"
        return f"{told} the best of Crossview, {ours.title} ({short_value(c, ours.value)})"
    if theirs is not None:
        told = "which cannot be told from"
        if is_clear(c, theirs):
            told = "clearly ahead of"
            if chosen is not best:
                told = f"shown to be equal to the best ({best.model}), which is {told}"
        return f"{told} {name_of(theirs)} ({short_value(c, theirs.value)})"
    if chosen is not best:
        return f"shown to be equal to the best of {len(c.rows)} models, {best.model}"
    others = len(c.equals) - 1
    if others:
        return f"and {others} of {len(c.rows)} models cannot be told from it"
    second = c.rows[1]
    told = "clearly ahead of" if is_clear(c, second) else "not clearly ahead of"
    return f"{told} {second.model} ({short_value(c, second.value)})"


def _about_answer(c: Comparison) -> str:
    how = f"mean over {c.folds} folds" if c.folds else "in stream order"
    return f"{how.capitalize()}. Lines: 95 % interval of the difference to the best model."


def _action(c: Comparison, made: Made) -> tuple[str, str]:
    """Return the next step, and the command for it."""
    options = c.train_options
    if all(row.model in CONSTANT for row in c.rows):
        return "What to do: compare models that learn; give them more time if it was too short.", ""
    if learns_nothing(c):
        advice = "What to do: look for more rows or for other columns before you train a model."
        return advice, ""
    if made.train:
        return "What to do: train it on all rows.", made.train
    if options:
        return "What to do: train it on all rows with these options.", shlex.join(options)
    return f"What to do: train {name_of(c.recommended)} on all rows.", ""


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
    """The models that matter with their picture; all of them, with all columns, in a fold."""
    section = Section("models", "Models")
    if len(c.rows) == 1:
        section.blocks.append(_all_columns(c, [(name_of(c.best), c.best.model)]))
        section.blocks += lines(f"{note}." for note in [*table_notes(c), _about_speed(c)])
        return section
    section.blocks += figures(
        (
            "models",
            lambda: ComparisonDisplay.of(c),
            f"Lines: 95 % interval of the difference to the best. Shaded: within {c.rope:.3g} of "
            "the best, which is practically equal. Hollow: baselines of scikit-learn.",
        )
    )
    whole = comparison_table(c, WIDE)
    cells = {name: [row[i] for row in whole.rows] for i, name in enumerate(whole.header)}
    metric = whole.header[2]
    shown = _short_list(c)
    names = [(name_of(row), row.model) for row in c.rows]
    brief = [
        [names[i], cells[metric][i], _difference(c, c.rows[i].difference), cells["worse"][i]]
        for i in shown
    ]
    title = "In bold: recommended"
    if len(shown) < len(c.rows):
        title += f"; {len(shown)} of {len(c.rows)} models, the best first"
    section.blocks.append(
        table(
            *(["model", metric, "difference (95 %)", "worse"], brief),
            marked=frozenset([shown.index(c.rows.index(c.recommended))]),
            title=title,
            text="Above the line: shown to be equal to the best. Worse: probability of being worse "
            f"than the best by more than {short_value(c, c.rope)}.",
        )
    )
    notes = lines(f"{note}." for note in [*table_notes(c), _about_speed(c)])
    section.blocks += fold(f"All {len(c.rows)} models and columns", _all_columns(c, names), *notes)
    if c.unlabeled_benefit:
        section.blocks.append(text(sentence(c.unlabeled_benefit)))
    return section


def _short_list(c: Comparison) -> list[int]:
    """The positions of the rows to show: the best ones, the recommended one and the baselines."""
    wanted = [*c.rows[:MOST_SHOWN], c.recommended, best_baseline(c)]
    wanted += [row for row in c.rows if row.model in CONSTANT]
    models = {row.model for row in wanted if row is not None}
    return [i for i, row in enumerate(c.rows) if row.model in models]


def _all_columns(c: Comparison, names: Sequence[tuple[str, str]]) -> Block:
    """All that is known of all models."""
    whole = comparison_table(c, WIDE)
    header = list(whole.header)
    rows: list[list[Any]] = [list(row) for row in whole.rows]
    at, cost, timed = header.index("worse"), header.index("rows/s"), c.mode != "progressive"
    header[cost : cost + 1] = ["learned/s", *["predicted/s"] * timed]
    header.insert(at, "difference (95 %)")
    for cells, row, name in zip(rows, c.rows, names, strict=True):
        cells[cost + 1 : cost + 1] = [speed(row.predicted_per_second)] * timed
        cells.insert(at, _difference(c, row.difference))
        cells[:2] = [name]
    del header[1]
    return table(
        *(header, rows),
        marked=frozenset([c.rows.index(c.recommended)]),
        title="The best first; in bold: recommended" * (len(c.rows) > 1),
    )


def _about_speed(c: Comparison) -> str:
    """Explain the speeds in the table."""
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
    """Return the section on the contribution of each view."""
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
    section.blocks += share_blocks(c)
    return section


def _curves(c: Comparison) -> Section:
    """More rows: the learning curve, and the error along a stream."""
    section = Section("rows", "More rows", folded=True)
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
    return section


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
