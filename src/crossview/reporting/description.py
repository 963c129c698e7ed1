"""Descriptions of tables, for a terminal."""

from __future__ import annotations

from crossview.describing.describe import ColumnDescription, Description, percent
from crossview.reporting.fitting_table import FittingTable

HEADER = ["column", "view", "kind", "examples", "different", "missing", "range", "relation"]


def description_table(description: Description, most: int = 200) -> FittingTable:
    """Return a `Description` as a table: one row per column."""
    rows = [_cells(one, description) for one in description.columns[:most]]
    if not any(row[-1] for row in rows):
        return FittingTable(HEADER[:-1], [row[:-1] for row in rows], texts=4)
    return FittingTable(HEADER, rows, texts=4)


def _cells(one: ColumnDescription, description: Description) -> list[str]:
    limits = ""
    if isinstance(one.minimum, str):
        limits = f"{one.minimum} to {one.maximum}"
    elif one.minimum is not None and one.maximum is not None:
        limits = f"{one.minimum:.6g} to {one.maximum:.6g}"
    different = f"{one.distinct:,}" if one.distinct is not None else ">50,000" if one.kind else ""
    return [
        one.name,
        "(label)" if one.name == description.label else one.view or "–",
        one.kind or one.type,
        ", ".join(one.examples),
        different,
        percent(one.missing, description.n_rows) if one.missing else "",
        limits,
        "" if one.relation is None else f"{one.relation:.2f}",
    ]


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
