"""The order in which rows are learned."""

from __future__ import annotations

from typing import Any

from crossview.data.labeled import LabeledSource
from crossview.scoring.progressive import LabelOrder


class Order:
    """The order in which the rows of a source are learned; the source is shuffled if need be.

    seed: of the order.
    """

    def __init__(self, source: LabeledSource, in_order: bool | None, seed: int) -> None:
        by_query = in_order is None and source.ordered
        self._of_source = LabelOrder(source.classes)
        self._asked = in_order is not None
        self._dates = source.dates
        self._shuffled = None
        if not (in_order or by_query):
            self._shuffled = source.shuffle(seed, self._of_source.update)
        self._own = "in the order of the query" if by_query else "in order"

    def __str__(self) -> str:
        if self._shuffled is None:
            return self._own
        return "shuffled" if self._shuffled.exact else "shuffled by blocks"

    @property
    def state(self) -> dict[str, Any] | None:
        """The random numbers that give the order of the pass, if there are any."""
        return None if self._shuffled is None else dict(self._shuffled.order_state)

    @state.setter
    def state(self, state: dict[str, Any] | None) -> None:
        if self._shuffled is not None and state is not None:
            self._shuffled.set_order(state)

    @property
    def in_memory(self) -> bool:
        """True where the rows were shuffled in memory."""
        return self._shuffled is not None and bool(self._shuffled.exact)

    @property
    def notes(self) -> list[str]:
        """A line if rows were shuffled whose order may mean something, and nobody asked for it."""
        labels, why = self._of_source, []
        if self._shuffled is None or self._asked:
            return []
        if labels.in_runs:
            why.append(
                f"in their order the label changes in {labels.n_changes:,} of "
                f"{labels.counts.sum():,} rows, and by chance in {labels.expected[0]:,.0f}"
            )
        if self._dates:
            why.append(f"{self._dates[0]!r} is a date")
        if not why:
            return []
        choice = "in_order=True"
        if self._dates:
            choice = f"time={self._dates[0]!r} or {choice}"
        return [
            f"the rows were shuffled, and their order may mean something: {'; '.join(why)}. For a "
            f"stream that goes on, {choice} learns them in order, and its scores are those of "
            "later rows; in_order=False says that the order means nothing"
        ]

    @property
    def advice(self) -> str:
        """Advice for labels that come in blocks."""
        if self._shuffled is None:
            return "shuffle the rows (in_order=False)"
        return (
            "the rows do not fit in memory, and the source is read in its order; shuffle it, for "
            "example by a query with ORDER BY random()"
        )
