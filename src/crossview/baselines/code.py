"""The Python that trains a baseline without Crossview's learners."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    fbeta_score,
    make_scorer,
)
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline

from crossview.baselines.adapter import Shape, WeightedPipeline, weight_names
from crossview.catalog.learner import Learner
from crossview.catalog.metrics import METRICS, parse_metric
from crossview.data.joining.join import join_sources
from crossview.encoding.encode import ViewEncoder
from crossview.errors import InputError
from crossview.labels import Threshold
from crossview.readers.find import find_reader
from crossview.readers.source import open_table

WIDTH = 88
# scikit-learn's functions, and whether they take the positive class
SCORES: dict[str, tuple[Any, dict[str, Any]]] = {
    "f1": (f1_score, {}),
    "macro_f1": (f1_score, {"average": "macro"}),
    "f_beta": (fbeta_score, {}),
    "accuracy": (accuracy_score, {}),
    "balanced_accuracy": (balanced_accuracy_score, {}),
}


def training_code(
    learner: Learner,
    setting: Mapping[str, Any],
    data: Shape,
    *,
    source: str | None = None,
    joined: Sequence[tuple[str | None, str]] = (),
    on: Sequence[str] | None = None,
    reading: Mapping[str, Any] | None = None,
    label: str | None = None,
    weight: str | None = None,
    ignored: Sequence[str] = (),
    encoding: Mapping[str, Any] | None = None,
    metric: str | None = None,
    positive: Any = None,
    threshold: Threshold | str | None = None,
    seed: int = 0,
) -> str:
    """Return the Python that trains a baseline on all rows.

    learner: an entry of `baselines`, or from `find_baseline`.
    data: the names of the views, and the number of labeled rows and of classes.
    source: the file, glob or query of a table.  None: the code expects the rows as ``X`` and their
      labels as ``y``.
    joined: instead of one table, several with the views that they are, as for `join_sources`.
    on: the id by which they are joined.
    reading: how `open_table` reads it.
    label: the label column of a table.
    weight: the column of a table that says how much each row counts.
    ignored: columns of a table that are in no view.
    encoding: the parameters of the `ViewEncoder` of a table.  None: the rows are views already.
    metric: the metric that places the threshold.
    positive: the class that the metric is about.
    threshold: the probability of the positive class above which it is predicted.  "tuned":
      scikit-learn's ``TunedThresholdClassifierCV`` finds it, but not with weights, which it does
      not hand on. None: a score above 0 predicts the second class.
    seed: for a model that takes a ``random_state``.
    Returns code: a program; it defines ``model``, a fitted scikit-learn estimator whose `predict`
      takes the same columns.

    >>> from crossview.baselines import Shape, training_code, baselines
    >>> print(training_code(baselines()[0], {"C": 10.0}, Shape(("page", "link"), 1000, 2)))
    from crossview.baselines import ViewMatrix
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    <BLANKLINE>
    # X: the rows, a crossview.MultiView; y: their labels
    model = make_pipeline(ViewMatrix(scale=True), LogisticRegression(C=10.0, max_iter=1000))
    model.fit(X, y)
    <BLANKLINE>
    """
    writer = _Writer(weighted=weight is not None)
    model = learner.make(**setting, random_state=seed).pipeline(data)
    if encoding is not None:
        model = make_pipeline(ViewEncoder(**encoding), *(step for _, step in model.steps))
    table = None if source is None and not joined else _table(writer, source, joined, reading or {})
    if joined:
        more = f"on={on!r}, main={source is not None}, label={label!r}"
        more += "" if weight is None else f", named=[{weight!r}]"
        table = f"{writer.name(join_sources)}({table}, {more})"
    lines = _rows(writer, table, (label, weight), ignored, encoding is not None)
    if data.n_classes > 2 and threshold is not None:
        threshold = None
        if not isinstance(model.steps[-1][1], DummyClassifier):
            lines.append("# compare gave each class a threshold; this predicts the most probable")
    if weight is None:
        text, comments = _with_threshold(writer, model, metric, positive, threshold)
        lines += [*comments, f"model = {text}", "model.fit(X, y)"]
    else:
        lines += _with_weights(writer, model, positive, threshold)
    return "\n".join([*writer.imports(), "", *lines, ""])


def _table(
    writer: _Writer,
    source: str | None,
    joined: Sequence[tuple[str | None, str]],
    reading: Mapping[str, Any],
) -> str:
    """Return the code of the tables that are read."""
    how = "".join(f", {name}={value!r}" for name, value in reading.items())
    if not joined:
        return f"{writer.name(open_table)}({source!r}{how})"
    tables = []
    for view, file in joined:
        if how and find_reader(file, reading.get("format"))[0].name == "csv":
            tables.append(f"({view!r}, {writer.name(open_table)}({file!r}{how}))")
        else:
            tables.append(f"({view!r}, {file!r})")
    return f"[{', '.join(tables)}]"


def _rows(
    writer: _Writer,
    table: str | None,
    label_and_weight: tuple[str | None, str | None],
    ignored: Sequence[str],
    columnar: bool,
) -> list[str]:
    """Return the lines that read rows, labels and weights."""
    label, weight = label_and_weight
    if table is None or not columnar:
        what = "a table with the same columns" if columnar else "a crossview.MultiView"
        return [f"# X: the rows, {what}; y: their labels"]
    writer.modules |= {"import numpy as np", "import pyarrow as pa"}
    names = {"y": label} | ({} if weight is None else {"weight": weight})
    columns = [f"np.array(table[{name!r}].to_pylist())" for name in names.values()]
    return [
        f"table = pa.Table.from_batches([batch.X for batch in {table}])",
        f"table = table.filter(table[{label!r}].is_valid())",
        f"{', '.join(['X', *names])} = table.drop_columns({[*names.values(), *ignored]!r}), "
        + ", ".join(columns),
    ]


def _with_threshold(
    writer: _Writer, model: Pipeline, metric: str | None, positive: Any, threshold: Any
) -> tuple[str, list[str]]:
    """Return the code of the model with its threshold, and comments on it."""
    if threshold is None or isinstance(model.steps[-1][1], DummyClassifier):
        return writer.code(model), []
    if threshold != "tuned":
        cut = {"threshold": threshold, "pos_label": positive, "response_method": "predict_proba"}
        return writer.code(FixedThresholdClassifier(model, **cut)), []
    family, parameters = parse_metric(metric or "f1")
    family = METRICS[family].threshold_for or family
    if family not in SCORES:
        return writer.code(model), [f"# compare tuned its threshold for {metric}: this has none"]
    score, fixed = SCORES[family]
    of_class = METRICS[family].scope == "class"
    options = {**parameters, **fixed, **({"pos_label": positive} if of_class else {})}
    keywords = [f"{key}={value!r}" for key, value in options.items()]
    scorer = _Text(f"{writer.name(make_scorer)}({', '.join([writer.name(score), *keywords])})")
    return writer.code(TunedThresholdClassifierCV(model, scoring=scorer)), []


def _with_weights(writer: _Writer, model: Pipeline, positive: Any, threshold: Any) -> list[str]:
    """Return the lines that fit the model with weights, and then place its threshold."""
    if threshold == "tuned":
        raise InputError("scikit-learn tunes no threshold with weights; give it as a number")
    given = [f"{name}=weight" for name in weight_names(model)]
    lines = [f"model = {writer.code(model)}", _call("model.fit", ["X", "y", *given], 0)]
    if threshold is None or isinstance(model.steps[-1][1], DummyClassifier):
        return lines
    frozen = FrozenEstimator(_Text("model"))
    cut = {"threshold": threshold, "pos_label": positive, "response_method": "predict_proba"}
    return [*lines, f"model = {writer.code(FixedThresholdClassifier(frozen, **cut))}.fit(X, y)"]


class _Text(str):
    """Code that is written as it is."""


class _Writer:
    """Writer of objects as the code that makes them; collects what has to be imported."""

    def __init__(self, *, weighted: bool) -> None:
        self._weighted = weighted
        self.modules: set[str] = set()
        self._names: dict[str, set[str]] = {}

    def imports(self) -> list[str]:
        """Return the import lines."""
        lines = [
            f"from {module} import {', '.join(sorted(names))}"
            for module, names in self._names.items()
        ]
        return sorted(self.modules) + sorted(lines)

    def name(self, thing: Any) -> str:
        """Return the name of a class or function, which is imported from where it is public."""
        parts, name = thing.__module__.split("."), thing.__name__
        modules = (".".join(parts[:n]) for n in range(1, len(parts) + 1))
        module = next(m for m in modules if getattr(import_module(m), name, None) is thing)
        self._names.setdefault(module, set()).add(name)
        return name

    def code(self, value: Any, indent: int = 0) -> str:
        """Return the code of an object; ``indent`` is that of its line."""
        inner = indent + 4
        if isinstance(value, _Text):
            return str(value)
        if isinstance(value, Pipeline):
            items = [self.code(step, inner) for _, step in value.steps]
            text = _call(self.name(make_pipeline), items, indent)
            weighs = self._weighted and isinstance(value, WeightedPipeline)
            return f"{self.name(WeightedPipeline)}({text}.steps)" if weighs else text
        if isinstance(value, list):
            return _call("", [self.code(item, inner) for item in value], indent, "[]")
        if isinstance(value, dict):
            items = [f"{key!r}: {self.code(item, inner)}" for key, item in value.items()]
            return _call("", items, indent, "{}")
        if isinstance(value, tuple):
            return f"({', '.join(self.code(item, indent) for item in value)})"
        if inspect.isfunction(value) or inspect.isclass(value):
            return self.name(value)
        changed = _changed(value)
        if changed is None:
            return repr(value)
        return _call(
            self.name(type(value)),
            [f"{key}={self.code(item, inner)}" for key, item in changed.items()],
            indent,
        )


def _changed(value: Any) -> dict[str, Any] | None:
    """Return the parameters of an estimator or a splitter that differ from the defaults."""
    if isinstance(value, BaseEstimator):
        given = value.get_params(deep=False)
    elif type(value).__module__.startswith("sklearn.model_selection"):
        given = vars(value)
    else:
        return None
    defaults = inspect.signature(type(value)).parameters
    return {
        key: given[key]
        for key, parameter in defaults.items()
        if key in given and repr(given[key]) != repr(parameter.default)
    }


def _call(name: str, items: Iterable[str], indent: int, brackets: str = "()") -> str:
    """Return a call in one line, or with one item per line."""
    items = list(items)
    line = f"{name}{brackets[0]}{', '.join(items)}{brackets[1]}"
    if indent + len(line) <= WIDTH and "\n" not in line:
        return line
    pad, lines = " " * (indent + 4), [""]
    for item in items:  # plain values share lines
        together = f"{lines[-1]} {item}," if lines[-1] else f"{item},"
        if brackets == "[]" and "\n" not in together and len(pad + together) <= WIDTH:
            lines[-1] = together
        else:
            lines.append(f"{item},")
    inside = "".join(f"{pad}{line}\n" for line in lines if line)
    return f"{name}{brackets[0]}\n{inside}{pad[4:]}{brackets[1]}"
