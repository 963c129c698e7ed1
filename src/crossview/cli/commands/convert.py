"""``crossview convert``."""

from __future__ import annotations

import shlex
import sys

from crossview.cli.loading import after_loading
from crossview.cli.opening import Rows
from crossview.evaluation.convert import convert

__all__ = ["run"]


@after_loading
def run(rows: Rows, output: str, *, task: str) -> None:
    """Write rows as text with views, and say how the views are read."""
    answer = convert(rows.table, rows.columns.label, output, **rows.columns.arguments(), task=task)
    lines = [f"{answer.n_rows:,} rows, wrote {output}"]
    if answer.labels:
        lines.append("labels: " + ", ".join(f"{i} is {one}" for one, i in answer.labels.items()))
    views = [f"{name}={','.join(parts)}" for name, parts in answer.views.items()]
    options = shlex.join(word for view in views for word in ("--view", view))
    print("\n".join([*lines, f"its views: {options}"]), file=sys.stderr)
