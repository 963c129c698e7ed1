"""Learners with a covariance that learned different rows, as one."""

from __future__ import annotations

import numpy as np

from crossview.algorithms import merging
from crossview.algorithms.geometries import changes
from crossview.algorithms.geometries import covariance as forms
from crossview.algorithms.geometries.covariance import Covariance
from crossview.estimators.base import Parts
from crossview.estimators.covariance_state import (
    MAX_FULL_BYTES,
    CovarianceState,
    as_state,
    rows_before_change,
)

__all__ = ["MergeableCovariance"]


class MergeableCovariance(CovarianceState):
    """Base class of the learners with a covariance: their merge."""

    def _merged(self, parts: Parts) -> dict[str, np.ndarray]:
        merged = super()._merged(parts)
        if not self._has_covariance():
            return merged
        bias, states = self._bias(), [*parts.states, parts.start]
        *models, start = merging.same_form([self._covariance_of(s) for s in states], bias)
        S = merging.covariances(models, start, bias)
        if parts.product:
            weights = [(own["W"], own["b"]) for own in parts.states]
            each = [(one, *own) for one, own in zip(models, weights, strict=True)]
            first = (start, parts.start["W"], parts.start["b"])
            merged["W"], merged["b"] = merging.product(S, each, first, bias)
            merged |= self._merged_averages(parts, merged)
        if S.form == forms.LOW_RANK:
            S = self._within_rank(S)
        return merged | as_state(forms.trimmed(S))

    def _within_rank(self, S: Covariance) -> Covariance:
        """Return a low-rank covariance with no more rows than there may be."""
        widths, bias = np.diff(S.ptr).tolist(), self._bias()
        is_low_rank = self.covariance == "low-rank"
        rank = self.rank if is_low_rank else rows_before_change(widths)
        while is_low_rank and S.kept.max() > rank:
            S = changes.forget_older_half(S, bias, rank)
        if S.kept.max() <= rank:
            return S
        is_small = forms.full_bytes(widths) <= MAX_FULL_BYTES
        return (changes.to_full if is_small else changes.to_diagonal)(S, bias)
