"""Fitted learners as a few kinds of arithmetic.

`portable` of a learner returns a `Model`.  Its ``scorer`` computes the scores of a row from the
columns of its views, and is one of five kinds: `ViewSum`, `Machine`, `Trees`, `Stack`, `Blend`.
The last two have others inside.  All columns are counted from 0 within their view, so that a
scorer of one view is the same wherever the view is.

A row is, per view, a mapping of columns to values that are not 0, or nothing if the view is
missing.  K is the number of scores: 1 for two classes and for numbers, else one per class.  Below,
x_v are the values of view v, and s are the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np


@dataclass
class Table:
    """Columns of a view, ascending, and a row of numbers for each; those of all others are 0."""

    columns: np.ndarray  # int (n,)
    values: np.ndarray  # float (n, width)
    step: float | None = None  # of which all values are multiples, if they are

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        """Return the rows of a dense array that are not 0."""
        columns = np.flatnonzero(values.any(axis=1))
        return cls(columns, np.asarray(values[columns], dtype=np.float64))


def split_by_view(values: np.ndarray, ptr: np.ndarray) -> list[Table]:
    """Return the rows of an array, one per column, as a table per view; ``ptr`` starts each."""
    pairs = zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True)
    return [Table.of(values[lo:hi]) for lo, hi in pairs]


@dataclass(kw_only=True)
class OfRow:
    """What all scorers have.

    missing (V + 1, K): added to the scores for each view that is missing, and at the end for all
    of them; None: nothing.
    """

    missing: np.ndarray | None = None


# --- sums over views ----------------------------------------------------------------------------


@dataclass
class Cosines:
    """Random Fourier features: ``sum_r weights[r] cos(sum_v slopes_v[:, r]·x_v + phases[r])``."""

    views: list[int]  # that it reads
    slopes: list[Table]  # of each of these views, width n
    phases: np.ndarray  # (n,)
    weights: np.ndarray  # (n, K)


@dataclass
class Supports:
    """Rows z_j of a view, and ``sum_j weights[j] (k(x, z_j) + constant)`` of a kernel k.

    ``k(x, z)`` is x·z ("linear"), exp(-gamma |x - z|²) ("rbf") or (gamma x·z + coef0)^degree
    ("poly").
    """

    kernel: str
    gamma: float
    coef0: float
    degree: float
    constant: float
    columns: list[list[int]]  # of each row
    values: list[list[float]]
    weights: np.ndarray  # (n, K)


@dataclass
class Gaussians:
    """``sum_j weights[j] exp(-|z - centers[j]|²)`` of coordinates z of some views, in their order.

    Those of a view are ``(x - means) * factors`` of its columns, and 0 where it is missing.  The
    sum is at least ``limits[0]``, and at most ``limits[1]``.
    """

    views: list[int]  # that it reads
    columns: list[np.ndarray]  # of each of these views, ascending
    means: list[np.ndarray]
    factors: list[np.ndarray]
    centers: np.ndarray  # (n, all columns)
    weights: np.ndarray  # (n, K)
    limits: list[float] | None = None  # of one output


@dataclass
class ViewTerm:
    """The part of one view in a `ViewSum`: ``weights·x + intercept``, and its kernel if any."""

    weights: Table  # width K
    intercept: np.ndarray  # (K,)
    supports: Supports | None = None
    cosines: Cosines | None = None  # of this view, which is view 0


@dataclass
class ViewSum(OfRow):
    """Sum or mean over the views: linear models, and kernels.

    The views that take part are those that are not missing; with ``skips_empty`` those that have a
    value, or all that are not missing where none has.  With t_v the terms and n the number of
    views that take part,

        s = (sum_v t_v + shared) / n + constant + cosines + gaussians,

    where "/ n" is there with ``mean`` only, and the bracket is 0 where n is 0.
    """

    kind: ClassVar[str] = "sum"
    views: list[ViewTerm]
    shared: np.ndarray  # (K,): an intercept
    constant: np.ndarray  # (K,)
    mean: bool
    skips_empty: bool
    # "own": t_v, plus shared / n if it takes part.  "alone": the score as if others were missing
    view_scores: str
    cosines: Cosines | None = None
    gaussians: Gaussians | None = None

    @classmethod
    def linear(
        cls,
        tables: list[Table],
        intercepts: np.ndarray,
        *,
        mean: bool = False,
        skips_empty: bool = False,
        view_scores: str = "own",
        constant: np.ndarray | None = None,
        missing: np.ndarray | None = None,
    ) -> Self:
        """Return a linear model; one row of ``intercepts`` for several views is shared."""
        V, K = len(tables), intercepts.shape[1]
        nothing = np.zeros(K)
        own = len(intercepts) == V
        terms = [
            ViewTerm(table, intercepts[v] if own else nothing) for v, table in enumerate(tables)
        ]
        return cls(
            views=terms,
            shared=nothing if own else intercepts[0],
            constant=nothing if constant is None else constant,
            mean=mean,
            skips_empty=skips_empty,
            view_scores=view_scores,
            missing=missing,
        )


# --- products ---------------------------------------------------------------------------------


@dataclass
class MachinePart:
    """A part p of a machine, with ``S_p = bias + sum_i x_i factors[i]``; bias alone if missing."""

    view: int
    factors: Table  # width K k
    bias: np.ndarray  # (K k,)


@dataclass
class Machine(OfRow):
    """Factorized interactions; factor f of score c is at ``c k + f``.

    "products": ``s_c = intercept_c + sum_f sum_groups prod_{p in group} S_p,f``.
    "cross pairs": ``s_c = intercept_c + sum_p S_p,0 + ½ sum_{f>0} ((sum_p S_p,f)² - sum_p S_p,f²)``
    "all pairs": the same with ``sum_i x_i² A_i,f²`` over all columns in place of the last sum.
    """

    kind: ClassVar[str] = "machine"
    model: str
    n_factors: int  # k
    parts: list[MachinePart]
    groups: list[list[int]]  # positions of parts
    intercept: np.ndarray  # (K,)
    view_scores: str = "alone"


# --- trees --------------------------------------------------------------------------------------


@dataclass
class CodedFeature:
    """A feature: the code of the column that a row has; of several the last one; else NaN."""

    view: int
    columns: np.ndarray  # (n,), ascending
    codes: np.ndarray  # (n,)


@dataclass
class Components:
    """Features: ``loadings'x`` of the columns of a view."""

    view: int
    width: int  # number of components
    loadings: Table  # of this width


