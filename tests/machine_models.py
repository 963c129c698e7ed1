"""Machines as users have them, and the rows that their tests share."""

import numpy as np

from crossview import FactorizationMachineRegressor, MultiViewMachineRegressor

WIDTHS = [3, 2, 4]
REGRESSORS = {
    "MVM": MultiViewMachineRegressor(WIDTHS, n_factors=3, random_state=0),
    "MVM-groups-huber": MultiViewMachineRegressor(
        WIDTHS, groups=[["view0", "view2"], ["view1"]], loss="huber", random_state=0
    ),
    "FM": FactorizationMachineRegressor(WIDTHS, n_factors=3, random_state=0),
    "FM-cross": FactorizationMachineRegressor(WIDTHS, cross_view_only=True, random_state=0),
    "FM-order-4": FactorizationMachineRegressor(WIDTHS, n_factors=3, order=4, random_state=0),
    "FM-cross-order-3": FactorizationMachineRegressor(
        WIDTHS, n_factors=3, order=3, cross_view_only=True, random_state=0
    ),
}


def numbers(rows=300, seed=0):
    """A target with an interaction of two views, far from 0 and wide."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, sum(WIDTHS)))
    return X, 5000.0 + 300.0 * (X[:, 0] * X[:, 4] + 0.5 * X[:, 6]) + 10 * rng.normal(size=rows)


def mappings(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rows):
        user, item = (int(i) for i in rng.integers(6, size=2))
        yield {"user": {f"u{user}": 1.0}, "item": {f"i{item}": 1.0}}, float(user * item)
