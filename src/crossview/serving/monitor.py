"""What the operator should know of a model that is served: what it trusts, and what has moved."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from crossview.scoring.diagnostics import sizes_of_views
from crossview.scoring.drift import DriftCounter, drift_warnings, read_reference, scores_of_views
from crossview.server_log.log import Prediction
from crossview.serving.live import LiveModel, class_name
from crossview.serving.scores import MINUTE, Point, turned

HOUR = 60 * MINUTE
# the newest rows, which are compared with those of training; answers that the page shows;
# requests and labels of which the times are kept
MOST_ROWS, MOST_SHOWN, MOST_TIMES = 256, 12, 1000
# rows that say something of drift
FEWEST_ROWS = 100
# rows that are looked at before requests have their turn
ROWS_AT_ONCE = 32
# names of new columns that are kept
MOST_NAMES = 1000
# a calibration is off where confidence and accuracy differ by more, and by more standard errors
LARGEST_GAP, MOST_ERRORS = 0.05, 4.0


class Monitor:
    """Numbers of the newest requests and labels."""

    def __init__(self, live: LiveModel) -> None:
        self._live = live
        self._rows: deque[Any] = deque(maxlen=MOST_ROWS)
        self._shown: deque[Prediction] = deque(maxlen=MOST_SHOWN)
        self._seconds: deque[float] = deque(maxlen=MOST_TIMES)
        self._delays: deque[float] = deque(maxlen=MOST_TIMES)
        self._labels: dict[str, str] = {}
        self._new_names: dict[str, float] = {}
        self._fresh = False
        self._model = live.model  # that was looked at
        self.experts: list[dict[str, Any]] = []
        self.views: list[dict[str, Any]] = []
        self._drift_warnings: list[str] = []

    # --- what happens ----------------------------------------------------------------------------

    def add_row(self, row: Any, prediction: Prediction) -> None:
        """Note a row that was predicted."""
        self._rows.append(row)
        self._shown.append(prediction)
        self._fresh = True

    def add_names(self, names: Iterable[str]) -> None:
        """Note names in a row of which the model has no column."""
        now = time.monotonic()
        for name in names:
            if name in self._new_names or len(self._new_names) < MOST_NAMES:
                self._new_names[name] = now

    def add_seconds(self, seconds: float) -> None:
        """Note how long a request for a prediction took."""
        self._seconds.append(seconds)

    def add_label(self, prediction: Prediction, label: str, at: int) -> None:
        """Note a label that was learned, and when it came."""
        self._delays.append((at - prediction.time) / 1e6)
        if any(one.id == prediction.id for one in self._shown):
            self._labels[prediction.id] = label
            while len(self._labels) > MOST_SHOWN:
                del self._labels[next(iter(self._labels))]

    # --- what it means ----------------------------------------------------------------------------

    async def look(self) -> None:
        """Look at the newest rows again: the views.

        Nothing may be learned meanwhile.  The model that predicts is asked in the thread that
        predicts, as it keeps what its experts said last; some rows at a time, so that requests
        do not wait.
        """
        self.experts = self._find_experts()
        if self._model is not self._live.model:  # another one was promoted
            self._fresh, self._model = bool(self._rows), self._live.model
            self._new_names.clear()
        if not self._fresh:
            return
        self._fresh = False
        rows = list(self._rows)
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for lo in range(0, len(rows), ROWS_AT_ONCE):
            X = self._live.as_views(rows[lo : lo + ROWS_AT_ONCE])
            if X is not None and len(X):
                present = np.ones((len(X), len(X.layout.names)), bool)
                scores = np.asarray(self._live.learner.view_scores(X))
                found.append((scores, present if X.present is None else X.present))
            await asyncio.sleep(0)
        if not found:
            return
        views = self._find_views(*map(np.concatenate, zip(*found, strict=True)))
        drifts = await asyncio.to_thread(self._find_drifts, rows)
        self._drift_warnings = drift_warnings(drifts)
        for view in views:
            own = [one for one in drifts if one.view == view["view"]]
            view["drift"] = max((one.index for one in own), default=None)
            view["moved"] = any(one.moved for one in own)
        self.views = views

    def _find_experts(self) -> list[dict[str, Any]]:
        """Return the experts of a stack, or the members of an ensemble, by their weights."""
        learner = self._live.learner
        if not (self._live.is_fitted and hasattr(learner, "stacking_decides_")):
            return []
        mixture, stacking = learner.mixture_weights_, learner.stacking_weights_
        stacks = bool(learner.stacking_decides_)
        chosen = stacking if stacks else mixture
        size = sum(map(abs, chosen.values())) or 1.0
        found = [
            {"expert": name, "weight": chosen[name], "share": abs(chosen[name]) / size}
            for name in chosen
        ]
        return sorted(found, key=lambda one: -one["share"])

    def new_columns(self) -> list[str]:
        """Return columns that the model does not have, and that came in the last minute."""
        since = time.monotonic() - 60.0
        self._new_names = {name: at for name, at in self._new_names.items() if at >= since}
        return list(self._new_names)

    def _find_views(self, scores: np.ndarray, present: np.ndarray) -> list[dict[str, Any]]:
        means = sizes_of_views(scores).mean(axis=0)
        total = float(means.sum())
        shares = means / total if total else np.full(len(means), math.nan)
        return [
            {
                "view": view,
                "share": None if math.isnan(shares[v]) else float(shares[v]),
                "missing": float(1.0 - present[:, v].mean()),
            }
            for v, view in enumerate(self._live.learner.layout_.names)
        ]

    def _find_drifts(self, rows: Sequence[Any]) -> list[Any]:
        """Return the drift of the newest rows, as the first model sees them."""
        first = self._live.first
        if first is None or not first.is_fitted:
            return []
        X = first.as_views(rows)
        reference = read_reference(first.info, first.learner.layout_.names)
        if X is None or reference is None or len(X) < FEWEST_ROWS:
            return []
        counter = DriftCounter(first.learner.layout_.names, reference)
        counter.count(counter.locate(X, scores_of_views(first.learner, X)))
        return counter.drifts()

    def calibration(self, hour: Point) -> tuple[float, bool] | None:
        """Return how much surer the model is than it should be, and whether that is no chance."""
        if not (self._live.classes and hour.n and hour.confidence):
            return None
        gap = (hour.confidence - hour.correct) / hour.n
        error = math.sqrt(max(hour.spread, 1e-12)) / hour.n
        return gap, abs(gap) > max(LARGEST_GAP, MOST_ERRORS * error)

    def warnings(self, hour: Point) -> list[str]:
        """Return what is not as it should be, a line each."""
        lines = []
        loss = "log loss" if self._live.classes is not None else "squared error"
        served = self._live.served
        if (found := turned(served.curve)) is not None:
            before, now = found
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(before.time / 1e6))
            lines.append(
                f"the {loss} has turned at {at}: {now.loss / now.n:.3g} over the {now.n:,} labels "
                f"since, and {before.loss / before.n:.3g} over the {before.n:,} before"
            )
        means = hour.means()
        if hour.n >= FEWEST_ROWS and means["first_loss"] is not None:
            assert means["loss"] is not None
            if means["loss"] > 1.05 * means["first_loss"]:
                lines.append(
                    f"the first model, which learns nothing more, predicts better in this hour: "
                    f"{loss} {means['first_loss']:.3g}, and {means['loss']:.3g} of the model now"
                )
        found_gap = self.calibration(hour)
        if found_gap is not None and found_gap[1]:
            sure, right = hour.confidence / hour.n, hour.correct / hour.n
            lines.append(
                f"the calibration is off in this hour: predictions have a probability of "
                f"{sure:.0%} on average, and {right:.0%} were right"
            )
        lines += self._drift_warnings
        if new := self.new_columns():
            some = ", ".join(new[:5]) + (", ..." if len(new) > 5 else "")
            lines.append(f"columns that the model does not have came in the last minute: {some}")
        return lines

    def page(self) -> dict[str, Any]:
        """Return what the page shows beside the counts."""
        return {
            "now": [
                {
                    "id": one.id,
                    "time": one.time,
                    "prediction": one.prediction,
                    "probability": _of_prediction(one),
                    "label": self._labels.get(one.id),
                }
                for one in reversed(self._shown)
            ],
            "latency": _quantiles(self._seconds),
            "delay": _quantiles(self._delays),
            "experts": self.experts,
            "views": self.views,
        }


def _of_prediction(one: Prediction) -> float | None:
    """The probability of what was predicted, which is not the largest where a threshold decides."""
    known = msgspec.json.decode(one.probabilities) or {}
    return known.get(class_name(msgspec.json.decode(one.prediction)))


def _quantiles(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    middle, high = np.quantile(np.array(values), [0.5, 0.99])
    return {"median": float(middle), "p99": float(high)}
