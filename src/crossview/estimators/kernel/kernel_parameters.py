"""Parameters and attributes that KeCo and Pegasos share, documented once."""

from crossview.estimators.documentation import described
from crossview.estimators.parameters import ATTRIBUTES, PARAMETERS

_KIND, _DESCRIPTION = PARAMETERS["views"]
_VIEWS = _KIND, f"{_DESCRIPTION}\n``random_views`` generates the views instead."

KERNEL = (
    PARAMETERS
    | {"views": _VIEWS}
    | described(
        """
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
        Kernel function: exp(-γ |a - b|²), a·b, or (γ a·b + coef0)^degree.  "linear" keeps explicit
        weights and no support vectors.  "precomputed": each view of X is a matrix of kernel
        values, square in `fit`; there is no `partial_fit`.  A callable takes two arrays of rows of
        a view (CSR arrays if X is sparse) and returns the matrix of their kernel values.
    gamma : float, "median", "scale" or dict of str to one of them
        Kernel coefficient γ of all views, in (0, inf); a dict gives it per view.  "median": 1 over
        the median squared distance between rows (of up to 500 rows), a common heuristic.
        "scale": 1 / (columns * variance).  On a stream both are estimated from the first batch,
        and are 1 / columns if all its rows are equal.  A higher value makes the score less smooth:
        only closer rows are similar.
    degree : float
        Degree of "poly", in (0, inf).
    coef0 : float
        Constant term of "poly".
    lam : float or dict of str to float
        Regularization strength λ of all views, in (0, inf); a dict gives it per view.  A higher
        value gives a smoother score, and more support vectors.  It is 1 / (n C) in terms of the C
        of a support vector machine on n rows.
        Typical values: 1e-4 to 0.1.
    n_iterations : int or "auto"
        Number T of steps in `fit`, each with one drawn row; with ``schedule="rounds"``, in each
        round.  "auto": 1000, doubled until the mean hinge loss of a held-out third of the labeled
        rows falls by less than 1 %; at most 10,000, or 10 per labeled row if that is more.  A
        round then has at least 4 per row that it labels.  More steps come closer to the minimum.
        Ignored with ``schedule="stream"``.  Typical values: 1000 to 100,000.
    schedule : {"rounds", "half-labeled", "published", "uniform", "stream"}
        How `fit` draws the rows, with replacement.  "rounds": first labeled rows only.  Then five
        times the joint score labels the unlabeled rows on which the views agree most, more of them
        each time, and the model learns again, from labeled and unlabeled rows in turn.
        "half-labeled": labeled rows in the first half of the steps, then labeled and unlabeled
        rows in turn, as in the experiments of the paper; the other views label an unlabeled row
        when it is drawn.  "published": the same with the step counter of the authors' code, where
        step t = 0, 1, ... draws an unlabeled row if t > T/2 and t is even.  "uniform": any row,
        Algorithm 1.  "stream": no draws; each row once, in order, as in `partial_fit`.
    include_self : bool
        Whether the score of a row in `fit` includes its own support vector.  With it the steps
        converge to the support vector machine.  The KeCo paper excludes it, the authors' code
        includes it; on a stream each row comes once.
    average : bool
        Whether `fit` keeps the mean of the weights of all its steps, weighted by the number of
        the step, instead of the last weights.  The mean has less variance.  A stream keeps the
        last weights.
    fit_intercept : bool
        Whether to learn an intercept per view: 1 is added to each kernel value, so the intercept
        is the weight of a constant feature and as regularized as the other weights.
    random_views : (int, float)
        Number of views to generate and the fraction of the columns in each, drawn at random, such
        as (2, 0.75) in the paper.  A poor choice for tables of few columns.
    unlabeled : label
        Label that marks unlabeled rows, besides NaN and None; for example -1, as in scikit-learn.
    budget : int
        Maximum number of support vectors per view on a stream (`partial_fit`, `learn_one`,
        ``schedule="stream"``); it bounds memory and the time per row.  None: no limit.  Typical
        values: 100 to 1000.
    maintenance : {"removal", "projection", "merging"}
        Budget maintenance: what happens to the support vector of the smallest coefficient when
        the budget is exceeded.  "removal": it is removed.  "projection": it is projected onto the
        others, which is the most accurate and costs O(budget³) per update.  "merging": it is
        merged with another one into a point between them ("rbf" only; costs O(budget * columns),
        and the support vectors become dense).
    approximation : {"fourier", "nystroem"}
        Explicit feature map that approximates the kernel of each view ("rbf"; "nystroem" also
        "poly"), by scikit-learn's `RBFSampler` or `Nystroem`.  The learner then keeps a weight per
        feature, and the time per row does not grow with the stream.  "nystroem" samples its
        landmarks from the first batch.
    n_components : int
        Number of features per view of an approximation.  More approximate the kernel better.
    class_weight : dict, "balanced" or None
        Weight of each class, which multiplies the sample weight.  "balanced": inversely
        proportional to the summed weight of its labeled rows (`fit` only).
    cache_size : float
        Size of the cache of kernel values in `fit`, in MB.  A larger cache recomputes fewer values.
    verbose : bool
        Whether to show a progress bar on stderr (needs rich).
    """
    )
)

KERNEL_ATTRIBUTES = ATTRIBUTES | described(
    """
    n_support_ : dict of str to int
        Number of support vectors of each view.
    dual_coef_ : dict of str to ndarray of shape (n_scores, n_support)
        Coefficients α z of the support vectors of each view; with ``average`` their mean.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the columns; only for ``kernel="linear"``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the joint score of rows without a missing view.
    gamma_ : dict of str to float
        γ of each view.
    n_steps_ : int
        Number of steps so far; with ``schedule="rounds"``, of the last round.
    """
)
