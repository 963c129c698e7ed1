"""Fitted models as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from crossview.catalog.learners import learner_of_class
from crossview.errors import some_names
from crossview.reporting.fitting_table import FittingTable
from crossview.scoring.collector import strong_interactions
from crossview.scoring.diagnostics import StrongInteraction
from crossview.scoring.models.trained import training_summary
from crossview.scoring.models.weights import ColumnNames
from crossview.scoring.results import thresholds_in_words


def model_tables(
    learner: Any, encoder: Any = None, info: Mapping[str, Any] | None = None, *, top: int = 10
) -> Iterator[str | FittingTable]:
    """Yield the views with their sizes and weights, and the strongest columns or interactions."""
    info = info or {}
    yield " ".join(repr(learner).split())
    if "rows" in info:
        rows = f"{info['rows']:,} rows"
        if info.get("unlabeled"):
            rows += f" with a label and {info['unlabeled']:,} without"
        if info.get("order"):
            rows += f" {info['order']}"
        passes = "1 pass" if info["passes"] == 1 else f"{info['passes']} passes"
        if info["passes"] is None:
            passes = training_summary(learner)
        yield f"learned {rows} in {passes}; label: {info['label']}"
    classes = learner.classes_.tolist() if hasattr(learner, "classes_") else []
    if classes:
        names = some_names(classes)
        above = f" ({_decision(learner, info)})" if len(classes) > 1 else ""
        yield f"classes: {names}{above}"
    if dialect := getattr(encoder, "dialect", None):
        yield f"reads CSV files with {_dialect_in_words(dialect)}, if no option says otherwise"
    yield ""
    entry = learner_of_class(type(learner).__name__)
    explained_by = "weights" if entry is None else entry.explained_by
    if explained_by == "interactions":
        yield from _machine_tables(learner, encoder, top)
    elif explained_by == "experts":
        yield from _stack_tables(learner, info)
    elif explained_by == "members":
        yield from _ensemble_tables(learner, info)
    elif explained_by == "importances":
        yield from _importance_tables(learner, encoder, info, top)
    elif explained_by == "support rows" and not hasattr(learner, "coef_"):
        yield from _kernel_tables(learner, info)
    else:  # a linear kernel has weights, too
        yield from _linear_tables(learner, encoder, info, classes, top)


def _dialect_in_words(dialect: Mapping[str, Any]) -> str:
    """Options and their values."""
    words = []
    for name, value in dialect.items():
        values = value if isinstance(value, list) else [value]
        words.append(f"{name} {', '.join(map(repr, values))}" if name != "header" else "no header")
    return ", ".join(words)


def _decision(learner: Any, info: Mapping[str, Any]) -> str:
    """Return the decision rule in words."""
    classes, threshold = learner.classes_.tolist(), learner.threshold_
    if isinstance(threshold, list) and len(set(threshold)) == 1:
        return "the most probable one"
    if isinstance(threshold, list):
        return f"highest multiple of the threshold: {thresholds_in_words(threshold, classes)}"
    if len(classes) != 2:
        return "highest score"
    second = classes[1]
    if threshold is None:
        return f"a score above 0: {second}"
    if info.get("threshold") is not None:
        second, threshold = info["positive"], info["threshold"]
    return f"a probability of {second} above {threshold:.3g}: {second}"


def _view_table(
    learner: Any,
    info: Mapping[str, Any],
    about: Mapping[str, Mapping[str, str]],
    norms: Mapping[str, float] | None = None,
) -> Iterator[str | FittingTable]:
    """Views with what is known of each, and their share of the score: measured, or by norms."""
    layout, shares, explained = learner.layout_, *_shares(learner, info, norms or {})
    columns = dict(about)
    if shares is not None:
        columns["share of score"] = {view: f"{share:.0%}" for view, share in shares.items()}
    yield FittingTable(
        ["view", "columns", *columns],
        [
            [view, f"{width:,}", *(cells.get(view, "–") for cells in columns.values())]
            for view, width in zip(layout.names, layout.widths, strict=True)
        ],
    )
    if shares is not None or norms is not None:
        yield f"share of score: {explained}"


def _strongest_columns(
    learner: Any,
    encoder: Any,
    strengths: Mapping[str, np.ndarray],
    header: Sequence[str],
    cells: Callable[[str, int], list[str]],
    top: int,
) -> Iterator[str | FittingTable]:
    """The columns of each view whose strength is largest, with more cells."""
    if top == 0:
        return
    yield ""
    names, rows = ColumnNames.of_model(learner, encoder), []
    for view, own in strengths.items():
        largest = [c for c in np.argsort(-own, kind="stable")[:top].tolist() if own[c] > 0.0]
        rows += [
            [view if i == 0 else "", _column_name(names, view, column), *cells(view, column)]
            for i, column in enumerate(largest)
        ]
    header = ["view", "strongest columns", *header]
    yield FittingTable(header, rows, texts=len(header) - 1)


def _machine_tables(learner: Any, encoder: Any, top: int) -> Iterator[str | FittingTable]:
    """Views, and the strongest interactions of each order."""
    norms = learner.view_norms()
    about = {
        "with weight": {view: f"{one[0]:,}" for view, one in norms.items()},
        "weight norm": {view: f"{one[1]:.4g}" for view, one in norms.items()},
    }
    yield from _view_table(learner, {}, about)
    names = ColumnNames.of_model(learner, encoder)
    for table in interaction_tables(strong_interactions(learner, names, top)):
        yield ""
        yield table


def interaction_tables(found: Sequence[StrongInteraction]) -> Iterator[FittingTable]:
    """Yield a table of the strongest interactions of each order."""
    several = any(one.label for one in found)
    for order in sorted({len(one.columns) for one in found}):
        header = [
            f"strongest of {order} columns" if order > 1 else "strongest columns",
            *(["class"] if several else []),
            "weight",
        ]
        rows = [
            [
                " × ".join(one.columns),
                *([one.label] if several else []),
                f"{one.weight:+.4f}",
            ]
            for one in found
            if len(one.columns) == order
        ]
        yield FittingTable(header, rows, texts=len(header) - 1)


def _kernel_tables(learner: Any, info: Mapping[str, Any]) -> Iterator[str | FittingTable]:
    """Views with the rows that support their scores, or the features in place of those."""
    sizes = {view: f"{n:,}" for view, n in learner.n_support_.items()}
    features = dict.fromkeys(learner.layout_.names, f"{learner.n_components:,}")
    about = {"support rows": sizes} if sizes else {"features": features}
    if learner.kernel in ("rbf", "poly"):
        about["γ"] = {view: f"{gamma:.4g}" for view, gamma in learner.gamma_.items()}
    yield from _view_table(learner, info, about)


def _importance_tables(
    learner: Any, encoder: Any, info: Mapping[str, Any], top: int
) -> Iterator[str | FittingTable]:
    """Views and columns by their share in what the scores are made of."""
    importances = learner.feature_importances_
    by_view = {view: importances[some] for view, some in learner.view_columns().items()}
    about = {
        "used": {view: f"{np.count_nonzero(own):,}" for view, own in by_view.items()},
        "importance": {view: f"{own.sum():.0%}" for view, own in by_view.items()},
    }
    yield from _view_table(learner, info, about)
    share = "in what the splits of the trees gained in training"
    if hasattr(learner, "n_landmarks_"):
        share = "of how much the scores change with a column, at the landmarks"
    elif hasattr(learner, "n_members"):
        share = "of how much the scores change without a column, in training rows"
    yield f"importance: share {share}"

    def cells(view: str, column: int) -> list[str]:
        return [f"{by_view[view][column]:.1%}"]

    yield from _strongest_columns(learner, encoder, by_view, ["importance"], cells, top)


# the weights of a stack are shown after these shares of its rows
SHARES_OF_ROWS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)


def _ensemble_tables(learner: Any, info: Mapping[str, Any]) -> Iterator[str | FittingTable]:
    """Views with their share of the score, and the members with their weights."""
    yield from _view_table(learner, info, {})
    yield ""
    weights = learner.weights_
    yield FittingTable(
        ["member", "weight", "view", "learner"],
        [
            [name, f"{weights[name]:.3f}", view or "all", " ".join(repr(one).split())]
            for name, one, view in learner.members_
        ],
        texts=2,
        wrapped=["learner"],
    )


def _stack_tables(learner: Any, info: Mapping[str, Any]) -> Iterator[str | FittingTable]:
    """Views with their share of the score, and what each expert weighed over time."""
    yield from _view_table(learner, info, {})
    yield ""
    past = learner.weight_history_
    if not len(past.n_rows):
        return
    wanted = [share * past.n_rows[-1] for share in SHARES_OF_ROWS]
    at = sorted({int(np.abs(past.n_rows - rows).argmin()) for rows in wanted})
    left = {name for name, _, _ in learner.experts_}
    for title, weights in (
        ("weight in the mixture after", past.mixture),
        ("coefficient in stacking after", past.stacking),
    ):
        yield FittingTable(
            [title, *(f"{rows:,} rows" for rows in past.n_rows[at])],
            [
                [
                    name if name in left else f"{name} (dropped)",
                    *(f"{weight:.3f}" for weight in weights[at, k]),
                ]
                for k, name in enumerate(past.experts)
            ],
        )
        yield ""
    decides = "stacking" if learner.stacking_decides_ else "the mixture"
    yield (
        f"{decides} predicts now; stacking did after {np.mean(past.stacking_decides):.0%} of the "
        "rows"
    )


def _linear_tables(
    learner: Any, encoder: Any, info: Mapping[str, Any], classes: list[Any], top: int
) -> Iterator[str | FittingTable]:
    """Views with their share of the score, and the strongest columns of each."""
    coef = learner.coef_  # (1 or n_classes, n_columns)
    weights = {view: coef[:, columns] for view, columns in learner.view_columns().items()}
    norms = {view: float(np.linalg.norm(w)) for view, w in weights.items()}
    about = {
        "with weight": {v: f"{np.count_nonzero(w.any(axis=0)):,}" for v, w in weights.items()},
        "weight norm": {view: f"{norm:.4g}" for view, norm in norms.items()},
    }
    yield from _view_table(learner, info, about, norms)
    several = len(classes) > 2
    strengths = {view: np.abs(w).max(axis=0) for view, w in weights.items()}

    def cells(view: str, column: int) -> list[str]:
        own = weights[view][:, column]
        k = int(np.abs(own).argmax())
        return [*([str(classes[k])] if several else []), f"{own[k]:+.4f}"]

    header = ["class"] * several + ["weight"]
    yield from _strongest_columns(learner, encoder, strengths, header, cells, top)


def _shares(
    learner: Any, info: Mapping[str, Any], norms: Mapping[str, float]
) -> tuple[Mapping[str, float] | None, str]:
    """Each view's share of the score, and how it was found."""
    if info.get("view_shares"):
        n = info["rows_of_view_shares"]
        return info["view_shares"], (
            f"of the absolute scores of the views, less their means, on the last {n:,} rows of "
            "training"
        )
    total = sum(norms.values())
    if total == 0.0:
        return None, "unknown, because all weights are 0"
    return {view: norm / total for view, norm in norms.items()}, (
        "of the weight norms (crossview train would measure it on rows)"
    )


def _column_name(names: ColumnNames, view: str, column: int) -> str:
    """The column's name; where its slot has other values, too, it says so."""
    (meaning,) = names.meanings(view, [column])
    return f"{meaning.name} (+ others)" if meaning.collides else meaning.name
