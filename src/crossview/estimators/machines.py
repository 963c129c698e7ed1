"""Machines: interactions between views, factorized; for classes and for numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import losses, machines, machines_batch, optimizers
from crossview.algorithms.machines import Machine
from crossview.batch import read_only
from crossview.errors import InputError, closest_names
from crossview.estimators.base import OnlineClassifier, OnlineLearner, OnlineRegressor
from crossview.kernels.rows import Rows

__all__ = [
    "FactorizationMachineClassifier",
    "FactorizationMachineRegressor",
    "Interaction",
    "MultiViewMachineClassifier",
    "MultiViewMachineRegressor",
    "SupportTensorMachineClassifier",
]

LOSSES = {
    "squared": losses.SQUARED,
    "huber": losses.HUBER,
    "logistic": losses.LOGISTIC,
    "hinge": losses.HINGE,
}
PENALTIES = {"l2": optimizers.L2, "l1": optimizers.L1}
# those that take a row at a time; others need all rows
STREAMING = {"adagrad": optimizers.ADAGRAD, "sgd": optimizers.SGD}


class Interaction(NamedTuple):
    """One term of the score: the product of one column of each of these views, and its weight.

    ``columns`` are positions in the views, in the order of `view_columns`;
    ``label`` is the class whose score it is part of, None for two classes and
    for numbers.
    """

    views: tuple[str, ...]
    columns: tuple[int, ...]
    weight: float
    label: Any


class _Machine(OnlineLearner):
    """What all machines share: state, passes with early stopping, interactions."""

    _parameter_constraints: ClassVar[dict] = {
        **OnlineLearner._parameter_constraints,
        "penalty": [StrOptions(set(PENALTIES))],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "init_scale": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
    }

    # --- what a machine adds --------------------------------------------------

    def _model(self) -> int:
        """Which score it has."""
        raise NotImplementedError

    def _n_outputs(self) -> int:
        """One score, or one a class."""
        raise NotImplementedError

    def _loss(self) -> int:
        """The loss that its passes minimize."""
        raise NotImplementedError

    # --- learning -------------------------------------------------------------

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        self._cast_state()
        machine = self._machine()
        nonfinite_row = machines.learn(
            rows,
            order,
            read_only(np.asarray(y, dtype=np.float64)),
            weight,
            machine,
            self._loss(),
            STREAMING[self.optimizer],
            PENALTIES[self.penalty],
            float(self.alpha),
            self._alpha_bias(),
            float(self.learning_rate),
            scores.reshape(len(scores), -1),
        )
        return int(nonfinite_row)

    def _alpha_bias(self) -> float:
        return float(self.alpha) if getattr(self, "penalize_bias", False) else 0.0

    def check_streams(self) -> None:
        if self.optimizer not in STREAMING:
            raise InputError(
                f"optimizer={self.optimizer!r} needs all rows at once, in fit; "
                "for a stream take 'adagrad' or 'sgd'"
            )

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_optimizer()
        rows = self._read(X, reset=not self._warm_starts())
        target, weight = self._first_targets(y, sample_weight, rows)
        target = np.asarray(target, dtype=np.float64)
        if not self._warm_starts():
            self._begin_intercepts(target, weight)
        random_state = check_random_state(self.random_state)
        train, held_out = self._split(target, weight, random_state)
        watch = EarlyStopping(self, rows, held_out, target, weight)
        self._optimize(rows, train, target, weight, random_state, watch)
        watch.finish()

    def _optimize(
        self,
        rows: Rows,
        train: np.ndarray,
        target: np.ndarray,
        weight: np.ndarray,
        random_state: np.random.RandomState,
        watch: EarlyStopping,
    ) -> None:
        """Minimize on the rows ``train`` until the watch or ``n_epochs`` ends it."""
        if self.optimizer in STREAMING:
            for _ in range(self.n_epochs):
                order = random_state.permutation(train) if self.shuffle else train
                self._pass(rows, order, target, weight)
                if watch.after_each():
                    break
            return
        self._cast_state()
        machines.begin_touched(rows, read_only(train), self._machine())
        known = (rows, read_only(train), read_only(target), read_only(weight), self._machine())
        if self.optimizer == "als":
            machines_batch.alternating_least_squares(
                *known, float(self.alpha), self._alpha_bias(), self.n_epochs, watch.after_each
            )
        else:
            machines_batch.lbfgs(
                *known,
                self._loss(),
                PENALTIES[self.penalty],
                float(self.alpha),
                self._alpha_bias(),
                self.n_epochs,
                watch.after_each,
            )

    def _check_optimizer(self) -> None:
        if self.optimizer != "als":
            return
        wrong = (
            f"loss={self.loss!r}; its loss is 'squared'"
            if self.loss != "squared"
            else f"penalty={self.penalty!r}; its penalty is 'l2'"
            if self.penalty != "l2"
            else "cross_view_only=False; only pairs across views are linear in each view"
            if not getattr(self, "cross_view_only", True)
            else None
        )
        if wrong:
            raise InputError(f"optimizer='als' with {wrong}")

    def _split(
        self, target: np.ndarray, weight: np.ndarray, random_state: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows to learn, and those that say when to stop (none without early stopping)."""
        all_rows = np.arange(len(target))
        if not self.early_stopping:
            return all_rows, all_rows[:0]
        # with few rows, or few of a class, one that is held out would be missed
        n = int(np.ceil(self.validation_fraction * len(target)))
        labels = target if isinstance(self, OnlineClassifier) else None
        if labels is not None:
            _, counts = np.unique(labels, return_counts=True)
            if counts.min() < 2 or n < len(counts) or len(target) - n < len(counts):
                labels = None
        if n >= len(target) or not weight.any():
            return all_rows, all_rows[:0]
        train, held_out = train_test_split(
            all_rows, test_size=n, stratify=labels, random_state=random_state
        )
        if not weight[held_out].any():
            return all_rows, all_rows[:0]
        return np.sort(train), np.sort(held_out)

    def _begin_intercepts(self, target: np.ndarray, weight: np.ndarray) -> None:
        """The intercepts with which `fit` begins; targets are centered already."""

    def _warm_starts(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "_state")

    # --- using ------------------------------------------------------------------

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        scores = np.zeros((len(rows.indptr) - 1, self._n_scores()))
        machines.score(rows, read_only(np.arange(len(scores))), self._frozen(), scores)
        return scores

    def view_scores(self, X: Any) -> np.ndarray:
        """The score of each view by itself: that of the row if all other views were missing.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
            One score a view (and class, for more than two), in the units of
            the target for a regressor; NaN where the view is missing.
        """
        check_is_fitted(self, "_state")
        rows = self._read(X, reset=False)
        n, V = len(rows.indptr) - 1, len(rows.ptr) - 1
        there = rows.present if len(rows.present) else np.ones((n, V), dtype=np.bool_)
        own = np.full((n, V, self._n_scores()), np.nan)
        for v in range(V):
            alone = np.zeros((n, V), dtype=np.bool_)
            alone[:, v] = there[:, v]
            scores = self._joint_scores(rows._replace(present=read_only(alone)))
            own[there[:, v], v] = self._in_units(scores)[there[:, v]]
        return own[:, :, 0] if own.shape[2] == 1 else own

    def _in_units(self, score: np.ndarray) -> np.ndarray:
        """Scores as users see them."""
        return score

    # --- what was learned -------------------------------------------------------

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts (1,) or (n_classes,), of the score inside (see `interactions`)."""
        check_is_fitted(self, "_state")
        return np.array(self._state["c"][0])

    @property
    def factors_(self) -> dict[str, np.ndarray]:
        """Weights of each view's columns, (n_columns, n_parts * n_classes * n_factors).

        A view is one part a group that it is in; the columns are in the order of
        `view_columns`.  A factorization machine has its linear weights first.
        """
        check_is_fitted(self, "_state")
        return {
            name: np.hstack([self._factors_of(p) for p in parts])
            for name, parts in self._parts_of_views().items()
            if parts
        }

    @property
    def bias_rows_(self) -> dict[str, np.ndarray]:
        """Weights of each view's constant feature, (n_parts * n_classes * n_factors,)."""
        check_is_fitted(self, "_state")
        return {
            name: self._state["B"][parts, 0].reshape(-1).astype(np.float64)
            for name, parts in self._parts_of_views().items()
            if parts
        }

    def view_norms(self) -> dict[str, tuple[int, float]]:
        """How many columns of each view have learned, and the norm of their factors.

        Returns
        -------
        norms : dict of str to (int, float)
            Columns that came with a value in a row, and the root of the sum of
            their squared factors.
        """
        check_is_fitted(self, "_state")
        norms = {}
        for name, parts in self._parts_of_views().items():
            seen = [self._state["seen"][self._places_in(p, self._columns(p))] for p in parts]
            squares = sum(float((self._factors_of(p) ** 2).sum()) for p in parts)
            norms[name] = int(np.count_nonzero(seen[:1])), float(np.sqrt(squares))
        return norms

    def interactions(self, top: int = 10) -> list[Interaction]:
        """The strongest interactions between views, of each order.

        The weight of a combination of one column of each of some views is
        ``sum_f prod_v A_v[i_v, f]`` times the bias rows of all other views: what
        the score changes by with the product of the columns' values (a regressor
        counts in standard deviations of the target).  Order 1 is
        the weight of a column by itself.  Columns that never came are left out.

        Parameters
        ----------
        top : int, default=10
            How many of each order.

        Returns
        -------
        interactions : list of Interaction
            By order, and within it by absolute weight.

        Notes
        -----
        Orders 1 and 2 are exact for views of up to 1000 columns.  Beyond, the
        search goes on with the 1000 columns, and then combinations, that can
        still become the strongest by an upper bound.
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

    def _output_labels(self) -> list[Any]:
        return [None]

    def _interactions_of(
        self, a: int, top: int
    ) -> list[tuple[tuple[str, ...], tuple[int, ...], float]]:
        """The strongest of each combination of views, in the score of class ``a``."""
        machine, seen = self._machine(), self._state["seen"]
        k = machine.B.shape[2] // machine.c.shape[1]
        own = slice(a * k, (a + 1) * k)
        tables, columns = [], []  # of each part: rows of columns that came, and which these are
        for p in range(len(machine.views)):
            came = np.flatnonzero(seen[self._places_in(p, self._columns(p))])
            tables.append(self._factors_of(p)[came, own])
            columns.append(came)
        groups = np.split(np.arange(len(machine.views)), machine.ends[:-1].astype(np.intp))
        B = machine.B[:, 0, own].astype(np.float64)
        terms = machines.terms(machine.model, tables, B, groups, machine.views)
        names = self.layout_.names
        found = []
        for parts, factors, constant in terms:
            same = len(parts) == 2 and parts[0] == parts[1]
            views = tuple(names[int(machine.views[p])] for p in parts)
            for chosen, weight in machines.strongest(factors, constant, top, same):
                named = tuple(int(columns[p][i]) for p, i in zip(parts, chosen, strict=True))
                found.append((views, named, weight))
        return found

    def _columns(self, p: int) -> np.ndarray:
        """The columns of the rows that part ``p`` has, in the order of `view_columns`."""
        v = int(self._state["views"][p])
        lo, hi = self._slots.ptr[v : v + 2]
        if self._places is None:
            return np.arange(lo, hi)
        return np.sort(self._places[(self._places >= lo) & (self._places < hi)])

    def _factors_of(self, p: int) -> np.ndarray:
        """The weights of part ``p``, by the columns of its view."""
        A = self._state["A"][self._places_in(p, self._columns(p)), 0]
        return np.asarray(A, dtype=np.float64)

    def _places_in(self, p: int, columns: np.ndarray) -> np.ndarray:
        """Where part ``p`` has these columns of the rows in A."""
        return (columns.astype(np.uint64) + self._state["column_offset"][p]).astype(np.intp)

    def _parts_of_views(self) -> dict[str, list[int]]:
        views = self._state["views"].tolist()
        return {
            name: [p for p, view in enumerate(views) if view == v]
            for v, name in enumerate(self.layout_.names)
        }

    # --- state ------------------------------------------------------------------

    def _n_scores(self) -> int:
        return int(self._state["c"].shape[1])

    def _machine(self) -> Machine:
        s = self._state
        model, ends = self._model(), s["ends"].astype(np.intp)
        # what is linear begins at 0: a group of one part, but for the pairs within it
        pairs = model in (machines.CROSS_PAIRS, machines.ALL_PAIRS)
        n_parts = np.diff(ends, prepend=0)
        sizes = np.where((n_parts > 1) | pairs, float(self.init_scale), 0.0)
        return Machine(
            s["A"],
            s["B"],
            s["c"],
            read_only(s["views"]),
            read_only(s["column_offset"]),
            read_only(s["ends"]),
            model,
            s["seen"],
            read_only(machines.keys_of(int(s["seed"][0]), len(s["B"]))),
            read_only(np.repeat(sizes, n_parts)),
            read_only(s["class_ids"]),
        )

    def _frozen(self) -> Machine:
        """To be read only, as it may come from a file that is mapped into memory."""
        m = self._machine()
        return m._replace(
            A=read_only(m.A), B=read_only(m.B), c=read_only(m.c), seen=read_only(m.seen)
        )

    def _form(self) -> tuple[int, type]:
        """Numbers a parameter, and their precision.

        AdaGrad needs a sum beside each; in single precision both of 8 factors are
        one line of the cache, and a sum of squares needs no more.
        """
        return (2, np.float32) if self.optimizer == "adagrad" else (1, np.float64)

    def _cast_state(self) -> None:
        """Bring what was learned by another optimizer into the form that this one needs."""
        layers, dtype = self._form()
        if self._state["A"].dtype == dtype and self._state["A"].shape[1] == layers:
            return
        for name, axis in (("A", 1), ("B", 1), ("c", 0)):
            value = self._state[name]
            if value.shape[axis] > layers:
                value = value[0:1] if axis == 0 else value[:, 0:1]
            elif value.shape[axis] < layers:
                value = np.concatenate([value, np.zeros_like(value)], axis=axis)
            kind = np.float64 if name == "c" else dtype
            self._state[name] = np.ascontiguousarray(value, dtype=kind)

    def _groups(self) -> list[list[int]]:
        """The views of each group."""
        names = list(self.layout_.names)
        groups = getattr(self, "groups", None)
        if groups is None:
            return [list(range(len(names)))]
        found = []
        for group in groups:
            if isinstance(group, str) or not len(group) or len(set(group)) < len(group):
                raise InputError(
                    f"groups= holds {group!r}; each group is a list of view names, each once, "
                    "such as [['user', 'ad'], ['ad', 'query']]"
                )
            for name in group:
                if name not in names:
                    raise InputError(f"groups= names {name!r}{closest_names(str(name), names)}")
            found.append([names.index(name) for name in group])
        if not found:
            raise InputError("groups= is empty; leave it at None for one group of all views")
        return found

    def _factors(self, groups: list[list[int]]) -> int:
        """Numbers a column and class."""
        model = self._model()
        if model == machines.TENSOR:
            return 1
        if model != machines.MULTI_VIEW:
            return int(self.n_factors) + 1
        return int(self.n_factors) if max(map(len, groups)) > 1 else 1

    def _start_state(self) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31))
        self._state = {}
        self._begin_anew(seed, np.arange(self._n_outputs(), dtype=np.uint64))

    def _begin_anew(self, seed: int, class_ids: np.ndarray) -> None:
        """Forget what was learned; no column has come yet."""
        groups = self._groups()
        views = [v for group in groups for v in group]
        ptr = self._slots.ptr
        widths = [int(ptr[v + 1] - ptr[v]) for v in views]
        begins = np.cumsum([0, *widths])
        column_offset = [begin - int(ptr[v]) for begin, v in zip(begins[:-1], views, strict=True)]
        layers, dtype = self._form()
        n = len(class_ids) * self._factors(groups)
        self._state |= {
            "A": np.zeros((int(begins[-1]), layers, n), dtype),
            "B": np.zeros((len(views), layers, n), dtype),
            "c": np.zeros((layers, len(class_ids))),
            "views": np.asarray(views, dtype=np.uint64),
            "column_offset": np.asarray(column_offset, dtype=np.int64).view(np.uint64),
            "ends": np.cumsum([len(group) for group in groups]).astype(np.uint64),
            "seen": np.zeros(int(begins[-1]), dtype=bool),
            "ptr": np.asarray(ptr, dtype=np.int64),
            "class_ids": class_ids,
            "seed": np.asarray([seed], dtype=np.int64),
        }
        printed = getattr(self, "init", "signs") == "printed"
        machines.begin_biases(self._machine(), float(self.init_scale) if printed else 0.0)

    def _grow_state(self, moved: np.ndarray) -> None:
        self._cast_state()
        old = self._state
        self._state = dict(old)
        self._begin_anew(int(old["seed"][0]), old["class_ids"])
        new, K = self._state, len(old["class_ids"])
        parts = {pair: p for p, pair in enumerate(_pairs(old))}
        places = {}
        for p, pair in enumerate(_pairs(new)):
            if pair in parts:
                before = np.arange(*old["ptr"][pair[1] : pair[1] + 2])
                there = (before.astype(np.uint64) + old["column_offset"][parts[pair]]).astype(
                    np.intp
                )
                places[p] = self._places_in(p, moved[before]), there
                new["seen"][places[p][0]] = old["seen"][there]
        machines.begin_seen(self._machine(), self._slots.ptr.view(np.uint64))
        k_old = old["B"].shape[2] // K
        now = {name: new[name].reshape(*new[name].shape[:2], K, -1) for name in "AB"}
        was = {name: old[name].reshape(*old[name].shape[:2], K, -1) for name in "AB"}
        groups_before = {group for group, _ in parts}
        for p, pair in enumerate(_pairs(new)):
            if pair in parts:
                here, there = places[p]
                now["A"][here, :, :, :k_old] = was["A"][there]
                now["B"][p, :, :, :k_old] = was["B"][parts[pair]]
            elif pair[0] in groups_before and self._model() == machines.MULTI_VIEW:
                # a view that comes later multiplies what was learned by 1
                now["B"][p, 0, :, :k_old] = 1.0
                now["B"][p, 0, :, k_old:] = 0.0
        new["c"][:] = old["c"]


def _pairs(state: Mapping[str, np.ndarray]) -> list[tuple[int, int]]:
    """Group and view of each part."""
    ends, views = state["ends"].tolist(), state["views"].tolist()
    return [(int(np.searchsorted(ends, p, side="right")), v) for p, v in enumerate(views)]


class EarlyStopping:
    """The loss on the rows that are held out, after each pass; keeps the best parameters."""

    def __init__(
        self,
        learner: Any,
        rows: Rows,
        held_out: np.ndarray,
        target: np.ndarray,
        weight: np.ndarray,
    ) -> None:
        self.learner = learner
        self.rows, self.held_out = rows, read_only(held_out)
        self.target, self.weight = target[held_out], weight[held_out]
        self.history: list[float] = []
        self.n = 0
        self.best, self.at = np.inf, 0
        self.goal, self.last_gain = np.inf, 0
        self.kept: dict[str, np.ndarray] = {}
        self.before = self._held_out_loss() if len(held_out) else np.inf

    def after_each(self) -> bool:
        """Look at the parameters as they are; True where it is time to stop."""
        self.n += 1
        if not len(self.held_out):
            return False
        learner = self.learner
        loss = self._held_out_loss()
        self.history.append(loss)
        if loss < self.best:
            self.best, self.at = loss, self.n
            self.kept = {name: learner._state[name].copy() for name in "Bc"}
            self.kept["A"] = learner._state["A"][learner._state["seen"]]
        if loss < self.goal * (1.0 - learner.tol):
            self.goal, self.last_gain = loss, self.n
        return bool(self.n - self.last_gain >= learner.n_iter_no_change)

    def _held_out_loss(self) -> float:
        learner = self.learner
        scores = np.zeros((len(self.rows.indptr) - 1, learner._n_scores()))
        machines.score(self.rows, self.held_out, learner._frozen(), scores)
        with np.errstate(over="ignore", invalid="ignore"):
            each = losses.losses(learner._loss(), scores[self.held_out], self.target)
            return float(np.average(each, weights=self.weight))

    def finish(self) -> None:
        """Go back to the best parameters, and say what was seen."""
        learner = self.learner
        if self.history and not self.best < 10.0 * max(self.before, 1.0):
            raise InputError(
                "the loss grows without bound; scale the columns of X (for example with "
                f"StandardScaler), or lower learning_rate={learner.learning_rate:g}"
            )
        if self.kept:
            learner._state["A"][learner._state["seen"]] = self.kept["A"]
            learner._state.update({name: self.kept[name] for name in "Bc"})
        learner.n_iter_ = self.at if self.kept else self.n
        learner.validation_loss_ = np.asarray(self.history)


class _MachineClassifier(_Machine, OnlineClassifier):
    """Machines whose scores are of classes."""

    _parameter_constraints: ClassVar[dict] = {
        **_Machine._parameter_constraints,
        **OnlineClassifier._parameter_constraints,
        "loss": [StrOptions({"logistic", "hinge", "squared"})],
    }

    # as scikit-learn has it: where rows cannot stream, there is no partial_fit
    partial_fit = available_if(lambda self: _streams(self))(OnlineClassifier.partial_fit)

    def _n_outputs(self) -> int:
        return 1 if len(self.classes_) <= 2 else len(self.classes_)

    def _output_labels(self) -> list[Any]:
        return [None] if self._n_scores() == 1 else self.classes_.tolist()

    def _loss(self) -> int:
        if self.loss == "logistic" and self._n_scores() > 1:
            return losses.SOFTMAX
        return LOSSES[self.loss]

    def _begin_intercepts(self, target: np.ndarray, weight: np.ndarray) -> None:
        # else columns would have to learn how rare a class is, and rows without them not know it
        K = self._n_scores()
        classes = np.arange(K) if K > 1 else np.array([1.0])
        total = weight.sum()
        share = np.full(len(classes), 0.5)
        if total:
            share = np.array([weight[target == c].sum() for c in classes]) / total
        self._state["c"][0] = losses.first_scores(self._loss(), share)

    @available_if(lambda self: _has_probabilities(self))
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class; for ``loss="logistic"``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``: 1 / (1 + exp(-score)) for the second
            of two classes, the softmax of the scores for more.
        """
        scores = self.decision_function(X)
        if scores.ndim > 1:
            return np.asarray(softmax(scores, axis=1))
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return np.column_stack([expit(-scores), expit(scores)])

    def _insert_class(self, old: np.ndarray, place: int) -> None:
        # of each new score: which old one it is, and how much of it; None: a new one
        sources: list[tuple[int, float] | None]
        if len(old) == 1:  # the class that was alone was the positive one; is it still?
            sources = [(0, -1.0 if place == 1 else 1.0)]
        elif len(old) == 2:  # half of the score for the second class, half against the first
            sources = [(0, -0.5), (0, 0.5)]
            sources.insert(place, None)
        else:
            sources = [(a, 1.0) for a in range(len(old))]
            sources.insert(place, None)
        self._cast_state()
        was = self._state
        class_ids = was["class_ids"]
        if len(old) >= 2:
            own = class_ids.tolist() if len(old) > 2 else [0, 1]
            class_ids = np.insert(own, place, max(own) + 1).astype(np.uint64)
        self._state = dict(was)
        self._begin_anew(int(was["seed"][0]), class_ids)
        new = self._state
        new["seen"][:] = was["seen"]
        machines.begin_seen(self._machine(), self._slots.ptr.view(np.uint64))
        K, K_old = len(class_ids), len(was["class_ids"])
        first = np.zeros(len(new["B"]), dtype=bool)  # the first part of each group
        first[np.append(0, new["ends"][:-1]).astype(np.intp)] = True
        in_first = np.repeat(first, np.diff(new["ptr"])[new["views"].astype(np.intp)])
        for a, source in enumerate(sources):
            if source is None:
                continue
            b, share = source
            new["c"][:, a] = was["c"][:, b]
            new["c"][0, a] *= share
            for name, of_first in (("A", in_first), ("B", first)):
                value = new[name].reshape(len(new[name]), -1, K, new[name].shape[2] // K)[:, :, a]
                before = was[name].reshape(len(was[name]), -1, K_old, value.shape[2])[:, :, b]
                if self._model() in (machines.MULTI_VIEW, machines.TENSOR):
                    value[:] = before
                    value[of_first, 0] *= share
                else:  # pairs change by the square, and never sign: against it they begin anew
                    value[:, :, 0] = before[:, :, 0]
                    value[:, 0, 0] *= share
                    if share > 0.0:
                        value[:, :, 1:] = before[:, :, 1:]
                        value[:, 0, 1:] *= np.sqrt(share)


def _streams(learner: Any) -> bool:
    try:
        learner.check_streams()
    except InputError as error:
        raise AttributeError(str(error)) from None
    return True


def _has_probabilities(learner: Any) -> bool:
    if learner.loss != "logistic":
        raise AttributeError(
            f"there are no probabilities with loss={learner.loss!r}; take loss='logistic'"
        )
    return True


class _MachineRegressor(_Machine, OnlineRegressor):
    """Machines whose score is a number."""

    _parameter_constraints: ClassVar[dict] = {
        **_Machine._parameter_constraints,
        "loss": [StrOptions({"squared", "huber"})],
    }

    partial_fit = available_if(lambda self: _streams(self))(OnlineRegressor.partial_fit)

    def _n_outputs(self) -> int:
        return 1

    def _loss(self) -> int:
        return LOSSES[self.loss]

    def _start_state(self) -> None:
        super()._start_state()
        self._state["units"] = np.zeros(3)

    def _in_units(self, score: np.ndarray) -> np.ndarray:
        return OnlineRegressor._in_units(self, score)


class MultiViewMachineClassifier(_MachineClassifier):
    """Classifier with interactions of every order between views, factorized together.

    A column i of view v has k weights A_v[i], and each view a bias row b_v.  With
    ``S_v = b_v + sum_i x_i A_v[i]`` the score is ``c + sum_f prod_v S_v,f``: the
    interactions of one column of each of any number of views, all from the same
    weights, at a cost linear in columns, views and k.  One view: a linear model.

    Parameters
    ----------
    views : None, dict or list of int, default=None
        The columns of each view: a mapping of name to columns (a slice, positions,
        names, a glob), or widths of consecutive blocks.  None: one view, or the
        views of a MultiView.
    n_factors : int, default=16
        Numbers that describe a column, k.  Higher can tell more interactions apart,
        costs in proportion, and fits noise sooner.  With one view there is nothing to
        factorize, and one is used.
    loss : {"logistic", "hinge", "squared"}, default="logistic"
        log(1 + exp(-y s)), max(0, 1 - y s), or ½ (y - s)² with y = -1 or 1.  With
        more than two classes "logistic" is the softmax of all scores, and the
        others set each class against the rest.  Only "logistic" gives probabilities.
    penalty : {"l2", "l1"}, default="l2"
        ½ θ², or sqrt(θ² + 1e-6), which is |θ| but smooth at 0: weights come near
        0 and do not become it.
    alpha : float, default=0.001
        Strength of the penalty, in [0, inf).  A row pays it for the parameters that it
        touches, so a column pays as often as it comes.  Higher is smoother.
    optimizer : {"adagrad", "sgd", "lbfgs", "als"}, default="adagrad"
        "adagrad": steps shrink with what a parameter has seen, each by itself, and are
        divided by the length of the view's row, its constant 1 included.
        "sgd": all steps are ``learning_rate``.  "lbfgs": all rows at once,
        `fit` only.  "als": alternating least squares, all rows at once, `fit` only; for
        the squared loss and "l2": each view in turn is a ridge regression.
    learning_rate : float, default=0.1
        Size of a step of "adagrad" and "sgd".  Higher learns faster, and overshoots.
    groups : list of lists of view names, default=None
        A sum of machines, each with parameters of its own over its views, instead
        of one over all views: fewer interactions.  Views in no group are not used.
    init : {"signs", "printed"}, default="signs"
        Bias rows before learning: random signs times (1/k)^(1/m), so that
        gradients do not vanish however many views there are; or N(0, init_scale²)
        like all other weights, as printed in the paper, which stalls from three
        views on where init_scale is small.
    penalize_bias : bool, default=False
        Whether the penalty is on bias rows too, at every row, as printed in the paper.
    init_scale : float, default=0.02
        Standard deviation of the columns' weights before learning.
    n_epochs : int, default=100
        Passes over the rows in `fit` (iterations of "lbfgs", sweeps of "als"): at most,
        with early stopping.
    early_stopping : bool, default=True
        Hold out a part of the rows of `fit`, look at the loss on it after each
        pass, stop when it no longer falls, and keep the parameters that were best.
    validation_fraction : float, default=0.1
        The part that is held out (stratified by class).
    n_iter_no_change : int, default=5
        Passes without a gain of ``tol`` before it stops.
    tol : float, default=1e-4
        Relative gain in the held-out loss that counts as one.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.
        `partial_fit` never shuffles.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency (`fit` only).
    warm_start : bool, default=False
        Let `fit` go on from what was learned before, instead of beginning anew.
    random_state : int, RandomState or None, default=None
        For the start, the shuffling and the part that is held out.  The same number
        gives the same model to the last bit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    factors_ : dict of str to ndarray
        Weights of each view's columns.
    bias_rows_ : dict of str to ndarray
        Weights of each view's constant feature.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts of the scores.
    n_iter_ : int
        The pass of `fit` whose parameters were kept.
    validation_loss_ : ndarray
        The loss on the held-out part after each pass; empty without one.
    layout_ : ViewLayout
        Views of the columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        ``groups`` names views that are not there; "als" with another loss or penalty;
        "lbfgs" and "als" on a stream.

    See Also
    --------
    MultiViewMachineRegressor : For numbers.
    FactorizationMachineClassifier : Interactions of order 2 only, with linear weights of their own.

    Notes
    -----
    `fit` of a classifier begins with the intercept at the log odds of the classes.
    A row's weight multiplies its loss, and not the penalty.  A missing view contributes
    its bias row only.  Memory is k numbers a column, and as many again for "adagrad".

    References
    ----------
    B. Cao, H. Zhou, G. Li, P. S. Yu, "Multi-View Machines", WSDM 2016, equations (5)
    to (21), with products over the other views where the paper divides by S_v, and with
    another start (``init``).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import MultiViewMachineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MultiViewMachineClassifier([10, 10, 10], n_factors=4, random_state=0)
    >>> model.fit(scale(X), y).score(scale(X), y) > 0.95
    True
    >>> model.predict_proba(scale(X)).shape
    (569, 2)
    """

    _parameter_constraints: ClassVar[dict] = {
        **_MachineClassifier._parameter_constraints,
        "n_factors": [Interval(Integral, 1, None, closed="left")],
        "groups": ["array-like", None],
        "init": [StrOptions({"signs", "printed"})],
        "penalize_bias": ["boolean"],
        "optimizer": [StrOptions({"adagrad", "sgd", "lbfgs", "als"})],
    }

    def __init__(
        self,
        views: Any = None,
        *,
        n_factors: int = 16,
        loss: str = "logistic",
        penalty: str = "l2",
        alpha: float = 0.001,
        optimizer: str = "adagrad",
        learning_rate: float = 0.1,
        groups: Sequence[Sequence[str]] | None = None,
        init: str = "signs",
        penalize_bias: bool = False,
        init_scale: float = 0.02,
        n_epochs: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        tol: float = 1e-4,
        shuffle: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.views = views
        self.n_factors = n_factors
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.groups = groups
        self.init = init
        self.penalize_bias = penalize_bias
        self.init_scale = init_scale
        self.n_epochs = n_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state

    def _model(self) -> int:
        # one view has no other to multiply: a linear model, whose intercept is enough
        linear = len(self.layout_.names) == 1 and self.groups is None
        return machines.TENSOR if linear else machines.MULTI_VIEW


class MultiViewMachineRegressor(_MachineRegressor):
    """Regressor with interactions of every order between views, factorized together.

    A column i of view v has k weights A_v[i], and each view a bias row b_v.  With
    ``S_v = b_v + sum_i x_i A_v[i]`` the score is ``c + sum_f prod_v S_v,f``: the
    interactions of one column of each of any number of views, all from the same
    weights, at a cost linear in columns, views and k.  One view: a linear model.

    Parameters
    ----------
    views : None, dict or list of int, default=None
        The columns of each view: a mapping of name to columns (a slice, positions,
        names, a glob), or widths of consecutive blocks.  None: one view, or the
        views of a MultiView.
    n_factors : int, default=16
        Numbers that describe a column, k.  Higher can tell more interactions apart,
        costs in proportion, and fits noise sooner.  With one view there is nothing to
        factorize, and one is used.
    loss : {"squared", "huber"}, default="squared"
        ½ d² of the error d in standard deviations of the target, or the same
        that goes on as |d| - ½ beyond 1, steadier against outliers.
    penalty : {"l2", "l1"}, default="l2"
        ½ θ², or sqrt(θ² + 1e-6), which is |θ| but smooth at 0: weights come near
        0 and do not become it.
    alpha : float, default=0.001
        Strength of the penalty, in [0, inf).  A row pays it for the parameters that it
        touches, so a column pays as often as it comes.  Higher is smoother.
    optimizer : {"adagrad", "sgd", "lbfgs", "als"}, default="adagrad"
        "adagrad": steps shrink with what a parameter has seen, each by itself, and are
        divided by the length of the view's row, its constant 1 included.
        "sgd": all steps are ``learning_rate``.  "lbfgs": all rows at once,
        `fit` only.  "als": alternating least squares, all rows at once, `fit` only; for
        the squared loss and "l2": each view in turn is a ridge regression.
    learning_rate : float, default=0.1
        Size of a step of "adagrad" and "sgd".  Higher learns faster, and overshoots.
    groups : list of lists of view names, default=None
        A sum of machines, each with parameters of its own over its views, instead
        of one over all views: fewer interactions.  Views in no group are not used.
    init : {"signs", "printed"}, default="signs"
        Bias rows before learning: random signs times (1/k)^(1/m), so that
        gradients do not vanish however many views there are; or N(0, init_scale²)
        like all other weights, as printed in the paper, which stalls from three
        views on where init_scale is small.
    penalize_bias : bool, default=False
        Whether the penalty is on bias rows too, at every row, as printed in the paper.
    init_scale : float, default=0.02
        Standard deviation of the columns' weights before learning.
    n_epochs : int, default=100
        Passes over the rows in `fit` (iterations of "lbfgs", sweeps of "als"): at most,
        with early stopping.
    early_stopping : bool, default=True
        Hold out a part of the rows of `fit`, look at the loss on it after each
        pass, stop when it no longer falls, and keep the parameters that were best.
    validation_fraction : float, default=0.1
        The part that is held out (stratified by class).
    n_iter_no_change : int, default=5
        Passes without a gain of ``tol`` before it stops.
    tol : float, default=1e-4
        Relative gain in the held-out loss that counts as one.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.
        `partial_fit` never shuffles.
    warm_start : bool, default=False
        Let `fit` go on from what was learned before, instead of beginning anew.
    random_state : int, RandomState or None, default=None
        For the start, the shuffling and the part that is held out.  The same number
        gives the same model to the last bit.

    Attributes
    ----------
    factors_ : dict of str to ndarray
        Weights of each view's columns.
    bias_rows_ : dict of str to ndarray
        Weights of each view's constant feature.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts of the scores.
    n_iter_ : int
        The pass of `fit` whose parameters were kept.
    validation_loss_ : ndarray
        The loss on the held-out part after each pass; empty without one.
    layout_ : ViewLayout
        Views of the columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        ``groups`` names views that are not there; "als" with another loss or penalty;
        "lbfgs" and "als" on a stream.

    See Also
    --------
    MultiViewMachineClassifier : For classes.
    FactorizationMachineRegressor : Interactions of order 2 only, with linear weights of their own.

    Notes
    -----
    `fit` of a classifier begins with the intercept at the log odds of the classes.
    A row's weight multiplies its loss, and not the penalty.  A missing view contributes
    its bias row only.  Memory is k numbers a column, and as many again for "adagrad".

    The target is centered and scaled inside.  On a stream, mean and standard deviation are those
    of the rows so far, so a row is learned the same way however the stream is cut into batches.

    References
    ----------
    B. Cao, H. Zhou, G. Li, P. S. Yu, "Multi-View Machines", WSDM 2016, equations (5)
    to (21), with products over the other views where the paper divides by S_v, and with
    another start (``init``).

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import MultiViewMachineRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> y = 3.0 + X[:, 0] * X[:, 2]
    >>> model = MultiViewMachineRegressor([2, 2], n_factors=4, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    >>> model.interactions(top=1)[-1].columns
    (0, 0)
    """

    _parameter_constraints: ClassVar[dict] = {
        **_MachineRegressor._parameter_constraints,
        "n_factors": [Interval(Integral, 1, None, closed="left")],
        "groups": ["array-like", None],
        "init": [StrOptions({"signs", "printed"})],
        "penalize_bias": ["boolean"],
        "optimizer": [StrOptions({"adagrad", "sgd", "lbfgs", "als"})],
    }

    def __init__(
        self,
        views: Any = None,
        *,
        n_factors: int = 16,
        loss: str = "squared",
        penalty: str = "l2",
        alpha: float = 0.001,
        optimizer: str = "adagrad",
        learning_rate: float = 0.1,
        groups: Sequence[Sequence[str]] | None = None,
        init: str = "signs",
        penalize_bias: bool = False,
        init_scale: float = 0.02,
        n_epochs: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        tol: float = 1e-4,
        shuffle: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.views = views
        self.n_factors = n_factors
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.groups = groups
        self.init = init
        self.penalize_bias = penalize_bias
        self.init_scale = init_scale
        self.n_epochs = n_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state

    def _model(self) -> int:
        # one view has no other to multiply: a linear model, whose intercept is enough
        linear = len(self.layout_.names) == 1 and self.groups is None
        return machines.TENSOR if linear else machines.MULTI_VIEW


class FactorizationMachineClassifier(_MachineClassifier):
    """Classifier with factorized interactions of pairs of columns.

    A column i has a linear weight w_i and k factors v_i; the score is
    ``c + sum_i w_i x_i + sum_i<j v_i·v_j x_i x_j``, over all pairs of columns or
    over those of different views, at a cost linear in columns and k.

    Parameters
    ----------
    views : None, dict or list of int, default=None
        The columns of each view: a mapping of name to columns (a slice, positions,
        names, a glob), or widths of consecutive blocks.  None: one view, or the
        views of a MultiView.
    n_factors : int, default=16
        Numbers that describe a column, k.  Higher can tell more interactions apart,
        costs in proportion, and fits noise sooner.
    cross_view_only : bool, default=False
        Only pairs of columns of different views, the paper's equation (27), instead of all
        pairs.
    loss : {"logistic", "hinge", "squared"}, default="logistic"
        log(1 + exp(-y s)), max(0, 1 - y s), or ½ (y - s)² with y = -1 or 1.  With
        more than two classes "logistic" is the softmax of all scores, and the
        others set each class against the rest.  Only "logistic" gives probabilities.
    penalty : {"l2", "l1"}, default="l2"
        ½ θ², or sqrt(θ² + 1e-6), which is |θ| but smooth at 0: weights come near
        0 and do not become it.
    alpha : float, default=0.001
        Strength of the penalty, in [0, inf).  A row pays it for the parameters that it
        touches, so a column pays as often as it comes.  Higher is smoother.
    optimizer : {"adagrad", "sgd", "lbfgs", "als"}, default="adagrad"
        "adagrad": steps shrink with what a parameter has seen, each by itself, and are
        divided by the length of the view's row, its constant 1 included.
        "sgd": all steps are ``learning_rate``.  "lbfgs": all rows at once,
        `fit` only.  "als": alternating least squares, all rows at once, `fit` only; for
        the squared loss, ``cross_view_only`` and "l2": each view in turn is a ridge regression.
    learning_rate : float, default=0.1
        Size of a step of "adagrad" and "sgd".  Higher learns faster, and overshoots.
    init_scale : float, default=0.02
        Standard deviation of the columns' weights before learning.
    n_epochs : int, default=100
        Passes over the rows in `fit` (iterations of "lbfgs", sweeps of "als"): at most,
        with early stopping.
    early_stopping : bool, default=True
        Hold out a part of the rows of `fit`, look at the loss on it after each
        pass, stop when it no longer falls, and keep the parameters that were best.
    validation_fraction : float, default=0.1
        The part that is held out (stratified by class).
    n_iter_no_change : int, default=5
        Passes without a gain of ``tol`` before it stops.
    tol : float, default=1e-4
        Relative gain in the held-out loss that counts as one.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.
        `partial_fit` never shuffles.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency (`fit` only).
    warm_start : bool, default=False
        Let `fit` go on from what was learned before, instead of beginning anew.
    random_state : int, RandomState or None, default=None
        For the start, the shuffling and the part that is held out.  The same number
        gives the same model to the last bit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    factors_ : dict of str to ndarray
        Weights of each view's columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts of the scores.
    n_iter_ : int
        The pass of `fit` whose parameters were kept.
    validation_loss_ : ndarray
        The loss on the held-out part after each pass; empty without one.
    layout_ : ViewLayout
        Views of the columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        "als" with another loss or penalty or with all pairs;
        "lbfgs" and "als" on a stream.

    See Also
    --------
    FactorizationMachineRegressor : For numbers.
    MultiViewMachineClassifier : Interactions of every order between views.

    Notes
    -----
    `fit` of a classifier begins with the intercept at the log odds of the classes.
    A row's weight multiplies its loss, and not the penalty.  A missing view contributes
    nothing.  Memory is k numbers a column, and as many again for "adagrad".

    References
    ----------
    B. Cao, H. Zhou, G. Li, P. S. Yu, "Multi-View Machines", WSDM 2016, equations (26)
    and (27).  S. Rendle, "Factorization Machines", ICDM 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import FactorizationMachineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FactorizationMachineClassifier([10, 10, 10], n_factors=4, random_state=0)
    >>> model.fit(scale(X), y).score(scale(X), y) > 0.95
    True
    >>> model.predict_proba(scale(X)).shape
    (569, 2)
    """

    _parameter_constraints: ClassVar[dict] = {
        **_MachineClassifier._parameter_constraints,
        "n_factors": [Interval(Integral, 1, None, closed="left")],
        "cross_view_only": ["boolean"],
        "optimizer": [StrOptions({"adagrad", "sgd", "lbfgs", "als"})],
    }

    def __init__(
        self,
        views: Any = None,
        *,
        n_factors: int = 16,
        cross_view_only: bool = False,
        loss: str = "logistic",
        penalty: str = "l2",
        alpha: float = 0.001,
        optimizer: str = "adagrad",
        learning_rate: float = 0.1,
        init_scale: float = 0.02,
        n_epochs: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        tol: float = 1e-4,
        shuffle: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.views = views
        self.n_factors = n_factors
        self.cross_view_only = cross_view_only
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.init_scale = init_scale
        self.n_epochs = n_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state

    def _model(self) -> int:
        return machines.CROSS_PAIRS if self.cross_view_only else machines.ALL_PAIRS


class FactorizationMachineRegressor(_MachineRegressor):
    """Regressor with factorized interactions of pairs of columns.

    A column i has a linear weight w_i and k factors v_i; the score is
    ``c + sum_i w_i x_i + sum_i<j v_i·v_j x_i x_j``, over all pairs of columns or
    over those of different views, at a cost linear in columns and k.

    Parameters
    ----------
    views : None, dict or list of int, default=None
        The columns of each view: a mapping of name to columns (a slice, positions,
        names, a glob), or widths of consecutive blocks.  None: one view, or the
        views of a MultiView.
    n_factors : int, default=16
        Numbers that describe a column, k.  Higher can tell more interactions apart,
        costs in proportion, and fits noise sooner.
    cross_view_only : bool, default=False
        Only pairs of columns of different views, the paper's equation (27), instead of all
        pairs.
    loss : {"squared", "huber"}, default="squared"
        ½ d² of the error d in standard deviations of the target, or the same
        that goes on as |d| - ½ beyond 1, steadier against outliers.
    penalty : {"l2", "l1"}, default="l2"
        ½ θ², or sqrt(θ² + 1e-6), which is |θ| but smooth at 0: weights come near
        0 and do not become it.
    alpha : float, default=0.001
        Strength of the penalty, in [0, inf).  A row pays it for the parameters that it
        touches, so a column pays as often as it comes.  Higher is smoother.
    optimizer : {"adagrad", "sgd", "lbfgs", "als"}, default="adagrad"
        "adagrad": steps shrink with what a parameter has seen, each by itself, and are
        divided by the length of the view's row, its constant 1 included.
        "sgd": all steps are ``learning_rate``.  "lbfgs": all rows at once,
        `fit` only.  "als": alternating least squares, all rows at once, `fit` only; for
        the squared loss, ``cross_view_only`` and "l2": each view in turn is a ridge regression.
    learning_rate : float, default=0.1
        Size of a step of "adagrad" and "sgd".  Higher learns faster, and overshoots.
    init_scale : float, default=0.02
        Standard deviation of the columns' weights before learning.
    n_epochs : int, default=100
        Passes over the rows in `fit` (iterations of "lbfgs", sweeps of "als"): at most,
        with early stopping.
    early_stopping : bool, default=True
        Hold out a part of the rows of `fit`, look at the loss on it after each
        pass, stop when it no longer falls, and keep the parameters that were best.
    validation_fraction : float, default=0.1
        The part that is held out (stratified by class).
    n_iter_no_change : int, default=5
        Passes without a gain of ``tol`` before it stops.
    tol : float, default=1e-4
        Relative gain in the held-out loss that counts as one.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.
        `partial_fit` never shuffles.
    warm_start : bool, default=False
        Let `fit` go on from what was learned before, instead of beginning anew.
    random_state : int, RandomState or None, default=None
        For the start, the shuffling and the part that is held out.  The same number
        gives the same model to the last bit.

    Attributes
    ----------
    factors_ : dict of str to ndarray
        Weights of each view's columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts of the scores.
    n_iter_ : int
        The pass of `fit` whose parameters were kept.
    validation_loss_ : ndarray
        The loss on the held-out part after each pass; empty without one.
    layout_ : ViewLayout
        Views of the columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        "als" with another loss or penalty or with all pairs;
        "lbfgs" and "als" on a stream.

    See Also
    --------
    FactorizationMachineClassifier : For classes.
    MultiViewMachineRegressor : Interactions of every order between views.

    Notes
    -----
    `fit` of a classifier begins with the intercept at the log odds of the classes.
    A row's weight multiplies its loss, and not the penalty.  A missing view contributes
    nothing.  Memory is k numbers a column, and as many again for "adagrad".

    The target is centered and scaled inside.  On a stream, mean and standard deviation are those
    of the rows so far, so a row is learned the same way however the stream is cut into batches.

    References
    ----------
    B. Cao, H. Zhou, G. Li, P. S. Yu, "Multi-View Machines", WSDM 2016, equations (26)
    and (27).  S. Rendle, "Factorization Machines", ICDM 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import FactorizationMachineRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> y = 3.0 + X[:, 0] * X[:, 2]
    >>> model = FactorizationMachineRegressor([2, 2], n_factors=4, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    >>> model.interactions(top=1)[-1].columns
    (0, 0)
    """

    _parameter_constraints: ClassVar[dict] = {
        **_MachineRegressor._parameter_constraints,
        "n_factors": [Interval(Integral, 1, None, closed="left")],
        "cross_view_only": ["boolean"],
        "optimizer": [StrOptions({"adagrad", "sgd", "lbfgs", "als"})],
    }

    def __init__(
        self,
        views: Any = None,
        *,
        n_factors: int = 16,
        cross_view_only: bool = False,
        loss: str = "squared",
        penalty: str = "l2",
        alpha: float = 0.001,
        optimizer: str = "adagrad",
        learning_rate: float = 0.1,
        init_scale: float = 0.02,
        n_epochs: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        tol: float = 1e-4,
        shuffle: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.views = views
        self.n_factors = n_factors
        self.cross_view_only = cross_view_only
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.init_scale = init_scale
        self.n_epochs = n_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state

    def _model(self) -> int:
        return machines.CROSS_PAIRS if self.cross_view_only else machines.ALL_PAIRS


class SupportTensorMachineClassifier(_MachineClassifier):
    """Classifier with the highest-order interactions only, of rank one.

    The score is ``c + prod_v w_v·x_v``: a weight for every combination of one column of
    each view, ``prod_v w_v[i_v]``, and nothing of lower order.  `fit` takes the views in
    turn: with all others fixed it is a linear machine on the view's columns times the
    product of the others, whose weights then have the penalty ``½ alpha n prod_v |w_v|²``.

    Parameters
    ----------
    views : None, dict or list of int, default=None
        The columns of each view: a mapping of name to columns (a slice, positions,
        names, a glob), or widths of consecutive blocks.  None: one view, or the
        views of a MultiView.
    loss : {"hinge", "logistic"}, default="hinge"
        max(0, 1 - y s), a support vector machine a view, or log(1 + exp(-y s)), which
        gives probabilities.  More than two classes: each against the rest (as a
        stream, "logistic" is the softmax of all scores).
    penalty : {"l2", "l1"}, default="l2"
        Of "adagrad" and "sgd"; "alternating" has "l2".
    alpha : float, default=0.001
        Strength of the penalty, in (0, inf) for "alternating".  Higher is smoother.
    optimizer : {"alternating", "adagrad", "sgd"}, default="alternating"
        "alternating": all rows at once, `fit` only.  "adagrad", "sgd": a row at a
        time, as for the other machines.
    learning_rate : float, default=0.1
        Size of a step of "adagrad" and "sgd".
    init_scale : float, default=1.0
        Standard deviation of the columns' weights before learning.  "alternating"
        then scales them so that each view's part of the product is about 1; for
        "adagrad" and "sgd" take about 1 over the length of a view's row.
    n_epochs : int, default=100
        Passes over the rows in `fit` ("alternating": over the views): at most,
        with early stopping.
    early_stopping : bool, default=True
        Hold out a part of the rows of `fit`, look at the loss on it after each
        pass, stop when it no longer falls, and keep the parameters that were best.
    validation_fraction : float, default=0.1
        The part that is held out (stratified by class).
    n_iter_no_change : int, default=5
        Passes without a gain of ``tol`` before it stops.
    tol : float, default=1e-4
        Relative gain in the held-out loss that counts as one.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.
        `partial_fit` never shuffles.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency (`fit` only).
    warm_start : bool, default=False
        Let `fit` go on from what was learned before, instead of beginning anew.
    random_state : int, RandomState or None, default=None
        For the start, the shuffling and the part that is held out.  The same number
        gives the same model to the last bit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    factors_ : dict of str to ndarray
        Weights of each view's columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts of the scores.
    n_iter_ : int
        The pass of `fit` whose parameters were kept.
    validation_loss_ : ndarray
        The loss on the held-out part after each pass; empty without one.
    layout_ : ViewLayout
        Views of the columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        "alternating" on a stream, with "l1" or with ``alpha=0``.

    See Also
    --------
    MultiViewMachineClassifier : Interactions of every order, of rank k.

    Notes
    -----
    A row in which a view is missing has no product: its score is the intercept.
    A row's weight multiplies its loss.

    References
    ----------
    B. Cao, H. Zhou, G. Li, P. S. Yu, "Multi-View Machines", WSDM 2016, equation (25).
    D. Tao, X. Li, W. Hu, S. Maybank, X. Wu, "Supervised Tensor Learning", ICDM 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import SupportTensorMachineClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> y = X[:, 0] * X[:, 2] > 0
    >>> model = SupportTensorMachineClassifier([2, 2], random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **_MachineClassifier._parameter_constraints,
        "loss": [StrOptions({"hinge", "logistic"})],
        "optimizer": [StrOptions({"alternating", "adagrad", "sgd"})],
    }

    def __init__(
        self,
        views: Any = None,
        *,
        loss: str = "hinge",
        penalty: str = "l2",
        alpha: float = 0.001,
        optimizer: str = "alternating",
        learning_rate: float = 0.1,
        init_scale: float = 1.0,
        n_epochs: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        tol: float = 1e-4,
        shuffle: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.views = views
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.init_scale = init_scale
        self.n_epochs = n_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state

    def _model(self) -> int:
        return machines.TENSOR

    def _check_optimizer(self) -> None:
        if self.optimizer == "alternating" and (self.penalty != "l2" or self.alpha == 0.0):
            raise InputError(
                f"optimizer='alternating' with penalty={self.penalty!r} and alpha={self.alpha!r}; "
                "it has the penalty 'l2' and an alpha above 0"
            )

    def _optimize(
        self,
        rows: Rows,
        train: np.ndarray,
        target: np.ndarray,
        weight: np.ndarray,
        random_state: np.random.RandomState,
        watch: EarlyStopping,
    ) -> None:
        if self.optimizer != "alternating":
            super()._optimize(rows, train, target, weight, random_state, watch)
            return
        self._cast_state()
        machines.begin_touched(rows, read_only(train), self._machine())
        machines_batch.alternating_machines(
            rows,
            read_only(train),
            target,
            weight,
            self._machine(),
            LOSSES[self.loss],
            float(self.alpha),
            self.n_epochs,
            watch.after_each,
        )
