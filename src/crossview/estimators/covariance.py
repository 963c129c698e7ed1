"""Base class of the learners that keep a covariance of their weights."""

from __future__ import annotations

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import couplings
from crossview.algorithms.couplings import Coupling
from crossview.algorithms.geometries import changes
from crossview.algorithms.geometries import covariance as forms
from crossview.algorithms.online import Examples
from crossview.algorithms.rules import Rule
from crossview.errors import InputError
from crossview.estimators.base import ColumnWeights, LinearOnlineClassifier, State, StatePart
from crossview.estimators.base.road import Bound, OneExample
from crossview.estimators.base.weights import (
    CovarianceOptions,
    WeightCovariance,
    check_memory,
)
from crossview.estimators.documentation import with_parameters
from crossview.kernels.rows import Rows
from crossview.views import ViewLayout

FORMS = {
    forms.FULL: "full",
    forms.DIAGONAL: "diagonal",
    forms.DIAGONAL_COVARIANCE: "diagonal",
    forms.LOW_RANK: "low-rank",
}


@with_parameters
class CovarianceClassifier(LinearOnlineClassifier):
    """Base class of the learners that keep a covariance of their weights, one or one per view."""

    covariance: str = "auto"
    rank: int = 256
    diagonal: str = "precision"
    initial_variance: float = 1.0

    # --- to be implemented by subclasses ---------------------------------------------

    def _has_covariance(self) -> bool:
        return True

    def _rule(self) -> Rule:
        """Return the update rule and its parameters."""
        raise NotImplementedError

    # --- learning --------------------------------------------------------------------

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        examples = Examples(rows, order, y, weight, scores)
        return self._covariance(self._state).learn(examples, self._rule(), self._coupling())

    def _bind_learning(self, row: OneExample) -> Bound | None:
        examples = Examples(row.row.rows, row.order, row.number, row.weight, row.scores)
        return self._covariance(self._state).bind(examples, self._rule(), self._coupling())

    def _coupling(self) -> Coupling:
        """Return how the views are coupled."""
        return Coupling(couplings.INDEPENDENT)

    def _can_restart(self) -> bool:
        return not self._has_covariance() or self.covariance in ("auto", "diagonal")

    def _parts(self, state: State) -> list[StatePart]:
        own = [self._covariance(state)] if self._has_covariance() else []
        return [*super()._parts(state), *own]

    def _covariance(self, state: State) -> WeightCovariance:
        """Return the covariance of the weights."""
        names = [name for name in CovarianceOptions._fields if hasattr(self, name)]
        options = CovarianceOptions(**{name: getattr(self, name) for name in names})
        weights, grows = self._weights(state), self._columns.named is not None
        return WeightCovariance(state, self._slots, self._per_view(), options, weights, grows)

    def _check_combination(self) -> None:
        super()._check_combination()
        if getattr(self, "forgetting", 1.0) < 1.0 and self.covariance == "low-rank":
            raise InputError(
                f"forgetting={self.forgetting:g} with covariance='low-rank', which keeps rows that "
                "do not fade; set covariance='full' or 'diagonal'"
            )

    def _check_columns(self, slots: ViewLayout) -> None:
        if self._has_covariance() and self.covariance == "full":
            check_memory(list(slots.widths) if self._per_view() else [slots.n_columns])

    # --- attributes -----------------------------------------------------------

    @property
    def covariance_form_(self) -> str:
        """Current form of the covariance: "full", "diagonal" or "low-rank"."""
        return FORMS[self._fitted_covariance(AttributeError).S.form]

    def covariance_matrix(self, view: str | None = None) -> np.ndarray:
        """Return the covariance of the weights as a matrix.

        Parameters
        ----------
        view : str, default=None
            Name of the view; None if there is one covariance for all columns.

        Returns
        -------
        S : ndarray of shape (n, n)
            Its rows and columns are the columns of the view, in the order of `view_columns`, or
            all columns, view by view; with ``fit_intercept`` the constant feature is the last.

        Raises
        ------
        InputError
            No view has this name, or ``view`` is None and there are several covariances.
        """
        covariance = self._fitted_covariance(InputError)
        ptr, names = covariance.ptr, self.layout_.names
        if len(ptr) - 1 < len(names) or view is None:
            if view is not None or len(ptr) > 2:
                what = "one covariance for all columns; leave view= at None"
                if len(ptr) > 2:
                    what = f"one covariance per view; name one of {', '.join(names)}"
                raise InputError(f"view={view!r}: there is {what}")
            v = 0
        elif view not in names:
            raise InputError(f"there is no view {view!r}; there are {', '.join(names)}")
        else:
            v = names.index(view)
        S = changes.dense(covariance.S, v, covariance.bias)
        columns = self._columns.in_block(int(ptr[v]), int(ptr[v + 1])) - int(ptr[v])
        order = np.append(1 + columns, 0) if self.fit_intercept else 1 + columns
        return S[np.ix_(order, order)]

    @property
    def variance_(self) -> np.ndarray:
        """Variance of the weight of each column, (n_features,): the diagonal of the covariance."""
        variances = self._fitted_covariance(AttributeError).variances()
        return self._columns.spread(variances, float(self.initial_variance))

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(self.coef_, self.variance_ if self._has_covariance() else None)

    def _fitted_covariance(self, error: type[Exception]) -> WeightCovariance:
        """Return the covariance; an error of this type if there is none."""
        check_is_fitted(self, "classes_")
        if not self._has_covariance() or "S.form" not in self._state:
            raise error("in Euclidean geometry there is no covariance")
        return self._covariance(self._state)


def normal_quantile(confidence: float) -> float:
    """Return the quantile phi of the standard normal distribution at this probability."""
    return float(special.ndtri(confidence))
