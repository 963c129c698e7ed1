"""Crossview learns from several views of the same thing, as they stream in.

The public names are resolved when they are first used, so that ``import
crossview`` costs nothing: it loads neither NumPy nor Numba nor scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crossview.catalog import public_names

if TYPE_CHECKING:
    # for type checkers and editors, which do not run `__getattr__`
    from crossview.errors import InputError as InputError
    from crossview.estimators.keco import KeCoClassifier as KeCoClassifier
    from crossview.estimators.keco import KernelSearchCV as KernelSearchCV
    from crossview.estimators.keco import PegasosClassifier as PegasosClassifier
    from crossview.estimators.linear import (
        PassiveAggressiveClassifier as PassiveAggressiveClassifier,
    )
    from crossview.estimators.linear import Perceptron as Perceptron
    from crossview.estimators.machines import (
        FactorizationMachineClassifier as FactorizationMachineClassifier,
    )
    from crossview.estimators.machines import (
        FactorizationMachineRegressor as FactorizationMachineRegressor,
    )
    from crossview.estimators.machines import (
        MultiViewMachineClassifier as MultiViewMachineClassifier,
    )
    from crossview.estimators.machines import MultiViewMachineRegressor as MultiViewMachineRegressor
    from crossview.estimators.machines import (
        SupportTensorMachineClassifier as SupportTensorMachineClassifier,
    )
    from crossview.estimators.multiview import MultiViewPAClassifier as MultiViewPAClassifier
    from crossview.estimators.performance import Measure as Measure
    from crossview.estimators.performance import MultiViewSVMPerf as MultiViewSVMPerf
    from crossview.estimators.second_order import AROWClassifier as AROWClassifier
    from crossview.estimators.second_order import (
        ConfidenceWeightedClassifier as ConfidenceWeightedClassifier,
    )
    from crossview.estimators.second_order import PAMClassifier as PAMClassifier
    from crossview.estimators.second_order import SecondOrderPerceptron as SecondOrderPerceptron
    from crossview.estimators.second_order import (
        SoftConfidenceWeightedClassifier as SoftConfidenceWeightedClassifier,
    )
    from crossview.evaluation.compare import compare as compare
    from crossview.evaluation.predict import predict as predict
    from crossview.evaluation.progressive import progressive as progressive
    from crossview.evaluation.train import train as train
    from crossview.persistence import load as load
    from crossview.persistence import save as save
    from crossview.streams.encode import ViewEncoder as ViewEncoder
    from crossview.streams.table import open_table as open_table
    from crossview.views import MultiView as MultiView
    from crossview.views import ViewLayout as ViewLayout

__version__ = "0.1.0"

__all__ = sorted([*public_names(), "__version__"])

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        module = public_names().get(name)
        if module is None:
            raise AttributeError(f"module 'crossview' has no attribute {name!r}")
        globals()[name] = getattr(import_module(module), name)
        return globals()[name]


def __dir__() -> list[str]:
    return __all__
