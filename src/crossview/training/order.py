"""The order in which rows are learned."""

from __future__ import annotations

from typing import Any

from crossview.data.labeled import LabeledSource

__all__ = ["Order"]


class Order:
    """The order in which the rows of a source are learned; the source is shuffled if need be.

    Parameters
    ----------
    source : LabeledSource
        The rows.
    in_order : bool or None
        As for `train`.
    seed : int
        Of the order.
    """

    def __init__(self, source: LabeledSource, in_order: bool | None, seed: int) -> None:
        by_query = in_order is None and source.ordered
        self._shuffled = None if in_order or by_query else source.shuffle(seed)
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
    def advice(self) -> str:
        """Advice for labels that come in blocks."""
        if self._shuffled is None:
            return "shuffle the rows (in_order=False)"
        return (
            "the rows do not fit in memory, and the source is read in its order; shuffle it, for "
            "example by a query with ORDER BY random()"
        )
