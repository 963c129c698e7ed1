"""Encoder and learner as one estimator.

scikit-learn's pipelines load much that a command does not need, so nothing here loads them before
there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["is_pipeline", "make_pipeline", "steps_of"]


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a Pipeline of scikit-learn."""
    module = sys.modules.get("sklearn.pipeline")
    return module is not None and isinstance(model, module.Pipeline)


def make_pipeline(steps: Sequence[tuple[str, Any]]) -> Any:
    """Return the steps as a Pipeline of scikit-learn."""
    from sklearn.pipeline import Pipeline

    return Pipeline(list(steps))


def steps_of(model: Any) -> list[tuple[str, Any]]:
    """Return the steps of a Pipeline by name; a learner is one step."""
    return list(model.steps) if is_pipeline(model) else [("model", model)]
