"""The experts of a stack: they share its columns, and learn from the rows that it has read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.batch import entries_of
from crossview.errors import InputError
from crossview.estimators.base import Columns, Models, State, ViewLearner
from crossview.estimators.base.nested import named_entries, new_learner, own_layout, own_rows
from crossview.estimators.base.online import pass_over
from crossview.kernels.rows import Rows


@dataclass
class Expert:
    """An expert: its name, its learner, the view that it sees (None: all), and its column.

    ``column`` is its position among all experts that there have been.
    """

    name: str
    learner: Any
    view: str | None
    column: int


class Experts(list[Expert]):
    """The experts that are left, in their order.

    The stack reads the rows and encodes the targets once.  Its experts have its columns, or those
    of one view, and only learn and score.
    """

    def __init__(self, stack: ViewLearner) -> None:
        super().__init__()
        self.names = stack.layout_.names  # of the views
        self.ever: list[str] = []  # names of all experts that there have been, by column
        # (n, K, n_scores): what they said of the rows that were predicted last, calibrated
        self.said: np.ndarray | None = None

    def add(
        self, name: str, learner: Any, view: str | None, stack: ViewLearner, random_state: Any
    ) -> None:
        """Add an expert that has learned nothing."""
        new = new_learner("expert", (name, learner, view), stack.layout_, random_state)
        if "calibration" in new.get_params(deep=False):
            new.calibration = "none"
        expert = Expert(name, new, view, len(self.ever))
        take_columns(expert, stack)
        new._check_columns(new._slots)
        new._start_state()
        self.append(expert)
        self.ever.append(name)

    # --- rows -----------------------------------------------------------------------------

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray, n_scores: int) -> np.ndarray:
        """Make one pass with each expert; return the scores before, (n, K, n_scores)."""
        found, order = np.empty((len(y), len(self), n_scores)), np.arange(len(y))
        for k, (learner, own, missing) in enumerate(self._with_rows(rows)):
            own_weight = weight if missing is None else np.where(missing, 0.0, weight)
            # KeCo takes the classes in another form
            encode = getattr(learner, "_targets_of_codes", None)
            targets = y if encode is None else encode(y)
            found[:, k], _ = pass_over(learner, own, order, targets, own_weight)
            if missing is not None:
                found[missing, k] = np.nan
        return found

    def scores(self, rows: Rows, n_scores: int) -> np.ndarray:
        """Return the scores of the experts, (n, K, n_scores); NaN where the view is missing."""
        found = np.empty((len(rows.indptr) - 1, len(self), n_scores))
        for k, (learner, own, missing) in enumerate(self._with_rows(rows)):
            found[:, k] = learner._scores_of_rows(own)
            if missing is not None:
                found[missing, k] = np.nan
        return found

    def learn_stand_ins(self, rows: Rows, n_rows: int) -> None:
        """Let each expert learn what stands in for views that a row lacks."""
        for learner, own, _ in self._with_rows(rows):
            learner._learn_stand_ins_of(own, n_rows)

    def contributions(self, rows: Rows, n_scores: int) -> np.ndarray:
        """Return what each entry contributes to the scores, (n_entries, K, n_scores).

        That is 0 in the views that an expert does not see.
        """
        _, column = entries_of(rows)
        view = np.searchsorted(rows.ptr.astype(np.int64), column, side="right") - 1
        found = np.zeros((len(column), len(self), n_scores))
        for k, (expert, (learner, own, _)) in enumerate(
            zip(self, self._with_rows(rows), strict=True)
        ):
            seen = slice(None) if expert.view is None else view == self.names.index(expert.view)
            found[seen, k] = learner._entry_contributions(own)
        return found

    def _with_rows(self, rows: Rows) -> Iterator[tuple[Any, Rows, np.ndarray | None]]:
        """Yield each learner, its rows, and in which of them its view is missing (None: none)."""
        seen = own_rows(rows, (expert.view for expert in self), self.names)
        for expert, own in zip(self, seen, strict=True):
            may_miss = expert.view is not None and len(own.present) > 0
            yield expert.learner, own, ~own.present[:, 0] if may_miss else None

    # --- columns and classes ----------------------------------------------------------------

    def grow(self, stack: ViewLearner, moved: np.ndarray, old_names: tuple[str, ...]) -> None:
        """Add the new columns of the stack; column i of its state moves to ``moved[i]``."""
        self.names = stack.layout_.names
        for expert in self:
            learner = expert.learner
            if getattr(learner, "groups", None) == [[view] for view in old_names]:
                # a linear model has one group per view
                learner.set_params(groups=[[view] for view in stack.layout_.names])
            columns = own_columns(expert, stack._columns)
            if expert.view is None:
                learner._grow(columns, moved)
            elif learner.layout_.widths != columns.layout.widths:
                learner._grow(columns, np.arange(learner._slots.n_columns))

    def insert_class(self, classes: Any, n_classes: int, position: int, n_rows: int) -> None:
        """Add a class to each expert, at this position of the classes."""
        for expert in self:
            expert.learner.classes_ = classes
            for part in expert.learner._parts(expert.learner._state):
                part.insert_class(n_classes, position, n_rows)

    # --- state ------------------------------------------------------------------------------

    def merged(self, models: Models) -> State:
        """Return the merged arrays of all experts."""
        return {
            f"{k}/{name}": value
            for k, expert in enumerate(self)
            for name, value in expert.learner._merged(models.select(f"{k}/")).items()
        }


def experts_to_json(experts: Experts) -> dict[str, Any]:
    """Return what `experts_from_json` needs besides the state."""
    left = [
        {
            "name": expert.name,
            "view": expert.view,
            "column": expert.column,
            "class": type(expert.learner).__name__,
            "params": {
                key: value
                for key, value in expert.learner.get_params(deep=False).items()
                if _is_plain(value)
            },
        }
        for expert in experts
    ]
    return {"ever": experts.ever, "left": left}


def experts_from_json(
    value: dict[str, Any], given: Any, kinds: dict[str, type], stack: ViewLearner
) -> Experts:
    """Undo `experts_to_json`; ``given`` are those of the user, ``kinds`` the other classes."""
    own = {name: learner for name, learner, _ in named_entries(given or [])}
    experts = Experts(stack)
    experts.ever = list(value["ever"])
    for entry in value["left"]:
        if entry["name"] in own:
            learner = clone(own[entry["name"]]).set_params(**entry["params"])
        else:
            learner = kinds[entry["class"]](**entry["params"])
        experts.append(Expert(entry["name"], learner, entry["view"], entry["column"]))
        take_columns(experts[-1], stack)
    columns = [expert.column for expert in experts]
    if (
        columns != sorted(set(columns))
        or [experts.ever[c] for c in columns] != [expert.name for expert in experts]
        or min(columns) < 0
    ):
        raise InputError("the experts of the stack contradict each other")
    return experts


def take_columns(expert: Expert, stack: ViewLearner) -> None:
    """Give the expert the columns of the stack, or those of its view."""
    learner = expert.learner
    learner._columns = own_columns(expert, stack._columns)
    learner.n_features_in_ = learner.layout_.n_columns
    if hasattr(stack, "classes_"):
        learner.classes_ = stack.classes_


def own_columns(expert: Expert, columns: Columns) -> Columns:
    """Return the columns of the stack that the expert has, which are in the order of its views."""
    named = columns.named
    if named is not None and named.fixed is None:
        return Columns.of_names(named if expert.view is None else named.select(expert.view))
    view = expert.view
    return Columns(own_layout(view, columns.layout), own_layout(view, columns.slots))


def _is_plain(value: Any) -> bool:
    """Return whether JSON represents the value as it is."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)
