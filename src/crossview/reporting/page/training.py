"""A training as a page."""

from __future__ import annotations

from typing import Any

from crossview.reporting.displays.cumulative import CumulativeErrorDisplay
from crossview.reporting.fitting_table import FittingTable
from crossview.reporting.model import model_tables
from crossview.reporting.page.blocks import Block, Page, Section, code, figures, text
from crossview.reporting.page.sections import (
    Made,
    counted,
    kept_sections,
    made_section,
    of_table,
    sentence,
    sentences,
    share_blocks,
    words_of,
)
from crossview.saving.pipelines import steps
from crossview.scoring.models.trained import Trained
from crossview.scoring.results import duration, in_digits, thresholds_in_words


def training_page(t: Trained, made: Made | None = None) -> Page:
    """Return a training as a page."""
    made = made or Made(label=t.label)
    learner = t.learner
    classes = learner.classes_.tolist() if hasattr(learner, "classes_") else []
    views = list(learner.layout_.names)
    target = "" if t.label is None else f" {t.label}"
    return Page(
        title="Training by crossview",
        question=f"How well does {t.name} predict{target} from {words_of(views)}?",
        answer=_answer(t),
        more=sentences(t.notes),
        facts=_facts(t, len(views), len(classes)),
        pictures=[
            *figures(
                (
                    "errors",
                    lambda: CumulativeErrorDisplay.of(t),
                    "Each row is predicted before it is learned; both axes are logarithmic.",
                )
            ),
            *share_blocks(t),
        ],
        actions=[code(f"{what}:", command) for what, command in made.commands.items()],
        doubts=sentences(t.warnings, made.said),
        sections=[
            *kept_sections(t, None, classes, t.unlabeled + t.skipped),
            model_section(t.fitted, t.info),
            made_section(made, _settings(t)),
        ],
    )


def _answer(t: Trained) -> str:
    about, value = t.metric_words, t.metric["value"]
    if value is None:
        return f"Learned for {about}; crossview evaluate says how good it is on other rows."
    words = in_digits(value) if t.task == "regression" else f"{value:.4f}"
    return f"{sentence(about)[:-1]}: {words}, each row predicted before it was learned."


def _facts(t: Trained, n_views: int, n_classes: int) -> list[str]:
    facts = [f"{t.rows:,} rows"]
    facts += [f"{t.unlabeled:,} without a label"] * bool(t.unlabeled)
    facts += [counted(n_views, "view"), *([f"{n_classes:,} classes"] * (n_classes > 2))]
    facts += [] if t.passes is None else [counted(t.passes, "pass", "passes")]
    facts += [] if t.order is None else [t.order]
    return [*facts, duration(t.seconds)]


def model_section(fitted: Any, info: Any) -> Section:
    """Return what a model holds: views, and the largest weights or interactions, by name."""
    encoder, learner = steps(fitted)
    section = Section("model", "What the model holds")
    for part in model_tables(learner, encoder, info):
        if isinstance(part, FittingTable):
            if part.rows:
                section.blocks.append(of_table(part))
        elif part:
            is_code = "(" in part.split(" ", 1)[0]
            section.blocks.append(Block("code", text=part) if is_code else text(f"{part}."))
    return section


def _settings(t: Trained) -> dict[str, Any]:
    shown = {
        "model": t.name,
        "task": t.task,
        "label": t.label,
        "positive class": t.positive,
        "threshold": thresholds_in_words(t.threshold, t.classes),
        "seed": t.seed,
    }
    return {name: value for name, value in shown.items() if value is not None}
