"""What is computed from the scores of held-out rows: a ranking measure, calibration targets."""

import numpy as np
from scipy.stats import rankdata


def area_under_curve(positive: np.ndarray, scores: np.ndarray) -> float:
    """Return the ROC area: the share of positive/negative pairs in order; a tie counts half."""
    n = int(positive.sum())
    ranks = rankdata(scores)[positive].sum() - n * (n + 1) / 2
    return float(ranks / (n * (len(scores) - n)))


def platt_targets(positive: np.ndarray) -> np.ndarray:
    """Return the targets that probabilities are fitted to, not quite 0 and 1 (Platt 1999)."""
    n, m = int(positive.sum()), int((~positive).sum())
    return np.where(positive, (n + 1.0) / (n + 2.0), 1.0 / (m + 2.0))
