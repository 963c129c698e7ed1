"""Writing the page of a result; what it needs loads only here."""

from __future__ import annotations

import os
import sys
from typing import Any

from crossview.cli.opening import STANDARD, Report, write_text
from crossview.saving.files import REPORT

__all__ = ["to_stdout", "write_report"]


def to_stdout(json: str | None, report: Report | None) -> bool:
    """Return whether stdout is for what a program reads, and tables go to stderr."""
    return json == STANDARD or (report is not None and report.file == STANDARD)


def write_report(report: Report | None, result: Any, about: dict[str, Any], **more: Any) -> None:
    """Write the page of a result, if one was asked for.

    Parameters
    ----------
    report : Report or None
        Where to, and the command line.
    result : Comparison, Trained or Evaluation
        The result.
    about : dict
        ``source``, ``label`` and ``settings`` of `Made`, and ``command`` where it is another one.
    **more
        Further arguments of `report_html`.
    """
    if report is None:
        return
    os.environ.setdefault("MPLBACKEND", "agg")  # of a terminal without a screen
    from crossview.reporting.page.sections import Made
    from crossview.reporting.page.write import report_html

    made = Made(**{"command": report.command, **about})
    write_text(report.file, report_html(result, made, **more), REPORT)
    if report.file != STANDARD:
        print(f"wrote {report.file}", file=sys.stderr)
