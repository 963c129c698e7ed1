"""Parameters and attributes that learners share: documented once, and their ranges.

`document_parameters` renders them into the docstring of each class.
"""

from collections.abc import Mapping
from numbers import Integral, Real

from crossview.estimators.documentation import described
from crossview.estimators.validation import Interval, Options, StrOptions

# of each parameter that means the same in all learners that have it
RANGES: dict[str, list] = {
    "views": [Mapping, "array-like", None],
    "n_epochs": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "calibration": [StrOptions({"sigmoid", "none"})],
    "random_state": ["random_state"],
    "target_scale": [StrOptions({"linear", "log", "log1p"})],
    "C": [Interval(Real, 0, None, closed="neither")],
    "confidence": [Interval(Real, 0.5, 1, closed="neither")],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, 1e100, closed="right")],
    "average": ["boolean"],
    "covariance": [StrOptions({"auto", "full", "diagonal", "low-rank"})],
    "rank": [Interval(Integral, 1, None, closed="left")],
    "diagonal": [StrOptions({"precision", "covariance"})],
    "initial_variance": [Interval(Real, 0, 1e100, closed="right")],
    "forgetting": [Interval(Real, 0, 1, closed="right")],
    "n_jobs": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None],
}

PARAMETERS = described(
    """
    views : dict, list of int or None
        Columns of ``X`` that form each view: a dict of view name to columns (a slice, positions,
        names, or a glob such as ``"user_*"``), or a list of the widths of consecutive blocks.
        None: the views of ``X`` if it is a MultiView; the prefixes of the columns of a data frame
        that are called ``view__column``; otherwise one view "all" with all columns.
    target_scale : {"linear", "log", "log1p"}
        The scale on which targets are learned.  "log": their logarithm, so that errors are shares
        of the target and effects multiply, as of prices and durations; all must be above 0.
        "log1p": the logarithm of 1 more, as of counts; 0 or more.  Predictions are in the units of
        the targets, near the median of each row and not its mean, and no logarithm is beyond the
        learned ones by more than half of their range; weights and scores are of the logarithm.
    n_epochs : int
        Number of passes over the rows in `fit`; `partial_fit` always makes one.  More passes fit
        the training rows more closely.  Typical values: 1 to 10.
    shuffle : bool
        Whether `fit` shuffles the rows before each pass.  Set it to False if the order of the rows
        matters, as in a time series.  `partial_fit` never shuffles.
    class_weight : dict, "balanced" or None
        Weight of each class, 0 or more, which multiplies the sample weight; 1 for those that the
        dict does not name.  "balanced": inversely proportional to the summed weight of its rows
        (`fit` only).  Probabilities stay those of the rows without it, where they are calibrated.
    random_state : int, RandomState or None
        Seed of the random number generator.  Pass an int for reproducible results.
    calibration : {"sigmoid", "none"}
        How scores become probabilities.  "sigmoid": a logistic function of the score, with a slope
        and an offset; with more than two classes the softmax of the scores times a slope, plus an
        offset per class.  A pass fits it to the score of each row before the row is learned, which
        costs a few percent of the pass; where `fit` makes several passes or solves for all rows
        together, to the scores of 3 inner folds, which takes about two more fits.  "none": no
        `predict_proba`, unless the scores are log odds or `calibrate` is called.
    C : float
        Aggressiveness: the weight of the loss against the change of the weights, in (0, inf).  A
        higher value takes larger steps; a lower value is more robust to label noise.  Typical
        values: 0.001 to 10.
    fit_intercept : bool
        Whether to learn an intercept, which is added to the score.  A row without entries is
        scored by it, and not learned.
    intercept_scaling : float
        Value s of the constant feature whose weight is the intercept, in (0, 1e100].  A higher
        value learns the intercept faster, with a larger share of each step.  Without a covariance
        the unit of s is the typical length of a row, the geometric mean so far, and the share falls
        as rows are learned: for row t it is s² / (s² + sqrt(t)).  With a covariance s is a plain
        number, and the variance of the intercept begins at s² ``initial_variance``.  Typical
        values: 0.3 to 3.
    average : bool
        Whether to predict with the mean of the weights over all rows (averaging) instead of the
        last weights.  The mean has less variance; it needs a second weight vector.
    covariance : {"auto", "full", "diagonal", "low-rank"}
        Form of the covariance matrix.  "full": all pairs of columns; for d columns an update costs
        O(d²), and more than half of the memory is an error.  "diagonal": one variance per column,
        for many columns and long streams.  "low-rank": exact for the first ``rank`` updates, whose
        rows it stores; whenever the store is full, the older half of the rows is reduced to its
        diagonal.  "auto": exact as long as time and memory allow. Up to 64 columns it is full from
        the start. If the triangle of the matrix takes at most 256 MiB (about 8,000 columns), it is
        low-rank for the first d updates, then full. Otherwise it is low-rank for 1024 updates, then
        diagonal. ``covariance_form_`` is the current form.
    rank : int
        Number of rows that "low-rank" stores.  A higher value is closer to "full" and slower: an
        update costs O(rank²) plus the nonzero entries of the stored rows.  Typical values: 64 to
        1024.
    diagonal : {"precision", "covariance"}
        Which matrix "diagonal" reduces to its diagonal after each update: "precision", the inverse
        covariance (as in the SOL library; the variance of a column then depends only on its own
        values), or "covariance", the covariance.
    initial_variance : float
        Initial variance of each weight, in (0, 1e100].  A higher value takes larger steps on the
        first rows.  It matters most for columns that are not standardized.  Typical values: 0.01
        to 1.
    forgetting : float
        Forgetting factor, in (0, 1]: each update divides the covariance by it, up to the initial
        variances, so that the past fades and the learner follows a stream that changes; of a
        diagonal the variances of the columns in the row.  "auto" is then full up to 64 columns and
        diagonal beyond; "low-rank" is an error.  1: all updates count alike.  Typical values: 0.99
        to 0.9999.
    n_jobs : int or None
        Threads of `fit`; what is learned is the same.  -1: one for each processor.  None: 1, or
        what ``joblib.parallel_config`` says; `train` takes all processors.
    """
)

ATTRIBUTES = described(
    """
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights in the order of the columns of ``X``; 0 for columns that are in no view.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts, which are added to the scores; 0 without ``fit_intercept``.
    layout_ : ViewLayout
        Names and widths of the views.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if ``X`` is a data frame.
    covariance_form_ : str
        Current form of the covariance: "full", "diagonal" or "low-rank".
    variance_ : ndarray of shape (n_features,)
        Variance of the weight of each column, the diagonal of the covariance.
    """
)
