"""Baselines: scikit-learn models beside Crossview's learners in a comparison.

`baselines` lists them as entries of the catalog's form, `find_baseline` makes one of any class,
and `training_code` writes the Python that trains one.
`linear` has those that are learners of the catalog, too, `models` the others.  Each is
a scikit-learn pipeline; `adapter` makes pipelines behave as learners.  The first step of a pipeline
is a `ViewMatrix`; a `LogarithmicPool` weighs the views.
"""

from crossview.baselines.adapter import (
    PipelineClassifier,
    PipelineRegressor,
    Shape,
    WeightedPipeline,
)
from crossview.baselines.code import training_code
from crossview.baselines.entries import (
    PREFIX,
    baselines,
    check_trainable,
    find_baseline,
    find_model,
    is_trainable,
)
from crossview.baselines.matrix import ViewMatrix
from crossview.baselines.pool import LogarithmicPool

__all__ = [
    "PREFIX",
    "LogarithmicPool",
    "PipelineClassifier",
    "PipelineRegressor",
    "Shape",
    "ViewMatrix",
    "WeightedPipeline",
    "baselines",
    "check_trainable",
    "find_baseline",
    "find_model",
    "is_trainable",
    "training_code",
]
