"""The best threshold, by trying every way to predict."""

import math
from itertools import pairwise


def value(metric, y, predicted, positive=1):
    """A metric of the predicted classes, from the four counts."""
    pairs = [(int(a == positive), int(b == positive)) for a, b in zip(y, predicted, strict=True)]
    tp, fn = pairs.count((1, 1)), pairs.count((1, 0))
    fp, tn = pairs.count((0, 1)), pairs.count((0, 0))
    if metric == "accuracy":
        return (tp + tn) / len(y)
    recall = tp / (tp + fn) if tp + fn else 0.0
    rest = tn / (tn + fp) if tn + fp else 0.0
    if metric == "balanced_accuracy":
        occurring = [r for r, n in ((recall, tp + fn), (rest, tn + fp)) if n]
        return sum(occurring) / len(occurring)
    if metric == "g_mean":
        return math.sqrt(recall * rest)
    if metric == "precision":
        return tp / (tp + fp) if tp + fp else 0.0
    if metric == "recall":
        return recall
    if metric.startswith("cost:"):
        costs = dict(part.split("=") for part in metric.removeprefix("cost:").split(","))
        return (fp * float(costs["fp"]) + fn * float(costs["fn"])) / len(y)
    square = float(metric.removeprefix("f")) ** 2
    size = (1 + square) * tp + square * fn + fp
    return (1 + square) * tp / size if size else 0.0


def best(metric, y, probabilities, positive=1):
    """The best value over all thresholds in [0, 1], of a threshold that has it nearest to ½."""
    distinct = sorted(set(probabilities))
    middle = [(a + b) / 2 for a, b in pairwise(distinct)]
    tried = [0.0, *middle, 1.0]
    sign = -1 if metric.startswith("cost") else 1
    values = [sign * value(metric, y, [int(p > t) for p in probabilities], positive) for t in tried]
    highest = max(values)
    ties = [t for t, v in zip(tried, values, strict=True) if v >= highest - 1e-12]
    return sign * highest, min(ties, key=lambda t: abs(t - 0.5))


def progressive(metric, y, scores, probabilities, positive=1, bins=4096):
    """The prediction of each row by the best threshold for the rows before it, recounted each time.

    Rows whose log odds l have l / (1 + |l|) in the same of ``bins`` equal bins are kept together.
    The threshold is placed again at 1, 2, 3, ..., 20 rows, and then at each growth by a twentieth.
    """
    at, position = set(), 0
    while position <= len(y):
        position = max(position + 1, position * 21 // 20)
        at.add(position)
    predicted, threshold = [], None
    for i, p in enumerate(probabilities):
        if threshold is None:
            predicted.append(int(scores[i] > 0))
        else:
            predicted.append(int(p > threshold))
        if i + 1 in at and len(set(y[: i + 1])) == 2:
            threshold = _place(metric, y[: i + 1], probabilities[: i + 1], positive, bins)
    return predicted


def _place(metric, y, probabilities, positive, bins):
    groups = {}
    for label, p in zip(y, probabilities, strict=True):
        odds = math.log(p) - math.log1p(-p)
        groups.setdefault(int((odds / (1 + abs(odds)) + 1) * bins / 2), []).append(label)
    keys = sorted(groups)
    edges = [(a + 1 + b) / bins - 1 for a, b in pairwise(keys)]
    tried = [0.0, *(1 / (1 + math.exp(-u / (1 - abs(u)))) for u in edges), 1.0]
    sign = -1 if metric.startswith("cost") else 1
    labels = [label for key in keys for label in groups[key]]
    values = []
    for k in range(len(tried)):
        above = [int(j >= k) for j, key in enumerate(keys) for _ in groups[key]]
        values.append(sign * value(metric, labels, above, positive))
    highest = max(values)
    ties = [t for t, v in zip(tried, values, strict=True) if v >= highest - 1e-12]
    return min(ties, key=lambda t: abs(t - 0.5))
