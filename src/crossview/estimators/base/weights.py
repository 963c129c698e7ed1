"""The learned state of the linear classifiers: weights, their averages, and their covariance."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from crossview.algorithms import merging, online
from crossview.algorithms.couplings import Coupling
from crossview.algorithms.couplings.view_weights import weigh
from crossview.algorithms.geometries import changes
from crossview.algorithms.geometries import covariance as forms
from crossview.algorithms.geometries.covariance import Covariance
from crossview.algorithms.rules import Rule
from crossview.batch import read_only
from crossview.errors import InputError
from crossview.estimators.base.state import Models, Schema, State, StatePart
from crossview.kernels.rows import Rows, score_views
from crossview.saving.schema import MAX_COUNT, MAX_FINITE, Array
from crossview.saving.touched import zeros
from crossview.views import ViewLayout


class LinearWeights(StatePart):
    """A weight per column, an intercept or one per view, and sums that give their averages.

    state: the arrays of the learner: ``W`` and ``b``; ``U`` and ``c``, empty without averaging;
      ``t``, the number of rows; and ``lengths``, moments of the lengths of the rows.
    n_biases: number of intercepts per score.
    average: whether the averages are learned, too.
    """

    def __init__(self, state: State, learner: Any, n_biases: int, average: bool) -> None:
        super().__init__(state, learner)
        self.columns = self.slots.n_columns, self.n_scores
        self.biases, self.average = (n_biases, self.n_scores), average

    def start(self) -> None:
        """Add weights of 0."""
        empty = (0, self.columns[1])
        self.state |= {
            "W": zeros(self.columns),
            "b": np.zeros(self.biases),
            "U": zeros(self.columns if self.average else empty),
            "c": np.zeros(self.biases if self.average else empty),
            "t": np.zeros(1, dtype=np.int64),
            "lengths": np.zeros((self.biases[0], 2)),
        }

    def schema(self) -> Schema:
        """Return what the arrays look like; averages or not, whatever was set since."""
        empty, averages = (0, self.columns[1]), len(self.state["U"]) > 0
        return {
            "W": Array("f8", self.columns),
            "b": Array("f8", self.biases),
            "U": Array("f8", self.columns if averages else empty),
            "c": Array("f8", self.biases if averages else empty),
            "t": Array("i8", (1,), 0, MAX_COUNT),
            "lengths": Array("f8", (self.biases[0], 2)),
        }

    def merged(self, models: Models) -> State:
        """Return the mean weights."""
        merged = {name: models.mean(name) for name in "Wb"}
        merged |= {name: models.total(name) for name in ("t", "lengths")}
        return merged | self.merged_averages(models, merged)

    def merged_averages(self, models: Models, merged: Mapping[str, np.ndarray]) -> State:
        """Return the sums of averaging for the merged weights."""
        found = {}
        for name, of in (("U", "W"), ("c", "b")):
            if not len(models.states[0][name]):
                found[name] = models.states[0][name]
                continue
            *each, start = (
                (state[of], state[name], int(state["t"][0]))
                for state in [*models.states, models.start]
            )
            t = int(merged["t"][0])
            found[name] = merging.averaged_weights(merged[of], each, start, t)
        return found

    def grow(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Add columns and views of weight 0."""
        lengths = self.state["lengths"]
        self.state["lengths"] = np.zeros((self.biases[0], 2))
        self.state["lengths"][: len(lengths)] = lengths
        for name in "WUbc":
            old = self.state[name]
            if name in "Uc" and not len(old):
                continue
            new = np.zeros(self.columns if name in "WU" else self.biases)
            new[moved if name in "WU" else np.arange(len(old))] = old
            self.state[name] = new

    def restart(self, columns: np.ndarray) -> None:
        """Let some weights be 0 again."""
        for name in "WU":
            if len(self.state[name]):
                self.state[name][columns] = 0.0

    def insert_class(self, n_classes: int, position: int, n_rows: int) -> None:
        """Add a class of weight 0, with the intercept of one that no row had."""
        for name in "WbUc":
            self.state[name] = weights_with_class(self.state[name], n_classes, position)
        if n_classes > 1:
            self.state["b"][:, position] = self.learner._score_of_new_class(n_rows)

    # --- use --------------------------------------------------------------------------

    def arrays(self) -> online.Weights:
        """Return the arrays for the learning loops, with a class axis."""
        equal = {"beta": np.ones(self.biases[0]), "beta_sums": np.empty(0)}
        state = equal | self.state
        return online.Weights(*(state[name] for name in online.Weights._fields))

    def for_loops(self) -> online.Weights:
        """Return the arrays for the learning loops: without the class axis for two classes."""
        model = self.arrays()
        if self.columns[1] > 1:
            return model
        return model._replace(**{name: getattr(model, name).reshape(-1) for name in "WbUc"})

    def predicting(self, name: str) -> np.ndarray:
        """Return ``W`` or ``b`` to predict with: the last ones, or their mean over the rows.

        Learned weights of the views are in them.
        """
        found = self.state[name]
        if self._averages():
            found = found - self.state["U" if name == "W" else "c"] / self.state["t"][0]
        if "beta" in self.state:
            widths = self.slots.widths if name == "W" else 1
            found = found * np.repeat(self.state["beta"], widths)[:, None]
        return found

    def add_scores(self, rows: Rows, scores: np.ndarray, norms: np.ndarray) -> None:
        """Write the scores of each view without intercepts, and the squared norms of its rows."""
        score_views(rows, read_only(self.state["W"]), scores, norms)
        if self._averages():
            past = np.zeros_like(scores)
            score_views(rows, read_only(self.state["U"]), past, norms)
            scores -= past / self.state["t"][0]
        if "beta" in self.state:
            scores *= self.state["beta"][:, None]

    def _averages(self) -> bool:
        return len(self.state.get("U", ())) > 0 and bool(self.state["t"][0] > 0)


