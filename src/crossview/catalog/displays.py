"""The pictures that results can draw of themselves, and the page that shows them in a notebook."""

from __future__ import annotations

# the class has a method `of`, which takes a result
DISPLAYS: dict[str, str] = {
    "comparison": "crossview.reporting.displays.comparison:ComparisonDisplay",
    "errors": "crossview.reporting.displays.cumulative:CumulativeErrorDisplay",
    "view differences": "crossview.reporting.displays.differences:ViewDifferenceDisplay",
    "views": "crossview.reporting.displays.contributions:ViewContributionDisplay",
    "experts": "crossview.reporting.displays.experts:ExpertWeightsDisplay",
    "learning curve": "crossview.reporting.displays.curves:LearningCurveDisplay",
    "time": "crossview.reporting.displays.curves:MetricOverTimeDisplay",
    "confusion": "crossview.reporting.displays.confusion:ConfusionDisplay",
    "precision recall": "crossview.reporting.displays.ranking:PrecisionRecall",
    "roc": "crossview.reporting.displays.ranking:Roc",
    "calibration": "crossview.reporting.displays.ranking:ReliabilityDisplay",
    "threshold": "crossview.reporting.displays.ranking:ThresholdDisplay",
    "targets": "crossview.reporting.displays.ranking:TargetDisplay",
}
NOTEBOOK = "crossview.reporting.notebook:notebook_html"
