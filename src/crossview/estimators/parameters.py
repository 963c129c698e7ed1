"""Parameters and attributes that learners share, documented once.

`document_parameters` renders them into the docstring of each class.
"""

from crossview.estimators.documentation import ParameterDoc

__all__ = ["ATTRIBUTES", "LINEAR", "ONLINE", "VIEWS"]

VIEWS: dict[str, ParameterDoc] = {
    "views": (
        "dict, list of int or None",
        """
        Which columns of ``X`` form each view: a dict of name to columns (a slice, positions,
        names, or a glob such as ``"user_*"``), or a list of the widths of consecutive blocks.
        None: ``X`` is a MultiView and names its views itself, or it is one view.
        """,
    ),
}

ONLINE: dict[str, ParameterDoc] = {
    "n_epochs": (
        "int",
        """
        Passes over the rows in `fit`.  `partial_fit` always makes one.  More passes fit the
        training rows more closely.
        """,
    ),
    "shuffle": (
        "bool",
        """
        Whether `fit` takes the rows in a new random order in every pass.  Set it to False where
        the order carries meaning.  `partial_fit` never shuffles.
        """,
    ),
    "class_weight": (
        'dict, "balanced" or None',
        """
        Weight of each class, multiplied by the row's weight.  "balanced": inversely proportional
        to the frequency of the class (`fit` only).
        """,
    ),
    "random_state": (
        "int, RandomState or None",
        """
        Seed of everything that is drawn at random.  Pass an int for the same result in every run.
        """,
    ),
}

LINEAR: dict[str, ParameterDoc] = ONLINE | {
    "C": (
        "float",
        """
        Aggressiveness, in (0, inf).  A higher value follows each row further; a lower one is
        more robust to label noise.  Typical values: 0.001 to 10.
        """,
    ),
    "fit_intercept": (
        "bool",
        """
        Whether to learn an intercept, as the weight of a constant feature of value 1 that counts
        in the squared norm of a row.  On rows of length 1, such as normalized text, the constant
        feature takes half of each step, and False is often more accurate.
        """,
    ),
    "average": (
        "bool",
        """
        Whether to predict with the mean of the weights after each row instead of the last
        weights.  The mean is more stable and needs a second vector of weights.
        """,
    ),
}

ATTRIBUTES: dict[str, ParameterDoc] = {
    "classes_": ("ndarray of shape (n_classes,)", "The labels, sorted."),
    "coef_": (
        "ndarray of shape (1, n_features) or (n_classes, n_features)",
        "Weights of all views in the order of the columns; 0 for columns that are in no view.",
    ),
    "intercept_": (
        "ndarray of shape (1,) or (n_classes,)",
        "The intercepts; 0 without ``fit_intercept``.",
    ),
    "layout_": ("ViewLayout", "Names and widths of the views."),
    "n_features_in_": ("int", "Number of columns."),
    "feature_names_in_": (
        "ndarray of shape (n_features_in_,)",
        "Names of the columns, if ``X`` was a data frame.",
    ),
}