class ViewWeights(StatePart):
    """The weights of the views in the joint score, where they are learned.

    state: the arrays of the learner: ``beta``, and ``beta_sums``, which it follows from.
    """

    def start(self) -> None:
        """Add equal weights."""
        self.state |= self._following(np.zeros(self.slots.n_views + 1))

    def schema(self) -> Schema:
        """Return what the arrays look like."""
        V = self.slots.n_views
        return {
            "beta": Array("f8", (V,), 0.0, float(V)),
            "beta_sums": Array("f8", (V + 1,), [*[-MAX_FINITE] * V, 0.0], MAX_FINITE),
        }

    def check(self) -> None:
        """Raise `InputError` if the weights are not those of their sums."""
        expected = self._following(self.state["beta_sums"])["beta"]
        if not np.allclose(self.state["beta"], expected, rtol=1e-9):
            raise InputError("the weights of the views are not those of the sums beside them")

    def merged(self, models: Models) -> State:
        """Return the weights by the rows of all models."""
        return self._following(models.total("beta_sums"))

    def grow(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Add views that were as good as the mean of the others."""
        sums = self.state["beta_sums"]
        new = np.zeros(self.slots.n_views - len(sums) + 1)
        self.state |= self._following(np.concatenate([sums[:-1], new, sums[-1:]]))

    def _following(self, sums: np.ndarray) -> State:
        """Return the weights of these sums, and the sums."""
        beta = np.empty(len(sums) - 1)
        weigh(beta, sums)
        return {"beta": beta, "beta_sums": sums}


def weights_with_class(weights: np.ndarray, n_classes: int, position: int) -> np.ndarray:
    """Return weights of ``n_classes`` classes, (n, n_scores), with a class of weight 0 more."""
    if n_classes == 1:
        # the only class so far is the positive one
        return np.ascontiguousarray(-weights if position == 1 else weights)
    if n_classes == 2:
        # w·x > 0 predicts the second class: half of w for it, half against the first
        weights = np.hstack([-weights / 2, weights / 2])
    return np.ascontiguousarray(np.insert(weights, position, 0.0, axis=1))


# --- covariance ---------------------------------------------------------------------------

DIAGONALS = {"precision": forms.DIAGONAL, "covariance": forms.DIAGONAL_COVARIANCE}

# "auto" is full from the start up to this number of columns ...
MAX_COLUMNS_FULL_AT_ONCE = 64
# ... and low-rank beyond.  If the full form takes at most this memory, it becomes full after as
# many rows as there are columns, ...
MAX_FULL_BYTES = 256 * 2**20
# ... otherwise diagonal after this number of rows
MAX_ROWS_BEFORE_DIAGONAL = 1024

# relative to the initial variance; rows along which it is less change nothing.  CW would let it
# fall to 1e-163 on 10^8 rows with noisy labels; 10^12 rows of length 10^6 lead to 1e-24
LEAST_VARIANCE = 1e-30

STORED = [name for name in Covariance._fields if name not in ("form", "ptr")]


class WeightCovariance(StatePart):
    """The covariance of the weights, whose form may change while they learn.

    state: the arrays of the learner; those of the covariance begin with "S.".
    learner: has the parameters, and weights that have the covariance.
    """

    def __init__(self, state: State, learner: Any) -> None:
        super().__init__(state, learner)
        self.weights, self.ptr = learner._weights(state), self._ptr_of(self.slots)
        self.bias = float(learner.fit_intercept)

    @property
    def S(self) -> Covariance:  # noqa: N802 - the symbol of the papers
        """The covariance for the learning loops."""
        return self._of(self.state)

    @S.setter
    def S(self, S: Covariance) -> None:  # noqa: N802
        self.state |= _as_state(S)

    def _ptr_of(self, slots: ViewLayout) -> np.ndarray:
        """Return the first column of each covariance, one per view or one for all, and the end."""
        return np.array(slots.ptr if self.learner._per_view() else slots.ptr[[0, -1]])

    def _of(self, state: Mapping[str, np.ndarray]) -> Covariance:
        arrays = {name: state[f"S.{name}"] for name in STORED}
        return Covariance(form=int(state["S.form"][0]), ptr=self.ptr, **arrays)

    def start(self) -> None:
        """Add the initial variances, in the form that the first rows need."""
        options, widths = self.learner, np.diff(self.ptr).tolist()
        grows = options._columns.named is not None
        is_small = not grows and max(widths) <= MAX_COLUMNS_FULL_AT_ONCE
        if options.covariance == "full" or (options.covariance == "auto" and is_small):
            form = forms.FULL
        elif options.covariance == "diagonal":
            form = DIAGONALS[options.diagonal]
        else:
            form = forms.LOW_RANK
        variance, scaling = options.initial_variance, options.intercept_scaling
        self.S = forms.init_covariance(form, self.ptr, variance, scaling=scaling)

    def schema(self) -> Schema:
        """Return what the arrays look like in their form."""
        state, ptr = self.state, self.ptr
        form = int(np.ravel(state["S.form"])[0])
        sizes = [
            forms.full_bytes([w]) // 8 if form == forms.FULL else 0 for w in np.diff(ptr).tolist()
        ]
        V, n = len(ptr) - 1, int(ptr[-1])
        room = state["S.begin"].shape[1] if form == forms.LOW_RANK else 0
        entries = state["S.values"].shape[0] if form == forms.LOW_RANK else 0
        index = forms.no_rows(0, 0, n)["columns"].dtype.str[1:]
        return {
            "S.form": Array("i8", (1,), 0, forms.LOW_RANK),
            "S.D": Array("f8", (n,), low=0.0),
            "S.d": Array("f8", (V,), low=0.0),
            "S.T": Array("f8", (sum(sizes),)),
            "S.triangle_ptr": np.cumsum([0, *sizes]),
            "S.kept": Array("i8", (V,), 0, room),
            "S.begin": Array("i8", (V, room), 0, entries),
            "S.end": Array("i8", (V, room), 0, entries),
            "S.rho": Array("f8", (V, room), low=0.0),
            "S.L": Array("f8", (V, room * (room + 1) // 2)),
            "S.values": Array("f8", (entries,)),
            "S.columns": Array(index, (entries,), 0, max(n - 1, 0)),
            "S.used": np.array([entries]),
        }

    def check(self) -> None:
        """Raise `InputError` if a row that is kept has columns of another view."""
        S, total = self.S, 0
        for v, kept in enumerate(S.kept.tolist()):
            begin, end = S.begin[v, :kept], S.end[v, :kept]
            total += int((end - begin).sum())
            fits = not (begin > end).any() and total <= S.used[0]  # an entry belongs to one row
            if fits:
                rows = [S.columns[b:e] for b, e in zip(begin.tolist(), end.tolist(), strict=True)]
                columns = np.concatenate([S.columns[:0], *rows])
                fits = not len(columns) or (
                    S.ptr[v] <= columns.min() <= columns.max() < S.ptr[v + 1]
                )
            if not fits:
                raise InputError(
                    "a row that the low-rank covariance keeps has columns of another view"
                )

    def saved(self) -> State:
        """Return the arrays without room for more rows."""
        return _as_state(forms.trimmed(self.S))

    def merged(self, models: Models) -> State:
        """Return the covariance of the rows of all models, and the weights that go with it."""
        each = [self._of(state) for state in [*models.states, models.start]]
        *own, start = merging.same_form(each, self.bias)
        faded = models.shares if self.learner.forgetting < 1.0 else None
        S = merging.covariances(own, start, self.bias, faded)
        merged: State = {}
        if models.product:
            weights = [(state["W"], state["b"]) for state in models.states]
            gaussians = [(one, *w) for one, w in zip(own, weights, strict=True)]
            first = (start, models.start["W"], models.start["b"])
            merged["t"] = models.total("t")
            merged["W"], merged["b"] = merging.product(S, gaussians, first, self.bias, faded)
            merged |= self.weights.merged_averages(models, merged)
        if S.form == forms.LOW_RANK:
            S = self._within_rank(S)
        return merged | _as_state(forms.trimmed(S))

    def grow(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Add columns with the initial variance."""
        S, options = self._of(self.state)._replace(ptr=self._ptr_of(before)), self.learner
        too_large = forms.full_bytes(np.diff(self.ptr).tolist()) > MAX_FULL_BYTES
        if S.form == forms.FULL and options.covariance != "full" and too_large:
            S = changes.to_diagonal(S, self.bias)
        variance, scaling = options.initial_variance, options.intercept_scaling
        self.S = changes.rearranged(S, moved, self.ptr, variance, scaling)

    def restart(self, columns: np.ndarray) -> None:
        """Let some columns have the initial variance again, and none with others."""
        if self.S.form not in DIAGONALS.values():
            self.S = changes.to_diagonal(self.S, self.bias)
        self.state["S.D"][columns] = self.learner.initial_variance

    # --- use --------------------------------------------------------------------------

    def learn(self, examples: online.Examples, rule: Rule, coupling: Coupling) -> int:
        """Make one pass; return the last nonfinite row that was left out, or -1."""
        examples = self._examples(examples)
        model = self.weights.arrays()
        rule, nonfinite_row = self._with_variances(rule), -1
        order, rows = examples.order, examples.rows
        if rule.forgetting < 1.0 and self.S.form == forms.LOW_RANK:  # whose rows do not fade
            is_small = max(np.diff(self.ptr).tolist()) <= MAX_COLUMNS_FULL_AT_ONCE
            change = changes.to_full if is_small else changes.to_diagonal
            self.S = change(self.S, self.bias)
        while True:
            examples = examples._replace(order=order)
            learned, nonfinite = online.learn_with_covariance(
                examples, model, self.S, self.bias, rule, coupling
            )
            nonfinite_row = max(nonfinite_row, nonfinite)
            order = order[learned:]
            if len(order) == 0:
                return int(nonfinite_row)
            row = order[0]
            self._make_room(int(rows.indptr[row + 1] - rows.indptr[row]))

    def bind(
        self, examples: online.Examples, rule: Rule, coupling: Coupling
    ) -> Callable[[], int] | None:
        """Return the pass over one row; None if it might need room for the row."""
        S = self.S
        if S.form == forms.LOW_RANK:
            return None
        rule = self._with_variances(rule)
        given = self._examples(examples), self.weights.arrays(), S, self.bias, rule, coupling
        learn = online.learn_plainly.bind(*given)
        return lambda: int(learn()[1])

    def _with_variances(self, rule: Rule) -> Rule:
        """Return the rule with the bounds of the variances, and how they forget."""
        variance = float(self.learner.initial_variance)
        return rule._replace(
            least_variance=LEAST_VARIANCE * variance,
            forgetting=float(self.learner.forgetting),
            most_variance=variance,
            most_intercept=variance * float(self.learner.intercept_scaling) ** 2,
        )

    def _examples(self, examples: online.Examples) -> online.Examples:
        """Return the rows for the pass, with a class axis."""
        rows, order, y, weight, scores = examples
        if len(self.ptr) < len(rows.ptr):  # one covariance for all views
            everywhere = read_only(np.empty((0, 1), dtype=bool))
            rows = rows._replace(ptr=read_only(self.ptr.view(np.uint64)), present=everywhere)
        # without a copy where there is none to make: a bound pass looks at the same memory
        y, scores = read_only(y.astype(np.float64, copy=False)), scores.reshape(len(scores), -1)
        return online.Examples(rows, order, y, weight, scores)

    def variances(self) -> np.ndarray:
        """Return the variance of each weight."""
        S = self.S
        return np.concatenate([changes.variances(S, v) for v in range(len(S.d))])

    def _make_room(self, entries: int) -> None:
        """Make room for one more row with this number of entries in a low-rank covariance."""
        S, rank = self.S, self._rank()
        room = S.begin.shape[1]
        if S.used[0] + entries > len(S.values):
            self.S = forms.with_room(S, entries=entries)
        elif room < rank:
            rows = min(max(2 * room, MAX_COLUMNS_FULL_AT_ONCE), rank)
            self.S = forms.with_room(S, rows=rows)
        elif self.learner.covariance == "low-rank":
            self.S = changes.forget_older_half(S, self.bias, rank)
        else:
            self.S = self._without_rows(S)

    def _rank(self) -> int:
        """Return the number of rows to keep; "auto" then becomes full or diagonal."""
        if self.learner.covariance == "low-rank":
            return self.learner.rank
        widths = np.diff(self.ptr).tolist()
        if forms.full_bytes(widths) > MAX_FULL_BYTES:
            return MAX_ROWS_BEFORE_DIAGONAL
        return max(*widths, MAX_COLUMNS_FULL_AT_ONCE)

    def _without_rows(self, S: Covariance) -> Covariance:
        is_small = forms.full_bytes(np.diff(self.ptr).tolist()) <= MAX_FULL_BYTES
        return (changes.to_full if is_small else changes.to_diagonal)(S, self.bias)

    def _within_rank(self, S: Covariance) -> Covariance:
        """Return a low-rank covariance with no more rows than there may be."""
        rank = self._rank()
        while self.learner.covariance == "low-rank" and S.kept.max() > rank:
            S = changes.forget_older_half(S, self.bias, rank)
        return S if S.kept.max() <= rank else self._without_rows(S)


def _as_state(S: Covariance) -> State:
    """Return a covariance as arrays of the state."""
    arrays = {f"S.{name}": getattr(S, name) for name in STORED}
    return arrays | {"S.form": np.full(1, S.form, dtype=np.int64)}


def check_memory(widths: list[int]) -> None:
    """Raise `InputError` if a full covariance takes more than half of the machine's memory."""
    size = forms.full_bytes(widths)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # Linux and macOS
    if size > memory / 2:
        columns = " + ".join(f"{w:,}" for w in widths)
        raise InputError(
            f"covariance='full' of {columns} columns needs {size / 2**30:,.1f} GiB, more than "
            f"half of the {memory / 2**30:,.1f} GiB of this machine; set covariance='diagonal', "
            "'low-rank' or 'auto'"
        )
