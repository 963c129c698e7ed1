"""The catalog entry of a learner."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crossview.catalog.metrics import METRICS, parse_metric
from crossview.catalog.names import load_object
from crossview.errors import InputError, closest_names

# before the name of a baseline
BASELINE = "baseline:"
# in a setting: how the learner is used, and no parameter of it
OF_COMPARE = ("bins", "epochs")
# in `fixed`: one group for each view of the data
EACH_VIEW = "one group per view"
# the effort of what learns nothing from the columns, so that it is not recommended as the cheapest
LEARNS_NOTHING = 99


@dataclass(frozen=True)
class Learner:
    """Catalog entry: an estimator, its fixed and tunable parameters, and its capabilities.

    name: as in ``crossview train --model``: a family, or ``family:variant``.
    title: as in the table of `compare`; ``{metric}`` is replaced by the metric.
    path: the estimator, ``"module:Class"``.
    about: description in ``--help``; adjacent entries with the same description are grouped.
    task {"classification", "regression"}: what it predicts.
    fixed: parameters that define the entry.
    grid: parameters to tune, and their candidate values.
    refined: parameters to try from the best setting of the grid on, one after the other: each value
      as long as it is better than the one before.  Where there are tuples of values, to both sides
      of the default, the next one is tried if the first value of the one before is no better.
      ``epochs`` is the number of passes, and ``bins`` that of quantile bins of each number; both
      are no parameters of the estimator.
    settable: parameters that ``--set`` accepts, besides those of the grid.
    tuning_params: less precise, faster parameters during tuning.
    lighter: parameters with which it takes less time, where that is short.
    fitted_together: parameters whose values its ``fit_path`` fits together, in less time.
    streams: whether it has ``partial_fit``.  Otherwise it needs all rows in memory and has its own
      stopping criterion.
    random: whether it takes a ``random_state``.
    draws_rows: whether `fit` draws a number of rows, instead of making passes over all of them.
    one_pass: whether `fit` learns in one pass; in further ones of `train` only a part of it learns.
    stops_early: whether `fit` uses early stopping on held-out rows.
    learns_unlabeled: whether it also learns from unlabeled rows.
    trained_for_metric: whether it takes the metric as ``measure``, its ``k`` or ``beta`` and the
      class ``pos_label``.
    divided: whether it learns all rows of a cluster at once, each where it is:
      `crossview.distributed`.
    explained_by {"weights", "interactions", "importances", "support rows", "experts", "members"}:
      what ``crossview inspect`` shows of it.
    made_of {"weights", "boosted trees", "forest", "networks", "landmarks"}: what tells how long a
      fit takes.
    quadratic: whether a pass costs the square of the number of columns (or rows, if fewer).
    cheaper: the entry that `compare` uses instead if the cost is too high.
    compared {"always", "metric", "narrow", "unlabeled", "never"}: when `compare` includes it.
      metric: if one is given.  unlabeled: if some rows are.  narrow: if there are few columns.
      never: only by name.  Several with commas: if one of them applies.
    measured_against: the entry to compare with: the same without the distinctive feature of this
      one.
    stream_params: parameters that make a learner that draws rows learn a stream instead.
    in_order_params: parameters for rows in their order, where each label has come before the next
      row is predicted.
    memory_params: parameters that bound its memory on a stream.
    bounded_by: parameters, and their values for which memory is bounded without ``memory_params``.
    view: the only view it uses; None: all.
    effort: what it takes to train and keep: of models that are shown to be equal `compare` names
      the one with the least.  0: one view; 1: one pass over all views; 2: parameters for how they
      are coupled; 3: a covariance; 4: all rows in memory or several passes, for a linear model; 5:
      likewise, for interactions or a measure; 6: several models; 7: kernels and
      networks.
    min_views: the fewest views for which it differs from the other entries; with fewer `compare`
      includes it only by name.
    baseline: whether it is what scikit-learn or another library alone gives, to measure the others
      by.
    """

    name: str
    title: str
    path: str
    about: str = ""
    task: str = "classification"
    fixed: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple] = field(default_factory=dict)
    refined: Mapping[str, tuple] = field(default_factory=dict)
    settable: tuple[str, ...] = ()
    tuning_params: Mapping[str, Any] = field(default_factory=dict)
    lighter: Mapping[str, Any] = field(default_factory=dict)
    fitted_together: tuple[str, ...] = ()
    streams: bool = True
    random: bool = True
    draws_rows: bool = False
    one_pass: bool = False
    stops_early: bool = False
    learns_unlabeled: bool = False
    trained_for_metric: bool = False
    divided: bool = False
    explained_by: str = "weights"
    made_of: str = "weights"
    quadratic: bool = False
    cheaper: str | None = None
    compared: str = "always"
    measured_against: str | None = None
    stream_params: Mapping[str, Any] = field(default_factory=dict)
    in_order_params: Mapping[str, Any] = field(default_factory=dict)
    memory_params: Mapping[str, Any] = field(default_factory=dict)
    bounded_by: Mapping[str, tuple] = field(default_factory=dict)
    view: str | None = None
    effort: int = 1
    min_views: int = 1
    baseline: bool = False

    @property
    def class_name(self) -> str:
        """Name of the estimator."""
        return self.path.partition(":")[2]

    @property
    def in_memory(self) -> bool:
        """Return whether all rows must be in memory, unless a setting makes it stream."""
        return self.draws_rows or not self.streams

    def parameters(self) -> list[str]:
        """Return the names of the parameters that a user may set, sorted."""
        return sorted({*self.settable, *self.grid} - set(self.fixed))

    def candidates(self, grid: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return all settings to try; ``grid`` replaces the values of the parameters it names."""
        names = sorted(self.grid)
        values = [list((grid or {}).get(name, self.grid[name])) for name in names]
        return [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*values)]

    def make(self, *, random_state: Any = None, **parameters: Any) -> Any:
        """Return a new estimator with these parameters."""
        seed = {"random_state": random_state} if self.random else {}
        return load_object(self.path)(**self.fixed, **seed, **parameters)

    @property
    def shuffles(self) -> bool:
        """Whether `fit` shuffles the rows, unless it is told not to."""
        return "shuffle" in inspect.signature(load_object(self.path)).parameters

    def for_views(self, views: Sequence[str]) -> Learner:
        """Return the same for data with these views."""
        each = {
            key: [[v] for v in views] for key, value in self.fixed.items() if value == EACH_VIEW
        }
        return replace(self, fixed={**self.fixed, **each}) if each else self

    def for_view(self, view: str) -> Learner:
        """Return the same on one view alone."""
        name, title = self.name.replace("NAME", view), self.title.format(view=view)
        return replace(self.for_views([view]), name=name, title=title, view=view)

    def for_metric(self, metric: str, positive: Any = None) -> Learner:
        """Return the same trained for this metric, of this class; most learners ignore both."""
        if not self.trained_for_metric:
            return self
        family, parameters = parse_metric(metric)
        measure = METRICS[family].trains
        if measure is None:
            raise InputError(f"model {self.name!r} cannot be trained for the metric {metric!r}")
        fixed = {"measure": measure, "pos_label": positive, **parameters}
        shown = measure if measure != family and measure in METRICS else metric
        return replace(self, title=self.title.format(metric=shown), fixed={**self.fixed, **fixed})

    def passes(self, n: int | None) -> dict[str, Any]:
        """Return the parameters for ``n`` passes of `fit`; None: until it stops early, or one."""
        if self.in_memory or self.one_pass:
            return {}
        if not self.stops_early:
            return {"n_epochs": n or 1}
        return {} if n is None else {"n_epochs": n, "early_stopping": False}

    def sides(self, name: str, grid: Mapping[str, Sequence[Any]]) -> list[Sequence[Any]]:
        """Return the values of a parameter of ``refined``, or of the grid, for each side."""
        values = grid.get(name, self.refined[name])
        if values and isinstance(values[0], tuple):
            return list(values)
        return [values] if values else []

    def is_streamed(self, setting: Mapping[str, Any]) -> bool:
        """Return whether it learns a stream with this setting."""
        if not self.in_memory:
            return True
        switch = self.stream_params.items()
        return bool(switch) and all(setting.get(name) == value for name, value in switch)

    def is_binned(self, setting: Mapping[str, Any]) -> bool:
        """Return whether its numbers have bins with this setting, unless somebody says it.

        An exact covariance of so many columns would take long.
        """
        return "bins" in self.refined and not self.quadratic and self.is_streamed(setting)

    def on_stream(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return the setting with the parameters for a stream in bounded memory."""
        bounded = any(setting.get(name) in values for name, values in self.bounded_by.items())
        own = {**self.stream_params, **({} if bounded else self.memory_params)}
        return {**own, **self.in_order_params, **setting}

    def check_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings, on a stream with those that bound its memory; refuse others."""
        known = self.parameters()
        for name in settings:
            if name in self.fixed:
                raise InputError(f"model {self.name!r} fixes {name}; leave it out")
            if name not in known:
                raise InputError(
                    f"model {self.name!r} has no parameter {name!r}{closest_names(name, known)}"
                )
        if self.in_memory and self.is_streamed(settings):
            return self.on_stream(settings)
        return dict(settings)

    def select_view(self, X: Any) -> Any:
        """Return the view of the learner, or all views."""
        return X if self.view is None else X.select([self.view])
