"""Yardsticks: scikit-learn models beside Crossview's learners in a comparison.

`yardsticks` lists them as entries of the catalog's form, `find_yardstick` makes one of any class,
and `training_code` writes the Python that trains one.  `models` has the adapters, each of which is
a scikit-learn pipeline; `adapter` makes pipelines behave as learners; the first step of a pipeline
is a `ViewMatrix`.
"""

from crossview.evaluation.yardsticks.adapter import (
    PipelineClassifier,
    PipelineRegressor,
    Shape,
)
from crossview.evaluation.yardsticks.code import training_code
from crossview.evaluation.yardsticks.entries import PREFIX, find_yardstick, yardsticks
from crossview.evaluation.yardsticks.matrix import ViewMatrix
from crossview.evaluation.yardsticks.models import WeightedPipeline

__all__ = [
    "PREFIX",
    "PipelineClassifier",
    "PipelineRegressor",
    "Shape",
    "ViewMatrix",
    "WeightedPipeline",
    "find_yardstick",
    "training_code",
    "yardsticks",
]
