"""``crossview convert``."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

from crossview.cli.loading import load_heavy
from crossview.cli.options import EncodedSource

if TYPE_CHECKING:
    from crossview.converting.convert import Converted


OPTIONS = """
--output, -o FILE: Ends in .svm, .ffm or .vw, also with .gz or .zst.
--positive CLASS: Of two classes, the one that is written as 1; the other is -1. Default: as of
    a new model.
--weight COLUMN: A column of weights, which a .vw file has as importances. It is in no view.
"""


def run(
    source: Annotated[EncodedSource, "scale_views"],
    *,
    output: str,
    task: str | None = None,
    positive: str | None = None,
    weight: str | None = None,
) -> None:
    """Write rows as svmlight, libffm or Vowpal Wabbit text, with their views.

    The columns of a table are encoded as by train, without dividing views by
    their norm. It says by which --view options the file has the same views, and
    which number stands for which class: 1 and -1 for two, 1, 2, ... for more.
    """
    from crossview.cli.opening import opened, task_of, warn

    with opened(source, in_no_view={"weight": weight}) as rows:
        load_heavy()
        from crossview.converting.convert import convert

        task = task_of(task, rows)
        warn(rows, task)
        options: dict[str, Any] = {"task": task, "positive": positive, "weight": weight}
        answer = convert(rows.table, source.label, output, **source.arguments(), **options)
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
