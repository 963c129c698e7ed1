"""Rows of a source as mappings, as an exported model reads them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from crossview.data.arrow import pyarrow
from crossview.data.encoding.encode import ViewEncoder
from crossview.data.encoding.hashing import bytes_of, hash_strings
from crossview.errors import InputError
from crossview.exporting.plan import Plan
from crossview.exporting.running import category_text
from crossview.portable.encoding import TableEncoder
from crossview.scoring.fitted_model import FittedModel
from crossview.scoring.read_labels import ClassLabels, NumberLabels

MOST_ROWS = 2000


def some_rows(source: Any, fitted: FittedModel) -> list[dict[str, Any]]:
    """Return at most 2,000 rows of a source, evenly spaced, as mappings of columns to values."""
    return _read(source, fitted, None)[0]


def labeled_rows(
    source: Any, fitted: FittedModel, label: str | None
) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return the same of rows with a label, and the labels.

    ``label`` is their column; None: that of the model.
    """
    label = label or fitted.info.get("label")
    if label is None:
        raise InputError("the model does not say which column has the labels; give label=")
    rows, labels = _read(source, fitted, label)
    if not rows:
        raise InputError(f"no row has a label in {label!r}, and prune=True needs some")
    return rows, labels


def categories_of(source: Any, plan: Plan, fitted: FittedModel) -> dict[str, dict[str, int]]:
    """Return the names of all categories of a source, by view, and their slots."""
    encoder = plan.encoder
    if not isinstance(encoder, TableEncoder):
        raise InputError("categories= are for models of tables; leave it out", file=fitted.file)
    hashed = [(view, one) for view in encoder.views for one in view.hashed]
    found: dict[str, dict[str, int]] = {view.name: {} for view in encoder.views}
    for _, _, batch in fitted.open(source):
        for view, one in hashed:
            name = encoder.columns[one.column].name
            if one.form != "category" or name not in batch.X.schema.names:
                continue
            cells = map(_plain, batch.X.column(name).unique().to_pylist())
            values = [text for text in map(category_text, cells) if text is not None]
            hashes = hash_strings(one.prefix, *bytes_of(pyarrow().array(values, "string")))[0]
            slots = (hashes % np.uint64(encoder.n_slots)).tolist()
            pairs = zip(values, slots, strict=True)
            found[view.name] |= {one.prefix + value: slot for value, slot in pairs}
    return found


def _read(
    source: Any, fitted: FittedModel, label: str | None
) -> tuple[list[dict[str, Any]], list[Any]]:
    if not isinstance(fitted.encoder, ViewEncoder):
        raise InputError("rows= are for models of tables; leave it out", file=fitted.file)
    keep = [] if label is None else [label]
    reader = NumberLabels(label) if fitted.classes is None else ClassLabels(fitted.classes, label)
    known = fitted.encoder.kinds()
    rows: list[dict[str, Any]] = []
    labels: list[Any] = []
    for kept, _, batch in fitted.open(source, keep):
        table = batch.X.select([name for name in batch.X.schema.names if name in known])
        own = table.to_pylist()
        if label is not None:
            there, values = reader.read(kept[0])
            own = [own[i] for i in there.tolist()]
            labels += values.tolist()
        rows += own
    some = np.unique(np.linspace(0, len(rows) - 1, min(MOST_ROWS, len(rows))).astype(np.intp))
    chosen = [{k: _plain(cell) for k, cell in rows[i].items()} for i in some.tolist()]
    return chosen, [labels[i] for i in some.tolist()] if labels else []


def _plain(cell: Any) -> Any:
    return float(cell) if isinstance(cell, Decimal) else cell
