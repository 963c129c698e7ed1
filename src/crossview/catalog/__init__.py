"""Registry: one entry per learner, per metric and per reader, from which everything derives.

The public names, the classes that model files may hold, ``--help`` and shell completion, `compare`,
`train`, `predict`, ``inspect`` and the generated tests read these entries.  The catalog imports
nothing heavy and no code of a learner: an entry names its code as ``"module:name"``.
"""

from __future__ import annotations

from crossview.catalog.learners import LEARNERS

# public names besides the estimators of `LEARNERS`
PUBLIC: dict[str, str] = {
    "ComparisonDisplay": "crossview.reporting.displays.comparison",
    "CumulativeErrorDisplay": "crossview.reporting.displays.cumulative",
    "ExpertWeightsDisplay": "crossview.reporting.displays.experts",
    "FirstDownloadWarning": "crossview.errors",
    "GuessWarning": "crossview.errors",
    "InputError": "crossview.errors",
    "KernelSearchCV": "crossview.estimators.kernel.search",
    "LabelOrderWarning": "crossview.errors",
    "LeakWarning": "crossview.errors",
    "LearnedRowsWarning": "crossview.errors",
    "LearningCurveDisplay": "crossview.reporting.displays.curves",
    "Measure": "crossview.estimators.svm.measure",
    "MultiView": "crossview.views",
    "OneClassWarning": "crossview.errors",
    "Pipeline": "crossview.pipeline",
    "Scoring": "crossview.scoring.specification",
    "Checkpoint": "crossview.training.checkpoint",
    "TrainingLog": "crossview.training.log",
    "TrainingObserver": "crossview.scoring.models.trained",
    "UnusedColumnsWarning": "crossview.errors",
    "ViewContributionDisplay": "crossview.reporting.displays.contributions",
    "ViewDifferenceDisplay": "crossview.reporting.displays.differences",
    "ViewEncoder": "crossview.encoding.encode",
    "ViewLayout": "crossview.views",
    "ViewReader": "crossview.encoding.view_reader",
    "ViewScaler": "crossview.encoding.view_scaler",
    "compare": "crossview.comparing.compare",
    "convert": "crossview.converting.convert",
    "describe": "crossview.describing.describe",
    "evaluate": "crossview.evaluating.evaluate",
    "export": "crossview.exporting.export",
    "join_tables": "crossview.data.joining.join",
    "load": "crossview.saving.model_files",
    "load_libffm": "crossview.readers.sparse.load_rows",
    "load_svmlight": "crossview.readers.sparse.load_rows",
    "load_vw": "crossview.readers.sparse.load_rows",
    "make_pipeline": "crossview.pipeline",
    "merge": "crossview.merging",
    "model_card": "crossview.reporting.card",
    "open_rows": "crossview.readers.source",
    "open_table": "crossview.readers.source",
    "predict": "crossview.predicting.predict",
    "progressive": "crossview.scoring.progressive",
    "save": "crossview.saving.model_files",
    "train": "crossview.training.train",
    "weights": "crossview.scoring.models.weights",
}
# classes that a model file may contain besides learners
SAVED = ("ViewEncoder", "ViewReader", "ViewScaler")


def public_names() -> dict[str, str]:
    """Return the module of each public name."""
    learners = {entry.class_name: entry.path.partition(":")[0] for entry in LEARNERS}
    return dict(sorted({**PUBLIC, **learners}.items()))


def saved_classes() -> dict[str, str]:
    """Return the module of each class that a model file may contain."""
    learners = {entry.class_name: entry.path.partition(":")[0] for entry in LEARNERS}
    others = {name: PUBLIC[name] for name in SAVED}
    return dict(sorted({**others, **learners}.items()))
