"""Base class of all learners: parameters, columns, learned state, contributions of columns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import is_not
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from crossview.batch import (
    RowBuffers,
    blocks_of,
    by_blocks,
    entries_of,
    make_row,
    read_only,
    rows_at,
    typed_rows,
    view_of,
)
from crossview.errors import InputError, argument
from crossview.estimators.base.columns import Columns, read_matrix
from crossview.estimators.base.names import NamedColumns, features_by_view
from crossview.estimators.base.road import Bound, OneExample, Road
from crossview.estimators.base.stand_ins import N_ROWS, StandIns, stand_ins_of
from crossview.estimators.base.state import LearnedState, Models, Schema, State, StatePart
from crossview.estimators.parameters import RANGES
from crossview.estimators.targets import check_class_weight, row_weights
from crossview.estimators.validation import available_if
from crossview.kernels.rows import Rows
from crossview.portable.scoring import Model, Scorer
from crossview.saving.schema import MAX_COUNT, check_header, check_state
from crossview.saving.touched import new_array
from crossview.views import MultiView, OneRow, ViewLayout, as_views, check_rows

# entries times scores that are explained at a time, which bounds the memory
ENTRIES_AT_ONCE = 1 << 17
# what passes and scores take: typed rows, all at once or in blocks; or rows of any type
Takes = Literal["all", "blocks", "any"]


class ColumnWeights(NamedTuple):
    """The weights of a learner, in the order of the columns of X; see `column_weights`."""

    weight: np.ndarray | None
    variance: np.ndarray | None = None
    factor_norm: np.ndarray | None = None
    importance: np.ndarray | None = None


class ViewLearner(BaseEstimator):
    """Base class of all learners.

    A subclass sets its parameters in ``__init__``, declares their ranges in
    ``_parameter_constraints``, and lists the parts of its learned state in `_parts`.  All arrays
    that are learned are in ``_state``, and what the columns of X are to them in ``_columns``.
    """

    _parameter_constraints: ClassVar[dict] = RANGES
    _columns: Columns
    _state: State
    _takes: ClassVar[Takes] = "all"
    # whether a fit to some thousands of rows takes seconds, and no more than about one core
    fits_on_one_core: ClassVar[bool] = False

    @property
    def weighs_rows(self) -> bool:
        """Whether weights of rows have an effect, besides that rows of weight 0 are left out."""
        return True

    # the parameters that were found right: the next batch comes with the same ones
    _checked: list[Any] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Add the ranges of the parameters of the base classes to those that a class declares."""
        super().__init_subclass__(**options)
        declared = [vars(kind).get("_parameter_constraints", {}) for kind in cls.__mro__]
        cls._parameter_constraints = {k: v for one in declared[::-1] for k, v in one.items()}

    # whether parameters were set that the learned state may not fit
    _params_changed = False

    # --- to be implemented by subclasses ------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn from the rows; `fit` without its checks."""
        raise NotImplementedError

    def _parts(self, state: State) -> list[StatePart]:
        """Return the parts of a learned state, on these arrays."""
        return [StandIns(state, self)] if "stand_in" in state else []

    def _read_targets(self, y: Any, n_rows: int | None) -> np.ndarray:
        """Return labels, or numbers on the scale that is learned, one per row."""
        raise NotImplementedError

    def _n_scores(self) -> int:
        """Return the number of scores per row."""
        raise NotImplementedError

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        """Return the scores of the rows, (n_samples, n_scores), without what stands in for views.

        All others ask `_scores_of_rows`.
        """
        raise NotImplementedError

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        """Return what each entry of the rows contributes to each score, (n_entries, n_scores)."""
        raise NotImplementedError

    def _column_weights(self) -> ColumnWeights:
        """Return the weights of the columns."""
        raise NotImplementedError

    def check_weights(self) -> None:
        """Raise `InputError` if the learner has no weights of columns."""

    def _in_units(self, score: np.ndarray) -> np.ndarray:
        """Return scores in the units of the targets."""
        return score

    def _score_scale(self) -> float:
        """Return the unit of a score: what a prediction grows by where a score grows by 1."""
        return 1.0

    def _portable_scorer(self) -> Scorer:
        """Return what `_joint_scores` computes, as arithmetic that other programs can do."""
        raise InputError(
            f"{type(self).__name__} has no portable form, so it cannot be exported; train another "
            "model, or predict with crossview"
        )

    def _portable(self) -> Scorer:
        """Return what `_scores_of_rows` computes, likewise."""
        scorer, stand_ins = self._portable_scorer(), stand_ins_of(self)
        if stand_ins is not None and stand_ins.values.any():
            known = 0.0 if scorer.missing is None else scorer.missing
            scorer.missing = known + stand_ins.values
        return scorer

    def _portable_answer(self) -> dict[str, Any]:
        """Return what the scores say: fields of `crossview.portable.scoring.Model`."""
        raise NotImplementedError

    def _check_combination(self) -> None:
        """Raise `InputError` if parameters contradict each other."""

    def _check_columns(self, slots: ViewLayout) -> None:
        """Raise `InputError` if the parameters do not allow these columns of the state.

        It is called before a learner takes its first columns, and before it gets new ones.
        """

    # --- single rows: see `road` --------------------------------------------------------

    def _bind_learning(self, row: OneExample) -> Bound | None:
        """Return the pass over one row, whose arrays stay; None: it goes the way of tables."""
        return None

    def _bind_scoring(self, row: RowBuffers, scores: np.ndarray) -> Bound | None:
        """Return what writes the scores of one row, whose arrays stay, or None."""
        return None

    def _states(self) -> list[State]:
        """Return the arrays that the loops are bound to, and those of nested learners."""
        return [self._state]

    @property
    def _leaves_road(self) -> bool:
        """Whether the next row goes the way of tables."""
        return "_state" not in self.__dict__ or self._params_changed

    def _share_road(self, road: Road) -> None:
        """Let nested learners know that loops are bound to them."""

    def _has_road(self, road: Road) -> bool:
        """Return whether no nested learner has changed since."""
        return True

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_state" and not isinstance(value, LearnedState):
            value = LearnedState(value)
        super().__setattr__(name, value)
        self.__dict__.pop("_road", None)  # loops are bound to what was there before
        LearnedState.tell()

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_road"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_state" in state:  # joblib maps large arrays into memory, where a loop cannot write
            arrays = state["_state"].items()
            learned = {k: v if v.flags.writeable else np.array(v) for k, v in arrays}
            state = state | {"_state": LearnedState(learned)}
        super().__setstate__(state)

    # --- parameters ---------------------------------------------------------------------

    @classmethod
    @functools.cache  # every copy and every fit asks
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()
        return names

    def check_params(self) -> None:
        """Raise an error if a parameter is out of its range, or contradicts another one.

        `fit` and `partial_fit` call this method; call it directly to check the parameters before
        any data is read.

        Raises
        ------
        InvalidParameterError, InputError
            The message names the parameter, its range and the given value.
        """
        given = [getattr(self, name) for name in self._get_param_names()]
        if self._checked is None or any(map(is_not, given, self._checked)):
            self._validate_params()
            self._checked = given

    def _validate_params(self) -> None:
        super()._validate_params()
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, int) and abs(value) > MAX_COUNT:
                raise InputError(f"{name}={value}; give a whole number up to {MAX_COUNT:,}")
            if name == "class_weight":
                check_class_weight(value)
        self._check_combination()

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a fitted learner goes on with them, if its learned state fits them.

        Parameters
        ----------
        **params : any
            By name.

        Returns
        -------
        self : object
            The learner.  Where the state does not fit, as with another covariance, all but `fit`
            raise an error.
        """
        super().set_params(**params)
        self._params_changed = hasattr(self, "_state")
        return self

    def check_fits_state(self) -> None:
        """Raise an error if the learned state does not fit parameters that were set since.

        Raises
        ------
        InputError
            The message says what does not fit.
        """
        if not self._params_changed:
            return
        again = type(self)(**self.get_params(deep=False))
        try:
            again._validate_params()
            again.set_header(self.get_header())
            again._check_columns(self._slots)
            again.set_state(self.get_state())
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(
                f"the parameters were changed, and what was learned does not fit them ({error}); "
                "fit again, or set them back"
            ) from error
        self._params_changed = False

    # --- learning -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch, or from the learned state with ``warm_start``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.  A mapping of view names to frames, and a frame of pandas whose columns have
            several levels, are taken as `MultiView` takes them.
        y : array-like of shape (n_samples,)
            Labels of two or more classes; numeric targets for a regressor, which an online one
            standardizes by all of them here, and by those up to each row in `partial_fit`.  If
            ``X`` and ``y`` are of pandas, they have the same index; scikit-learn ignores it, so
            another order is an error and not put right.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, at least 0; see the notes of the class for its effect.

        Returns
        -------
        self : object
            The fitted learner.
        """
        self.check_params()
        check_rows(X, y=y, sample_weight=sample_weight)
        if sample_weight is not None and not np.asarray(sample_weight).any():
            raise InputError("every sample weight is zero, so there is nothing to learn")
        from_scratch = not self._warm_starts()
        if from_scratch:
            self._forget()
        try:
            X = as_views(X)
            self._fit(X, y, sample_weight)
            self.learn_stand_ins(X, sample_weight=sample_weight)
        except ValueError:
            if from_scratch:
                self._forget()
            raise
        return self

    def learn_stand_ins(self, X: Any, n_rows: int | None = None, sample_weight: Any = None) -> Self:
        """Learn what stands in for the score of a view that a row lacks.

        It is the mean of what the view changes the score by, so that the scores of rows that lack
        it are about as high; nothing, if one in 50 of these rows lacks the view, because then the
        learner has learned it.  Of what stands in, n later rows that lack the view and are learned
        leave 50 / (50 + n).  `fit` does this at its end; `crossview.train` also after a stream, and
        `partial_fit` never.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            Rows that were learned, or like them; 512 of them, at equal distances, are used.
        n_rows : int, default=None
            Number of rows that were learned, of which these are a sample.  None: these.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; those of weight 0 are left out.

        Returns
        -------
        self : object
            The learner.
        """
        check_is_fitted(self, "_state")
        rows = self._read(X, reset=False, as_is=True)
        n = len(rows.indptr) - 1
        known = np.arange(n) if sample_weight is None else np.flatnonzero(np.asarray(sample_weight))
        at = np.linspace(0, len(known) - 1, min(len(known), N_ROWS)).astype(np.int64)
        some = typed_rows(rows_at(rows, known[np.unique(at)]))
        self._learn_stand_ins_of(some, n if n_rows is None else n_rows)
        return self

    def _learn_stand_ins_of(self, rows: Rows, n_rows: int) -> None:
        """Learn them for the learner itself; a stack and a blend have those of their learners."""

        def score(rows: Rows, present: np.ndarray | None) -> np.ndarray:
            return self._joint_scores(rows if present is None else rows_with_views(rows, present))

        StandIns(self._state, self).learn(rows, score, n_rows)

    def _stands_in(self, view: str) -> bool:
        """Return whether a row that lacks a view gets a constant, here or of a learner in this."""
        stand_ins = stand_ins_of(self)
        if stand_ins is None or view not in self.layout_.names:
            return False
        return bool(stand_ins.values[self.layout_.index(view)].any())

    def _warm_starts(self) -> bool:
        """True where `fit` continues from the learned state."""
        return False

    def _start_state(self) -> None:
        """Initialize the learned state."""
        self._state = {}
        for part in self._parts(self._state):
            part.start()

    def _forget(self) -> None:
        """Delete what was learned, as from first rows that are refused."""
        for name in ("_state", "_columns", "classes_", "threshold_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    # --- columns and rows ---------------------------------------------------------------

    @property
    def layout_(self) -> ViewLayout:
        """Names and widths of the views."""
        return self._columns.layout

    @property
    def _learned(self) -> State:
        """The learned state; an error before there is one."""
        check_is_fitted(self, "_state")
        return self._state

    @property
    def _slots(self) -> ViewLayout:
        """The columns of the state; wider than ``layout_`` if it has spare columns."""
        return self._columns.slots

    def view_columns(self) -> dict[str, np.ndarray]:
        """Return the columns that form each view, for example to split ``coef_`` by view.

        Returns
        -------
        columns : dict of str to ndarray of int
            Positions of the columns of ``X``, in the order of the view.
        """
        check_is_fitted(self, "_state")
        return self._columns.by_view()

    def _new_columns(self, X: Any) -> Columns:
        """Return the columns of the first rows, a matrix or a MultiView."""
        return Columns.of(X, self)

    def _read(self, X: Any, *, reset: bool, checked: bool = True, as_is: bool = False) -> Rows:
        """Return X as rows for the learning loops; ``reset`` takes over its columns and views.

        ``as_is`` keeps the types of values and columns where `_takes` allows it.
        """
        if reset:
            self._params_changed = False
        self.check_fits_state()
        X = as_views(X)
        if not isinstance(X, MultiView):
            X = read_matrix(X, self, reset=reset)
        elif X.restarts is not None and reset:
            self._check_restarts()
            if any(len(columns) for _, columns in X.restarts):
                raise InputError(
                    "weights of users that were dropped begin anew between these rows: learn them "
                    "by partial_fit, in their order"
                )
        if reset:
            columns = self._new_columns(X)
            self._check_columns(columns.slots)
            self._columns, self.n_features_in_ = columns, columns.n_features
        names, as_is = getattr(self, "feature_names_in_", None), as_is and self._takes != "all"
        return self._columns.rows(X, names, checked=checked, as_is=as_is)

    def _rows_to_fit(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Rows, np.ndarray, np.ndarray]:
        """Return the rows for a solver, their targets and weights, without those of weight 0."""
        rows = self._read(X, reset=True)
        y = self._read_targets(y, len(rows.indptr) - 1)
        weight = row_weights(sample_weight, len(y))
        if (weight == 0.0).any():
            here = np.flatnonzero(weight)
            return rows_at(rows, here), y[here], weight[here]
        return rows, y, weight

    def _scores_of(self, X: Any, at: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of the rows at these positions of X; None: of all."""
        rows = self._read(X, reset=False, as_is=True)
        rows = rows if at is None else rows_at(rows, at)
        if self._takes == "any":
            return self._scores_of_rows(rows)
        return by_blocks(rows, self._scores_of_rows)

    def _scores_of_rows(self, rows: Rows) -> np.ndarray:
        """Return the scores of the rows, (n_samples, n_scores)."""
        scores, stand_ins = self._joint_scores(rows), stand_ins_of(self)
        return scores if stand_ins is None else scores + stand_ins.of_rows(rows)

    def _read_one(self, x: Any, *, learn: bool) -> Rows:
        """Return the row of `learn_one` or `predict_one`; ``learn`` adds its new columns."""
        self.check_fits_state()
        fitted = hasattr(self, "_state")
        if isinstance(x, OneRow):
            if fitted and self._columns.takes(x.layout):
                return make_row(x.columns, x.values, x.layout, x.present)
            x = x.as_views()
        if not isinstance(x, Mapping):
            whole = isinstance(x, MultiView) or sp.issparse(x)
            row = x if whole else np.asarray(x, dtype=np.float64).reshape(1, -1)
            if row.shape[0] != 1:
                raise InputError(f"x has {row.shape[0]} rows; give one")
            return self._read(row, reset=not fitted)
        if fitted:
            if self._columns.named is None:
                own, names = self._columns, getattr(self, "feature_names_in_", None)
                fixed = NamedColumns.of_fitted(own.layout, own.positions, names)
                self._columns = replace(own, named=fixed)
            named = self._columns.named
        else:
            views = getattr(self, "views", None)
            named = NamedColumns(list(views) if isinstance(views, Mapping) else [])
        assert named is not None
        row = named.read(features_by_view(x, list(named.views)), learn=learn)
        if row.moved is not None or not fitted:
            columns = Columns.of_names(named)
            try:
                self._check_columns(columns.slots)
            except InputError:
                named.undo(row)
                raise
            self._grow(columns, row.moved)
        return make_row(row.columns, row.values, self._slots, row.present)

    def widen(self, layout: ViewLayout, moved: np.ndarray) -> Self:
        """Take more columns of the same views, of which no row was learned.

        Parameters
        ----------
        layout : ViewLayout
            The views, with all columns.
        moved : ndarray of shape (n_columns,)
            The new position of each column so far.

        Returns
        -------
        self : object
            The learner.
        """
        check_is_fitted(self, "_state")
        columns = Columns(layout, layout)
        self._check_columns(layout)
        self._grow(columns, moved)
        return self

    def _grow(self, columns: Columns, moved: Any) -> None:
        """Take new columns; column ``i`` of the state moves to ``moved[i]``."""
        before = self._slots if hasattr(self, "_state") else None
        self._columns, self.n_features_in_ = columns, columns.n_features
        if before is not None:
            self._grow_state(moved, before)

    def _grow_state(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Make room for the new columns; ``before`` are the columns so far."""
        for part in self._parts(self._state):
            part.grow(moved, before)

    # --- columns that begin anew ----------------------------------------------------------

    def _can_restart(self) -> bool:
        """Return whether weights of some columns can begin anew."""
        return False

    def _restart(self, columns: np.ndarray) -> None:
        """Let the weights of some columns of a MultiView begin anew."""
        if len(columns) and hasattr(self, "_state"):
            self._check_restarts()
            for part in self._parts(self._state):
                part.restart(columns)

    def _check_restarts(self) -> None:
        """Raise `InputError` for rows of an encoder that drops users, if nothing can begin anew."""
        if not self._can_restart():
            raise InputError(
                f"{type(self).__name__} has no weights of columns that could begin anew, as "
                f"{argument('max_users')} asks of it; leave {argument('max_users')} out, or take "
                "a linear learner with a diagonal covariance, a factorization machine, or a "
                "stack of them"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- other programs -----------------------------------------------------------------

    def portable(self) -> Model:
        """Return the fitted learner as arithmetic on columns, for other programs.

        Returns
        -------
        model : crossview.portable.scoring.Model
            Its scorer has all that is needed to score a row: weights that are not 0, trees, and so
            on, per view.  `crossview.export` writes it in several languages.

        Raises
        ------
        InputError
            The learner, or one inside of it, has no such form, such as with a kernel that is a
            function of Python.
        """
        check_is_fitted(self, "_state")
        self.check_fits_state()
        slots = self._slots
        return Model(
            learner=type(self).__name__,
            views=list(slots.names),
            widths=list(slots.widths),
            n_scores=self._n_scores(),
            scorer=self._portable(),
            **self._portable_answer(),
        )

    # --- state and header ---------------------------------------------------------------

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the learned state as arrays.

        Returns
        -------
        state : dict of str to ndarray
            The arrays by name; header, parameters and state together restore the learner.
        """
        state = dict(self._learned)
        for part in self._parts(self._state):
            state |= part.saved()
        return state

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `get_state` returned.

        Parameters
        ----------
        state : mapping of str to ndarray
            The arrays by name.

        Raises
        ------
        InputError
            The arrays are not a state of a learner with this header and these parameters.
        """
        schema: Schema = {}
        for part in self._parts(dict(state)):
            schema |= part.schema()
        check_state(state, schema, type(self).__name__)
        learned = {name: new_array(value) for name, value in state.items()}
        for part in self._parts(learned):
            part.check()
        self._state = learned

    def get_header(self) -> dict[str, Any]:
        """Return the part of the learned state that is not arrays: classes, columns and names.

        Returns
        -------
        header : dict
            Ready for JSON.
        """
        check_is_fitted(self, "_state")
        return self._header()

    def _header(self) -> dict[str, Any]:
        """Return the header; a subclass adds what `_header_schema` says."""
        names = getattr(self, "feature_names_in_", None)
        return {
            **self._columns.to_json(),
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": None if names is None else list(names),
        }

    def set_header(self, header: Mapping[str, Any]) -> None:
        """Restore the header that `get_header` returned.

        Parameters
        ----------
        header : mapping
            As from JSON.

        Raises
        ------
        InputError
            It is no header of this learner.
        """
        check_header(header, self._header_schema(), type(self).__name__)
        self._take_header(header)

    def _take_header(self, header: Mapping[str, Any]) -> None:
        """Restore what `_header` returned."""
        self.n_features_in_, names = int(header["n_features_in"]), header["feature_names_in"]
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self._columns = self._columns_from(header)
        if (
            not self.n_features_in_
            == self._columns.n_features
            == len(getattr(self, "feature_names_in_", range(self.n_features_in_)))
        ):
            raise InputError(f"the columns of {type(self).__name__} contradict each other")

    def _columns_from(self, header: Mapping[str, Any]) -> Columns:
        """Return the columns of a header."""
        return Columns.from_json(header, type(self).__name__)

    def _header_schema(self) -> dict[str, Any]:
        """Return the types of the header, for `check_header`."""
        name = (str, int, float, bool)
        return {
            "views": {"names": [str], "widths": [int]},
            "n_features_in": int,
            "feature_names_in": (None, [str]),
            "column_map": (None, [int]),
            "named": (None, {"views": [[(*name, [name])]], "room": [int]}),
        }

    # --- merging ------------------------------------------------------------------------

    def _merged(self, models: Models) -> State:
        """Return the merged arrays of models; a learner that leaves out one has no merge."""
        merged: State = {}
        for part in self._parts(dict(models.states[0])):
            merged |= part.merged(models)
        return merged

    def _explain_no_merge(self, missing: Sequence[str]) -> str:
        """Return why these arrays cannot be merged."""
        return f"nothing says how {', '.join(missing)} of several models become one"

    def _merged_header(self, models: Sequence[Any], shares: Sequence[float]) -> dict[str, Any]:
        """Return the header of the merged learner."""
        return self.get_header()

    def _with_header(self, header: Mapping[str, Any]) -> Self:
        """Return a learner with these parameters and this header, and without a state."""
        new = type(self)(**self.get_params(deep=False))
        new.set_header(header)
        return new

    # --- scores of views ----------------------------------------------------------------

    @available_if(lambda self: hasattr(self, "_scores_of_views"))
    def view_scores(self, X: Any) -> np.ndarray:
        """Return the score of each view.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
            One score per view (and class, for more than two); NaN where the view is missing.  Of a
            linear classifier, additive trees and kernels: what the view says by itself, which the
            joint score combines.  Of all others: the score as if all other views were missing, of a
            regressor in the units of the target, or of its logarithm (``target_scale``).
        """
        check_is_fitted(self, "_state")
        rows = self._read(X, reset=False, as_is=True)
        scores = by_blocks(rows, self._scores_of_views)
        if len(rows.present):
            scores[~rows.present] = np.nan
        return scores[:, :, 0] if scores.shape[2] == 1 else scores

    def _scores_alone(self, rows: Rows, only: Callable[[Rows, np.ndarray], Rows]) -> np.ndarray:
        """Return the score of each view as if all others were missing.

        ``only(rows, present)`` returns rows that have only the views that are present.
        """
        n, V = len(rows.indptr) - 1, len(rows.ptr) - 1
        present = rows.present if len(rows.present) else np.ones((n, V), dtype=np.bool_)
        found = np.full((n, V, self._n_scores()), np.nan)
        for v in range(V):
            alone = np.zeros((n, V), dtype=np.bool_)
            alone[:, v] = present[:, v]
            joint = self._scores_of_rows(only(rows, alone))
            found[present[:, v], v] = self._in_units(joint)[present[:, v]]
        return found

    # --- weights and contributions of columns -------------------------------------------

    def column_weights(self) -> ColumnWeights:
        """Return the weight of each column, and what is known of it.

        Returns
        -------
        weights : ColumnWeights
            ``weight``: coefficients of the columns in the score, ndarray of shape (n_scores,
            n_features); those of a regressor are in standard deviations of the target, or of its
            logarithm.  None if the score has products of columns only.  ``variance``: variances of
            the weights, (n_features,), where there is a covariance.  ``factor_norm``: Euclidean
            norms of the factors that interact, (n_scores, n_features), where columns interact.
            ``importance``: of trees, the share of each column in what the splits gained,
            (1, n_features).

        Raises
        ------
        InputError
            The learner has no weights of columns: its kernel is not linear, or it is a stack,
            whose experts have them.
        """
        check_is_fitted(self, "_state")
        self.check_weights()
        return self._column_weights()

    def contributions(self, X: Any) -> sp.csr_array:
        """Return what each column contributes to the score of each row.

        The contribution of a column is what the score loses without the column, while all others
        and the number of views stay.  Where the score is a sum over columns, this is the weight
        times the value, and the contributions and the intercepts add up to the score.  Where
        columns interact, a product of two columns counts for both.  With a kernel that is not
        linear each row is scored again without each of its entries, which takes long of many.  A
        stack combines the scores of its experts without the column.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        contributions : CSR array of shape (n_samples, n_features)
            To the score of `decision_function`, with more than two classes to that of the
            predicted class; of a regressor to the prediction.

        """
        check_is_fitted(self, "_state")
        rows = self._read(X, reset=False)
        row, column = entries_of(rows)
        values, at = np.empty(len(row)), 0
        order = np.arange(len(rows.indptr) - 1)
        for positions in blocks_of(rows, order, ENTRIES_AT_ONCE // self._n_scores()):
            part = rows_at(rows, positions)
            found = self._entry_contributions(part)
            end = at + len(found)
            chosen = np.zeros(len(found), dtype=np.intp)
            if found.shape[1] > 1:
                predicted = self._predicted_codes(self._scores_of_rows(part))
                chosen = predicted[row[at:end] - positions[0]]
            values[at:end] = found[np.arange(len(found)), chosen]
            at = end
        values *= self._score_scale()
        column = self._columns.of_slots()[column]
        shape = (len(rows.indptr) - 1, self.n_features_in_)
        contributed = sp.csr_array((values, (row, column)), shape=shape)
        contributed.eliminate_zeros()
        return contributed


def rows_with_views(rows: Rows, present: np.ndarray) -> Rows:
    """Return the rows with 0 in the views that are not present."""
    row, column = entries_of(rows)
    view = view_of(column, rows.ptr.astype(np.int64))
    data = read_only(np.where(present[row, view], rows.data, 0.0))
    return rows._replace(data=data, present=read_only(present))


class ImportancesModel(ViewLearner):
    """Base class of learners whose state has ``importances``, one of each column."""

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in what the model says of the rows; the sum is 1."""
        return self._columns.spread(self._learned["importances"]).copy()

    def _scores_of_views(self, rows: Rows) -> np.ndarray:
        return self._scores_alone(rows, rows_with_views)

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(None, importance=self.feature_importances_[None])
