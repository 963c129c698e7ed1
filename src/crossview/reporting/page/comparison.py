"""A comparison as a page."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import Any

from crossview.catalog.metrics import metric_of
from crossview.comparing.result.comparison import Comparison
from crossview.comparing.result.ranking import ComparisonRow
from crossview.comparing.result.verdict import (
    CONSTANT,
    as_good_constant,
    best_baseline,
    how_sure,
    is_clear,
    name_of,
    short_value,
    what_to_do_about_noise,
)
from crossview.reporting.displays.comparison import (
    AnswerDisplay,
    ComparisonDisplay,
    brief_value,
    coded_name,
    metric_of_class,
)
from crossview.reporting.displays.contributions import ViewContributionDisplay, shares_of_scores
from crossview.reporting.displays.cumulative import CumulativeErrorDisplay
from crossview.reporting.displays.curves import LearningCurveDisplay
from crossview.reporting.page.blocks import (
    Block,
    Page,
    Section,
    code,
    figures,
    fold,
    lines,
    table,
    text,
)
from crossview.reporting.page.sections import (
    Made,
    counted,
    how_often_right,
    kept_sections,
    made_section,
    sentence,
    sentences,
    share_blocks,
)
from crossview.reporting.tables import (
    comparison_table,
    speed,
    table_notes,
    view_notes,
)
from crossview.scoring.results import duration, in_digits

# columns of a terminal in which the table has all columns
WIDE = 200
# views on the first screen
MOST_VIEWS = 8
NOT_KEPT = "This comparison has not kept what most pictures need; make it again to see them."


def comparison_page(c: Comparison, made: Made | None = None) -> Page:
    """Return a comparison as a page."""
    made = made or Made()
    said = [*c.warnings, *c.notes, *made.said]
    if c.planned_folds > c.folds:
        said.append(f"{c.folds} of {c.planned_folds} folds were finished")
    return Page(
        title="Comparison by crossview",
        question=f"What predicts {made.label or 'the label'} best?",
        answer=_answer(c),
        facts=_facts(c),
        more=[*_members(c), *_in_rows(c)],
        pictures=[
            *figures(("answer", lambda: AnswerDisplay(c), _about_answer(c))),
            *_views(c),
        ],
        actions=_actions(c, made),
        doubts=sentences(said),
        detail=sentences(c.verdict) if len(c.rows) > 1 else [],
        sections=[
            _models(c),
            _worth(c),
            _curves(c),
            *kept_sections(c, c.recommended.confusion, c.classes, c.unlabeled),
            made_section(made, _settings(c), [NOT_KEPT] * (c.diagnostics is None)),
        ],
    )


def _answer(c: Comparison) -> str:
    """The answer in one plain sentence, with what it is measured by and how sure that is."""
    chosen = c.recommended
    value = f"{metric_of_class(c)} = {brief_value(c, chosen.value)}"
    if (interval := c.interval(chosen)) is not None:
        low, high = (brief_value(c, end) for end in interval)
        value += f" ({low} to {high} on new rows, 95 % interval)"
    named = coded_name(chosen)
    if chosen.members:
        named = f"the ensemble of {counted(len(chosen.members), 'model')}"
    if len(c.rows) == 1:
        return sentence(f"{named} was measured alone: {value}")
    if constant := as_good_constant(c):
        words = f"no model is clearly better than {constant}"
        return sentence(f"{words}; the best is {named}: {value}")
    if chosen is not c.best:
        value += f", shown to be equal to the best of {len(c.rows)} models, {coded_name(c.best)}"
    return sentence(f"{named} is recommended: {value}; {_rival(c)}")


def _rival(c: Comparison) -> str:
    """Compare the answer with the best baseline; if it is one, with the best of Crossview."""
    chosen = c.recommended
    ours = next((row for row in c.rows if not row.baseline), None)
    rival = ours if chosen.baseline else best_baseline(c)
    rival = rival or next(row for row in c.rows if row is not chosen)
    named = coded_name(rival)
    if rival is ours and chosen.baseline:
        named = f"Crossview's best, {named},"
    reaches = f"{named} reaches {brief_value(c, rival.value)}"
    if rival is c.best or rival.difference is None:
        return reaches
    if is_clear(c, rival):
        return f"{reaches}, clearly worse"
    if rival.difference.location > c.rope and chosen is c.best:
        return f"{reaches}, which is not surely better"
    if rival.equal and chosen is c.best:
        return f"{reaches}, which is shown to be equal"
    return f"{reaches}{how_sure(c, rival)}"


def _members(c: Comparison) -> list[str]:
    """Say what an ensemble holds."""
    if not c.recommended.members:
        return []
    parts = [f"{coded_name(c.row(one.model))} {one.weight:.2f}" for one in c.recommended.members]
    return [f"It adds up, by weight: {', '.join(parts)}."]


def _in_rows(c: Comparison) -> list[str]:
    """Say how often the recommended model is right, in rows that it has not learned."""
    row = c.recommended
    if c.task == "regression":
        off = f"On average a prediction is off by {brief_value(c, row.mae)}."
        return [off] if row.mae == row.mae and c.metric != "mae" else []
    return how_often_right(c.metric, c.classes, c.positive, row.confusion)


def _about_answer(c: Comparison) -> str:
    if c.interval(c.recommended) is not None:
        return f"Mean over {c.folds} folds; lines: 95 % interval on new rows."
    how = f"Mean over {c.folds} folds" if c.folds else "In stream order"
    return f"{how}; lines: 95 % interval of the difference to the first."


def _views(c: Comparison) -> list[Block]:
    """Return what each view is worth as a table, the most important first."""
    sign = 1.0 if metric_of(c.metric).higher_is_better else -1.0
    alone = {r.model.removeprefix("view:"): r for r in c.rows if r.model.startswith("view:")}
    lost = {one.view: one.without_difference.location for one in c.ablation}
    shares = shares_of_scores(c) or {}
    views = [view for view in c.views if view in alone or view in lost or view in shares]
    if len(c.views) < 2 or not views:
        return []

    def rank(view: str) -> tuple[float, ...]:
        value = sign * alone[view].value if view in alone else -math.inf
        return lost.get(view, 0.0), -value, -shares[view].value if view in shares else 0.0

    views.sort(key=rank)
    rows: list[list[Any]] = []
    for view in views[:MOST_VIEWS]:
        cells: list[Any] = [view]
        if alone:
            cells.append(brief_value(c, alone[view].value) if view in alone else "–")
        if lost:
            cells.append(brief_value(c, lost[view]) if view in lost else "–")
        if shares:
            share = shares[view].value if view in shares else math.nan
            cells.append("–" if math.isnan(share) else (f"{share:.0%}", share))
        rows.append(cells)
    header = ["view", *["alone"] * bool(alone), *["without it"] * bool(lost)]
    parts = [f"alone: {c.metric} of a model of this view only"] * bool(alone)
    parts += [f"without it: what {c.explained.model} then gains or loses"] * bool(lost)
    parts += ["share: of the absolute scores of the views, less their means"] * bool(shares)
    if len(views) > MOST_VIEWS:
        parts.insert(0, f"{MOST_VIEWS} of {len(views)} views")
    how, title = sentence("; ".join(parts)), _about_views(c, alone, views[0])
    return [table([*header, *["share"] * bool(shares)], rows, title=title, text=how)]


def _about_views(c: Comparison, alone: Mapping[str, ComparisonRow], first: str) -> str:
    """Say which views matter."""
    if c.ablation:
        return ViewContributionDisplay.of(c).title
    if not alone:
        return "Which views matter"
    if alone[first].equal:
        return f"{first!r} alone is shown to be as good as all views"
    return f"No view alone is shown to be as good as all; the best is {first!r}"


def _actions(c: Comparison, made: Made) -> list[Block]:
    """Return the next steps, with their commands."""
    if all(row.model in CONSTANT for row in c.rows):
        return [text("Compare models that learn; give them more time if it was too short.")]
    chosen = c.recommended
    if as_good_constant(c):
        return [text(sentence(what_to_do_about_noise(c)))]
    blocks = _training(c, made, chosen, "Train it on all rows")
    other = c.best_trained
    if other is not None and all(c.entry(row) is None for row in (chosen, c.cheapest)):
        title = f"The best that is saved as a model file: {coded_name(other)}"
        blocks += fold(
            f"{title}, {brief_value(c, other.value)}",
            *_training(c, made, other, "Train it instead"),
        )
    if c.cheapest is not chosen:
        title = f"Simpler, and shown to be equal: {coded_name(c.cheapest)}"
        blocks += fold(
            f"{title}, {brief_value(c, c.cheapest.value)}",
            *_training(c, made, c.cheapest, "Train it instead"),
        )
    return blocks


def _training(c: Comparison, made: Made, row: ComparisonRow, what: str) -> list[Block]:
    """Return the command that trains a row."""
    if row.model in made.commands:
        return [code(f"{what}:", made.commands[row.model])]
    if options := c.train_options_of(row):
        return [code(f"{what} with these options:", shlex.join(options))]
    return [text(f"{what}: {coded_name(row)}.")]


def _facts(c: Comparison) -> list[str]:
    facts = [f"{c.n_rows:,} rows"]
    facts += [f"{c.unlabeled:,} of them without a label"] * bool(c.unlabeled)
    facts.append(counted(len(c.views), "view"))
    facts += [f"{len(c.classes):,} classes"] * (len(c.classes) > 2)
    facts.append(counted(len(c.rows), "model"))
    how = f"{c.folds} folds" if c.folds else f"{c.n_scored:,} rows scored in stream order"
    how += " in order of time" * (c.in_order and bool(c.folds))
    facts.append(how if c.groups is None else f"{how} by {c.groups}")
    facts += [] if math.isnan(c.seconds) else [duration(c.seconds)]
    return facts


def _models(c: Comparison) -> Section:
    section = Section("models", "Models")
    if len(c.rows) > 1:
        section.blocks += figures(
            (
                "models",
                lambda: ComparisonDisplay.of(c),
                "Lines: 95 % interval of the difference to the best. Shaded: within "
                f"{in_digits(c.rope, 3)} of the best, which is practically equal. "
                "Hollow: baselines of scikit-learn.",
            )
        )
    section.blocks.append(_all_columns(c))
    section.blocks += lines(f"{note}." for note in [*table_notes(c), _about_speed(c)])
    if c.unlabeled_benefit:
        section.blocks.append(text(sentence(c.unlabeled_benefit)))
    return section


def _all_columns(c: Comparison) -> Block:
    """All that is known of all models."""
    whole = comparison_table(c, WIDE)
    header = list(whole.header)
    rows: list[list[Any]] = [list(row) for row in whole.rows]
    at, cost, timed = header.index("worse"), header.index("rows/s"), c.mode != "progressive"
    header[cost : cost + 1] = ["learned/s", *["predicted/s"] * timed]
    header.insert(at, "difference (95 %)")
    for cells, row in zip(rows, c.rows, strict=True):
        cells[cost + 1 : cost + 1] = [speed(row.predicted_per_second)] * timed
        cells.insert(at, _difference(c, row))
        cells[:2] = [(name_of(row), row.model)]
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


def _difference(c: Comparison, row: ComparisonRow) -> str:
    low, high = c.difference_interval(row)
    if math.isnan(low):
        return "–"
    return f"{short_value(c, low)} to {short_value(c, high)}"


def _worth(c: Comparison) -> Section:
    """Return the section on the contribution of each view."""
    section = Section("worth", "What each view is worth")
    if c.ablation:
        how = f"{c.explained.model} learned again without the view; lines: 95 % interval."
        section.blocks += figures(("worth", lambda: ViewContributionDisplay.of(c), how))
    section.blocks += lines(sentences(view_notes(c)))
    section.blocks += share_blocks(c)
    return section


def _curves(c: Comparison) -> Section:
    """More rows: the learning curve, and the error along a stream."""
    section = Section("rows", "More rows")
    section.blocks += figures(
        (
            "learning-curve",
            lambda: LearningCurveDisplay.of(c),
            f"{c.explained.model}; shaded: one standard deviation over the folds.",
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
