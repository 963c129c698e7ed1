"""Parameters that `compare`, `train` and others share, documented once."""

from crossview.estimators.documentation import ParameterDoc

__all__ = ["SHARED"]

SHARED: dict[str, ParameterDoc] = {
    "views": (
        "mapping of str to columns",
        """
        As for `ViewEncoder`: view name -> column names or globs.  None: those of ``encoder``; if it
        has none, a column called ``user__age`` belongs to the view ``user``.  A glob never matches
        the label.  Of svmlight, libffm and Vowpal Wabbit files as for `open_rows`.
        """,
    ),
    "encoder": (
        "ViewEncoder",
        """
        How columns become views, such as ``ViewEncoder(text=["body"], ignore=["id"])``: a new one
        like it learns the rows, so it need not be fitted.  Text that is dates in every row is
        recognized, also beside those of ``date``, unless that is empty; the column of ``time`` may
        be among them.  Views go here or into ``views``.  Of rows that are views already,
        ``scale_views`` alone applies, and of libffm and Vowpal Wabbit files ``hash_bits``.
        None: one with the defaults.
        """,
    ),
    "task": (
        '{"classification", "regression"}',
        "Whether a class or a number is predicted.",
    ),
    "scoring": (
        "str or Scoring",
        """
        The metric, or a `Scoring` with its parameters, the positive class and the threshold, such
        as ``Scoring("recall", positive="yes", threshold=0.3)``.  None: f1 (macro_f1 if nothing says
        which of two classes is the positive one), or rmse, with a tuned threshold.
        """,
    ),
}
