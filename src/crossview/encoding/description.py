"""Description of a fitted encoder, for other programs and for scikit-learn's diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crossview.encoding.hashing import prefix_of
from crossview.encoding.plan import numbers_of_column
from crossview.encoding.rows.row_encoder import RowEncoder
from crossview.portable.encoding import Column, Hashed, Number, TableEncoder, View
from crossview.tables.columns import BOOLEAN
from crossview.tables.dates import ISO, portable_pattern


def describe_encoder(rows: RowEncoder, factors: np.ndarray) -> TableEncoder:
    """Return a fitted encoder whose views are multiplied by these factors."""
    plan, moments = rows.plan, rows.moments
    columns = list(plan.columns)
    described = [
        Column(
            one.name,
            one.view,
            "number" if one.is_number else "category" if one.kind == "categorical" else one.kind,
            one.declared,
            portable_pattern(one.format or ISO) if one.kind == "date" else None,
            one.format == BOOLEAN or None,
        )
        for one in columns
    ]
    numbers: dict[str, list[Number]] = {view: [] for view in plan.layout.names}
    centers, scales = moments.center_and_scale()
    c = 0
    for at, column in enumerate(columns):
        for part, own in enumerate(numbers_of_column(column)):
            scale = float(scales[c]) if np.isfinite(scales[c]) else None
            mean = float(centers[c])
            if not rows.standardizes:
                mean, scale = 0.0, 1.0
            knots = rows.quantiles.knots[c] if plan.n_bins else np.empty(0)
            numbers[own.view].append(Number(own.name, at, part, mean, scale, knots, own.is_whole))
            c += 1
    hashed: dict[str, list[Hashed]] = {view: [] for view in plan.layout.names}
    n_texts = 0
    for column in plan.hashed:
        form = "category" if column.kind == "categorical" else column.format or "words"
        ngrams = [int(n) for n in rows.slots.ngram_range]
        one = Hashed(columns.index(column), form, prefix_of(column), ngrams)
        if column.kind == "text" and rows.tf_idf:
            df = rows.frequencies.df[n_texts]
            one.texts, one.slots = int(rows.frequencies.n[n_texts]), np.flatnonzero(df)
            one.df = df[one.slots]
            n_texts += 1
        hashed[column.view].append(one)
    views = [
        View(
            view,
            numbers[view],
            hashed[view],
            plan.first_slot(view) - plan.layout.block(view).start,
            float(factors[v]),
        )
        for v, view in enumerate(plan.layout.names)
    ]
    return TableEncoder(described, views, int(rows.slots.n_slots), int(plan.n_bins))


@dataclass
class Box:
    """A box of the diagram, with the attributes that scikit-learn reads.

    ``kind`` is "single", or "parallel" with boxes beside each other; names and details then are
    those above the boxes.
    """

    kind: str
    estimators: Any
    names: Any
    name_details: Any
    name_caption: str | None = None
    doc_link_label: str | None = None
    dash_wrapped: bool = True

    def _sk_visual_block_(self) -> Box:
        return self


def boxes_of_views(
    columns: Mapping[str, Sequence[str]],
    kinds: Mapping[str, Mapping[str, int]],
    widths: Sequence[int],
) -> Box:
    """Return a box per view: its columns, how many there are of each kind, and its width."""
    boxes = [
        Box("single", None, ", ".join(f"{n} {kind}" for kind, n in kinds[view].items()), text)
        for view, text in ((view, "\n".join(names)) for view, names in columns.items())
    ]
    return Box("parallel", boxes, list(columns), [f"{n:,} columns, encoded" for n in widths])
