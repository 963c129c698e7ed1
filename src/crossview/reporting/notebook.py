"""Results in a notebook: the answer, a picture, and the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any

from crossview.comparing.result.comparison import Comparison
from crossview.comparing.result.verdict import about_left_out
from crossview.errors import InputError
from crossview.evaluating.evaluation import Evaluation
from crossview.reporting.displays.style import COLORS, LINE, MUTED
from crossview.reporting.evaluation import metrics_table
from crossview.reporting.fitting_table import FittingTable
from crossview.reporting.svg import svg_of
from crossview.reporting.tables import comparison_head, comparison_table

# columns of a terminal in which the table has all columns
WIDE = 200


def notebook_html(result: Any) -> str:
    """Return a result as a part of a page."""
    if isinstance(result, Comparison):
        whole = comparison_table(result, WIDE)
        said = [*comparison_head(result), *result.verdict]
        said += [*about_left_out(result), *result.how_to_train]
    elif isinstance(result, Evaluation):
        said = [result.summary, *result.notes, *result.warnings]
        whole = metrics_table(result)
    else:
        said = [*result.warnings, f"{result.name}, trained on {result.rows:,} rows", *result.notes]
        about = {result.metric_words: result.metric["value"]}
        about |= {"loss": result.loss, "accuracy": result.accuracy}
        rows = [[name, f"{value:.4g}"] for name, value in about.items() if value is not None]
        whole = FittingTable(["what", "value"], rows)
    colors = "".join(f"--c{i}:{color};" for i, color in enumerate(COLORS))
    parts = [f'<div style="max-width:760px;--muted:{MUTED};--line:{LINE};{colors}">']
    parts += [f"<p>{escape(line)}</p>" for line in said]
    parts += _picture(result)
    parts.append(_table(whole.header, whole.rows))
    return "\n".join([*parts, "</div>"])


def _picture(result: Any) -> list[str]:
    """The picture that says most, where it can be drawn."""
    from crossview.catalog.displays import DISPLAYS
    from crossview.catalog.names import load_object

    if find_spec("matplotlib") is None:
        return []
    try:
        display = load_object(DISPLAYS[result.PICTURE]).of(result)
    except InputError:  # the result has not kept what it needs
        return []
    return [f'<div style="max-width:520px">{svg_of(display, f"n{id(result)}")}</div>']


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["<table><thead><tr>"]
    lines += [f'<th scope="col">{escape(str(cell))}</th>' for cell in header]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        cells = "".join(f"<td>{escape(str(cell))}</td>" for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    return "".join([*lines, "</tbody></table>"])
