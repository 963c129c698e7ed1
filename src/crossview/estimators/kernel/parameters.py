"""Parameters and attributes that KeCo and Pegasos share, documented once."""

from crossview.estimators.documentation import ParameterDoc
from crossview.estimators.parameters import ATTRIBUTES, ONLINE, VIEWS

__all__ = ["KERNEL", "KERNEL_ATTRIBUTES"]

KERNEL: dict[str, ParameterDoc] = {
    "views": (
        VIEWS["views"][0],
        VIEWS["views"][1].rstrip() + "\n        ``random_views`` makes views itself.\n",
    ),
    "kernel": (
        '{"rbf", "linear", "poly", "precomputed"} or callable',
        """
        exp(-γ |a - b|²), a·b, or (γ a·b + coef0)^degree.  "linear" keeps a weight per column
        and no rows.  "precomputed": each view of X is a matrix of kernel values, in `fit` of all
        rows by all rows; there is no `partial_fit`.  A callable takes the rows of a view as two
        arrays (CSR arrays if X is sparse) and returns their kernel values.
        """,
    ),
    "gamma": (
        'float, "median", "scale" or dict of str to one of them',
        """
        γ, in (0, inf), for all views; a dict has the γ of each view by its name.  "median": 1 over
        the median squared distance between rows, from at most 500 of them; it needs no search.
        "scale": 1 / (columns * variance).  On a stream both come from the first batch; 1 / columns
        if that has no two different rows.  With a higher γ only closer rows count.
        """,
    ),
    "degree": ("float", 'Degree of "poly", in (0, inf).'),
    "coef0": ("float", 'Constant of "poly".'),
    "lam": (
        "float",
        """
        λ, in (0, inf): strength of the regularization.  A higher value gives a smoother score:
        scores are smaller, so more rows become support vectors.  Typical values: 1e-6 to 0.1.
        """,
    ),
    "n_iterations": (
        "int",
        """
        Steps T of `fit`, one row each; not used with ``schedule="stream"``.  More steps come
        closer to the optimum and keep more rows.
        """,
    ),
    "schedule": (
        '{"half-labeled", "published", "uniform", "stream"}',
        """
        Which row each step of `fit` draws.  "half-labeled": labeled rows in the first half of the
        steps, then labeled and unlabeled rows alternate, with replacement, as the paper describes
        its experiments.  "published": the same as counted in the authors' published code, where
        step t, from 0 on, draws an unlabeled row if t > T/2 and t is even.  "uniform": any row,
        Algorithm 1.  "stream": all rows once, in order, as in `partial_fit`.
        """,
    ),
    "include_self": (
        "bool",
        """
        Whether a row that is drawn again counts in its own score, as in the authors' published
        code; the paper leaves it out.
        """,
    ),
    "random_views": (
        "(int, float)",
        """
        Make this many views, each of this part of the columns, drawn at random, such as the
        paper's (2, 0.75).  If there are few columns, each view lacks some that it needs.
        """,
    ),
    "unlabeled": (
        "label",
        """
        The label that says that a row has none, besides NaN and None: for instance -1, as in
        scikit-learn.
        """,
    ),
    "budget": (
        "int",
        """
        The most support vectors per view, for streams (`partial_fit`, `learn_one`,
        ``schedule="stream"``); it bounds memory, and time per row.  None: no bound.
        """,
    ),
    "maintenance": (
        '{"removal", "projection", "merging"}',
        """
        What makes room when the budget is full.  "removal": drop the smallest support vector.
        "projection": project it onto all others, which keeps most and costs budget³ per row
        learned.  "merging": merge it with another one into a point between them ("rbf" only;
        costs budget * columns, and the rows become dense).
        """,
    ),
    "approximation": (
        '{"fourier", "nystroem"}',
        """
        Approximate the kernel of each view ("rbf"; "nystroem" also "poly") by the product of
        features, made by scikit-learn's `RBFSampler` or `Nystroem`, and keep a weight per feature:
        a row costs the same however many there were.  "nystroem" takes its points from the first
        batch.
        """,
    ),
    "n_components": (
        "int",
        "Features per view of an approximation.  More come closer to the kernel.",
    ),
    "probability": (
        "bool",
        """
        Whether `fit` holds out some labeled rows and fits probabilities to their scores
        (Platt 1999), for `predict_proba`.
        """,
    ),
    "calibration_fraction": (
        "float",
        "The part of the labeled rows to hold out, in (0, 1), stratified by class.",
    ),
    "class_weight": (
        ONLINE["class_weight"][0],
        """
        Weight of each class, multiplied by the row's weight.  "balanced": inversely proportional
        to the frequency of the class among the labeled rows (`fit` only).
        """,
    ),
    "cache_size": (
        "float",
        """
        Kernel values that `fit` has in memory at once, in MB.  If not all fit in, some are
        computed again.
        """,
    ),
    "verbose": ("bool", "Whether to show a progress bar on stderr (needs rich)."),
    "random_state": ONLINE["random_state"],
}

KERNEL_ATTRIBUTES: dict[str, ParameterDoc] = ATTRIBUTES | {
    "n_support_": ("dict of str to int", "Number of support vectors of each view."),
    "dual_coef_": (
        "dict of str to ndarray of shape (n_scores, n_support)",
        "α z of the support vectors of each view.",
    ),
    "coef_": (
        "ndarray of shape (1, n_features) or (n_classes, n_features)",
        'Weights of the columns; only of ``kernel="linear"``.',
    ),
    "gamma_": ("dict of str to float", "γ of each view."),
    "n_steps_": ("int", "Number of steps made."),
}
