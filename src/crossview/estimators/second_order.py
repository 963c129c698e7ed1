"""Classifiers that keep a covariance: PAM, AROW, CW, SCW and the second-order perceptron."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from crossview.algorithms import first_order, second_order
from crossview.estimators.geometry import WithCovariance
from crossview.kernels.rows import Rows

__all__ = [
    "AROWClassifier",
    "ConfidenceWeightedClassifier",
    "PAMClassifier",
    "SecondOrderPerceptron",
    "SoftConfidenceWeightedClassifier",
]

PAM_RULES = {"PAM": first_order.PA, "PAM-I": first_order.PA_I, "PAM-II": first_order.PA_II}
CW_RULES = {"stdev": second_order.CW_STDEV, "variance": second_order.CW_VARIANCE}
SCW_RULES = {"SCW-I": second_order.SCW_I, "SCW-II": second_order.SCW_II}


class _SecondOrder(WithCovariance):
    """Learners on one view, or on all views concatenated."""

    def _step(self) -> dict[str, Any]:
        """The rule and its parameters."""
        raise NotImplementedError

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        return self._learn_with_covariance(rows, order, y, weight, scores, **self._step())


class PAMClassifier(_SecondOrder):
    """Passive-aggressive learning in the geometry of the data (PAM).

    Each row solves ``min ½ (w - w_t)' S^-1 (w - w_t) + slack`` such that
    ``y w·x >= 1``, where ``S^-1`` is the identity plus ``x x'`` of all rows that
    caused an update before: directions in which much has been seen are dear.
    With loss ``l = max(0, 1 - y w·x)`` and ``n = x'S x`` the answer is
    ``w <- w + P y S x`` with P = l / n (PAM), min(C, l / n) (PAM-I) or
    l / (n + 1/(2C)) (PAM-II), and then ``S <- S - S x x' S / (1 + n)``.

    Parameters
    ----------
    variant : {"PAM", "PAM-I", "PAM-II"}, default="PAM-II"
        The slack: none is allowed, it costs C a unit, or C a unit squared.
    C : float, default=1.0
        Aggressiveness, in (0, inf).  Higher follows every row further, lower
        is steadier against noise.  PAM has none.  The covariance does not know C:
        where columns have another unit than 1, ``initial_variance`` matters too.
    covariance : {"auto", "full", "diagonal", "low-rank"}, default="auto"
        Form of the covariance.  "full": one triangle of a matrix of all pairs
        of columns; a step costs as much as the triangle has entries.
        "diagonal": one variance a column, for many columns and long streams.
        "low-rank": exact for the first ``rank`` updates, whose rows it keeps;
        then the older half of them goes into the diagonal, again and again.
        "auto": exact, and cheap while it can be: where a triangle takes at most
        256 MiB (some 8,000 columns), low-rank for as many updates as there are
        columns, then full; with up to 64 columns full at once.  Where it takes
        more, low-rank for 1024 updates, then diagonal.  ``covariance_form_``
        says which it is.
    rank : int, default=256
        Rows that "low-rank" keeps.  Higher is closer to "full" and slower: a
        step costs rank² and the entries of the kept rows.
    diagonal : {"precision", "covariance"}, default="precision"
        Which diagonal "diagonal" keeps at each step: that of the inverse
        covariance (as SOL does; a column's variance
        depends on its own values only), or that of the covariance.
    initial_variance : float, default=1.0
        Variance of every weight at the start, in (0, inf).  Higher lets the
        first rows move the weights further.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a constant feature of value 1 that
        has its place in the covariance.
    n_epochs : int, default=1
        Passes over the rows in `fit`.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.  Set it to
        False where the order means something.  `partial_fit` never shuffles.
    average : bool, default=False
        Predict with the mean of the weights after each row instead of the last
        ones.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency (`fit` only).
    random_state : int, RandomState or None, default=None
        For the shuffling.

    Attributes
    ----------
    covariance_form_ : str
        The form that the covariance has now.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights, in the order of the columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The weight of the constant feature.
    layout_ : ViewLayout
        Views of the columns; one, unless ``X`` was a MultiView.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        ``covariance="full"`` of more columns than half of the memory holds.

    See Also
    --------
    PassiveAggressiveClassifier : The same where S is the identity.
    AROWClassifier : The same step as PAM-II with r = 1/(2C) in both equations.
    MultiViewPAClassifier : One covariance a view, and coupled steps.

    Notes
    -----
    A row's weight multiplies its C, and the row counts so many times in the
    covariance.  Several classes share one covariance.

    References
    ----------
    T. T. Nguyen, K. Chang, S. C. Hui, "Distribution-Aware Online Classifiers",
    IJCAI 2011, 1427-1432.  S is the one before this row in all equations,
    which the paper's Algorithm 1 mixes; several classes are ours.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import PAMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PAMClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.99
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {
        **WithCovariance._parameter_constraints,
        "variant": [StrOptions(set(PAM_RULES))],
        "C": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        variant: str = "PAM-II",
        C: float = 1.0,
        covariance: str = "auto",
        rank: int = 256,
        diagonal: str = "precision",
        initial_variance: float = 1.0,
        fit_intercept: bool = True,
        n_epochs: int = 1,
        shuffle: bool = True,
        average: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.variant = variant
        self.C = C
        self.covariance = covariance
        self.rank = rank
        self.diagonal = diagonal
        self.initial_variance = initial_variance
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.class_weight = class_weight
        self.random_state = random_state

    def _step(self) -> dict[str, Any]:
        return {"rule": PAM_RULES[self.variant], "C": float(self.C)}


class AROWClassifier(_SecondOrder):
    """Adaptive regularization of weight vectors (AROW).

    Keeps a mean w and a covariance S of the weights.  A row with loss
    ``l = max(0, 1 - y w·x)`` and ``n = x'S x`` gives ``w <- w + l y S x / (n + r)``
    and ``S <- S - S x x' S / (n + r)``: the inverse of S grows by ``x x' / r``.
    It is recursive ridge regression on the rows that have a loss, and steady
    where labels are noisy.

    Parameters
    ----------
    r : float, default=1.0
        Noise that a row is believed to have, in (0, inf).  Higher moves less
        at each row, and keeps the covariance wide for longer.
    covariance : {"auto", "full", "diagonal", "low-rank"}, default="auto"
        Form of the covariance.  "full": one triangle of a matrix of all pairs
        of columns; a step costs as much as the triangle has entries.
        "diagonal": one variance a column, for many columns and long streams.
        "low-rank": exact for the first ``rank`` updates, whose rows it keeps;
        then the older half of them goes into the diagonal, again and again.
        "auto": exact, and cheap while it can be: where a triangle takes at most
        256 MiB (some 8,000 columns), low-rank for as many updates as there are
        columns, then full; with up to 64 columns full at once.  Where it takes
        more, low-rank for 1024 updates, then diagonal.  ``covariance_form_``
        says which it is.
    rank : int, default=256
        Rows that "low-rank" keeps.  Higher is closer to "full" and slower: a
        step costs rank² and the entries of the kept rows.
    diagonal : {"precision", "covariance"}, default="precision"
        Which diagonal "diagonal" keeps at each step: that of the inverse
        covariance (as SOL does; a column's variance
        depends on its own values only), or that of the covariance.
    initial_variance : float, default=1.0
        Variance of every weight at the start, in (0, inf).  Higher lets the
        first rows move the weights further.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a constant feature of value 1 that
        has its place in the covariance.
    n_epochs : int, default=1
        Passes over the rows in `fit`.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.  Set it to
        False where the order means something.  `partial_fit` never shuffles.
    average : bool, default=False
        Predict with the mean of the weights after each row instead of the last
        ones.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency (`fit` only).
    random_state : int, RandomState or None, default=None
        For the shuffling.

    Attributes
    ----------
    covariance_form_ : str
        The form that the covariance has now.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights, in the order of the columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The weight of the constant feature.
    layout_ : ViewLayout
        Views of the columns; one, unless ``X`` was a MultiView.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        ``covariance="full"`` of more columns than half of the memory holds.

    See Also
    --------
    PAMClassifier : Step and covariance with prices of their own.
    ConfidenceWeightedClassifier : Its forerunner, which trusts every row.

    Notes
    -----
    A row's weight divides its r; with a full covariance a row of weight 2 is
    exactly the row twice in a row.  Several classes share one covariance.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze, "Adaptive Regularization of Weight
    Vectors", NIPS 2009, 414-422.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import AROWClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AROWClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {
        **WithCovariance._parameter_constraints,
        "r": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        r: float = 1.0,
        covariance: str = "auto",
        rank: int = 256,
        diagonal: str = "precision",
        initial_variance: float = 1.0,
        fit_intercept: bool = True,
        n_epochs: int = 1,
        shuffle: bool = True,
        average: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.r = r
        self.covariance = covariance
        self.rank = rank
        self.diagonal = diagonal
        self.initial_variance = initial_variance
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.class_weight = class_weight
        self.random_state = random_state

    def _step(self) -> dict[str, Any]:
        return {"rule": second_order.AROW, "C": 1.0 / float(self.r)}


class ConfidenceWeightedClassifier(_SecondOrder):
    """Confidence-weighted learning (CW): a normal distribution of the weights.

    Each row moves the distribution N(w, S) as little as possible, in the sense
    of Kullback and Leibler, such that a classifier drawn from it is right on
    this row with probability ``confidence``.  With the quantile ``phi`` of that
    probability this is ``y w·x >= phi sqrt(x'S x)``, and the variance form
    leaves out the root.  A row that breaks it meets it with equality
    afterwards, so one mislabeled row does much harm; see
    `SoftConfidenceWeightedClassifier`.

    Parameters
    ----------
    confidence : float, default=0.7
        Probability of being right on the row just learned, in (0.5, 1).  Higher
        makes larger steps and forgets its doubts sooner.
    form : {"stdev", "variance"}, default="stdev"
        The constraint with the standard deviation of the margin, or with its
        variance in the place of it.
    covariance : {"auto", "full", "diagonal", "low-rank"}, default="auto"
        Form of the covariance.  "full": one triangle of a matrix of all pairs
        of columns; a step costs as much as the triangle has entries.
        "diagonal": one variance a column, for many columns and long streams.
        "low-rank": exact for the first ``rank`` updates, whose rows it keeps;
        then the older half of them goes into the diagonal, again and again.
        "auto": exact, and cheap while it can be: where a triangle takes at most
        256 MiB (some 8,000 columns), low-rank for as many updates as there are
        columns, then full; with up to 64 columns full at once.  Where it takes
        more, low-rank for 1024 updates, then diagonal.  ``covariance_form_``
        says which it is.
    rank : int, default=256
        Rows that "low-rank" keeps.  Higher is closer to "full" and slower: a
        step costs rank² and the entries of the kept rows.
    diagonal : {"precision", "covariance"}, default="precision"
        Which diagonal "diagonal" keeps at each step: that of the inverse
        covariance (as SOL does; a column's variance
        depends on its own values only), or that of the covariance.
    initial_variance : float, default=1.0
        Variance of every weight at the start, in (0, inf).  Higher lets the
        first rows move the weights further.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a constant feature of value 1 that
        has its place in the covariance.
    n_epochs : int, default=1
        Passes over the rows in `fit`.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.  Set it to
        False where the order means something.  `partial_fit` never shuffles.
    average : bool, default=False
        Predict with the mean of the weights after each row instead of the last
        ones.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency (`fit` only).
    random_state : int, RandomState or None, default=None
        For the shuffling.

    Attributes
    ----------
    covariance_form_ : str
        The form that the covariance has now.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights, in the order of the columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The weight of the constant feature.
    layout_ : ViewLayout
        Views of the columns; one, unless ``X`` was a MultiView.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        ``covariance="full"`` of more columns than half of the memory holds.

    See Also
    --------
    SoftConfidenceWeightedClassifier : The constraint may be broken, at a price.
    AROWClassifier : Squared loss for the constraint.

    Notes
    -----
    There is no price that a row's weight could multiply; only a weight of 0
    matters: the row is not there.  Several classes share one covariance.

    References
    ----------
    M. Dredze, K. Crammer, F. Pereira, "Confidence-Weighted Linear
    Classification", ICML 2008 (variance).  K. Crammer, M. Dredze, F. Pereira,
    "Exact Convex Confidence-Weighted Learning", NIPS 2008 (standard deviation).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import ConfidenceWeightedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ConfidenceWeightedClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {
        **WithCovariance._parameter_constraints,
        "confidence": [Interval(Real, 0.5, 1, closed="neither")],
        "form": [StrOptions(set(CW_RULES))],
    }

    def __init__(
        self,
        *,
        confidence: float = 0.7,
        form: str = "stdev",
        covariance: str = "auto",
        rank: int = 256,
        diagonal: str = "precision",
        initial_variance: float = 1.0,
        fit_intercept: bool = True,
        n_epochs: int = 1,
        shuffle: bool = True,
        average: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.form = form
        self.covariance = covariance
        self.rank = rank
        self.diagonal = diagonal
        self.initial_variance = initial_variance
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.class_weight = class_weight
        self.random_state = random_state

    def _step(self) -> dict[str, Any]:
        return {"rule": CW_RULES[self.form], "confidence": float(self.confidence)}


class SoftConfidenceWeightedClassifier(_SecondOrder):
    """Soft confidence-weighted learning (SCW).

    Confidence-weighted learning in which a row may break its constraint: with
    ``l = max(0, phi sqrt(x'S x) - y w·x)`` and the quantile ``phi`` of the
    ``confidence`` each row minimizes ``KL(N(w, S), N(w_t, S_t)) + C l`` (SCW-I) or
    ``+ C l²`` (SCW-II).

    Parameters
    ----------
    variant : {"SCW-I", "SCW-II"}, default="SCW-I"
        What a broken constraint costs: C a unit, or C a unit squared.
    confidence : float, default=0.7
        Probability of being right on the row just learned, in (0.5, 1).
    C : float, default=1.0
        Aggressiveness, in (0, inf).  Higher follows every row further; lower is
        steadier against noise.
    covariance : {"auto", "full", "diagonal", "low-rank"}, default="auto"
        Form of the covariance.  "full": one triangle of a matrix of all pairs
        of columns; a step costs as much as the triangle has entries.
        "diagonal": one variance a column, for many columns and long streams.
        "low-rank": exact for the first ``rank`` updates, whose rows it keeps;
        then the older half of them goes into the diagonal, again and again.
        "auto": exact, and cheap while it can be: where a triangle takes at most
        256 MiB (some 8,000 columns), low-rank for as many updates as there are
        columns, then full; with up to 64 columns full at once.  Where it takes
        more, low-rank for 1024 updates, then diagonal.  ``covariance_form_``
        says which it is.
    rank : int, default=256
        Rows that "low-rank" keeps.  Higher is closer to "full" and slower: a
        step costs rank² and the entries of the kept rows.
    diagonal : {"precision", "covariance"}, default="precision"
        Which diagonal "diagonal" keeps at each step: that of the inverse
        covariance (as SOL does; a column's variance
        depends on its own values only), or that of the covariance.
    initial_variance : float, default=1.0
        Variance of every weight at the start, in (0, inf).  Higher lets the
        first rows move the weights further.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a constant feature of value 1 that
        has its place in the covariance.
    n_epochs : int, default=1
        Passes over the rows in `fit`.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.  Set it to
        False where the order means something.  `partial_fit` never shuffles.
    average : bool, default=False
        Predict with the mean of the weights after each row instead of the last
        ones.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency (`fit` only).
    random_state : int, RandomState or None, default=None
        For the shuffling.

    Attributes
    ----------
    covariance_form_ : str
        The form that the covariance has now.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights, in the order of the columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The weight of the constant feature.
    layout_ : ViewLayout
        Views of the columns; one, unless ``X`` was a MultiView.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        ``covariance="full"`` of more columns than half of the memory holds.

    See Also
    --------
    ConfidenceWeightedClassifier : C = infinity.

    Notes
    -----
    A row's weight multiplies its C.  Several classes share one covariance.

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi, "Exact Soft Confidence-Weighted Learning",
    ICML 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import SoftConfidenceWeightedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SoftConfidenceWeightedClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {
        **WithCovariance._parameter_constraints,
        "variant": [StrOptions(set(SCW_RULES))],
        "confidence": [Interval(Real, 0.5, 1, closed="neither")],
        "C": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        variant: str = "SCW-I",
        confidence: float = 0.7,
        C: float = 1.0,
        covariance: str = "auto",
        rank: int = 256,
        diagonal: str = "precision",
        initial_variance: float = 1.0,
        fit_intercept: bool = True,
        n_epochs: int = 1,
        shuffle: bool = True,
        average: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.variant = variant
        self.confidence = confidence
        self.C = C
        self.covariance = covariance
        self.rank = rank
        self.diagonal = diagonal
        self.initial_variance = initial_variance
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.class_weight = class_weight
        self.random_state = random_state

    def _step(self) -> dict[str, Any]:
        return {
            "rule": SCW_RULES[self.variant],
            "C": float(self.C),
            "confidence": float(self.confidence),
        }


class SecondOrderPerceptron(_SecondOrder):
    """The second-order perceptron: on a mistake, add the row and its second moments.

    Keeps the sum v of ``y x`` over its mistakes, and ``S^-1``, the identity plus
    the sum of ``x x'`` over them; a row x is given the sign of
    ``v'(S^-1 + x x')^-1 x``, which is that of ``v'S x``.  Nothing to tune but
    ``initial_variance``.

    Parameters
    ----------
    covariance : {"auto", "full", "diagonal", "low-rank"}, default="auto"
        Form of the covariance.  "full": one triangle of a matrix of all pairs
        of columns; a step costs as much as the triangle has entries.
        "diagonal": one variance a column, for many columns and long streams.
        "low-rank": exact for the first ``rank`` updates, whose rows it keeps;
        then the older half of them goes into the diagonal, again and again.
        "auto": exact, and cheap while it can be: where a triangle takes at most
        256 MiB (some 8,000 columns), low-rank for as many updates as there are
        columns, then full; with up to 64 columns full at once.  Where it takes
        more, low-rank for 1024 updates, then diagonal.  ``covariance_form_``
        says which it is.
    rank : int, default=256
        Rows that "low-rank" keeps.  Higher is closer to "full" and slower: a
        step costs rank² and the entries of the kept rows.
    diagonal : {"precision", "covariance"}, default="precision"
        Which diagonal "diagonal" keeps at each step: that of the inverse
        covariance (as SOL does; a column's variance
        depends on its own values only), or that of the covariance.
    initial_variance : float, default=1.0
        Variance of every weight at the start, in (0, inf).  Higher lets the
        first rows move the weights further.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a constant feature of value 1 that
        has its place in the covariance.
    n_epochs : int, default=1
        Passes over the rows in `fit`.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.  Set it to
        False where the order means something.  `partial_fit` never shuffles.
    average : bool, default=False
        Predict with the mean of the weights after each row instead of the last
        ones.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency (`fit` only).
    random_state : int, RandomState or None, default=None
        For the shuffling.

    Attributes
    ----------
    covariance_form_ : str
        The form that the covariance has now.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights, in the order of the columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The weight of the constant feature.
    layout_ : ViewLayout
        Views of the columns; one, unless ``X`` was a MultiView.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        ``covariance="full"`` of more columns than half of the memory holds.

    See Also
    --------
    Perceptron : The same where S is the identity.
    AROWClassifier : The same step wherever there is a loss.

    Notes
    -----
    ``coef_`` is ``S v``, and the scores are ``v'S x``.  A row's weight multiplies
    what it adds to v and to ``S^-1``.  Where the covariance is diagonal, the row
    to predict is still counted with all its pairs of columns (SOL counts its
    squares only, and may differ on a row near 0).  Several classes share one
    covariance.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile, "A Second-Order Perceptron
    Algorithm", SIAM Journal on Computing 34 (2005), 640-668.
    :doi:`10.1137/S0097539703432542`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import SecondOrderPerceptron
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SecondOrderPerceptron(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    >>> model.covariance_form_
    'full'
    """

    def __init__(
        self,
        *,
        covariance: str = "auto",
        rank: int = 256,
        diagonal: str = "precision",
        initial_variance: float = 1.0,
        fit_intercept: bool = True,
        n_epochs: int = 1,
        shuffle: bool = True,
        average: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.covariance = covariance
        self.rank = rank
        self.diagonal = diagonal
        self.initial_variance = initial_variance
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.class_weight = class_weight
        self.random_state = random_state

    def _step(self) -> dict[str, Any]:
        return {"rule": second_order.SOP}
