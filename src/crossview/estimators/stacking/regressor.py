"""Online stacking for regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from crossview._jit import Pass
from crossview.algorithms.stacking import numbers
from crossview.errors import InputError
from crossview.estimators.base import OnlineRegressor
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.machines import MultiViewMachineRegressor
from crossview.estimators.stacking.base import ATTRIBUTES, STACK, Stacking
from crossview.estimators.stacking.defaults import default_regressors
from crossview.views import ViewLayout


@document_parameters(STACK, attributes=ATTRIBUTES)
@with_parameters
class OnlineStackingRegressor(Stacking, OnlineRegressor):
    """Several learners in one pass, weighted by how well they predict numbers: nothing to tune.

    Each expert predicts the target of a row before it learns the row, so that its predictions are
    out of sample.  They are combined in two ways in the same pass: by a ridge regression on the
    predictions, learned by online Newton steps, which is recursive least squares (*stacking*),
    and by a weighted mean with fixed share (the *mixture*), whose loss is close to that of the best
    expert, also if another one becomes the best.  The combination with the lower squared error on
    the last rows predicts.

    Parameters
    ----------
    experts : list of (str, learner) or (str, learner, str), or None, default=None
        The experts: their names, online regressors of this package, and for an expert on one view
        the name of the view.  They share the columns and the views of the stack.  None: 5 to 18
        experts made from the views of the data; see the notes.

    Attributes
    ----------
    experts_, mixture_weights_, stacking_weights_, stacking_decides_, weight_history_, layout_,
    n_features_in_, feature_names_in_

    Raises
    ------
    InputError
        An expert cannot learn from a stream, or has the name of no view.

    See Also
    --------
    OnlineStackingClassifier : For classes.

    Notes
    -----
    The default experts are linear models, factorization machines and, of several views, multi-view
    machines, with two or three pairs of learning rate and penalty each; with two to eight
    views, there is one linear model for each view alone.  Factorization machines with
    ``forgetting``, and online Newton steps on the columns of numbers of a view of at most 1,200
    columns, follow a stream that changes.

    The target is standardized once for all experts, on a stream by the mean and the standard
    deviation of all rows up to the current one.  The sample weight of a row goes to the experts,
    and multiplies its squared error.  An expert whose only view is missing in a row predicts what
    the mixture of the others predicts.  `fit` makes one pass.

    References
    ----------
    E. Hazan, A. Agarwal, S. Kale, "Logarithmic Regret Algorithms for Online Convex Optimization",
    Machine Learning 69 (2007).  M. Herbster, M. K. Warmuth, "Tracking the Best Expert", Machine
    Learning 32 (1998).  D. Benkeser, C. Ju, S. Lendle, M. van der Laan, "Online
    Cross-Validation-Based Ensemble Learning", Statistics in Medicine 37 (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import OnlineStackingRegressor
    >>> X = np.random.default_rng(0).normal(size=(4000, 4))
    >>> y = 3.0 + X[:, 0] + X[:, 0] * X[:, 2]
    >>> model = OnlineStackingRegressor([2, 2], random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    """

    _nested_kind, _of_view, _calibrates = OnlineRegressor, MultiViewMachineRegressor, False

    def _check_nested(self, name: str, learner: Any) -> None:
        super()._check_nested(name, learner)
        if learner.target_scale != "linear":
            raise InputError(
                f"{name} has target_scale={learner.target_scale!r}; experts learn on the scale of "
                "the stack: set it there"
            )

    def _default_experts(self) -> list[tuple[str, Any, str | None]]:
        return default_regressors(self.layout_)

    def _loop(self) -> Pass:
        return numbers.learn

    def _start_state(self) -> None:
        super()._start_state()
        self._share_units()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_state" in state:
            self._share_units()

    def _share_units(self) -> None:
        """Let the experts standardize as the stack does."""
        for expert in self._experts:
            expert.learner._state["units"] = self._state["units"]

    def _grow_state(self, moved: np.ndarray, before: ViewLayout) -> None:
        super()._grow_state(moved, before)
        self._share_units()

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `get_state` returned."""
        super().set_state(state)
        self._share_units()
