"""A ranking measure of the scores of held-out rows."""

import numpy as np
from scipy.stats import rankdata


def area_under_curve(positive: np.ndarray, scores: np.ndarray) -> float:
    """Return the ROC area: the share of positive/negative pairs in order; a tie counts half."""
    n = int(positive.sum())
    ranks = rankdata(scores)[positive].sum() - n * (n + 1) / 2
    return float(ranks / (n * (len(scores) - n)))
