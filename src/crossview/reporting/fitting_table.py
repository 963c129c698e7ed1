"""Tables that are never wider than their terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table

# spaces between two columns
GAP = 2


class FittingTable:
    """A plain table that fits its terminal: text takes more lines, and columns go below the others.

    header: the names of the columns.
    texts: so many first columns are text, and the others numbers.  Where columns go below, the
      first one is repeated.
    wrapped: names of other columns whose cells may take more lines.
    styles: of some rows.
    section_ends: rows after which a line is drawn.
    """

    def __init__(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        texts: int = 1,
        wrapped: Sequence[str] = (),
    ) -> None:
        self.header, self.rows, self.texts = header, rows, texts
        self.styles: dict[int, str] = {}
        self.section_ends: set[int] = set()
        wraps = [i < texts or name in wrapped for i, name in enumerate(header)]
        cells = list(zip(header, *rows, strict=True))
        self._natural = np.array([max(map(cell_len, column)) for column in cells])
        longest_words = [max(map(cell_len, " ".join(column).split())) for column in cells]
        self._narrowest = np.where(wraps, longest_words, self._natural)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, in as many parts as it takes."""
        first = min(self._narrowest[0], options.max_width // 2)
        narrowest = np.minimum(self._narrowest, max(1, options.max_width - first - GAP))
        narrowest[0] = first
        start = 1
        while start == 1 or start < len(self.header):
            taken = first + np.cumsum(GAP + narrowest[start:])
            stop = start + max(1, int(np.searchsorted(taken, options.max_width, side="right")))
            if start > 1:
                yield ""
            yield self._part([0, *range(start, min(stop, len(self.header)))], narrowest, options)
            start = stop

    def _part(self, columns: list[int], narrowest: np.ndarray, options: ConsoleOptions) -> Table:
        """Some of the columns, as wide as there is room."""
        widths = narrowest[columns]
        room = options.max_width - widths.sum() - GAP * (len(columns) - 1)
        for i, wanted in enumerate(self._natural[columns] - widths):
            more = min(max(0, wanted), max(0, room))
            widths[i] += more
            room -= more
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
        for i, width in zip(columns, widths.tolist(), strict=True):
            justify: Literal["left", "right"] = "left" if i < self.texts else "right"
            table.add_column(self.header[i], justify=justify, width=width, overflow="fold")
        for i, row in enumerate(self.rows):
            cells = [row[column] for column in columns]
            table.add_row(*cells, style=self.styles.get(i), end_section=i in self.section_ends)
        return table
