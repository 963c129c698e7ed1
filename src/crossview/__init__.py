"""Crossview learns from several views of the same thing, as they stream in.

The public names are resolved when they are first used, so that ``import
crossview`` costs nothing: it loads neither numba nor scikit-learn.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_home = {
    "InputError": "crossview.errors",
    "MultiView": "crossview.views",
    "ViewLayout": "crossview.views",
    "ViewEncoder": "crossview.streams.encode",
    "open_table": "crossview.streams.table",
    "MultiViewPAClassifier": "crossview.estimators.coupled",
    "PassiveAggressiveClassifier": "crossview.estimators.linear",
    "Perceptron": "crossview.estimators.linear",
    "AROWClassifier": "crossview.estimators.second_order",
    "ConfidenceWeightedClassifier": "crossview.estimators.second_order",
    "PAMClassifier": "crossview.estimators.second_order",
    "SecondOrderPerceptron": "crossview.estimators.second_order",
    "SoftConfidenceWeightedClassifier": "crossview.estimators.second_order",
    "FactorizationMachineClassifier": "crossview.estimators.machines.factorization_machine",
    "FactorizationMachineRegressor": "crossview.estimators.machines.factorization_machine",
    "MultiViewMachineClassifier": "crossview.estimators.machines.multi_view_machine",
    "MultiViewMachineRegressor": "crossview.estimators.machines.multi_view_machine",
    "SupportTensorMachineClassifier": "crossview.estimators.machines.support_tensor_machine",
    "KeCoClassifier": "crossview.estimators.keco",
    "KernelSearchCV": "crossview.estimators.keco",
    "PegasosClassifier": "crossview.estimators.keco",
    "Measure": "crossview.estimators.performance",
    "MultiViewSVMPerf": "crossview.estimators.performance",
    "load": "crossview.persistence",
    "save": "crossview.persistence",
    "compare": "crossview.evaluation.compare",
    "progressive": "crossview.evaluation.progressive",
}

__all__ = sorted([*_home, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _home:
        value = getattr(import_module(_home[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'crossview' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
