"""Multi-view machines, factorization machines and support tensor machines."""

from crossview.estimators.machines.factorization_machine import (
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
)
from crossview.estimators.machines.multi_view_machine import (
    MultiViewMachineClassifier,
    MultiViewMachineRegressor,
)
from crossview.estimators.machines.state import Interaction
from crossview.estimators.machines.support_tensor_machine import SupportTensorMachineClassifier

__all__ = [
    "FactorizationMachineClassifier",
    "FactorizationMachineRegressor",
    "Interaction",
    "MultiViewMachineClassifier",
    "MultiViewMachineRegressor",
    "SupportTensorMachineClassifier",
]
