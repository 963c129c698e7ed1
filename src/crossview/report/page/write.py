"""The page of any result."""

from __future__ import annotations

from typing import Any

from crossview.evaluation.evaluating.result import Evaluation
from crossview.evaluation.result import Comparison
from crossview.report.page.comparison import comparison_page
from crossview.report.page.evaluation import evaluation_page
from crossview.report.page.render import render
from crossview.report.page.sections import Made
from crossview.report.page.training import training_page

__all__ = ["report_html"]


def report_html(result: Any, made: Made | None = None, fitted: Any = None, info: Any = None) -> str:
    """Return a result as one HTML file.

    Parameters
    ----------
    result : Comparison, Trained or Evaluation
        The result.
    made : Made, default=None
        How it was made.
    fitted, info : default=None
        Of an evaluation: the model, and what training keeps in its file.

    Returns
    -------
    str
        It needs no network, and is less than 2 MB.
    """
    if isinstance(result, Comparison):
        return render(comparison_page(result, made))
    if isinstance(result, Evaluation):
        return render(evaluation_page(result, made, fitted, info))
    return render(training_page(result, made))
