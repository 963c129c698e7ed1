"""Parameters that `compare`, `train` and others share, documented once."""

from crossview.estimators.documentation import ParameterDoc

__all__ = ["ENCODING", "SCORING"]

ENCODING: dict[str, ParameterDoc] = {
    "views": (
        "mapping of str to columns",
        """
        As for `ViewEncoder`: view name -> column names or globs.  None: a column called
        ``user__age`` belongs to the view ``user``.  A glob never matches the label.
        """,
    ),
    "text": ("sequence of str", "As for `ViewEncoder`: columns of free text."),
    "categorical": ("sequence of str", "As for `ViewEncoder`: columns of numbers that are ids."),
    "numeric": ("sequence of str", "As for `ViewEncoder`: columns that must be numbers."),
    "hash_bits": (
        "int",
        "As for `ViewEncoder`: each view has ``2**hash_bits`` slots for categories and words.",
    ),
}

SCORING: dict[str, ParameterDoc] = {
    "task": (
        '{"classification", "regression"}',
        "Whether a class or a number is predicted.",
    ),
    "metric": (
        "str",
        """
        Name of the metric: f1, accuracy, balanced_accuracy, precision, recall, g_mean (geometric
        mean of recall and specificity), roc_auc, average_precision, prbep (precision/recall
        break-even point), precision_at_k or recall_at_k; of more than two classes, the mean of
        each against the rest.  For a number rmse or mae.  None: f1, or rmse.
        """,
    ),
    "k": (
        "int or float",
        """
        Of precision_at_k and recall_at_k: how many rows, those with the highest scores, or a
        share of the rows between 0 and 1, rounded, at least one row.  None: 0.1.
        """,
    ),
    "positive": (
        "label",
        """
        With two classes: the one that the metric is about.  None: the second of the sorted
        classes.
        """,
    ),
}
