"""Large trees in SQL: a table of their nodes, through which the rows walk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crossview.portable.scoring import Trees

# of databases that walk; CASE in CASE takes them memory and time for each node
WALKS = ("duckdb", "postgres")
# from so many nodes on
MANY_NODES = 10_000


@dataclass(eq=False)  # arrays are not equal or not
class Forest:
    """Sums of trees that are columns of a layer; in each pass some of the views are there.

    outputs: the column of each sum, of ``width``, that an entry of a leaf adds to.
    passes: texts of the features in each; NULL where one is missing.
    reads: columns of layers in them.
    """

    trees: Trees
    outputs: np.ndarray
    width: int
    level: int
    passes: list[list[str]] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)

    @property
    def n_columns(self) -> int:
        """The columns of the widest table."""
        n_features = max(map(len, self.passes))
        return max(6 + self.width, len(self.passes) * self.width, 2 + n_features)

    def tables(self, dialect: str, name: str, source: str) -> Iterator[tuple[str, str]]:
        """Yield names of tables and what they select: the last has the sums of each row of a layer.

        At a node with children, l and r, a row goes to l if the feature f is at most t; where m, if
        it is missing, too.
        """
        yield f"{name}_nodes", self._nodes(dialect)
        roots = ", ".join(f"({at + 1})" for at in self.trees.roots.tolist())
        yield f"{name}_roots(i)", f"VALUES {roots}"
        for p, texts in enumerate(self.passes):
            x, walk = f"{name}_x{p}", f"{name}_walk{p}"
            array = "ARRAY" if dialect == "postgres" else ""
            row = f"{array}[{', '.join(texts)}]::{_kind('DOUBLE', dialect)}[] AS x"  # from 1
            yield x, f"SELECT crossview_row AS r, {row}\nFROM {source}"
            onwards = (
                "CASE WHEN x[f + 1] <= t THEN n.l WHEN x[f + 1] > t OR m = 0 THEN n.r ELSE n.l END"
            )
            yield (
                f"{walk}(r, i)",
                f"SELECT r, i\nFROM {x} CROSS JOIN {name}_roots\nUNION ALL\n"
                f"SELECT a.r, {onwards}\nFROM {walk} AS a\n"
                f"JOIN {name}_nodes AS n ON n.i = a.i\nJOIN {x} ON {x}.r = a.r\nWHERE n.l > 0",
            )
            sums = ", ".join(f"SUM(v{k}) AS s{p}_{k}" for k in range(self.width))
            yield (
                f"{name}_sums{p}",
                f"SELECT a.r AS r, {sums}\nFROM {walk} AS a\n"
                f"JOIN {name}_nodes AS n ON n.i = a.i\nWHERE n.l = 0\nGROUP BY a.r",
            )
        columns = [f"s{p}_{k}" for p in range(len(self.passes)) for k in range(self.width)]
        joins = [
            f"\nJOIN {name}_sums{p} ON {name}_sums{p}.r = {name}_sums0.r"
            for p in range(1, len(self.passes))
        ]
        first = f"SELECT {name}_sums0.r AS r, {', '.join(columns)}\nFROM {name}_sums0"
        yield name, first + "".join(joins)

    def _nodes(self, dialect: str) -> str:
        """Return the table of the nodes, which count from 1."""
        trees, n = self.trees, len(self.trees.left)
        is_leaf = trees.left == 0
        added = np.zeros((n, self.width))
        of_node = np.repeat(np.arange(n), np.diff(np.append(0, trees.ends)))
        np.add.at(added, (of_node, self.outputs), trees.values)
        columns: dict[str, tuple[str, list[Any]]] = {
            "i": ("INTEGER", list(range(1, n + 1))),
            "f": ("INTEGER", np.where(is_leaf, 0, trees.feature).tolist()),
            "t": ("DOUBLE", np.where(is_leaf, 0.0, trees.threshold).tolist()),
            "m": ("INTEGER", np.where(is_leaf, 0, trees.missing_left).tolist()),
            "l": ("INTEGER", np.where(is_leaf, 0, trees.left + 1).tolist()),
            "r": ("INTEGER", np.where(is_leaf, 0, trees.right + 1).tolist()),
        }
        columns |= {f"v{k}": ("DOUBLE", added[:, k].tolist()) for k in range(self.width)}
        texts = [[repr(one).removesuffix(".0") for one in values] for _, values in columns.values()]
        begin, end = ("{", "}") if dialect == "postgres" else ("[", "]")
        lists = [
            (name, f"'{begin}{','.join(text)}{end}'::{_kind(kind, dialect)}[]")
            for (name, (kind, _)), text in zip(columns.items(), texts, strict=True)
        ]
        if dialect == "postgres":
            arrays = ", ".join(one for _, one in lists)
            return f"SELECT *\nFROM UNNEST({arrays}) AS nodes({', '.join(columns)})"
        return f"SELECT {', '.join(f'UNNEST({one}) AS {name}' for name, one in lists)}"


def _kind(kind: str, dialect: str) -> str:
    return "DOUBLE PRECISION" if (kind, dialect) == ("DOUBLE", "postgres") else kind
