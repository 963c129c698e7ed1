"""Descriptions of tables, for a terminal."""

from __future__ import annotations

from crossview.describing.describe import Description, percent
from crossview.reporting.fitting_table import FittingTable


def description_table(description: Description, most: int = 200) -> FittingTable:
    """Return a `Description` as a table: one row per column."""
    header, *rows = description.cells(most)
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
