"""Base class of the stacks: experts, and the combination of their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from sklearn.utils import check_random_state

from crossview._jit import Pass
from crossview.algorithms.stacking import history, stream_memory
from crossview.algorithms.stacking.history import History
from crossview.algorithms.stacking.stack import STACKING, Settings, Stack, choose
from crossview.batch import RowBuffers, entries_of, read_only, rows_at, typed_rows
from crossview.errors import InputError
from crossview.estimators import parameters
from crossview.estimators.base import LearnedState, State, StatePart, Takes
from crossview.estimators.base.calibration import portable_calibration
from crossview.estimators.base.nested import NestedLearners, named_entries, own_layout
from crossview.estimators.base.road import Bound, OneExample, Road
from crossview.estimators.documentation import described, with_parameters
from crossview.estimators.kernel.values import without_overflowing_rows
from crossview.estimators.stacking import state as states
from crossview.estimators.stacking.defaults import EXPERT_CLASSES, MAX_VIEWS_ALONE, view_expert
from crossview.estimators.stacking.experts import Experts, experts_from_json, experts_to_json
from crossview.estimators.stacking.one_row import StackRow
from crossview.estimators.stacking.state import MemoryState
from crossview.estimators.validation import Interval
from crossview.kernels.rows import Rows
from crossview.portable.scoring import Member
from crossview.portable.scoring import Stack as PortableStack
from crossview.views import ViewLayout

STACK = parameters.PARAMETERS | described(
    """
    shuffle : bool
        Whether `fit` shuffles the rows before its pass.  Set it to False if the order of the rows
        matters, as in a time series.  `partial_fit` never shuffles.
    share : float
        Share α of the mixture's weight that is divided equally after each row, in [0, 1).  More
        lets another expert take over faster after a change, and costs more while nothing changes.
        Typical values: 0 to 0.01.
    ridge : float
        Ridge of stacking, in (0, inf): the curvature of the weights before the first row.  More
        keeps the weights longer at their start, which is equal.  Typical values: 10 to 1000.
    prune : int or None
        Number of consecutive rows without weight after which an expert is dropped: it is no longer
        learned, and costs nothing.  It has no weight where its share of the mixture is below 0.05
        and stacking without it would have lost less than 1 more on all rows so far.  A lower
        number drops earlier, and what is dropped does not come back.  Typical values: 1000 or
        more.  None: no expert is dropped.
    """
)

ATTRIBUTES = parameters.ATTRIBUTES | described(
    """
    experts_ : list of (str, learner, str or None)
        The experts that are left: name, fitted learner, and view; None for all views.
    mixture_weights_ : dict of str to float
        Weight of each expert in the mixture; they add up to 1.
    stacking_weights_ : dict of str to float
        Coefficient of each expert in stacking.
    stacking_decides_ : bool
        Whether stacking predicts; otherwise the mixture does.
    memory_gain_ : (float, float)
        By how many nats a row the last label predicts the next one, and the standard error.
    uses_memory_ : bool
        Whether the last labels and rows count for the next row.
    stream_threshold_ : float or None
        The threshold, of the probability of ``classes_[1]``, of a stack that follows a stream.
    weight_history_ : WeightHistory
        Weights of all experts over time, as arrays ``n_rows``, ``mixture``, ``stacking`` and
        ``stacking_decides`` with one entry per snapshot, and the names ``experts``.  There are at
        most 512 snapshots, evenly spaced.
    """
)

# rows that each expert learns before the next one does: they stay in the cache, and the
# memory for what the experts predict is bounded
ROWS_AT_ONCE = 4096

# for rows that are not learned
NO_HISTORY = history.start(0)._replace(column=read_only(np.empty(0, dtype=np.int64)))


class WeightHistory(NamedTuple):
    """The weights of the experts over time, for pictures."""

    experts: tuple[str, ...]
    n_rows: np.ndarray  # (n_snapshots,): after how many rows
    mixture: np.ndarray  # (n_snapshots, n_experts): weights of the mixture, which add up to 1
    stacking: np.ndarray  # (n_snapshots, n_experts): coefficients of stacking
    stacking_decides: np.ndarray  # bool (n_snapshots,): else the mixture decides


@with_parameters
class Stacking(NestedLearners):
    """Base class of the stacks: experts, and the combination of their scores."""

    # one pass: a row that an expert has learned says nothing about its weight
    n_epochs, learns_combination = 1, True  # False in further passes, which teach the experts
    _takes: ClassVar[Takes] = "any"
    _follows = False  # whether predictions are of the next row of the stream
    most_delay: ClassVar[int] = stream_memory.PAST  # see `set_delay`
    # of the rows of the next batch; None: the same for all
    _delays = cast("np.ndarray | None", None)  # an annotation would make it a parameter
    # what the experts said of the rows of the next batch, when they were predicted
    _said_then = cast("Sequence[np.ndarray | None] | None", None)

    _parameter_constraints: ClassVar[dict] = {
        "experts": [list, tuple, None],
        "share": [Interval(Real, 0, 1, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "prune": [Interval(Integral, 1, None, closed="left"), None],
    }

    views: Any = field(default=None, kw_only=False)
    experts: Any = None
    share: float = 0.001
    ridge: float = 100.0
    prune: int | None = None
    shuffle: bool = True
    random_state: Any = None

    _nested, _nested_has = "experts", " with score_then_learn"
    _own_views = ("views", "random_views")
    _of_view: ClassVar[type]  # the default learner that sees one view alone
    _calibrates: ClassVar[bool]  # the scores of the experts, which are no predictions

    # --- to be implemented by subclasses ------------------------------------------------

    def _default_experts(self) -> list[tuple[str, Any, str | None]]:
        """Return the experts for the views of the data, and its classes."""
        raise NotImplementedError

    def _loop(self) -> Pass:
        """Return the loop that combines the scores."""
        raise NotImplementedError

    def check_streams(self) -> None:
        """Raise an error if an expert cannot learn from a stream.

        Raises
        ------
        InputError
            The message names the parameter that needs all rows in memory.
        """
        for _, learner, _ in named_entries(self.experts or []):
            learner.check_streams()

    def expert_predictions(self) -> list[np.ndarray] | None:
        """Return what the experts said of the rows that were predicted last, for `set_delay`.

        Returns
        -------
        predictions : list of ndarray, or None
            One of each row, in float32: the number of scores, and those of each expert.  None
            before there was a prediction, and of more than 4,096 rows.
        """
        said = self._experts.said if hasattr(self, "_experts") else None
        if said is None:
            return None
        n, K, n_scores = said.shape
        columns = [expert.column for expert in self._experts]
        if len(getattr(self, "classes_", "ab")) < 2 or len(columns) != K:
            return None
        if len(self._experts.ever) > K:
            own, said = said, np.full((n, len(self._experts.ever), n_scores), np.nan)
            said[:, columns] = own
        found = np.empty((n, 1 + said.shape[1] * n_scores), dtype=np.float32)
        with np.errstate(over="ignore"):  # infinite where float32 ends
            found[:, 0], found[:, 1:] = n_scores, said.reshape(n, -1)
        return list(found)

    def set_delay(
        self, delay: Any = 0, predictions: Sequence[np.ndarray | None] | None = None
    ) -> Self:
        """Say how late the labels come of the rows that are learned from now on.

        A row whose label comes after those of n others counts 1 / (n + 1) for the weights of the
        mixture, and a classifier with ``memory`` learns it with the last labels as they were when
        it was predicted.

        Parameters
        ----------
        delay : int, array-like of int or None, default=0
            The number of labels that were learned between the prediction of a row and its own
            label: 0 where each label comes before the next row is predicted.  An array is of
            the rows of the next batch alone.  Beyond ``most_delay`` (256), or with None, where
            nobody knows, it counts as 257, and the last labels do not count.
        predictions : list of ndarray or None, default=None
            Of each row of the next batch what `expert_predictions` gave when it was predicted: a
            label that comes late teaches the weights of the experts what they said then.  None,
            also of a single row: what they say now.

        Returns
        -------
        self : object
            The stack.

        Raises
        ------
        InputError
            A delay is negative.

        Examples
        --------
        >>> from crossview import OnlineStackingClassifier
        >>> model = OnlineStackingClassifier(memory=True).follow_stream()
        >>> for i in range(9):
        ...     label = model.predict_one({"x": i + 2}) if i else None
        ...     model = model.set_delay(min(i, 2)).learn_one({"x": i}, "up")
        >>> label
        'up'
        """
        delays = np.asarray(stream_memory.PAST + 1 if delay is None else delay)
        if delays.ndim > 1 or delays.dtype.kind not in "iu" or np.any(delays < 0):
            raise InputError(f"delay={delay!r:.60}; give a number of labels, or one for each row")
        delays = np.minimum(delays, self.most_delay + 1)
        own = self.__dict__  # what is written there does not drop the road of single rows
        own["_delays"] = delays.astype(np.int64) if delays.ndim else None
        own["_said_then"] = predictions
        if delays.ndim:
            LearnedState.tell()
        else:
            self._delay[0] = delays
        return self

    # --- learning and scoring -------------------------------------------------------------

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        nonfinite_row = -1
        if not _squares_are_finite(rows.data):
            rows = typed_rows(rows)
            skipped = np.flatnonzero(without_overflowing_rows(rows, weight) != weight)
            nonfinite_row, order = int(skipped.max(initial=-1)), order[~np.isin(order, skipped)]
        without = None if self._memory(self._state) is None else np.empty_like(scores)
        delay = np.full(len(y), self._delay[0]) if self._delays is None else self._delays
        said = self._said_then
        self._check_batch(len(y))
        for lo in range(0, len(order), ROWS_AT_ONCE):
            here = order[lo : lo + ROWS_AT_ONCE]
            shape = len(here), *scores.shape[1:]
            given = y[here], weight[here], delay[here]
            then = None if said is None else [said[i] for i in here]
            out, alone = self._learn_block(typed_rows(rows_at(rows, here)), *given, then)
            scores[here] = out.reshape(shape)
            if without is not None:
                without[here] = alone.reshape(shape)
        if nonfinite_row >= 0:
            scores[skipped] = np.nan
            if without is not None:
                without[skipped] = np.nan
        # neither drops the road of single rows
        self.__dict__.update(_scores_without_memory=without, _delays=None, _said_then=None)
        return nonfinite_row

    def _check_batch(self, n_rows: int) -> None:
        """Raise an error if `set_delay` was told of another number of rows."""
        for given in (self._delays, self._said_then):
            if given is not None and len(given) != n_rows:
                raise InputError(f"delays of {len(given)} rows, and {n_rows} rows to learn")

    def _learn_block(
        self,
        rows: Rows,
        y: np.ndarray,
        weight: np.ndarray,
        delay: np.ndarray,
        said: Sequence[np.ndarray | None] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Learn some rows, in their order; return the scores before, and those without memory."""
        found = self._experts.learn(rows, y, weight, self._n_scores())
        if not self.learns_combination:
            out = self._combined(found)
            return out, out
        found = self._calibrate(found, y, weight)
        if said is not None:
            for p, then, n in zip(found, said, delay, strict=True):
                self._say_again(p, then, n)
        alive = np.ones(len(self._experts), dtype=bool)
        column = np.array([expert.column for expert in self._experts])
        past = states.as_history(self._state, read_only(column))
        out = np.empty((len(y), found.shape[2]))
        self._combine(found, (y, weight, delay), states.as_stack(self._state, alive), past, out)
        if not alive.all():
            self._keep_experts(np.flatnonzero(alive))
        if (memory := self._memory(self._state)) is None:
            return out, out
        alone = out.copy()
        given = tuple(map(read_only, (y.astype(np.float64), weight, delay)))
        stream_memory.combine(rows, out, given, memory.for_loops())
        return out, alone

    def _say_again(self, p: np.ndarray, said: np.ndarray | None, delay: int) -> None:
        """Write what the experts said of a row when it was predicted, if that was earlier."""
        n_scores = p.shape[1]
        if delay > 0 and said is not None and len(said) and said[0] == n_scores:
            then = said[1:].reshape(-1, n_scores)
            for k, expert in enumerate(self._experts):
                p[k] = then[expert.column] if expert.column < len(then) else np.nan

    def _keep_experts(self, kept: np.ndarray) -> None:
        """Drop all other experts; their weights are 0."""
        state, K = self._state, len(self._state["omega"])
        rows = np.append(kept, np.arange(K, len(state["v"])))
        state["v"], state["A_inv"] = state["v"][rows], state["A_inv"][np.ix_(rows, rows)]
        for name in ("calibrations", "omega", "idle"):
            state[name] = state[name][kept]
        self._experts[:] = [self._experts[k] for k in kept]

    # --- single rows: see `road` ------------------------------------------------------------

    def _bind_learning(self, row: OneExample) -> Bound | None:
        if not self.learns_combination:
            return None
        one = StackRow(self, row.row, row.scores.reshape(1, -1), row)
        return one if all(one.bound) else None

    def _bind_scoring(self, row: RowBuffers, scores: np.ndarray) -> Bound | None:
        one = StackRow(self, row, scores)
        return one if all(one.bound) else None

    def _bind_combination(
        self, p: np.ndarray, of_rows: tuple[np.ndarray, ...], out: np.ndarray, learn: bool
    ) -> Bound:
        """Return the loop over what the experts predict for one row; ``learn``: learn from it."""
        alive = np.ones(len(self._experts), dtype=bool)
        column = np.array([expert.column for expert in self._experts])
        past = states.as_history(self._state, read_only(column)) if learn else NO_HISTORY
        stack, given = states.as_stack(self._state, alive), tuple(map(read_only, of_rows))
        combine = self._loop().bind(read_only(p), given, stack, self._settings(), past, out)
        if not (learn and self.prune):
            return combine

        def combine_and_drop() -> None:
            combine()
            if not alive.all():
                self._keep_experts(np.flatnonzero(alive))

        return combine_and_drop

    def _bind_memory(
        self, rows: Rows, of_rows: tuple[np.ndarray, ...], scores: np.ndarray
    ) -> Bound | None:
        """Return the loop by which the memory changes the scores of a row, and learns it."""
        memory = self._memory(self._state)
        if memory is None:
            return None
        given = tuple(map(read_only, of_rows))
        bound: Bound = stream_memory.combine.bind(rows, scores, given, memory.for_loops())
        return bound

    def _memory(self, state: State) -> MemoryState | None:
        """Return the memory of the last labels and rows; None if there is none."""
        return None

    @property
    def _delay(self) -> np.ndarray:
        """The delay of a label; the array stays, as the loops of single rows are bound to it."""
        delay: np.ndarray = self.__dict__.setdefault("_delay_of_one", np.zeros(1, dtype=np.int64))
        return delay

    def _settings(self) -> Settings:
        """Return the parameters of the combination."""
        return Settings(float(self.share), float(self.ridge), int(self.prune or 0))

    def _states(self) -> list[State]:
        return [self._state, *(expert.learner._state for expert in self._experts)]

    @property
    def _leaves_road(self) -> bool:
        return self._delays is not None or super()._leaves_road

    def _share_road(self, road: Road) -> None:
        for expert in self._experts:
            expert.learner.__dict__["_road"] = road

    def _has_road(self, road: Road) -> bool:
        if self._delays is not None:  # for a moment only
            return False
        return all(expert.learner.__dict__.get("_road") is road for expert in self._experts)

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        n = len(rows.indptr) - 1
        positions = np.arange(n)
        out = np.empty((n, self._n_scores()))
        for lo in range(0, n, ROWS_AT_ONCE):
            here = positions[lo : lo + ROWS_AT_ONCE]
            out[here] = self._scores_of_block(typed_rows(rows_at(rows, here)))
        if n > ROWS_AT_ONCE:  # those of all would take much memory
            self._experts.said = None
        return out

    def _learn_stand_ins_of(self, rows: Rows, n_rows: int) -> None:
        self._experts.learn_stand_ins(rows, n_rows)

    def _stands_in(self, view: str) -> bool:
        # the experts of one view abstain
        joint = (one.learner for one in self._experts if one.view is None)
        return any(learner._stands_in(view) for learner in joint)

    def _portable_scorer(self) -> PortableStack:
        state, K, C = self._state, len(self._experts), self._n_scores()
        members = []
        for k, expert in enumerate(self._experts):
            calibrated = None
            if self._calibrates:
                calibrated = portable_calibration(state["calibrations"][k], C)
            view, scorer = self._place_of_view(expert.view), expert.learner._portable()
            members.append(Member(expert.name, scorer, view, calibration=calibrated))
        task = "numbers"
        if self._calibrates:
            task = "two classes" if C == 1 else "several classes"
        return PortableStack(
            *(task, members, state["omega"][:K], state["v"], self.stacking_decides_)
        )

    def _scores_of_block(self, rows: Rows) -> np.ndarray:
        found = self._calibrated(self._experts.scores(rows, self._n_scores()))
        self._experts.said = found
        out = self._combined_of(found)
        if self._follows and (memory := self._memory(self._state)) is not None:
            n = len(out)  # rows of weight 0 are not learned
            given = tuple(map(read_only, (np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64))))
            stream_memory.combine(rows, out, given, memory.for_loops())
        return out

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        C = self._n_scores()
        row, _ = entries_of(rows)
        scores = self._experts.scores(rows, C)
        without = scores[row] - self._experts.contributions(rows, C)
        return self._combined(scores)[row] - self._combined(without)

    def _combined(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of rows from those of the experts, (n, K, n_scores)."""
        return self._combined_of(self._calibrated(scores))

    def _combined_of(self, found: np.ndarray) -> np.ndarray:
        """Return the scores of rows from the experts' predictions."""
        n, K, C = found.shape
        # rows of weight 0 are combined and not learned
        y = np.zeros(n, dtype=np.int64 if C > 1 else np.float64)
        nothing = y, np.zeros(n), np.zeros(n, dtype=np.int64)
        copy = {name: self._state[name].copy() for name in Stack._fields if name != "alive"}
        out = np.empty((n, C))
        stack = states.as_stack(copy, np.ones(K, dtype=bool))
        self._combine(found, nothing, stack, NO_HISTORY, out)
        return out

    def _combine(
        self,
        found: np.ndarray,
        rows: tuple[np.ndarray, ...],
        stack: Stack,
        past: History,
        out: np.ndarray,
    ) -> None:
        """Run the loop over what the experts predict."""
        given = tuple(map(read_only, rows))
        self._loop()(read_only(found), given, stack, self._settings(), past, out)

    def _calibrate(self, found: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return what the experts predict for rows, from their scores, and learn from it."""
        return found

    def _calibrated(self, found: np.ndarray) -> np.ndarray:
        """Return what the experts predict for rows, from their scores."""
        return found

    # --- state -----------------------------------------------------------------------------

    def _start_state(self) -> None:
        random_state = check_random_state(self.random_state)
        given = self._default_experts() if self.experts is None else named_entries(self.experts)
        self._experts = Experts(self)
        for entry in given:
            self._experts.add(*entry, self, random_state)
        super()._start_state()

    def _parts(self, state: State) -> list[StatePart]:
        memory = self._memory(state)
        parts = [states.StackState(state, self), *super()._parts(state)]
        return parts if memory is None else [*parts, memory]

    def _header_schema(self) -> dict[str, Any]:
        entry = {"name": str, "view": (None, str), "column": int, "class": str, "params": dict}
        return {**super()._header_schema(), "experts": {"ever": [str], "left": [entry]}}

    def _check_columns(self, slots: ViewLayout) -> None:
        if hasattr(self, "_experts"):
            for expert in self._experts:
                expert.learner._check_columns(own_layout(expert.view, slots))

    def _grow_state(self, moved: np.ndarray, before: ViewLayout) -> None:
        super()._grow_state(moved, before)
        old, names = self._experts.names, self.layout_.names
        self._experts.grow(self, moved, old)
        if self.experts is not None or not len(old) < len(names) <= MAX_VIEWS_ALONE:
            return
        random_state = check_random_state(self.random_state)
        for view in names if len(old) == 1 else names[len(old) :]:
            entry = view_expert(view, self._of_view)
            self._experts.add(*entry, self, random_state)
            states.StackState(self._state, self).add_expert()

    def _can_restart(self) -> bool:
        given = self.experts or [] if not hasattr(self, "_experts") else self.experts_
        return all(learner._can_restart() for _, learner, _ in named_entries(given))

    def _restart(self, columns: np.ndarray) -> None:
        super()._restart(columns)
        for expert in self._experts if hasattr(self, "_experts") else ():
            own = columns
            if expert.view is not None:
                block = self.layout_.block(expert.view)
                own = columns[(columns >= block.start) & (columns < block.stop)] - block.start
            expert.learner._restart(own)

    def _fitted(self) -> list[Any]:
        return self._experts

    def _header(self) -> dict[str, Any]:
        return {**super()._header(), "experts": experts_to_json(self._experts)}

    def _take_header(self, header: Mapping[str, Any]) -> None:
        super()._take_header(header)
        self._experts = experts_from_json(header["experts"], self.experts, EXPERT_CLASSES, self)
        for expert in self._experts:
            if not isinstance(expert.learner, self._nested_kind):
                raise InputError(f"expert {expert.name!r} does not predict what the stack does")
            expert.learner.check_params()
            expert.learner.check_streams()

    def _forget(self) -> None:
        super()._forget()
        for name in ("_experts", "_said_then"):
            self.__dict__.pop(name, None)

    # --- what was learned -------------------------------------------------------------------

    @property
    def experts_(self) -> list[tuple[str, Any, str | None]]:
        """The experts that are left: name, learner, and view; None for all views."""
        return self._named()

    @property
    def mixture_weights_(self) -> dict[str, float]:
        """Weight of each expert in the mixture; they add up to 1."""
        return self._by_name(self._learned["omega"])

    @property
    def stacking_weights_(self) -> dict[str, float]:
        """Coefficient of each expert in stacking."""
        return self._by_name(self._learned["v"])

    @property
    def stacking_decides_(self) -> bool:
        """True where stacking predicts; otherwise the mixture does."""
        return bool(choose(self._learned["losses"]) == STACKING)

    @property
    def weight_history_(self) -> WeightHistory:
        """Weights of all experts over time, at most 512 evenly spaced snapshots."""
        state, n = self._learned, int(self._state["clock"][2])
        mixture, stacking = (state["weights"][:n, i].copy() for i in range(2))
        rows, decides = state["rows"][:n].copy(), state["stacks"][:n].copy()
        return WeightHistory(tuple(self._experts.ever), rows, mixture, stacking, decides)

    def _by_name(self, weights: np.ndarray) -> dict[str, float]:
        names = [expert.name for expert in self._experts]
        return dict(zip(names, weights[: len(names)].tolist(), strict=True))


def _squares_are_finite(values: np.ndarray) -> bool:
    """Return whether no squared norm of a row can overflow."""
    if not len(values):
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        peak = max(float(values.max()), -float(values.min()))
        return bool(np.isfinite(peak * peak * len(values)))
