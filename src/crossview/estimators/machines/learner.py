"""Base classes of the machines: learning, scores, state and interactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
from joblib import cpu_count
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import losses, optimizers
from crossview.algorithms.machines import (
    alternating,
    contributions,
    hogwild,
    init,
    lbfgs,
    online,
)
from crossview.algorithms.machines.interactions import strongest, terms
from crossview.algorithms.machines.scores import score_rows
from crossview.algorithms.machines.state import (
    ALL_PAIRS,
    CROSS_PAIRS,
    FACTORIZED,
    MULTI_VIEW,
    TENSOR,
    Machine,
    Objective,
)
from crossview.batch import RowBuffers, read_only, rows_at
from crossview.errors import DivergedError, InputError
from crossview.estimators import parameters
from crossview.estimators.base import (
    ColumnWeights,
    OnlineClassifier,
    OnlineRegressor,
    State,
    StatePart,
    ViewLearner,
)
from crossview.estimators.base.online import pass_over
from crossview.estimators.base.road import Bound, OneExample
from crossview.estimators.base.single_rows import check_learned
from crossview.estimators.documentation import described, with_parameters
from crossview.estimators.machines.early_stopping import EarlyStopping, split_held_out
from crossview.estimators.machines.state import (
    Interaction,
    MachineState,
    part_slots,
    resolve_groups,
)
from crossview.estimators.targets import row_weights
from crossview.estimators.validation import Interval, StrOptions, available_if
from crossview.kernels.rows import Examples, Rows
from crossview.portable.scoring import Machine as PortableMachine
from crossview.portable.scoring import MachinePart, Table
from crossview.views import ViewLayout

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

# as `crossview.portable.scoring.Machine` calls them
MODELS = {
    MULTI_VIEW: "products",
    TENSOR: "products",
    CROSS_PAIRS: "cross pairs",
    ALL_PAIRS: "all pairs",
}
LOSSES = {
    "squared": losses.SQUARED,
    "huber": losses.HUBER,
    "logistic": losses.LOGISTIC,
    "hinge": losses.HINGE,
}
PENALTIES = {"l2": optimizers.L2, "l1": optimizers.L1}
# these learn row by row; the solvers below need all rows in memory
STREAMING = {"adagrad": optimizers.ADAGRAD, "sgd": optimizers.SGD}
SOLVERS = {
    "lbfgs": lbfgs.fit,
    "als": alternating.least_squares,
    "alternating": alternating.support_machines,
}


@with_parameters
class MachineLearner(ViewLearner):
    """Base class of the machines: passes with early stopping and solvers, scores and state."""

    _parameter_constraints: ClassVar[dict] = {
        "penalty": [StrOptions(set(PENALTIES))],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "forgetting": [Interval(Real, 0, 1, closed="right")],
        "init_scale": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "deterministic": ["boolean"],
        "warm_start": ["boolean"],
    }

    # some make these parameters
    groups = cast(Any, None)
    n_factors, order, init, penalize_bias, fit_intercept = 1, 2, "signs", False, True

    views: Any = field(default=None, kw_only=False)
    penalty: str = "l2"
    alpha: float = 0.001
    optimizer: str = "adagrad"
    learning_rate: float = 0.1
    forgetting: float = 1.0
    init_scale: float = 0.02
    n_epochs: int = 100
    early_stopping: bool = True
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    tol: float = 1e-4
    shuffle: bool = True
    deterministic: bool = True
    warm_start: bool = False
    random_state: Any = None

    # --- to be implemented by subclasses --------------------------------------

    def _model(self) -> int:
        """Return MULTI_VIEW, ..., ALL_ORDERS."""
        raise NotImplementedError

    def _loss(self) -> int:
        """Return the loss to minimize."""
        return LOSSES[self.loss]

    def _check_combination(self) -> None:
        if self.forgetting < 1.0 and self.optimizer != "adagrad":
            raise InputError(
                f"forgetting={self.forgetting:g} with optimizer={self.optimizer!r}; "
                "only AdaGrad has sums to forget: set optimizer='adagrad' or forgetting=1"
            )
        if self.optimizer == "als" and self.loss != "squared":
            raise InputError(f"optimizer='als' with loss={self.loss!r}; set loss='squared'")
        if self.optimizer == "als" and self.penalty != "l2":
            raise InputError(f"optimizer='als' with penalty={self.penalty!r}; set penalty='l2'")

    def _init_intercepts(self, target: np.ndarray, weight: np.ndarray) -> None:
        """Initialize the intercepts of `fit`; numeric targets are already centered."""

    def _output_labels(self) -> list[Any]:
        """Return the class of each score; None if there is one score."""
        return [None]

    # --- learning -------------------------------------------------------------

    def _check_columns(self, slots: ViewLayout) -> None:
        resolve_groups(self.groups, slots.names)

    def _objective(self) -> Objective:
        alpha_bias = self.alpha if self.penalize_bias else 0.0
        loss, penalty = self._loss(), PENALTIES[self.penalty]
        fit_intercept = bool(self.fit_intercept)
        return Objective(loss, penalty, float(self.alpha), float(alpha_bias), fit_intercept)

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        learn = online.learn if self.deterministic else partial(hogwild.learn, cpu_count())
        y = read_only(np.asarray(y, dtype=np.float64))
        return int(learn(*self._pass(rows, Examples(order, y, weight), scores)))

    def _bind_learning(self, row: OneExample) -> Bound | None:
        if self.optimizer not in STREAMING:
            return None
        examples = Examples(row.order, row.number, row.weight)
        return online.learn.bind(*self._pass(row.row.rows, examples, row.scores))

    def _bind_scoring(self, row: RowBuffers, scores: np.ndarray) -> Bound:
        order = read_only(np.zeros(1, dtype=np.int64))
        return score_rows.bind(row.rows, order, self._frozen(), scores)

    def _pass(self, rows: Rows, examples: Examples, scores: np.ndarray) -> tuple:
        """Return the arguments of a pass over these rows."""
        state = MachineState(self._state, self)
        state.cast()
        pace = online.Pace(
            STREAMING[self.optimizer], float(self.learning_rate), float(self.forgetting)
        )
        scores = scores.reshape(len(scores), -1)
        return rows, examples, state.machine(), self._objective(), pace, scores

    def check_streams(self) -> None:
        """Raise `InputError` if the optimizer needs all rows in memory."""
        if self.optimizer not in STREAMING:
            raise InputError(
                f"optimizer={self.optimizer!r} needs all rows in memory; use fit, "
                "or set optimizer='adagrad' or 'sgd' for a stream"
            )

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._minimize(X, y, sample_weight)

    def _minimize(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, np.ndarray]:
        """Minimize the loss; return the rows, and the positions of those held out."""
        from_scratch = not self._warm_starts()
        rows = self._read(X, reset=from_scratch)
        target, weight = self._first_targets(y, sample_weight, rows)
        target = np.asarray(target, dtype=np.float64)
        if from_scratch:
            self._init_intercepts(target, weight)
        random_state = check_random_state(self.random_state)
        train = held_out = np.arange(len(target))
        held_out = held_out[:0]
        if self.early_stopping:
            labels = target if isinstance(self, OnlineClassifier) else None
            train, held_out = split_held_out(
                len(target), self.validation_fraction, labels, weight, random_state
            )

        def held_out_loss() -> float:
            return self._mean_loss(rows, read_only(held_out), target, weight)

        stopping = EarlyStopping(
            held_out_loss if len(held_out) else None,
            self._copy_parameters,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
        )
        nonfinite_row = -1
        if self.optimizer in STREAMING:
            for _ in range(self.n_epochs):
                order = random_state.permutation(train) if self.shuffle else train
                nonfinite_row = max(pass_over(self, rows, order, target, weight)[1], nonfinite_row)
                if stopping.after_each():
                    break
        else:
            self._solve(rows, Examples(train, target, weight), stopping)
        self._finish(stopping)
        check_learned(nonfinite_row)
        return rows, held_out

    def _solve(self, rows: Rows, examples: Examples, stopping: EarlyStopping) -> None:
        """Run a batch solver over all examples."""
        MachineState(self._state, self).cast()
        examples = Examples(*map(read_only, examples))
        machine = self._machine()
        init.init_touched_columns(rows, examples.order, machine)
        solver = SOLVERS[self.optimizer]
        solver(rows, examples, machine, self._objective(), self.n_epochs, stopping.after_each)

    def _mean_loss(
        self, rows: Rows, order: np.ndarray, target: np.ndarray, weight: np.ndarray
    ) -> float:
        """Return the mean loss of the rows in ``order``."""
        row_scores = np.zeros((len(rows.indptr) - 1, self._n_scores()))
        score_rows(rows, order, self._frozen(), row_scores)
        with np.errstate(over="ignore", invalid="ignore"):
            each = losses.row_losses(self._loss(), row_scores[order], target[order])
            return float(np.average(each, weights=weight[order]))

    def _copy_parameters(self) -> dict[str, np.ndarray]:
        """Copy the parameters; of A only the columns seen, because all others are 0."""
        state = self._state
        return {"A": state["A"][state["seen"]], "B": state["B"].copy(), "c": state["c"].copy()}

    def _finish(self, stopping: EarlyStopping) -> None:
        """Restore the best parameters."""
        if stopping.diverged:
            raise DivergedError(
                "the loss diverges; scale the columns of X (for example with "
                f"StandardScaler), or lower learning_rate={self.learning_rate:g}"
            )
        best = stopping.best_parameters
        if best is not None:
            self._state["A"][self._state["seen"]] = best["A"]
            self._state |= {"B": best["B"], "c": best["c"]}
        self.n_iter_ = stopping.n_iter if best is None else stopping.best_iter
        self.validation_loss_ = np.asarray(stopping.history)

    def _warm_starts(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "_state")

    # --- scores ---------------------------------------------------------------

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        found = np.zeros((len(rows.indptr) - 1, self._n_scores()))
        score_rows(rows, read_only(np.arange(len(found))), self._frozen(), found)
        return found

    def _portable_scorer(self) -> PortableMachine:
        machine, ptr = self._machine(), self._slots.ptr
        if machine.model not in MODELS:
            raise InputError(
                f"order={machine.order}: products of more than two columns have no portable form; "
                "train with order=2, or predict with crossview"
            )
        K = machine.c.shape[1]
        parts = []
        for p, v in enumerate(machine.views.tolist()):
            slots = part_slots(self._state, p, np.arange(ptr[v], ptr[v + 1]))
            bias = machine.B[p, 0].astype(np.float64)
            parts.append(MachinePart(v, Table.of(machine.A[slots, 0]), bias))
        ends = machine.ends.tolist()
        return PortableMachine(
            model=MODELS[machine.model],
            n_factors=machine.B.shape[2] // K,
            parts=parts,
            groups=[list(range(lo, hi)) for lo, hi in zip([0, *ends], ends, strict=False)],
            intercept=machine.c[0].copy(),
        )

    def _column_weights(self) -> ColumnWeights:
        """Return the interactions of order 1, and the norms of the factors."""
        machine, columns = self._machine(), list(self.view_columns().values())
        shape = machine.c.shape[1], int(self.n_features_in_)
        weights, sqnorms = np.zeros(shape), np.zeros(shape)
        pairs = machine.model in FACTORIZED
        n_parts = np.diff(machine.ends.astype(np.intp), prepend=0)
        for a in range(shape[0]):
            tables, seen, terms_of_one = self._terms_of(a, 1)
            for (p, *others), (factors, *_), constant in terms_of_one:
                if not others:
                    where = columns[int(machine.views[p])][seen[p]]
                    weights[a, where] += factors @ constant
            for p, table in enumerate(tables):
                where = columns[int(machine.views[p])][seen[p]]
                sqnorms[a, where] += (table[:, int(pairs) :] ** 2).sum(axis=1)
        only_products = machine.model == TENSOR and n_parts.max() > 1
        interact = pairs or n_parts.max() > 1
        return ColumnWeights(
            None if only_products else weights,
            factor_norm=np.sqrt(sqnorms) if interact else None,
        )

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        return contributions.contributions(rows, self._frozen())

    def _scores_of_views(self, rows: Rows) -> np.ndarray:
        return self._scores_alone(rows, lambda rows, alone: rows._replace(present=read_only(alone)))

    # --- state ----------------------------------------------------------------

    def _can_restart(self) -> bool:
        return True

    def _parts(self, state: State) -> list[StatePart]:
        return [MachineState(state, self), *super()._parts(state)]

    def _machine(self) -> Machine:
        """Return the state for the learning loops."""
        return MachineState(self._state, self).machine()

    def _frozen(self) -> Machine:
        """Return the machine with read-only arrays."""
        m = self._machine()
        return m._replace(
            A=read_only(m.A), B=read_only(m.B), c=read_only(m.c), seen=read_only(m.seen)
        )

    def _merged_header(self, models: Sequence[Any], shares: Sequence[float]) -> dict[str, Any]:
        return {**super()._merged_header(models, shares), "passes": None}

    def _header(self) -> dict[str, Any]:
        passes = None
        if hasattr(self, "n_iter_"):
            passes = {"n": self.n_iter_, "validation_loss": self.validation_loss_.tolist()}
        return {**super()._header(), "passes": passes}

    def _take_header(self, header: Mapping[str, Any]) -> None:
        super()._take_header(header)
        if passes := header["passes"]:
            self.n_iter_ = passes["n"]
            self.validation_loss_ = np.asarray(passes["validation_loss"])

    def _header_schema(self) -> dict[str, Any]:
        passes = (None, {"n": int, "validation_loss": [float]})
        return {**super()._header_schema(), "passes": passes}

    def _forget(self) -> None:
        super()._forget()
        for name in ("n_iter_", "validation_loss_"):
            self.__dict__.pop(name, None)

    # --- attributes -----------------------------------------------------------

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts (1,) or (n_classes,); of a regressor, in standard deviations of the target."""
        return np.array(self._learned["c"][0])

    @property
    def factors_(self) -> dict[str, np.ndarray]:
        """Weights of each view's columns, (n_columns, n_parts * n_classes * n_factors).

        A view has one part per group that contains it; the columns are in the order of
        `view_columns`.  In a factorization machine the linear weight comes before the factors.
        """
        return {
            name: np.hstack([self._part_factors(p) for p in parts])
            for name, parts in self._parts_of_views().items()
            if parts
        }

    @property
    def bias_rows_(self) -> dict[str, np.ndarray]:
        """Weights of each view's constant feature, (n_parts * n_classes * n_factors,)."""
        return {
            name: self._state["B"][parts, 0].reshape(-1).astype(np.float64)
            for name, parts in self._parts_of_views().items()
            if parts
        }

    def view_norms(self) -> dict[str, tuple[int, float]]:
        """Return the number of learned columns of each view, and the norm of their factors.

        Returns
        -------
        norms : dict of str to (int, float)
            The number of columns that were nonzero in at least one row, and the Euclidean norm of
            their factors.
        """
        norms = {}
        for name, parts in self._parts_of_views().items():
            seen = [self._seen(p) for p in parts]
            sqnorm = sum(float((self._part_factors(p) ** 2).sum()) for p in parts)
            norms[name] = int(np.count_nonzero(seen[:1])), float(np.sqrt(sqnorm))
        return norms

    def interactions(self, top: int = 10) -> list[Interaction]:
        """Return the strongest interactions between views, of each order.

        The weight of an interaction of one column i_v per view v is ``sum_f prod_v A_v[i_v, f]``,
        times the bias rows of all other views: the coefficient of the product of the columns in
        the score (for a regressor, in standard deviations of the target).  Order 1 is the weight
        of a single column.  Columns that are 0 in all rows are skipped.

        Parameters
        ----------
        top : int, default=10
            Number of interactions per order.

        Returns
        -------
        interactions : list of Interaction
            By order, and within it by absolute weight.

        Notes
        -----
        Orders 1 and 2 are exact for views of up to 1000 columns.  Higher orders and wider views use
        a beam search over the 1000 columns, and then combinations, with the highest upper bound.
        """
        check_is_fitted(self, "_state")
        found = [
            Interaction(views, columns, weight, label)
            for a, label in enumerate(self._output_labels())
            for views, columns, weight in self._interactions_of(a, top)
        ]
        found.sort(key=lambda one: (len(one.views), -abs(one.weight)))
        kept: list[Interaction] = []
        for order in sorted({len(one.views) for one in found}):
            kept += [one for one in found if len(one.views) == order][:top]
        return kept

    def _terms_of(
        self, a: int, highest: int | None = None
    ) -> tuple[list[np.ndarray], list[np.ndarray], Iterator[Any]]:
        """Return for score ``a`` the factors of each part, their columns, and the interactions."""
        machine = self._machine()
        k = machine.B.shape[2] // machine.c.shape[1]
        own = slice(a * k, (a + 1) * k)
        tables, columns = [], []  # of each part: rows of the columns seen, and which these are
        for p in range(len(machine.views)):
            seen = np.flatnonzero(self._seen(p))
            tables.append(self._part_factors(p)[seen, own])
            columns.append(seen)
        groups = np.split(np.arange(len(machine.views)), machine.ends[:-1].astype(np.intp))
        B = machine.B[:, 0, own].astype(np.float64)
        found = terms(machine.model, tables, B, groups, machine.views, highest, machine.order)
        return tables, columns, found

    def _interactions_of(
        self, a: int, top: int
    ) -> list[tuple[tuple[str, ...], tuple[int, ...], float]]:
        """Return the strongest interactions per combination of views for score ``a``."""
        _, columns, found_terms = self._terms_of(a)
        names, views_of_parts = self.layout_.names, self._state["views"]
        found = []
        for parts, factors, constant in found_terms:
            same = [p > 0 and parts[p] == parts[p - 1] for p in range(len(parts))]
            views = tuple(names[int(views_of_parts[p])] for p in parts)
            for chosen, weight in strongest(factors, constant, top, same):
                named = tuple(int(columns[p][i]) for p, i in zip(parts, chosen, strict=True))
                found.append((views, named, weight))
        return found

    def _part_columns(self, p: int) -> np.ndarray:
        """Return the columns of part ``p`` in the state, in the order of `view_columns`."""
        v = int(self._state["views"][p])
        return self._columns.in_block(*self._slots.ptr[v : v + 2].tolist())

    def _seen(self, p: int) -> np.ndarray:
        """Return which columns of part ``p`` were nonzero in at least one row."""
        return self._state["seen"][part_slots(self._state, p, self._part_columns(p))]

    def _part_factors(self, p: int) -> np.ndarray:
        """Return the weights of part ``p``, in the order of `view_columns`."""
        A = self._state["A"][part_slots(self._state, p, self._part_columns(p)), 0]
        return np.asarray(A, dtype=np.float64)

    def _parts_of_views(self) -> dict[str, list[int]]:
        views = self._learned["views"].tolist()
        return {
            name: [p for p, view in enumerate(views) if view == v]
            for v, name in enumerate(self.layout_.names)
        }


