"""The experts of a stack that is given none, by the views and the classes of the data.

They depend on nothing else: not on values or the number of rows, because a stream has neither in
advance, and not on widths, because hashed columns may be dropped that no row has.
Each kind of learner gets two or three values of the parameter that matters most, a factor of three
or more apart: what stacking weighs is the range.

- Streams that change: factorization machines that forget, at two rates where they are the only
  learners of interactions, and Newton steps on the columns of numbers that forget, plain and with
  random Fourier features.
- Two classes: 13 experts for one view, 18 for two views (one more per view, up to four views).
- Five to eight views: fewer values of each kind, so that there are at most 19 experts.
- More than eight views: none of a view alone; it would take most experts for little each.
- Several classes: the memory of a factorized learner is that of two classes times their number,
  so there is none for more than 20 classes.
"""

from __future__ import annotations

from typing import Any

from crossview.estimators.coupled import MultiViewPAClassifier
from crossview.estimators.linear import PassiveAggressiveClassifier
from crossview.estimators.machines import (
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    MultiViewMachineClassifier,
    MultiViewMachineRegressor,
)
from crossview.estimators.newton import OnlineNewtonClassifier, OnlineNewtonRegressor
from crossview.estimators.second_order import AROWClassifier
from crossview.views import ViewLayout

# an expert: its name, its estimator, and its view; None for all views
Entry = tuple[str, Any, str | None]

MAX_VIEWS_TWO_VALUES = 4
MAX_VIEWS_ALONE = 8
MAX_CLASSES_FACTORIZED = 20
N_FACTORS = 8
# learning rate and forgetting of the machines that forget
FORGETTING_RATE, FORGETTING = 0.4, (0.998, 0.9995)

EXPERT_CLASSES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        AROWClassifier,
        FactorizationMachineClassifier,
        FactorizationMachineRegressor,
        MultiViewMachineClassifier,
        MultiViewMachineRegressor,
        MultiViewPAClassifier,
        OnlineNewtonClassifier,
        OnlineNewtonRegressor,
        PassiveAggressiveClassifier,
    )
}


def default_classifiers(layout: ViewLayout, n_classes: int) -> list[Entry]:
    """Return the default experts of a classifier."""
    V = layout.n_views
    wide = MAX_VIEWS_TWO_VALUES < V <= MAX_VIEWS_ALONE
    found: list[Entry] = [
        (f"pa C={C:g}", PassiveAggressiveClassifier(C=C), None) for C in _values(wide, 1.0, 0.01)
    ]
    if V > 1:
        # for labels that the last ones predict; of one view other experts follow them
        found.append(("pa C=10", PassiveAggressiveClassifier(C=10.0), None))
        found.append(("pa:squared C=0.1", MultiViewPAClassifier(C=0.1), None))
    found += [
        (f"arow r={r:g}", AROWClassifier(r=r, covariance="diagonal"), None)
        for r in _values(wide, 10.0, 0.1, 100.0)
    ]
    linear: dict[str, Any] = {"groups": [[view] for view in layout.names]}
    found += [
        _machine("linear", MultiViewMachineClassifier, rate, **linear)
        for rate in _values(wide, 0.3, 1.0)
    ]
    if n_classes <= MAX_CLASSES_FACTORIZED:
        found += [
            _machine("fm", FactorizationMachineClassifier, rate, n_factors=N_FACTORS)
            for rate in _values(wide, 0.1, 0.3)
        ]
        found += _forgetting(layout, FactorizationMachineClassifier, OnlineNewtonClassifier)
        if V > 1:
            found += [
                _machine("mvm", MultiViewMachineClassifier, rate, n_factors=N_FACTORS)
                for rate in _values(wide or n_classes > 2, 0.1, 0.3)
            ]
    return [*found, *_views_alone(layout, AROWClassifier)]


def default_regressors(layout: ViewLayout) -> list[Entry]:
    """Return the default experts of a regressor."""
    V = layout.n_views
    wide = MAX_VIEWS_TWO_VALUES < V <= MAX_VIEWS_ALONE
    linear: dict[str, Any] = {"groups": [[view] for view in layout.names]}
    found = [
        _machine("linear", MultiViewMachineRegressor, rate, alpha, **linear)
        for rate, alpha in _values(wide, (0.3, 0.03), (1.0, 0.001), (0.1, 0.001))
    ]
    found += [
        _machine("fm", FactorizationMachineRegressor, rate, alpha, n_factors=N_FACTORS)
        for rate, alpha in _values(wide, (0.1, 0.001), (0.3, 0.0))
    ]
    found += _forgetting(layout, FactorizationMachineRegressor, OnlineNewtonRegressor, alpha=0.0)
    if V > 1:
        found += [
            _machine("mvm", MultiViewMachineRegressor, rate, alpha, n_factors=N_FACTORS)
            for rate, alpha in _values(wide, (0.05, 0.03), (0.1, 0.001))
        ]
    return [*found, *_views_alone(layout, MultiViewMachineRegressor)]


def _forgetting(
    layout: ViewLayout, machine: type, newton: type, alpha: float = 0.001
) -> list[Entry]:
    """Return the experts that follow a stream that changes."""
    found: list[Entry] = [
        (
            f"fm lr={FORGETTING_RATE:g} ρ={rho:g}",
            machine(
                learning_rate=FORGETTING_RATE, forgetting=rho, alpha=alpha, n_factors=N_FACTORS
            ),
            None,
        )
        for rho in _values(layout.n_views > 1, *FORGETTING)
    ]
    return [
        *found,
        ("newton ρ=0.999", newton(forgetting=0.999, columns="numbers"), None),
        (
            "newton:fourier ρ=0.9995",
            newton(forgetting=0.9995, columns="numbers", fourier_features=100),
            None,
        ),
    ]


def view_expert(view: str, kind: type) -> Entry:
    """Return the default expert of a view alone."""
    if kind is AROWClassifier:
        return f"view:{view}", AROWClassifier(r=1.0, covariance="diagonal"), view
    return f"view:{view}", _machine("", kind, 0.3)[1], view


def _views_alone(layout: ViewLayout, kind: type) -> list[Entry]:
    if not 1 < layout.n_views <= MAX_VIEWS_ALONE:
        return []
    return [view_expert(view, kind) for view in layout.names]


def _values(few: bool, *values: Any) -> tuple[Any, ...]:
    """Return the values to use; the first ones matter most."""
    return values[: (len(values) + 1) // 2] if few else values


def _machine(kind: str, model: type, rate: float, alpha: float = 0.001, **options: Any) -> Entry:
    name = f"{kind} lr={rate:g}" if alpha == 0.001 else f"{kind} lr={rate:g} α={alpha:g}"
    return name, model(learning_rate=rate, alpha=alpha, **options), None
