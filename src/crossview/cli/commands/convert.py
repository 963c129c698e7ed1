"""``crossview convert``."""

from __future__ import annotations

import shlex
import sys

from crossview.cli.loading import after_loading
from crossview.cli.opening import Rows, warn
from crossview.converting.convert import Converted, convert

__all__ = ["lines_about", "run", "view_options"]


@after_loading
def run(rows: Rows, output: str, *, task: str) -> None:
    """Write rows as text with views, and say how the views are read."""
    warn(rows, task)
    answer = convert(rows.table, rows.columns.label, output, **rows.columns.arguments(), task=task)
    views = f"its views: {shlex.join(view_options(answer))}"
    print("\n".join([*lines_about(answer, output), views]), file=sys.stderr)


def lines_about(answer: Converted, output: str) -> list[str]:
    """Return what was written."""
    lines = [f"{answer.n_rows:,} rows, wrote {output}"]
    if answer.labels:
        lines.append("labels: " + ", ".join(f"{i} is {one}" for one, i in answer.labels.items()))
    return lines


def view_options(answer: Converted) -> list[str]:
    """Return the options with which commands find the same views in the file."""
    views = [f"{name}={','.join(parts)}" for name, parts in answer.views.items()]
    return [word for view in views for word in ("--view", view)]