@with_parameters
class MachineClassifier(MachineLearner, OnlineClassifier):
    """Base class of the machines for classification."""

    _parameter_constraints: ClassVar[dict] = {
        "loss": [StrOptions({"logistic", "hinge", "squared"})]
    }

    loss: str = "logistic"
    class_weight: Any = None
    calibration: str = "sigmoid"

    # as in scikit-learn: a learner that cannot stream has no partial_fit
    partial_fit = available_if(lambda self: _streams(self))(OnlineClassifier.partial_fit)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, held_out = self._minimize(X, y, sample_weight)
        if self.calibration == "none":
            return
        if len(held_out):
            scores = self._joint_scores(rows_at(rows, held_out))
            weight = row_weights(sample_weight, len(rows.indptr) - 1)[held_out]
            self._calibrate_on(scores, np.asarray(y).reshape(-1)[held_out], weight)
        else:
            self._calibrate_by_folds(X, y, sample_weight)

    def _output_labels(self) -> list[Any]:
        return [None] if self._n_scores() == 1 else self.classes_.tolist()

    def _loss(self) -> int:
        if self.loss == "logistic" and self._n_scores() > 1:
            return losses.SOFTMAX
        return LOSSES[self.loss]

    def _init_intercepts(self, target: np.ndarray, weight: np.ndarray) -> None:
        if not self.fit_intercept:
            return
        # otherwise the weights of the columns would have to learn the class frequencies, and rows
        # with unseen columns would be scored as if all classes were equally frequent
        K = self._n_scores()
        classes = np.arange(K) if K > 1 else np.array([1.0])
        total = weight.sum()
        share = np.full(len(classes), 0.5)
        if total:
            share = np.array([weight[target == c].sum() for c in classes]) / total
        self._state["c"][0] = losses.init_scores(self._loss(), share)

    @property
    def scores_are_log_odds(self) -> bool:
        """True where the loss makes scores log odds."""
        return bool(self.loss == "logistic")


@with_parameters
class MachineRegressor(MachineLearner, OnlineRegressor):
    """Base class of the machines for regression."""

    _parameter_constraints: ClassVar[dict] = {"loss": [StrOptions({"squared", "huber"})]}

    loss: str = "squared"

    partial_fit = available_if(lambda self: _streams(self))(OnlineRegressor.partial_fit)


def _streams(learner: Any) -> bool:
    try:
        learner.check_streams()
    except InputError as error:
        raise AttributeError(str(error)) from None
    return True
