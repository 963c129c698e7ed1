"""Models that learned different rows, as one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from crossview import pipeline
from crossview.errors import InputError, check_kind, type_of
from crossview.estimators.merging import merge_learners, shares_of


def merge(
    models: Sequence[Any], weights: Any = None, start: Any = None, *, product: bool = False
) -> Any:
    """Return one model for several that learned different rows, as on several machines.

    Weights, factors and AdaGrad's sums are means, weighted by rows (iterative parameter mixing,
    McDonald et al. 2010); what adds up over rows does: counts, the moments of targets and columns,
    and the precision of each covariance, ``S^-1 = S_0^-1 + sum_k (S_k^-1 - S_0^-1)``.  A full,
    diagonal or low-rank covariance stays in its form; two forms meet in the coarser one.

    Parameters
    ----------
    models : sequence of learner or Pipeline
        Fitted models of the same class, parameters and columns.  Classes may differ for online
        learners: the merged one has all of them.  The order matters for rounding only.
    weights : array-like of shape (n_models,), default=None
        Number of rows that each model learned.  A higher number pulls the mean towards the model.
        None: all the same.
    start : learner or Pipeline, default=None
        The model that all of them went on from, whose rows count once.  None: each has learned
        from scratch.
    product : bool, default=False
        Whether the weights of learners with a covariance are those of the product of the Gaussians,
        ``w = S (S_0^-1 w_0 + sum_k (S_k^-1 w_k - S_0^-1 w_0))``.  That is exact where each row is
        Gaussian evidence, as in least squares, and worse than the mean for the classifiers here,
        each of which stops at its own margin.

    Returns
    -------
    learner or Pipeline
        A new model; the models stay as they are.  It can be saved, predict and learn on.

    Raises
    ------
    InputError
        The models are not alike; or have no merge, because they are solutions for all of their rows
        or keep rows as support vectors.

    Notes
    -----
    Probabilities are the mean calibration, and the threshold of two classes is the mean threshold;
    both are better chosen anew by rows that no model has learned (`calibrate`).  Machines need the
    same initial weights: give them the same ``random_state``.  The same models in the same order
    give the same bits.

    References
    ----------
    R. McDonald, K. Hall, G. Mann, "Distributed Training Strategies for the Structured Perceptron",
    NAACL 2010, section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import AROWClassifier, merge
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> parts = [slice(0, 300), slice(300, 569)]
    >>> models = [AROWClassifier(random_state=0).fit(scale(X)[part], y[part]) for part in parts]
    >>> merged = merge(models, weights=[300, 269])
    >>> round(merged.score(scale(X), y), 2)
    0.98
    """
    check_kind("a list of models", models=models)
    check_kind("True or False", product=product)
    models = list(models)
    if not models:
        raise InputError("there are no models to merge; give at least one")
    shares = shares_of(weights, len(models))
    if not isinstance(models[0], Pipeline):
        return merge_learners(models, shares, start, product)
    each = [_steps(model, f"model {k}") for k, model in enumerate(models)]
    first = None if start is None else _steps(start, "start=")
    encoders, learners = zip(*each, strict=True)
    encoder = encoders[0].merge_with(encoders[1:], None if first is None else first[0])
    learner = merge_learners(learners, shares, None if first is None else first[1], product)
    names = [name for name, _ in models[0].steps]
    return pipeline.Pipeline(list(zip(names, (encoder, learner), strict=True)))


def _steps(model: Any, who: str) -> tuple[Any, Any]:
    """The encoder and the learner of a pipeline."""
    if not isinstance(model, Pipeline):
        raise InputError(f"{who} is {type_of(model)}, and model 0 a Pipeline")
    steps = [step for _, step in model.steps]
    if len(steps) != 2 or not hasattr(steps[0], "merge_with"):
        raise InputError(
            f"{who} is a Pipeline of {', '.join(type(s).__name__ for s in steps)}; a merge takes "
            "one encoder or scaler of crossview, and one learner"
        )
    return steps[0], steps[1]
