"""Parameters that `compare`, `train` and others share, documented once."""

from crossview.estimators.documentation import ParameterDoc

__all__ = ["ENCODING", "SCORING"]

ENCODING: dict[str, ParameterDoc] = {
    "views": (
        "mapping of str to columns",
        """
        As for `ViewEncoder`: view name -> column names or globs.  None: a column called
        ``user__age`` belongs to the view ``user``.  A glob never matches the label.  Of svmlight,
        libffm and Vowpal Wabbit files as for `open_rows`.
        """,
    ),
    "text": ("sequence of str", "As for `ViewEncoder`: columns of free text."),
    "categorical": ("sequence of str", "As for `ViewEncoder`: columns of numbers that are ids."),
    "numeric": ("sequence of str", "As for `ViewEncoder`: columns that must be numbers."),
    "date": (
        "sequence of str",
        """
        As for `ViewEncoder`: columns of text that are dates, also with their format:
        ``"bought=%d/%m/%Y"``.  Text that is dates in every row is recognized.  The column of
        ``time`` may be among them.
        """,
    ),
    "ignore": (
        "sequence of str",
        "Columns (names or globs) of a table that are in no view, whatever the globs of views say.",
    ),
    "hash_bits": (
        "int",
        "As for `ViewEncoder`, and of libffm and Vowpal Wabbit files as for `open_rows`: each view "
        "has ``2**hash_bits`` slots for categories and words.",
    ),
    "ngrams": (
        "int",
        """
        Sequences of up to this many words of a text are counted, too: 2 for words and pairs of
        them.  More find fixed phrases, in models of the same size with more hash collisions.
        """,
    ),
    "tf_idf": (
        "bool",
        "As for `ViewEncoder`: whether words that are in many texts count less.",
    ),
    "scale_views": (
        "bool",
        "Whether each view is divided by the mean norm of its rows; see `ViewScaler`.",
    ),
    "bins": (
        "int",
        "As for `ViewEncoder`: number of bins of each number, such as 10.  None: none.",
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
        Name of the metric: f1, macro_f1 (the mean of the f1 of each class), f0.5, f2 (any β),
        accuracy, balanced_accuracy, precision, recall, g_mean (geometric mean of recall and
        specificity), roc_auc, average_precision, prbep (precision/recall break-even point),
        precision_at_k or recall_at_k; of more than two classes, the mean of each against the rest.
        Of the probabilities log_loss, brier_score or expected_calibration_error.  By costs cost.
        For a number rmse or mae.  None: f1 (macro_f1 if nothing says which of two classes is the
        positive one), cost if costs are given, or rmse.
        """,
    ),
    "k": (
        "int or float",
        """
        Of precision_at_k and recall_at_k: how many rows, those with the highest scores, or a
        share of the rows between 0 and 1, rounded, at least one row.  None: 0.1.
        """,
    ),
    "cost": (
        "mapping of str to float",
        """
        Of the metric cost, with two classes: the costs of a false positive and of a false negative,
        such as ``{"fp": 1, "fn": 20}``.  The metric is the mean cost of a row.
        """,
    ),
    "positive": (
        "label",
        """
        With two classes: the one that the metric and the threshold are about.  None: the one that
        is called 1, true, yes, ja, oui, sí, positive, case, spam or the like; if no name says it,
        the one that has less than 40 % of the labeled rows.  If neither says it, the metric is
        macro_f1, in which both classes count the same; a metric of one class, or a threshold, is
        then about the second of the sorted classes, and the result says that this is a guess.
        """,
    ),
    "threshold": (
        'float, "tuned" or None',
        """
        With two classes: the probability of the positive class above which it is predicted.
        "tuned": the best one for the metric on rows that were not learned; precision and recall,
        whose optima are trivial, take that for f1, and metrics that do not depend on a threshold,
        such as roc_auc, that for macro_f1.  None: a score above 0 predicts the second class.  More
        classes have no threshold.
        """,
    ),
}
