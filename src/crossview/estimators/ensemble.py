"""Ensembles: several learners on the same rows, and the weights by which they are blended."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from crossview.algorithms.stacking.blend import (
    Blend,
    blend_classes,
    blend_numbers,
    center_of,
    log_odds,
)
from crossview.batch import entries_of, whole_matrix
from crossview.errors import InputError
from crossview.estimators import parameters
from crossview.estimators.base import (
    Schema,
    State,
    StatePart,
    ViewClassifier,
    ViewRegressor,
)
from crossview.estimators.base.held_out import Part, fit_parts, folds_to_fit, groups_of
from crossview.estimators.base.nested import (
    NestedLearners,
    named_entries,
    new_learner,
    own_layout,
    own_rows,
)
from crossview.estimators.documentation import described, document_parameters, with_parameters
from crossview.estimators.machines import MultiViewMachineClassifier, MultiViewMachineRegressor
from crossview.estimators.network.learner import (
    MultiViewNetworkClassifier,
    MultiViewNetworkRegressor,
)
from crossview.estimators.targets import limits_of, row_weights, scaled_targets, several_classes
from crossview.estimators.trees.boosted import MultiViewTreesClassifier, MultiViewTreesRegressor
from crossview.estimators.validation import Interval, StrOptions
from crossview.kernels.rows import Rows
from crossview.portable.scoring import SAID, Member
from crossview.portable.scoring import Blend as PortableBlend
from crossview.saving.schema import Array
from crossview.views import MultiView

PARAMETERS = parameters.PARAMETERS | described(
    """
    weights : list of float or None
        The weight of each member, 0 or more.  None: those that predict rows best that were held
        out by ``cv`` folds; where a class (of numbers: y) has a single row, all the same.
    cv : int
        Number of folds by which weights are fitted, at least 2.  More take longer, and the members
        of the folds are more like those of all rows.
    """
)

_ATTRIBUTES = parameters.ATTRIBUTES | described(
    """
    members_ : list of (str, learner, str or None)
        Name of each member, the fitted learner, and its view; None for all views.
    weights_ : dict of str to float
        Weight of each member.
    """
)


class _Member(NamedTuple):
    """A member: name, learner, its view, and scores of rows by which it is calibrated, if any."""

    name: str
    learner: Any
    view: str | None
    held_out: np.ndarray | None = None


class _Weights(StatePart):
    """The weights; of numbers also between which limits each member is kept."""

    def schema(self) -> Schema:
        limits: Schema = {"limits": Array("f8", (2,))} if self.learner._limited else {}
        weights = Array("f8", (len(self.learner._members),), 0.0)
        return {"weights": weights, "center": Array("f8", (1,)), **limits}


@with_parameters
class Ensemble(NestedLearners):
    """Base class of both ensembles."""

    _parameter_constraints: ClassVar[dict] = {
        "members": [list, tuple, None],
        "weights": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left")],
    }
    _nested = "members"
    _limited: ClassVar[bool] = False  # whether members are kept near the targets
    _trees: ClassVar[Any]  # of the default members
    _network: ClassVar[Any]
    _machine: ClassVar[Any]

    views: Any = field(default=None, kw_only=False)
    members: Any = None
    weights: Any = None
    cv: int = 5
    random_state: Any = None

    # --- to be implemented by subclasses ----------------------------------------------

    def _n_blended(self) -> int:
        """Return the number of values that are blended per row."""
        raise NotImplementedError

    def _center(self, y: np.ndarray, weight: np.ndarray) -> float:
        """Return c of the blend."""
        return 0.0

    def _of_scores(self, learner: Any, scores: np.ndarray) -> np.ndarray:
        """Return what a member says of rows with these scores, (n_samples, n_blended)."""
        raise NotImplementedError

    def _blended(self, predicted: np.ndarray, y: np.ndarray, n: int) -> Blend:
        """Return the best blend of n members for rows that were held out."""
        raise NotImplementedError

    # --- parameters ------------------------------------------------------------------------

    def _default_members(self) -> list[tuple[str, Any, str | None]]:
        """Return the members for these views: a linear model is a machine without interactions."""
        names = self._slots.names
        linear = self._machine(groups=[[view] for view in names])
        found = {"trees": self._trees(), "network": self._network(), "linear": linear}
        if len(names) > 1:
            found["mvm"] = self._machine()
        return [(name, learner, None) for name, learner in found.items()]

    def _check_nested(self, name: str, learner: Any) -> None:
        super()._check_nested(name, learner)
        is_class = isinstance(learner, ViewClassifier)
        if is_class and learner.calibration == "none" and not learner.scores_are_log_odds:
            raise InputError(f"{name} has no probabilities; leave its calibration='none' out")

    def _check_combination(self) -> None:
        if self.weights is not None:
            if self.members is None:
                raise InputError("weights= are of members=; give both")
            n, w = len(self.members), list(self.weights)
            known = all(
                isinstance(one, int | float | np.number) and 0.0 <= one < np.inf for one in w
            )
            if len(w) != n or not known or not any(w):
                raise InputError(
                    f"weights={self.weights!r}; give {n} numbers, 0 or more, one of them above 0"
                )

    # --- learning --------------------------------------------------------------------------

    def _learn(self, X: Any, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        """Fit weights and members to rows whose classes, if any, are known."""
        if not isinstance(X, MultiView):
            present = rows.present if len(rows.present) else None
            X = MultiView.from_matrix(whole_matrix(rows), self._slots, present=present)
        random_state = check_random_state(self.random_state)
        entries = [self._entry(entry, random_state) for entry in self._given_members()]
        used = np.flatnonzero(weight)  # a row of weight 0 changes nothing
        if len(used) < len(weight):
            X, y, weight = X[used], y[used], weight[used]
        if self.weights is None:
            entries, w = self._fit_weights(entries, X, y, weight)
        else:
            w = np.asarray(self.weights, dtype=np.float64)
        self._members = []
        for one in entries:
            learner, own = self._ready(one, X)
            with warnings.catch_warnings():  # a member that stops late is blended as it is
                warnings.simplefilter("ignore", ConvergenceWarning)
                learner.fit(own, y, weight)
            if one.held_out is not None:
                learner._calibrate_on(one.held_out, y, weight)
                learner.calibration = one.learner.calibration
            self._members.append(_Member(one.name, learner, one.view))
        center = np.array([self._center(y, weight)])
        self._state = {"weights": np.array(w), "center": center, **self._limits(y)}

    def _limits(self, y: np.ndarray) -> State:
        return {"limits": limits_of(y)} if self._limited else {}

    def _given_members(self) -> Iterator[tuple[str, Any, str | None]]:
        """Yield name, learner and view of each member."""
        given = self._default_members() if self.members is None else self.members
        return named_entries(given, "members")

    def _entry(self, entry: tuple[str, Any, str | None], random_state: Any) -> _Member:
        """Return a member that has learned nothing."""
        name, _, view = entry
        return _Member(name, new_learner("member", entry, self._slots, random_state), view)

    def _ready(self, one: _Member, X: MultiView) -> tuple[Any, MultiView]:
        """Return a learner to fit, and its views of the rows.

        It calibrates itself where there are no scores of held-out rows.
        """
        learner = clone(one.learner)
        if one.held_out is not None:
            learner.calibration = "none"
        return learner, X if one.view is None else X.select([one.view])

    def _fit_weights(
        self, entries: list[_Member], X: MultiView, y: np.ndarray, weight: np.ndarray
    ) -> tuple[list[_Member], np.ndarray]:
        """Return the members that have a weight, and the weights.

        The rows that are held out calibrate the members, too, which else would hold out others.
        """
        codes = np.searchsorted(self.classes_, y) if hasattr(self, "classes_") else None
        k = min(int(self.cv), len(y) if codes is None else int(np.bincount(codes).min()))
        if k < 2:
            n = len(entries)
            return entries, np.full(n, 1.0 / n)
        folds = folds_to_fit(k, len(y), codes, groups_of(X, slice(None)), 0)
        predicted = np.empty((len(entries), len(y), self._n_blended()))
        for k, one in enumerate(entries):
            if getattr(one.learner, "calibration", "none") != "none":
                entries[k] = one = one._replace(held_out=np.empty((len(y), self._n_scores())))
            new, own_X = self._ready(one, X)
            fitted = fit_parts(new, [Part(own_X, y, weight, train) for train, _ in folds])
            for (train, test), learner in zip(folds, fitted, strict=True):
                self._members, self._state = [one._replace(learner=learner)], self._limits(y[train])
                rows = self._read(X[test], reset=False)
                if one.held_out is None:
                    predicted[k, test] = self._predictions(rows)[0]
                else:
                    ((_, own),) = self._each(rows)
                    one.held_out[test] = learner._scores_of_rows(own)
            if one.held_out is not None:  # the map depends on the scores alone
                learner._calibrate_on(one.held_out, y, weight)
                predicted[k] = self._of_scores(learner, one.held_out)
        blend = self._blended(predicted, y, len(entries))
        return [entries[k] for k in blend.members], blend.weights

    # --- scores --------------------------------------------------------------------------------

    def _each(self, rows: Rows) -> Iterator[tuple[_Member, Rows]]:
        """Yield each member, and the rows as it sees them."""
        views = (one.view for one in self._members)
        yield from zip(self._members, own_rows(rows, views, self._slots.names), strict=True)

    def _predictions(self, rows: Rows) -> np.ndarray:
        """Return what the members say, (n_members, n_samples, n_blended)."""
        return np.stack(
            [
                self._within(self._of_scores(one.learner, one.learner._scores_of_rows(own)))
                for one, own in self._each(rows)
            ]
        )

    def _within(self, said: np.ndarray) -> np.ndarray:
        """Return what a member says, kept near the learned targets."""
        return np.clip(said, *self._state["limits"]) if self._limited else said

    def _learn_stand_ins_of(self, rows: Rows, n_rows: int) -> None:
        """The members have learned them."""

    def _stands_in(self, view: str) -> bool:
        own = (one.learner for one in self._members if one.view in (None, view))
        return any(learner._stands_in(view) for learner in own)

    def _portable_scorer(self) -> PortableBlend:
        members = []
        for one in self._members:
            answer = one.learner._portable_answer()
            members.append(
                Member(
                    one.name,
                    one.learner._portable(),
                    self._place_of_view(one.view),
                    **{name: answer.get(name) for name in SAID},
                )
            )
        task = "classes" if hasattr(self, "classes_") else "numbers"
        rest = self._state["center"][0] * (1.0 - self._state["weights"].sum())
        intercept = np.full(self._n_blended(), float(rest))
        limits = self._state.get("limits")
        return PortableBlend(task, members, self._state["weights"], intercept, limits=limits)

    def _blend(self, rows: Rows) -> np.ndarray:
        """Return the blend of rows, (n_samples, n_blended)."""
        at = np.arange(len(self._members))
        blend = Blend(at, self._state["weights"], float(self._state["center"][0]))
        return blend.combine(self._predictions(rows))

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        row, column = entries_of(rows)
        found = np.zeros((len(column), self._n_blended()))
        view = np.searchsorted(self._slots.ptr, column, side="right") - 1
        for w, (one, own) in zip(self._state["weights"], self._each(rows), strict=True):
            place = self._place_of_view(one.view)
            seen = np.full(len(column), True) if place is None else view == place
            scores = one.learner._scores_of_rows(own)[row[seen]]
            without = scores - one.learner._entry_contributions(own)
            found[seen] += w * (
                self._within(self._of_scores(one.learner, scores))
                - self._within(self._of_scores(one.learner, without))
            )
        return found

    # --- state -----------------------------------------------------------------------------

    def _parts(self, state: State) -> list[StatePart]:
        return [_Weights(state, self), *super()._parts(state)]

    def _fitted(self) -> list[Any]:
        return self._members

    def _header(self) -> dict[str, Any]:
        members = [
            {
                "name": one.name,
                "random_state": getattr(one.learner, "random_state", None),
                "header": one.learner.get_header(),
            }
            for one in self._members
        ]
        return {**super()._header(), "members": members}

    def _take_header(self, header: Mapping[str, Any]) -> None:
        super()._take_header(header)
        known = {entry[0]: entry for entry in self._given_members()}
        self._members = []
        for entry in header["members"]:
            if entry["name"] not in known:
                raise InputError(f"the ensemble has no member {entry['name']!r}")
            one = self._entry(known.pop(entry["name"]), check_random_state(0))
            if entry["random_state"] is not None:
                one.learner.set_params(random_state=entry["random_state"])
            one.learner.set_header(entry["header"])
            classes = getattr(self, "classes_", None)
            if one.learner.layout_ != own_layout(one.view, self._slots) or (
                classes is not None and not np.array_equal(one.learner.classes_, classes)
            ):
                raise InputError("the members of the ensemble do not fit its columns or classes")
            self._members.append(one)
        if not self._members:
            raise InputError("the ensemble has no members")

    def _header_schema(self) -> dict[str, Any]:
        entry = {"name": str, "random_state": (None, int), "header": dict}
        return {**super()._header_schema(), "members": [entry]}

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("_members", None)

    # --- what was learned --------------------------------------------------------------------

    @property
    def members_(self) -> list[tuple[str, Any, str | None]]:
        """The members: name, fitted learner, and view; None for all views."""
        return self._named()

    @property
    def weights_(self) -> dict[str, float]:
        """Weight of each member."""
        weights = self._learned["weights"].tolist()
        return dict(zip([one.name for one in self._members], weights, strict=True))


def _log_probabilities(z: np.ndarray) -> np.ndarray:
    """Return the log probabilities of classes, by the log odds of all but the first to it."""
    return np.asarray(log_softmax(np.column_stack([np.zeros(len(z)), z]), axis=1))


@document_parameters(PARAMETERS, attributes=_ATTRIBUTES)
@with_parameters
class EnsembleClassifier(Ensemble, ViewClassifier):
    """Several learners, blended by weights: what predicts best where one choice is not clear.

    Parameters
    ----------
    members : list of (str, learner) or (str, learner, str), or None, default=None
        The name of each member, the learner, and the view that it sees; without one it sees all.
        Each needs probabilities: leave ``calibration="none"`` out, unless scores are log odds.
        None: boosted trees, networks, a linear model and, of several views, a multi-view machine.

    Attributes
    ----------
    classes_, members_, weights_, layout_, n_features_in_, feature_names_in_

    See Also
    --------
    OnlineStackingClassifier : Learns members and weights in one pass over a stream.

    Notes
    -----
    With p_m the probabilities of member m, of which none is below 0.0001, the ensemble has

        p = softmax(sum_m w_m log p_m),    w_m >= 0,

    and for two classes the log odds sum_m w_m logit(p_m) are its score.  Without ``weights``,
    w minimizes the mean log loss of rows that were held out by folds, plus 0.001 |w|²; a
    member of weight 0 is left out.  Then the members learn from all rows.  `crossview.compare`
    chooses members, settings and weights in the same way, and says what they are worth.

    A sample weight goes to the members; the weights of the members count each row once, and a row
    of weight 0 not.  `contributions` are what the blend loses without a column.

    References
    ----------
    D. H. Wolpert, "Stacked generalization", Neural Networks 5 (1992), 241-259.
    L. Breiman, "Stacked regressions", Machine Learning 24 (1996), 49-64.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import AROWClassifier, EnsembleClassifier, PassiveAggressiveClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> members = [("arow", AROWClassifier()), ("worst", PassiveAggressiveClassifier(), "worst")]
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> model = EnsembleClassifier(views, members=members, random_state=0).fit(scale(X), y)
    >>> sorted(model.weights_), bool(model.score(scale(X), y) > 0.97)
    (['arow', 'worst'], True)
    """

    _nested_kind = ViewClassifier
    _trees, _network = MultiViewTreesClassifier, MultiViewNetworkClassifier
    _machine = MultiViewMachineClassifier
    scores_are_log_odds = True

    calibration: str = "none"

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows = self._read(X, reset=True)
        labels = self._read_targets(y, len(rows.indptr) - 1)
        weight = row_weights(sample_weight, len(labels))
        self.classes_ = several_classes(labels[weight > 0.0])
        self._learn(X, rows, labels, weight)

    def _n_blended(self) -> int:
        return len(self.classes_) - 1

    def _of_scores(self, learner: Any, scores: np.ndarray) -> np.ndarray:
        return log_odds(learner.probabilities(scores))

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        lost = super()._entry_contributions(rows)
        if self._n_blended() == 1:
            return lost
        z = self._blend(rows)[entries_of(rows)[0]]
        return _log_probabilities(z) - _log_probabilities(z - lost)

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        z = self._blend(rows)
        return z if z.shape[1] == 1 else _log_probabilities(z)

    def _blended(self, predicted: np.ndarray, y: np.ndarray, n: int) -> Blend:
        return blend_classes(predicted, np.searchsorted(self.classes_, y), n)


@document_parameters(PARAMETERS, attributes=_ATTRIBUTES)
@with_parameters
class EnsembleRegressor(Ensemble, ViewRegressor):
    """Several learners for numbers, blended by weights.

    Parameters
    ----------
    members : list of (str, learner) or (str, learner, str), or None, default=None
        The name of each member, the learner, and the view that it sees; without one it sees all.
        None: boosted trees, networks, a linear model and, of several views, a multi-view machine.
    loss : {"squared_error", "absolute_error"}, default="squared_error"
        What the weights make least, and so what c is: the mean of y, or its median.  `train` sets
        it by the metric.

    Attributes
    ----------
    members_, weights_, layout_, n_features_in_, feature_names_in_

    See Also
    --------
    OnlineStackingRegressor : Learns members and weights in one pass over a stream.

    Notes
    -----
    The prediction is c + sum_m w_m (f_m(x) - c), w_m >= 0, with c the mean of y, or its median.
    Without ``weights``, w minimizes the ``loss`` of rows that were held out by folds; a member of
    weight 0 is left out.  Then the members learn from all rows.

    f_m is not beyond the learned targets by more than a tenth of their range: one row far from all
    others, to which a linear member or a machine says a multiple of any target, would be the whole
    error.

    References
    ----------
    L. Breiman, "Stacked regressions", Machine Learning 24 (1996), 49-64.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from crossview import EnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = EnsembleRegressor([4, 6], random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.4)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "loss": [StrOptions({"squared_error", "absolute_error"})]
    }
    _nested_kind, _limited = ViewRegressor, True
    _trees, _network = MultiViewTreesRegressor, MultiViewNetworkRegressor
    _machine = MultiViewMachineRegressor

    loss: str = "squared_error"

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows = self._read(X, reset=True)
        y = self._read_targets(y, len(rows.indptr) - 1)
        weight = row_weights(sample_weight, len(y))
        for _, learner, _ in self._given_members():  # the row is that of X, in a fold it is not
            known = np.where(weight > 0.0, y, np.nan)
            scaled_targets(known, getattr(learner, "target_scale", "linear"))
        self._learn(X, rows, y, weight)
        self._see_targets(y[weight > 0.0])

    def _center(self, y: np.ndarray, weight: np.ndarray) -> float:
        return center_of(y, self.loss, weight)

    def _n_blended(self) -> int:
        return 1

    def _of_scores(self, learner: Any, scores: np.ndarray) -> np.ndarray:
        return np.asarray(learner._as_targets(learner._in_units(scores[:, 0]))[:, None])

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        return self._blend(rows)

    def _blended(self, predicted: np.ndarray, y: np.ndarray, n: int) -> Blend:
        return blend_numbers(predicted, y, n, self.loss)
