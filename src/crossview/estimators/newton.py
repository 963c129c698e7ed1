"""Second-order online learning that forgets: recursive least squares and online Newton steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import losses, newton
from crossview.algorithms.merging import mean, seen_mean
from crossview.algorithms.newton import MAX_INPUTS, Newton
from crossview.batch import RowBuffers, entries_of, read_only
from crossview.errors import InputError
from crossview.estimators import parameters
from crossview.estimators.base import (
    ColumnWeights,
    Models,
    OnlineClassifier,
    OnlineRegressor,
    Schema,
    State,
    StatePart,
    ViewLearner,
)
from crossview.estimators.base.learner import rows_with_views
from crossview.estimators.base.road import Bound, OneExample
from crossview.estimators.base.weights import LinearWeights, weights_with_class
from crossview.estimators.documentation import described, document_parameters, with_parameters
from crossview.estimators.validation import Interval, StrOptions
from crossview.kernels.rows import Examples, Rows
from crossview.portable.scoring import Cosines, Table, ViewSum, split_by_view
from crossview.saving.schema import MAX_COUNT, Array
from crossview.saving.touched import zeros
from crossview.views import ViewLayout

# of one value per column
PER_COLUMN = {"D": "f8", "counts": "f8", "squares": "f8", "signs": "u1", "place": "i4"}

PARAMETERS = parameters.PARAMETERS | described(
    """
    forgetting : float
        Forgetting factor, in (0, 1]: by what each row multiplies the weight of those before it with
        the same columns.  About 1 / (1 - forgetting) rows count; a lower value follows changes
        faster and is noisier.  1: all rows count alike.  Typical values: 0.99 to 0.9999.
    full_columns : int
        Number of columns with a full covariance, at most 2,000; others have one variance each.  A
        row costs O(full_columns²) where as many columns occur.  The columns that occur first are
        taken, those beyond the first 128 of their view with their third row.
    columns : {"all", "numbers"}
        Which columns to learn from: all, or after 64 rows those of numbers alone, as for an expert
        of a stack beside others that learn categories and bins.  Columns of numbers are those that
        are not 0 in half of the 64 rows, with values above and below 0, as standardized numbers
        have them.  If there are none, only the intercept is learned; if they are more than 50, all
        columns are.
    fourier_features : int
        Number of random Fourier features of the columns of numbers, at most 2,000, with which the
        score is a smooth function of these columns together; they have a full covariance.  The
        columns are found after 64 rows, as for ``columns``, and are ``fourier_columns_``; there are
        no features if they are more than 50.  0: none.  Typical value: 100.
    initial_variance : float
        Initial variance of each weight, of a column divided by its root mean square, in (0, 1e100].
        It is not forgotten: the variance of what no row tells any more grows back to it.  A higher
        value takes larger steps on the first rows.  Typical values: 0.1 to 10.
    """
)

LEARNED = parameters.ATTRIBUTES | described(
    """
    fourier_columns_ : ndarray of int
        The columns of ``X`` that the Fourier features are made of.
    """
)


class NewtonState(StatePart):
    """The covariance of the weights, units of columns, and the Fourier features."""

    def __init__(self, state: State, learner: NewtonLearner) -> None:
        super().__init__(state, learner)
        self.n = self.slots.n_columns
        self.n_fourier = int(learner.fourier_features)
        self.first = 1 + self.n_fourier  # place of a column
        self.n_places = self.first + min(int(learner.full_columns), self.n)
        self.variance = float(learner.initial_variance)  # of a weight before the first row
        self.numbers = learner.columns == "numbers"  # whether others are not learned

    def start(self) -> None:
        """Add the initial variances, and draw the Fourier features."""
        random = check_random_state(self.learner.random_state)
        self.state |= {name: zeros((self.n,), kind) for name, kind in PER_COLUMN.items()}
        self.state |= {
            "P": np.zeros((self.n_places, self.n_places)),
            "owed": np.zeros(self.n_places),
            "used": np.array([self.first]),
            "members": np.zeros(self.n_places, dtype=np.int64),
            "V": np.zeros((self.n_fourier, self.n_scores)),
            "scale": np.ones(self.n_places),
            "input_of": np.zeros(self.n_places, dtype=np.int64),
            "inputs": np.zeros(MAX_INPUTS, dtype=np.int64),
            "n_inputs": np.array([newton.UNKNOWN]),
            "omega": random.normal(size=(self.n_fourier, MAX_INPUTS)),
            "phase": random.uniform(0.0, 2.0 * np.pi, self.n_fourier),
        }
        np.fill_diagonal(self.state["P"][: self.first, : self.first], self.variance)

    def schema(self) -> Schema:
        """Return what the arrays look like."""
        last = max(self.n - 1, 0)
        return {
            "P": Array("f8", (self.n_places, self.n_places)),
            "owed": Array("f8", (self.n_places,), 0.0, 1.0),
            "used": Array("i8", (1,), self.first, self.n_places),
            "members": Array("i8", (self.n_places,), 0, last),
            "place": Array("i4", (self.n,), 0, self.n_places - 1),
            "D": Array("f8", (self.n,), low=0.0),
            "counts": Array("f8", (self.n,), 0.0, float(MAX_COUNT)),
            "squares": Array("f8", (self.n,), low=0.0),
            "signs": Array("u1", (self.n,), 0, 3),
            "V": Array("f8", (self.n_fourier, self.n_scores)),
            "scale": Array("f8", (self.n_places,), low=0.0, holds=lambda scale: bool(scale.all())),
            "input_of": Array("i8", (self.n_places,), 0, MAX_INPUTS),
            "inputs": Array("i8", (MAX_INPUTS,), 0, last),
            "n_inputs": Array("i8", (1,), newton.TOO_MANY, MAX_INPUTS),
            "omega": Array("f8", (self.n_fourier, MAX_INPUTS)),
            "phase": Array("f8", (self.n_fourier,)),
        }

    def check(self) -> None:
        """Raise `InputError` if places and columns contradict each other."""
        state = self.state
        members, inputs = self._members(state), inputs_of(state)
        places = np.arange(self.first, self.first + len(members))
        if (
            not np.array_equal(state["place"][members], places)
            or np.count_nonzero(state["place"]) != len(members)
            or (state["place"][inputs] == 0).any()
            or not np.array_equal(state["input_of"], self._input_of(state))
            or (state["squares"][members] == 0.0).any()
            or (state["counts"][members] == 0.0).any()
        ):
            raise InputError("the places of columns in the covariance contradict each other")

    def merged(self, models: Models) -> State:
        """Return the mean of the covariances, and of the weights of Fourier features.

        Models that have found other columns of numbers than the first one have no part in it.
        """
        known = [s for s in models.states if s["n_inputs"][0] != newton.UNKNOWN]
        first = (known or models.states)[0]
        if not all(
            np.array_equal(state[name], first[name])
            for name in ("omega", "phase")
            for state in models.states
        ):
            raise InputError(
                "models with other Fourier features have no mean; give them the same "
                "random_state, or let them go on from copies of one model"
            )
        alike = [
            k
            for k, state in enumerate(models.states)
            if all(np.array_equal(state[name], first[name]) for name in ("inputs", "n_inputs"))
        ]
        total = sum(models.shares[k] for k in alike)
        shares = [models.shares[k] / total if total else 1.0 / len(alike) for k in alike]
        states = [models.states[k] for k in alike]
        merged = {name: first[name] for name in ("inputs", "n_inputs", "omega", "phase")}
        merged |= {name: models.total(name) for name in ("counts", "squares")}
        merged["signs"] = np.bitwise_or.reduce(models.of("signs"))
        merged["V"] = mean([state["V"] for state in states], shares)
        every = np.concatenate([self._members(state) for state in states])
        members = np.array(list(dict.fromkeys(every.tolist())), dtype=np.int64)
        members = members[: self.n_places - self.first]
        used = self.first + len(members)
        merged["used"] = np.array([used])
        merged["members"] = np.zeros(self.n_places, dtype=np.int64)
        merged["members"][self.first : used] = members
        merged["place"] = zeros((self.n,), np.int32)
        merged["place"][members] = np.arange(self.first, used)
        merged["scale"] = np.ones(self.n_places)
        merged["scale"][:used] = self._common_units(states, members)
        merged["input_of"] = self._input_of(merged)
        unit = merged["scale"][:used]
        P, owed = zip(*(self._at_places(state, members, unit) for state in states), strict=True)
        merged["owed"] = np.zeros(self.n_places)
        merged["owed"][:used] = mean(owed, shares)
        merged["P"] = np.zeros((self.n_places, self.n_places))
        merged["P"][:used, :used] = mean(P, shares)
        variances = [self._variances(state) for state in states]
        merged["D"] = seen_mean(variances, [one > 0.0 for one in variances], shares)
        merged["D"][members] = 0.0
        if self.numbers and first["n_inputs"][0] >= 0:  # others have no weight
            W = models.mean("W")
            merged["W"] = zeros(W.shape)
            merged["W"][members] = W[members]
        return merged

    def in_units_of_all(self, models: Models) -> Models:
        """Return the models after their units have followed with the rows of all of them."""
        scale = np.sqrt(models.total("squares") / np.maximum(models.total("counts"), 1.0))
        states: list[Mapping[str, np.ndarray]] = []
        for state in models.states:
            own = {name: state[name].copy() for name in newton.CHANGED_BY_UNITS}
            model = Newton(**{name: own.get(name, state[name]) for name in Newton._fields})
            newton.follow(model, scale, self.variance)
            states.append({**state, **own})
        return models._replace(states=states)

    def _common_units(
        self, states: Sequence[Mapping[str, np.ndarray]], members: np.ndarray
    ) -> np.ndarray:
        """Return the unit of each place: of members that of the first model with a place."""
        unit = np.ones(self.first + len(members))
        for state in reversed(states):
            place = state["place"][members]
            unit[self.first :][place > 0] = state["scale"][place[place > 0]]
        return unit

    def _at_places(
        self, state: Mapping[str, np.ndarray], members: np.ndarray, unit: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return P and what is owed of a model, its places in the order of other members."""
        place = np.append(np.arange(self.first), state["place"][members])
        own = np.append(np.ones(self.first, dtype=bool), place[self.first :] > 0)
        ratio = unit / np.where(own, state["scale"][place], unit)
        P = np.where(np.outer(own, own), state["P"][np.ix_(place, place)], 0.0)
        P *= np.outer(ratio, ratio)
        others = np.flatnonzero(~own)
        variance = state["D"][members[others - self.first]]
        P[others, others] = np.where(variance > 0.0, variance, self.variance)
        return P, np.where(own, state["owed"][place], 0.0)

    def _input_of(self, state: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return which of the inputs each place is, from 1 on; 0 where it is none."""
        found, inputs = np.zeros(len(state["members"]), dtype=np.int64), inputs_of(state)
        found[state["place"][inputs]] = 1 + np.arange(len(inputs))
        return found

    def _variances(self, state: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the variance of each column that has occurred; of others 0."""
        D, members = state["D"].copy(), self._members(state)
        at = state["place"][members]
        D[members] = state["P"][at, at]
        return D

    def _members(self, state: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the columns with a place, in the order of the places."""
        return state["members"][self.first : int(state["used"][0])]

    def grow(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Add columns that have not occurred."""
        state = self.state
        for name, kind in PER_COLUMN.items():
            old = state[name]
            state[name] = zeros((self.n,), kind)
            state[name][moved] = old
        used, members = int(state["used"][0]), moved[self._members(state)]
        P = np.zeros((self.n_places, self.n_places))
        P[:used, :used] = state["P"][:used, :used]
        owed = np.append(state["owed"], np.zeros(self.n_places - len(state["owed"])))
        scale = np.append(state["scale"], np.ones(self.n_places - len(state["scale"])))
        state |= {"P": P, "owed": owed, "scale": scale}
        state["members"] = np.zeros(self.n_places, dtype=np.int64)
        state["members"][self.first : used] = members
        inputs = inputs_of(state)
        inputs[:] = moved[inputs]
        state["input_of"] = self._input_of(state)

    def restart(self, columns: np.ndarray) -> None:
        """Let some columns be ones that have not occurred; an input keeps its place."""
        state, members = self.state, self._members(self.state).copy()
        columns = columns[~np.isin(columns, inputs_of(state))]
        stays = ~np.isin(members, columns)
        for name in PER_COLUMN:
            state[name][columns] = 0
        place = np.append(np.arange(self.first), self.first + np.flatnonzero(stays))
        used, n = len(place), self.first + len(members)
        state["P"][:used, :used] = state["P"][np.ix_(place, place)]
        state["P"][used:n], state["P"][:, used:n] = 0.0, 0.0
        for name, empty in (("owed", 0.0), ("scale", 1.0), ("members", 0)):
            state[name][:used], state[name][used:n] = state[name][place], empty
        state["place"][members[stays]] = np.arange(self.first, used)
        state["used"][0], state["input_of"][:] = used, self._input_of(state)

    def insert_class(self, n_classes: int, position: int, n_rows: int) -> None:
        """Add a class of weight 0."""
        state = self.state
        state["V"] = weights_with_class(state["V"], n_classes, position)

    def variances(self) -> np.ndarray:
        """Return the variance of the weight of each column as it is, and not divided."""
        state, members = self.state, self._members(self.state)
        found, columns = np.full(self.n, self.variance), np.flatnonzero(state["squares"])
        unit = np.ones(self.n)
        unit[columns] = root_mean_square(state, columns)
        unit[members] = state["scale"][state["place"][members]]
        found[columns] = self._variances(state)[columns]
        return found / unit**2

    def model(self, *, frozen: bool) -> Newton:
        """Return the state for the loops; ``frozen`` for those that only read it."""
        fixed = Newton._fields if frozen else ("omega", "phase")

        def own(name: str) -> np.ndarray:
            return read_only(self.state[name]) if name in fixed else self.state[name]

        return Newton(**{name: own(name) for name in Newton._fields})


def inputs_of(state: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the columns that the Fourier features are made of, in the array of the state."""
    return state["inputs"][: max(int(state["n_inputs"][0]), 0)]


def root_mean_square(state: Mapping[str, np.ndarray], columns: np.ndarray) -> np.ndarray:
    """Return that of columns that have occurred, over the rows in which they are not 0."""
    found: np.ndarray = np.sqrt(state["squares"][columns] / state["counts"][columns])
    return found


@with_parameters
class NewtonLearner(ViewLearner):
    """Base class of the learners with online Newton steps."""

    _parameter_constraints: ClassVar[dict] = {
        "columns": [StrOptions({"all", "numbers"})],
        "full_columns": [Interval(Integral, 0, 2000, closed="both")],
        "fourier_features": [Interval(Integral, 0, 2000, closed="both")],
    }

    forgetting: float = 0.999
    initial_variance: float = 1.0
    columns: str = "all"
    full_columns: int = 100
    fourier_features: int = 0
    fit_intercept: bool = True
    n_epochs: int = 1
    shuffle: bool = True
    random_state: Any = None

    def _loss(self) -> int:
        """Return the loss to minimize."""
        return losses.SQUARED

    # --- learning and scoring ----------------------------------------------------------

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        y = read_only(np.asarray(y, dtype=np.float64))
        return int(newton.learn(*self._pass(rows, Examples(order, y, weight), scores)))

    def _bind_learning(self, row: OneExample) -> Bound:
        examples = Examples(row.order, row.number, row.weight)
        return newton.learn.bind(*self._pass(row.row.rows, examples, row.scores))

    def _bind_scoring(self, row: RowBuffers, scores: np.ndarray) -> Bound:
        return newton.score_rows.bind(
            row.rows, NewtonState(self._state, self).model(frozen=True), scores
        )

    def _pass(self, rows: Rows, examples: Examples, scores: np.ndarray) -> tuple:
        """Return the arguments of a pass over these rows."""
        settings = newton.Settings(
            self._loss(),
            float(self.forgetting),
            float(self.initial_variance),
            float(self.fit_intercept),
            self.columns == "numbers",
        )
        model = NewtonState(self._state, self).model(frozen=False)
        return rows, examples, model, settings, scores.reshape(len(scores), -1)

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        found = np.empty((len(rows.indptr) - 1, self._n_scores()))
        newton.score_rows(rows, NewtonState(self._state, self).model(frozen=True), found)
        return found

    def _portable_scorer(self) -> ViewSum:
        state = self._state
        ptr, n_fourier = self._slots.ptr, len(state["omega"])
        found = ViewSum.linear(
            split_by_view(state["W"], ptr),
            np.zeros((self._slots.n_views, self._n_scores())),
            constant=state["b"][0].copy(),
            view_scores="alone",
        )
        inputs = inputs_of(state)
        if (d := len(inputs)) and n_fourier:
            scale = root_mean_square(state, inputs)
            slopes = state["omega"][:, :d].T / (scale[:, None] * np.sqrt(d))
            order = np.argsort(inputs)
            views = np.searchsorted(ptr, inputs[order], side="right") - 1
            used = np.unique(views).tolist()
            tables = [
                Table(inputs[order][views == v] - ptr[v], slopes[order][views == v]) for v in used
            ]
            weights = np.sqrt(2.0) * state["V"]
            found.cosines = Cosines(used, tables, state["phase"], weights)
        return found

    def _scores_of_views(self, rows: Rows) -> np.ndarray:
        return self._scores_alone(rows, rows_with_views)

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        state = self._state
        row, column = entries_of(rows)
        found = np.asarray(rows.data[:, None] * state["W"][column])
        inputs = inputs_of(state)
        if not len(inputs) or not len(state["omega"]):
            return found
        # what the cosines lose without the column
        scale = root_mean_square(state, inputs)
        slopes = state["omega"][:, : len(inputs)] / (scale * np.sqrt(len(inputs)))
        V = state["V"]
        angle = np.tile(state["phase"], (len(rows.indptr) - 1, 1))
        entries = [np.flatnonzero(column == q) for q in inputs.tolist()]
        for q, here in enumerate(entries):
            angle[row[here]] += rows.data[here, None] * slopes[:, q]
        for q, here in enumerate(entries):
            whole = angle[row[here]]
            without = whole - rows.data[here, None] * slopes[:, q]
            found[here] += np.sqrt(2.0) * (np.cos(whole) - np.cos(without)) @ V
        return found

    def _column_weights(self) -> ColumnWeights:
        state, variance = self._state, NewtonState(self._state, self).variances()
        weight = self._columns.spread(state["W"].T)
        variance = self._columns.spread(variance, np.nan)
        if not self.fourier_features:
            return ColumnWeights(weight, variance)
        # the root mean square of the slope of the score by the column, over all phases
        slopes, inputs = np.zeros_like(state["W"].T), inputs_of(state)
        n = len(inputs)
        scale = root_mean_square(state, inputs)
        squares = (state["V"].T ** 2) @ (state["omega"][:, :n] ** 2)
        slopes[:, inputs] = np.sqrt(squares / max(n, 1)) / scale
        return ColumnWeights(weight, variance, factor_norm=self._columns.spread(slopes))

    # --- state -------------------------------------------------------------------------

    def _merged(self, models: Models) -> State:
        part = NewtonState(dict(models.states[0]), self)
        return super()._merged(part.in_units_of_all(models))

    def _can_restart(self) -> bool:
        return True

    def _parts(self, state: State) -> list[StatePart]:
        weights = LinearWeights(state, self, 1, average=False)
        return [weights, NewtonState(state, self), *super()._parts(state)]

    # --- attributes --------------------------------------------------------------------

    @property
    def coef_(self) -> np.ndarray:
        """Weights in the order of the columns, (1, n_features) or (n_classes, n_features)."""
        return self._columns.spread(self._learned["W"].T).copy()

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts (1,) or (n_classes,); of a regressor, in standard deviations of the target."""
        return self._learned["b"][0].copy()

    @property
    def fourier_columns_(self) -> np.ndarray:
        """The columns of X that the Fourier features are made of."""
        check_is_fitted(self, "_state")
        inputs = inputs_of(self._state) if self.fourier_features else np.empty(0, dtype=np.int64)
        return np.sort(self._columns.of_slots()[inputs])


@document_parameters(PARAMETERS, attributes=LEARNED)
@with_parameters
class OnlineNewtonClassifier(NewtonLearner, OnlineClassifier):
    """Logistic regression by online Newton steps with a forgetting factor.

    Each row takes a Newton step on the log loss, with a covariance P of the weights, as recursive
    least squares does for numbers.  The rows before it then count less, so that the past fades and
    the learner follows a stream that changes.  For few columns of
    numbers, random Fourier features make the score a smooth function of all of them.

    Attributes
    ----------
    classes_, coef_, intercept_, fourier_columns_, layout_, n_features_in_, feature_names_in_

    See Also
    --------
    OnlineNewtonRegressor : The same for numbers.
    AROWClassifier : A covariance that only shrinks, for rows that are alike.

    Notes
    -----
    With features f = (1, φ, z), where φ are the Fourier features and z each column divided by its
    root mean square so far, probabilities p and ``h = max(½ Σ p (1 - p), 0.01)``, a row updates
    ``W_c <- W_c + k (y_c - p_c) P f`` and ``P <- P - h k P f f'P`` with ``k = 1 / (1 + h f'P f)``.
    For the features in the row ``P^-1`` then becomes ``forgetting P^-1 + (1 - forgetting) /
    initial_variance I``: the rows fade, and the initial variance does not.  With two classes there
    is one score, and h is p (1 - p).  ``coef_`` are the weights of the columns as they are.

    The sample weight c of a row multiplies its loss, ``k = 1 / (1/c + h f'P f)``; a row makes
    others fade once, whatever its weight.  Merged models have the mean of weights and covariances.

    References
    ----------
    E. Hazan, A. Agarwal, S. Kale, "Logarithmic regret algorithms for online convex optimization",
    Machine Learning 69 (2007), 169-192.  S. Gunnarsson, "Combining tracking and regularization in
    recursive least squares identification", IEEE Conference on Decision and Control 1996.
    A. Rahimi, B. Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import OnlineNewtonClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OnlineNewtonClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.99
    """

    scores_are_log_odds = True  # by the loss

    class_weight: Any = None
    calibration: str = "sigmoid"

    def _loss(self) -> int:
        return losses.LOGISTIC if self._n_scores() == 1 else losses.SOFTMAX


@document_parameters(PARAMETERS, attributes=LEARNED)
@with_parameters
class OnlineNewtonRegressor(NewtonLearner, OnlineRegressor):
    """Recursive least squares with a forgetting factor.

    Each row takes a Newton step on the squared error: with ``forgetting=1`` the weights are those
    of ridge regression on all rows so far.  Otherwise the rows before a row count less after it, so
    that the past fades and the learner follows a stream that changes.  For few
    columns of numbers, random Fourier features make the prediction a smooth function of all of
    them.

    Attributes
    ----------
    coef_, intercept_, fourier_columns_, layout_, n_features_in_, feature_names_in_

    See Also
    --------
    OnlineNewtonClassifier : The same for classes.

    Notes
    -----
    With features f = (1, φ, z), where φ are the Fourier features and z each column divided by its
    root mean square so far, and the error e of a standardized target, a row updates
    ``w <- w + k e P f`` and ``P <- P - k P f f'P`` with ``k = 1 / (1/c + f'P f)`` for a sample
    weight c.  For the features in the row ``P^-1`` then becomes ``forgetting P^-1 +
    (1 - forgetting) / initial_variance I``: the rows fade, and the initial variance does not.
    ``coef_`` and ``intercept_`` are in standard deviations of the target.  Merged models have
    the mean of weights and covariances.

    References
    ----------
    S. Gunnarsson, "Combining tracking and regularization in recursive least squares
    identification", IEEE Conference on Decision and Control 1996.  A. Rahimi, B. Recht, "Random
    Features for Large-Scale Kernel Machines", NIPS 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from crossview import OnlineNewtonRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = OnlineNewtonRegressor(forgetting=1.0, random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.52
    """
