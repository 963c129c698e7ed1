"""The page of any result."""

from __future__ import annotations

from typing import Any

from crossview.comparing.comparison import Comparison
from crossview.evaluating.evaluation import Evaluation
from crossview.reporting.page.comparison import comparison_page
from crossview.reporting.page.evaluation import evaluation_page
from crossview.reporting.page.render import render
from crossview.reporting.page.sections import Made
from crossview.reporting.page.training import training_page


def report_html(result: Any, made: Made | None = None, fitted: Any = None, info: Any = None) -> str:
    """Return a result as one HTML file."""
    if isinstance(result, Comparison):
        return render(comparison_page(result, made))
    if isinstance(result, Evaluation):
        return render(evaluation_page(result, made, fitted, info))
    return render(training_page(result, made))