@dataclass
class Statistics:
    """Features: the statistics of the column that a row has; of several the last; else prior, 0."""

    view: int
    statistics: Table  # width len(prior) + 1; a column of zeros is one as well


@dataclass
class Trees(OfRow):
    """Sums of regression trees.

    The features are, in this order, ``coded``, ``numbers`` (the value of a column, 0 if it has
    none), ``components`` and ``statistics``; those of a missing view are NaN.  A row begins at the
    root of each tree.  At a node with children it goes left if its feature is at most the
    threshold; with a set if the feature, a code, is in the set; NaN, or a code from 256 on, goes
    left if ``missing_left``.  A leaf adds ``values`` to the scores ``outputs``, from where the
    node before it ``ends`` to where it does.  ``s = baseline + sum``; if ``shares`` this sum p is
    the share of a class, and the score ``log(p / (1 - p))`` of two classes and ``log p`` of more.
    """

    kind: ClassVar[str] = "trees"
    coded: list[CodedFeature]
    numbers: np.ndarray  # (n, 2): view and column
    components: list[Components]
    statistics: list[Statistics]
    prior: np.ndarray
    roots: np.ndarray  # (n_trees,)
    feature: np.ndarray  # (n_nodes,)
    threshold: np.ndarray  # (n_nodes,)
    left: np.ndarray  # (n_nodes,), 0: a leaf
    right: np.ndarray
    missing_left: np.ndarray  # 0 or 1
    set_of: np.ndarray  # (n_nodes,): row of sets, 0: the feature is a number
    sets: np.ndarray  # (n_sets, 8): 32 codes in each number, the lowest bit first
    ends: np.ndarray  # (n_nodes,)
    outputs: np.ndarray  # (n_entries,)
    values: np.ndarray  # (n_entries,)
    baseline: np.ndarray  # (K,)
    shares: int  # 0 or 1
    # "own": of each view what its leaves add, plus its share of the baseline
    view_scores: str
    leaf_views: np.ndarray  # (n_entries,): the view of each; empty unless "own"


# --- networks -----------------------------------------------------------------------------------


