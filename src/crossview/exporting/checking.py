"""Check of a description: made-up rows, and the largest difference to the scores of the model."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from crossview.errors import UnusedColumnsWarning, argument
from crossview.exporting.plan import Plan
from crossview.exporting.runtime import Model
from crossview.exporting.vectorized.running import as_number, category_text
from crossview.exporting.vectorized.vectors import format_of
from crossview.portable.encoding import Column, NumberEncoder, TableEncoder
from crossview.views import MultiView, ViewLayout

N_ROWS = 64
# shares of cells, and of views, that are missing
MISSING, MISSING_VIEWS = 0.1, 0.15
# standard deviations from which on digits of a number are lost in sums of squares
FAR = 1e6
# before what is no longer rounding
TOLERANCE = 1e-9


class Difference(NamedTuple):
    """The largest difference of probabilities; of numbers, relative to those above 1.

    ``n_larger`` rows of ``n_rows`` differ by more than 1e-9: those at the positions ``larger``.
    ``reason`` says why, where that is known.
    """

    largest: float
    n_larger: int
    n_rows: int
    larger: tuple[int, ...] = ()
    reason: str = ""

    @property
    def is_wrong(self) -> bool:
        """Return whether so many rows differ that it is no rounding at a threshold of a tree."""
        return self.n_larger * 20 > self.n_rows


def made_up_rows(plan: Plan) -> list[dict[str, Any]]:
    """Return rows with values like those of training, some of them missing, always the same."""
    chance = random.Random(0)
    encoder = plan.encoder
    if isinstance(encoder, NumberEncoder):
        return [_row_of_numbers(encoder, chance) for _ in range(N_ROWS)]
    words = {
        (view.name, one.column): plan.categories(view.name, one.prefix)
        for view in encoder.views
        for one in view.hashed
    }
    numbers = {one.column: one for view in encoder.views for one in view.numbers[::-1]}
    rows = []
    for _ in range(N_ROWS):
        absent = {v.name for v in encoder.views if chance.random() < MISSING_VIEWS}
        row = {}
        for c, column in enumerate(encoder.columns):
            if column.view not in absent and chance.random() >= MISSING:
                known = words.get((column.view, c), [])
                row[column.name] = _cell(column, known, numbers.get(c), chance)
        rows.append(row)
    return rows


def _cell(column: Column, known: Sequence[str], number: Any, chance: random.Random) -> Any:
    if column.kind == "number":
        return chance.gauss(number.mean, number.scale or 1.0)
    if column.kind == "date":
        return _date(format_of(column.pattern or ""), chance)
    words = [chance.choice(known) if known else "word" for _ in range(chance.randint(0, 9))]
    if column.kind == "text":
        return " ".join([*words, "Straße", "!"])
    return chance.choice(known) if known and chance.random() < 0.9 else f"new {chance.random()}"


def _date(format: str, chance: random.Random) -> str:
    """Return a date, and one of the times that may follow it."""
    day, year = f"{chance.randint(1, 28):02d}", str(chance.randint(1990, 2030))
    parts = {"%Y": year, "%y": "24", "%m": "05", "%d": day, "%z": "Z"}
    text = re.sub("%.", lambda part: parts.get(part[0], "10"), format)
    times = ["", "", " 9:05", "T23:59:59.25", " 10:30:00 +0200"]
    return text if "%H" in format else text + chance.choice(times)


def _row_of_numbers(encoder: NumberEncoder, chance: random.Random) -> dict[str, Any]:
    row = {}
    for view, width in zip(encoder.views, encoder.widths, strict=True):
        used = sorted(chance.sample(range(width), min(width, 40)))
        row[view] = {c: chance.gauss(0.0, 1.0) for c in used}
    return row


def compare_rows(plan: Plan, fitted: Any, rows: Sequence[dict[str, Any]]) -> Difference:
    """Return how the answers of a description differ from those of the fitted model."""
    model = as_program(plan)

    def numbers(row: dict[str, Any]) -> list[float]:
        if plan.model.classes is None:
            return [model.predict(row)]
        if plan.model.calibration is None:
            return list(model.scores(row))
        return list(model.predict_proba(row).values())

    return difference_of(map(numbers, rows), answers(fitted, plan, rows))


def difference_of(
    found: Iterable[Sequence[float]],
    there: Iterable[Sequence[float]],
    tolerance: float = TOLERANCE,
) -> Difference:
    """Return how the numbers of rows differ from those of the model."""
    away = [
        max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(here, own, strict=True))
        for here, own in zip(found, there, strict=True)
    ]
    larger = tuple(i for i, one in enumerate(away) if one > tolerance)
    return Difference(max(away, default=0.0), len(larger), len(away), larger)


def reason_of(plan: Plan, rows: Sequence[dict[str, Any]], target: str) -> str:
    """Return why rows differ: categories that a target does not look up, or a number far away.

    "" where neither is so.
    """
    encoder = plan.encoder
    if not isinstance(encoder, TableEncoder):
        return ""
    reasons, others = [], list(rows)
    if target in ("SQL", "ONNX"):
        empty = {""} if target == "ONNX" else set()
        known = [
            (encoder.columns[one.column].name, _looked_up(plan, view.name, one.prefix) - empty)
            for view in encoder.views
            for one in view.hashed
        ]
        others = [
            row
            for row in rows
            if all((c := category_text(row.get(name))) is None or c in own for name, own in known)
        ]
        if n := len(rows) - len(others):
            whose = "their categories" if not others else f"the categories of {n:,} of them"
            or_empty = " '' (missing in ONNX)," if empty else ""
            reasons.append(
                f"{whose} are{or_empty} new, or in a slot that another one had first; "
                f"{argument('categories')} looks up those of more rows, too"
            )
    far = [
        (abs(x - one.mean) / (one.scale or 1.0), x, encoder.columns[one.column].name)
        for view in encoder.views
        for one in view.numbers
        if encoder.columns[one.column].kind == "number"
        for row in others
        if (x := as_number(row.get(encoder.columns[one.column].name))) is not None
    ]
    away, x, name = max(far, default=(0.0, 0.0, ""))
    if away > FAR:
        reasons.append(f"one has {x:g} in {name!r}, {away:.0e} standard deviations from training")
    return "; ".join(reasons)


def _looked_up(plan: Plan, view: str, prefix: str) -> set[str]:
    """Return the categories of a column that have weights."""
    names = [*plan.names.get(view, {}).values(), *plan.more_names.get(view, {})]
    return {name[len(prefix) :] for name in names if name.startswith(prefix)}


def as_program(plan: Plan) -> Any:
    """Return the description as the exported Python has it."""
    kind: Any = Model
    return kind(json.loads(json.dumps(plan.to_dict())))


def answers(fitted: Any, plan: Plan, rows: Sequence[dict[str, Any]]) -> Iterator[list[float]]:
    """Yield the probabilities of each row, or the scores; of a regressor the number."""
    numbers, scored = plan.model.classes is None, plan.model.calibration is None
    if isinstance(plan.encoder, NumberEncoder):
        X = _matrix(plan.encoder, fitted[-1] if hasattr(fitted, "steps") else fitted, rows)
        found = fitted.predict if numbers else fitted.decision_function
        found = found if numbers or scored else fitted.predict_proba
        yield from np.asarray(found(X)).reshape(len(rows), -1).tolist()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedColumnsWarning)
        for row in rows:
            if numbers:
                yield [float(fitted.predict_one(row))]
            elif scored:
                score = fitted.score_one(row)
                yield list(score.values()) if isinstance(score, dict) else [score]
            else:
                yield list(fitted.predict_proba_one(row).values())


def _matrix(encoder: NumberEncoder, learner: Any, rows: Sequence[dict[str, Any]]) -> Any:
    """Return rows of views of numbers as the learner takes them, a matrix of all its columns."""
    columns = learner.view_columns()
    data, row, column = [], [], []
    for i, views in enumerate(rows):
        for view, own in views.items():
            for c, value in own.items():
                data.append(value)
                row.append(i)
                column.append(int(columns[view][c]))
    X = sp.csr_array((data, (row, column)), shape=(len(rows), learner.n_features_in_))
    layout = ViewLayout(encoder.views, encoder.widths)
    whole = np.concatenate(list(columns.values()))
    if np.array_equal(whole, np.arange(learner.n_features_in_)):
        return MultiView.from_matrix(X, layout)
    return X
