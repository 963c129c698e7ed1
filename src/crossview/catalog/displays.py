"""The pictures that results can draw of themselves, and the page that shows them in a notebook."""

from __future__ import annotations

__all__ = ["DISPLAYS", "NOTEBOOK"]

# the class has a method `of`, which takes a result
DISPLAYS: dict[str, str] = {
    "comparison": "crossview.plots.comparison:ComparisonDisplay",
    "errors": "crossview.plots.cumulative:CumulativeErrorDisplay",
    "view differences": "crossview.plots.differences:ViewDifferenceDisplay",
    "views": "crossview.plots.contributions:ViewContributionDisplay",
    "experts": "crossview.plots.experts:ExpertWeightsDisplay",
    "learning curve": "crossview.plots.curves:LearningCurveDisplay",
    "time": "crossview.plots.curves:MetricOverTimeDisplay",
    "precision recall": "crossview.plots.ranking:PrecisionRecall",
    "roc": "crossview.plots.ranking:Roc",
    "calibration": "crossview.plots.ranking:ReliabilityDisplay",
    "threshold": "crossview.plots.ranking:ThresholdDisplay",
    "targets": "crossview.plots.ranking:TargetDisplay",
}
NOTEBOOK = "crossview.report.notebook:notebook_html"
