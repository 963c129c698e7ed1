"""Encoder and learner as one estimator.

scikit-learn's pipelines load much that a command does not need, so nothing here loads them before
there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a Pipeline of scikit-learn."""
    module = sys.modules.get("sklearn.pipeline")
    return module is not None and isinstance(model, module.Pipeline)


def make_pipeline(steps: Sequence[tuple[str, Any]]) -> Any:
    """Return the steps as a Pipeline."""
    from crossview.pipeline import Pipeline

    return Pipeline(list(steps))


def steps_of(model: Any) -> list[tuple[str, Any]]:
    """Return the steps of a Pipeline by name; a learner is one step."""
    return list(model.steps) if is_pipeline(model) else [("model", model)]


def pipeline(encoder: Any, learner: Any) -> Any:
    """Return encoder and learner as one estimator; the learner alone if there is no encoder."""
    if encoder is None:
        return learner
    return make_pipeline(named_steps(encoder, learner))


def named_steps(encoder: Any, learner: Any) -> list[tuple[str, Any]]:
    """Return the steps of encoder and learner, as `save_steps` takes them."""
    return [*([] if encoder is None else [("encoder", encoder)]), ("model", learner)]


def steps(fitted: Any) -> tuple[Any, Any]:
    """Return the encoder, or None, and the learner of what `pipeline` returned."""
    return (fitted[0], fitted[-1]) if is_pipeline(fitted) else (None, fitted)
