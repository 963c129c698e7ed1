"""Parameters and attributes that machines share, documented once."""

from crossview.estimators import parameters
from crossview.estimators.documentation import ParameterDoc

__all__ = ["ATTRIBUTES", "CLASSIFIER", "FACTORIZED", "MULTI_VIEW", "REGRESSOR"]

_MACHINE: dict[str, ParameterDoc] = {
    **parameters.VIEWS,
    **parameters.ONLINE,
    "penalty": (
        '{"l2", "l1"}',
        """
        ½ θ², or sqrt(θ² + 1e-6), a smooth |θ|: it brings weights close to 0, but not to 0.
        """,
    ),
    "alpha": (
        "float",
        """
        Strength of the penalty, in [0, inf).  Each row penalizes the parameters that it
        touches, so frequent columns are penalized more often.  A higher value fits more smoothly.
        Typical values: 0.0001 to 0.1.
        """,
    ),
    "learning_rate": (
        "float",
        """
        Size of a step of "adagrad" and "sgd", in (0, inf).  A higher value learns faster, and
        overshoots sooner.  Typical values: 0.01 to 0.2.
        """,
    ),
    "init_scale": ("float", "Standard deviation of the initial weights of the columns."),
    "n_epochs": (
        "int",
        """
        Passes over the rows in `fit` (iterations of "lbfgs", sweeps of "als"); the
        maximum, with early stopping.  `partial_fit` always makes one.
        """,
    ),
    "early_stopping": (
        "bool",
        """
        Whether `fit` holds out a part of the rows, stops when the loss on it no longer
        decreases, and keeps the parameters with the lowest one.
        """,
    ),
    "validation_fraction": ("float", "The fraction of the rows that is held out, in (0, 1)."),
    "n_iter_no_change": (
        "int",
        "Passes without a relative decrease of ``tol`` in the held-out loss before `fit` stops.",
    ),
    "tol": ("float", "Relative decrease in the held-out loss that counts as one."),
    "warm_start": (
        "bool",
        "Whether `fit` continues from what was learned before instead of starting anew.",
    ),
    "random_state": (
        "int, RandomState or None",
        """
        Seed of the initial weights, the order of the rows and the rows that are held out.
        Pass an int for the same model, bit by bit, in every run.
        """,
    ),
}

CLASSIFIER: dict[str, ParameterDoc] = _MACHINE | {
    "loss": (
        '{"logistic", "hinge", "squared"}',
        """
        log(1 + exp(-y s)), max(0, 1 - y s), or ½ (y - s)² with y = -1 or 1.  With
        more than two classes "logistic" is the softmax of all scores, and the
        others set each class against the rest.  Only "logistic" gives probabilities.
        """,
    ),
    "validation_fraction": (
        "float",
        "The fraction of the rows that is held out, in (0, 1); stratified by class.",
    ),
}

REGRESSOR: dict[str, ParameterDoc] = _MACHINE | {
    "loss": (
        '{"squared", "huber"}',
        """
        ½ d² of the error d in standard deviations of the target, or the same that
        continues as |d| - ½ beyond 1, which is less sensitive to outliers.
        """,
    ),
}

# machines with more than one factor
FACTORIZED: dict[str, ParameterDoc] = {
    "n_factors": (
        "int",
        """
        Weights per column and class, k.  A higher value can tell more interactions apart,
        costs in proportion, and overfits sooner.  Typical values: 4 to 64.
        """,
    ),
    "optimizer": (
        '{"adagrad", "sgd", "lbfgs", "als"}',
        """
        "adagrad": each parameter has a step that decreases with the slopes it has seen, divided
        by the length of the view's row, its constant 1 included.  "sgd": all steps have the
        size ``learning_rate``.  "lbfgs" and "als" need all rows at once (`fit` only).
        "als" is alternating least squares, a ridge regression per view, and needs
        ``loss="squared"`` and ``penalty="l2"``.
        """,
    ),
}

MULTI_VIEW: dict[str, ParameterDoc] = FACTORIZED | {
    "n_factors": (
        "int",
        """
        Weights per column and class, k.  A higher value can tell more interactions apart,
        costs in proportion, and overfits sooner.  Typical values: 4 to 64.  With one view there
        is nothing to factorize, and k is 1.
        """,
    ),
    "groups": (
        "list of lists of view names",
        """
        A sum of machines, one per group, each with parameters of its own for its views, instead
        of one machine for all views: fewer interactions.  Views in no group are not used.
        """,
    ),
    "init": (
        '{"signs", "published"}',
        """
        Initial bias rows.  "signs": random signs times (1/k)^(1/m) for m views, so that
        gradients do not vanish however many views there are.  "published": N(0, init_scale²)
        like all other weights, as in the paper, which with three or more views stalls
        if ``init_scale`` is small.
        """,
    ),
}

ATTRIBUTES: dict[str, ParameterDoc] = parameters.ATTRIBUTES | {
    "factors_": ("dict of str to ndarray", "Weights of each view's columns."),
    "bias_rows_": ("dict of str to ndarray", "Weights of each view's constant feature."),
    "n_iter_": ("int", "The pass of `fit` whose parameters were kept."),
    "validation_loss_": (
        "ndarray",
        "The loss on the held-out rows after each pass; empty if none are held out.",
    ),
    "intercept_": ("ndarray of shape (1,) or (n_classes,)", "Intercepts of the scores."),
}
