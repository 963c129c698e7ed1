"""Parameters and attributes that the machines share, documented once."""

from crossview.estimators import parameters
from crossview.estimators.documentation import described

MACHINE = parameters.PARAMETERS | described(
    """
    penalty : {"l2", "l1"}
        Penalty of a parameter θ: ½ θ², or sqrt(θ² + 1e-6), a smooth approximation of |θ|; it
        shrinks weights close to 0, but not exactly to 0.
    alpha : float
        Regularization strength, in [0, inf).  Each row adds the penalty of the parameters of its
        nonzero columns, so frequent columns are penalized more.  A higher value overfits less.
        Typical values: 0.0001 to 0.1.
    learning_rate : float
        Learning rate of "adagrad" and "sgd", in (0, inf).  A higher value learns faster, and may
        diverge.  Typical values: 0.01 to 0.3.
    forgetting : float
        Factor ρ, in (0, 1], by which "adagrad" multiplies a parameter's sum G of squared gradients
        g before it adds one: G <- ρ G + g², from G = 0, then θ <- θ - learning_rate g / sqrt(G).
        1 keeps the sum, so steps become ever shorter.  Below 1 they stay as long as about
        1 / (1 - ρ) rows that touch the parameter make them, and the model follows a stream that
        changes; ρ G is then at least 0.0001.  It is RMSProp (Tieleman and Hinton 2012) with a sum
        in place of the mean.
        Typical values: 0.998, 0.9995, 1.
    init_scale : float
        Standard deviation of the initial weights of the columns, in [0, inf).
    n_epochs : int
        Number of passes over the rows in `fit` (iterations of "lbfgs", sweeps of "als"); with
        early stopping, the maximum.  `partial_fit` always makes one.
    early_stopping : bool
        Whether `fit` holds out some rows, stops when the loss on them no longer decreases, and
        keeps the parameters with the lowest held-out loss.
    validation_fraction : float
        Fraction of the rows to hold out for early stopping, in (0, 1).
    n_iter_no_change : int
        Number of passes without an improvement of the held-out loss before `fit` stops.
    tol : float
        Minimum relative decrease of the held-out loss that counts as an improvement.
    deterministic : bool
        Whether rows are learned one after the other, so that the same rows give the same model.
        False: "adagrad" and "sgd" use all cores, which learn parts of the rows (of a batch, on a
        stream) at the same time and share the parameters without locks (Hogwild; Niu et al. 2011).
        The model is about as accurate, and another one in each run.  It pays where the
        parameters are beyond the caches, for few of very many columns per row; otherwise the
        threads wait for each other, and may take longer than one.
    warm_start : bool
        Whether `fit` continues from the learned state instead of starting from scratch.
    random_state : int, RandomState or None
        Seed of the initial weights, the order of the rows and the held-out rows.  Pass an int for
        reproducible results.
    n_factors : int
        Number k of factors per column and class, the rank of the interactions.  A higher value fits
        more complex interactions, overfits sooner, and costs proportionally more time and memory.
        Typical values: 4 to 64.  A multi-view machine of one view is linear, and k is 1.
    optimizer : {"adagrad", "sgd", "lbfgs", "als"}
        "adagrad": AdaGrad, with a learning rate per parameter that decreases with the sum of its
        squared gradients; steps are divided by the norm of the view's row, constant feature
        included.  "sgd": stochastic gradient descent with a constant learning rate.  "lbfgs" and
        "als" need all rows in memory (`fit` only).  "als": alternating least squares, a ridge
        regression per view; it requires ``loss="squared"`` and ``penalty="l2"``.
    cross_view_only : bool
        Whether to use only the pairs of columns of different views, equation (27) of the paper,
        instead of all pairs.  ``optimizer="als"`` requires it.
    order : int
        The most columns that interact, in [2, 10].  Above 2 the score has the products of three,
        four, ... columns as well, with the same factors (a higher-order factorization machine), and
        the time per row grows in proportion.  With ``cross_view_only`` they are of different views.
    penalize_bias : bool
        Whether the penalty includes the bias rows, as in the paper.
    fit_intercept : bool
        Whether the score has an intercept c.  The paper has none: the product of the bias rows is
        its global bias.
    groups : list of lists of view names
        Groups of views that interact.  The score is then a sum of machines, one per group, each
        with separate parameters; views of different groups do not interact, and views in no group
        are ignored.  None: one group with all views.
    init : {"signs", "published"}
        Initialization of the bias rows.  "signs": random signs times (1/k)^(1/m) for m views, so
        that gradients do not vanish with many views.  "published": N(0, init_scale²) like all
        other weights, as in the paper; with three or more views and a small ``init_scale`` the
        gradients vanish.
    """
)

CLASSIFIER = MACHINE | described(
    """
    loss : {"logistic", "hinge", "squared"}
        Loss of a score s: log(1 + exp(-y s)), max(0, 1 - y s), or ½ (y - s)², with y = -1 or 1.
        With more than two classes "logistic" is the cross entropy of the softmax, and the others
        are one against the rest.  Only "logistic" has `predict_proba`.
    validation_fraction : float
        Fraction of the rows to hold out for early stopping, in (0, 1), stratified by class.
    """
)

REGRESSOR = MACHINE | described(
    """
    loss : {"squared", "huber"}
        Loss of an error d, in standard deviations of the target: ½ d², or the Huber loss, which is
        |d| - ½ for |d| > 1 and less sensitive to outliers.
    """
)

ATTRIBUTES = parameters.ATTRIBUTES | described(
    """
    factors_ : dict of str to ndarray
        Weights of each view's columns.
    bias_rows_ : dict of str to ndarray
        Weights of each view's constant feature.
    n_iter_ : int
        Number of passes of `fit` up to the parameters that were kept.
    validation_loss_ : ndarray
        The loss on the held-out rows after each pass; empty if none are held out.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts of the scores.
    """
)
