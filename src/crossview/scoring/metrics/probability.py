"""Metrics of the probabilities.

Of the kind *probability*: each function takes the true classes, ndarray of codes of shape
(n_samples,), and the probabilities, ndarray of shape (n_samples, n_classes), and returns the loss
of each row, at least 0.  The value of the metric is their mean.

Of the kind *calibration*: each function takes three ndarrays of shape (n_bins,), which
`count_in_bins` sums up: rows per bin of the probability, the sum of their probabilities, and the
rows among them that are of the class.  It returns one value.
"""

from __future__ import annotations

import numpy as np

# Guo et al. (2017) use 15 bins of equal width
CALIBRATION_BINS = 15


def log_losses(codes: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return -log of the probability of the true class, which counts as at least 2.2e-16."""
    K = probabilities.shape[1]
    of_true = probabilities.reshape(-1)[np.arange(0, probabilities.size, K) + codes]
    return -np.log(np.maximum(of_true, np.finfo(np.float64).eps))


def brier_losses(codes: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return the squared error of the probabilities, summed over the classes.

    With two classes half of it, which is the squared error of either probability (Brier 1950;
    `sklearn.metrics.brier_score_loss`).
    """
    K = probabilities.shape[1]
    if K == 2:  # a sum along rows of two is slow
        first, second = probabilities[:, 0] - (codes == 0), probabilities[:, 1] - (codes == 1)
        return (first**2 + second**2) / 2.0
    return ((probabilities - np.eye(K)[codes]) ** 2).sum(axis=1)


def count_in_bins(sums: np.ndarray, codes: np.ndarray, probabilities: np.ndarray) -> None:
    """Add rows to bins of equal width of a probability, in place.

    The probability is that of the second of two classes (Naeini et al. 2015), or that of the
    most probable class of more (Guo et al. 2017), whatever thresholds predict.  ``sums``, of shape
    (3, n_bins), has per bin the rows, the sum of their probabilities, and the rows that are of the
    class.
    """
    if probabilities.shape[1] == 2:
        p, right = probabilities[:, 1], codes == 1
    else:
        p, right = probabilities.max(axis=1), codes == probabilities.argmax(axis=1)
    n_bins = sums.shape[1]
    bins = np.minimum((p * n_bins).astype(np.intp), n_bins - 1)
    sums[0] += np.bincount(bins, minlength=n_bins)
    # one row after the other, after those so far, however the rows are batched
    begun = np.concatenate([np.arange(n_bins), bins]), np.concatenate([sums[1], p])
    sums[1] = np.bincount(*begun, minlength=n_bins)
    sums[2] += np.bincount(bins[right], minlength=n_bins)


def calibration_curve(sums: np.ndarray, positive: int) -> np.ndarray:
    """Return the bins of `count_in_bins` that have rows, from the lowest probability on.

    positive: with two classes: the code of the one whose probability it is; of more it is 1.
    Returns curve (4, n_bins): number of the bin, rows, mean probability, and share of the class.
    """
    rows, p, right = sums
    if positive == 0:
        rows, p, right = rows[::-1], (rows - p)[::-1], (rows - right)[::-1]
    there = np.flatnonzero(rows)
    rows, p, right = rows[there], p[there], right[there]
    return np.stack([there, rows, p / rows, right / rows])


def expected_calibration_error(
    rows: np.ndarray, probabilities: np.ndarray, right: np.ndarray
) -> float:
    """Return the mean over the rows of |share of right rows - mean probability| of their bin.

    G. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining Well Calibrated Probabilities Using
    Bayesian Binning", AAAI 2015; C. Guo et al., "On Calibration of Modern Neural Networks",
    ICML 2017, equation (5).
    """
    return float(np.abs(right - probabilities).sum() / rows.sum())
