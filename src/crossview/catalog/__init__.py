"""Registry: one entry per learner, per metric and per reader, from which everything derives.

The public names, the classes that model files may hold, ``--help`` and shell completion, `compare`,
`train`, `predict`, ``inspect`` and the generated tests read these entries.  The catalog imports
nothing heavy and no code of a learner: an entry names its code as ``"module:name"``.
"""

from __future__ import annotations

from crossview.catalog.learners import LEARNERS

__all__ = ["PUBLIC", "SAVED", "SAVED_BASELINES", "public_names", "saved_classes"]

# public names besides the estimators of `LEARNERS`
PUBLIC: dict[str, str] = {
    "ComparisonDisplay": "crossview.plots.comparison",
    "CumulativeErrorDisplay": "crossview.plots.cumulative",
    "ExpertWeightsDisplay": "crossview.plots.experts",
    "FirstDownloadWarning": "crossview.errors",
    "GuessedEncodingWarning": "crossview.errors",
    "InputError": "crossview.errors",
    "KernelSearchCV": "crossview.estimators.kernel.search",
    "LabelOrderWarning": "crossview.errors",
    "LeakWarning": "crossview.errors",
    "LearningCurveDisplay": "crossview.plots.curves",
    "Measure": "crossview.estimators.svm.measure",
    "MultiView": "crossview.views",
    "OneClassWarning": "crossview.errors",
    "UnusedColumnsWarning": "crossview.errors",
    "ViewContributionDisplay": "crossview.plots.contributions",
    "ViewDifferenceDisplay": "crossview.plots.differences",
    "ViewEncoder": "crossview.streams.encode",
    "ViewLayout": "crossview.views",
    "ViewReader": "crossview.streams.view_reader",
    "ViewScaler": "crossview.streams.view_scaler",
    "compare": "crossview.evaluation.compare",
    "convert": "crossview.evaluation.convert",
    "describe": "crossview.evaluation.describe",
    "evaluate": "crossview.evaluation.evaluate",
    "join_tables": "crossview.streams.join",
    "load": "crossview.persistence",
    "load_libffm": "crossview.streams.load_rows",
    "load_svmlight": "crossview.streams.load_rows",
    "load_vw": "crossview.streams.load_rows",
    "merge": "crossview.merging",
    "open_rows": "crossview.streams.rows",
    "open_table": "crossview.streams.table",
    "predict": "crossview.evaluation.predict",
    "progressive": "crossview.evaluation.progressive",
    "save": "crossview.persistence",
    "train": "crossview.evaluation.train",
    "weights": "crossview.evaluation.weights",
}
# classes that a model file may contain besides learners
SAVED = ("ViewEncoder", "ViewReader", "ViewScaler")
# baselines that a model file may contain: a weight per column
SAVED_BASELINES = dict.fromkeys(
    ("LogisticClassifier", "RidgeRegressor"), "crossview.evaluation.baselines.linear"
)


def public_names() -> dict[str, str]:
    """Return the module of each public name."""
    learners = {entry.class_name: entry.path.partition(":")[0] for entry in LEARNERS}
    return dict(sorted({**PUBLIC, **learners}.items()))


def saved_classes() -> dict[str, str]:
    """Return the module of each class that a model file may contain."""
    learners = {entry.class_name: entry.path.partition(":")[0] for entry in LEARNERS}
    others = {name: PUBLIC[name] for name in SAVED} | SAVED_BASELINES
    return dict(sorted({**others, **learners}.items()))