@dataclass
class Networks(OfRow):
    """Scores of k networks with two hidden layers of H units each, side by side.

    The first layer reads, of each view that is there: ``ramps`` of its numbers, which are
    ``min(max((x - low_i) factor_i, 0), 1)``; its columns; its components; and ``there``.

        a = φ(b1 + what it reads),    s = b3 + sum_j φ(a_j W2_j + b2_j) W3_j,

    where a_j are the H units of network j, and ``φ(h) = h / (1 + exp(-h))``.
    """

    kind: ClassVar[str] = "networks"
    numbers: np.ndarray  # (n, 2): view and column
    low: np.ndarray  # (n, T)
    factor: np.ndarray  # (n, T)
    ramps: np.ndarray  # (n, T, k H): weights of the ramps
    columns: list[Table]  # of each view, width k H
    components: list[Components]
    loaded: list[np.ndarray]  # of each of these, weights of its components: (width, k H)
    there: np.ndarray  # (n_views, k H)
    b1: np.ndarray  # (k H,)
    W2: np.ndarray  # (k, H, H)
    b2: np.ndarray  # (k, H)
    W3: np.ndarray  # (k, H, K)
    b3: np.ndarray  # (K,)
    view_scores: str = "alone"


# --- several models -----------------------------------------------------------------------------


@dataclass
class Calibration:
    """Probabilities: σ(slope s + offset) of the second of two classes, or softmax of several."""

    slope: float
    offset: np.ndarray  # (K,)


# what says of a scorer what it means, in members and models
SAID = ("calibration", "units", "target_scale", "reach")


@dataclass
class Member:
    """A model in another one, which sees one view alone, or all (None)."""

    name: str
    scorer: Scorer
    view: int | None
    calibration: Calibration | None = None  # of a classifier
    units: np.ndarray | None = None  # mean and scale; of a regressor: mean + scale s ...
    target_scale: str | None = None  # ... or its exponential ("log"), or that less 1 ("log1p")
    reach: np.ndarray | None = None  # ... of no less and no more than these


@dataclass
class Stack(OfRow):
    """Experts that are combined by the mixture, or by stacking if ``stacks``.

    An expert whose only view is missing says what the mixture of the others says.  With p_k the
    probabilities of expert k, at least 1e-6, and the weights w_k of the mixture:

    - "two classes": x_k = log odds of p_k; m = sum w_k p_k / sum w_k.  Scores are log odds: of m,
      or v·x + v_K between ±log(1e6 - 1).
    - "several classes": p_k are normalized after the floor; x_k = log p_k less its mean.  The
      scores are log m, or the log of softmax(sum v_k x_k + b), at least 1e-6 and normalized; b is
      the end of v.
    - "numbers": x_k = s_k.  The score is sum w_k x_k / sum w_k, or v·x + v_K.
    """

    kind: ClassVar[str] = "stack"
    task: str
    members: list[Member]
    mixture: np.ndarray  # (n_members,)
    weights: np.ndarray  # v: (n_members + 1,), or (n_members + n_classes,)
    stacks: bool
    view_scores: str = "alone"


@dataclass
class Blend(OfRow):
    """Members that are blended: ``z = intercept + sum_m weights_m L_m``.

    For classes L_m are log odds of all classes but the first to the first, of probabilities that
    are at least 1e-4; for numbers L_m is what the member predicts, in its units, but between the
    limits.  The score is z of two classes or numbers, and log softmax of (0, z) of more.
    """

    kind: ClassVar[str] = "blend"
    task: str  # "classes" or "numbers"
    members: list[Member]
    weights: np.ndarray
    intercept: np.ndarray
    limits: np.ndarray | None = None  # (2,)
    view_scores: str = "alone"


Scorer = ViewSum | Machine | Trees | Networks | Stack | Blend


# --- the model ----------------------------------------------------------------------------------


@dataclass
class Model:
    """A fitted learner: scores of the columns of its views, and what they say.

    A classifier predicts ``classes[1]`` of two if ``s > 0``, or if its probability is above the
    threshold where there is one; of more the first class with the highest score, or where there
    are thresholds the one whose probability is the highest multiple of its own.  A regressor
    predicts ``units[0] + units[1] s``, or as ``target_scale`` of a `Member` says.
    """

    learner: str  # name of the class
    views: list[str]
    widths: list[int]
    n_scores: int
    scorer: Scorer
    classes: list[Any] | None = None
    calibration: Calibration | None = None  # None of a classifier: it has no probabilities
    threshold: float | list[float] | None = None
    units: np.ndarray | None = None
    target_scale: str | None = None
    reach: np.ndarray | None = None
