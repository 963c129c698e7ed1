"""The views of an encoder as boxes of scikit-learn's diagram of estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Box", "boxes_of_views"]


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
