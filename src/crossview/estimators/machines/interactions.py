"""The strongest interactions of a machine."""

from __future__ import annotations

from typing import Any, NamedTuple


class Interaction(NamedTuple):
    """One interaction of the score: a product of columns, one per view, and its weight.

    ``columns`` are positions within the views, in the order of `view_columns`; ``label`` is the
    class of the score, None for two classes and for regression.
    """

    views: tuple[str, ...]
    columns: tuple[int, ...]
    weight: float
    label: Any
