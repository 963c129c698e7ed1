"""The memory of a stream on all rows at once, with rates, chain and P as their definitions say."""

import numpy as np

LABEL_DECAYS, INPUT_DECAYS = (0.0, 0.9, 0.99), (0.5, 0.9, 0.98)


def slow_gains(y, K, delay=0):
    """By how much the last labels predict each one, with counts that decay by .999.

    The last label is the one that had come when the row was predicted, ``delay`` labels ago.
    """
    gains, gap = [0.0] * delay, 1 + delay
    for t in range(gap, len(y)):
        weight = 0.999 ** np.arange(t - gap - 1, -1, -1.0)  # of the pairs before
        before, after = y[: t - gap], y[gap:t]
        from_last, to_label = before == y[t - gap], after == y[t]
        p = (weight @ (from_last & to_label) + 0.5) / (weight @ from_last + 0.5 * K)
        alone = (weight @ to_label + 0.5) / (weight.sum() + 0.5 * K)
        gains.append(np.log(p / alone))
    return np.array(gains)


def mean_gain(gains, delay=0):
    """The mean of the gains so far, and its standard error, as of n / (delay + 1) labels."""
    weight = 0.999 ** np.arange(len(gains) - 1, -1, -1.0)
    mean = np.average(gains, weights=weight)
    variance = np.average((gains - mean) ** 2, weights=weight)
    return mean, np.sqrt(variance * (1 + delay) * (weight**2).sum()) / weight.sum()


def decayed(values, decays, start):
    """What is known of the values before each row, one column after the other for each decay."""
    found = []
    for decay in decays:
        e = np.full(values.shape[1], start)
        for row in values:
            found.append(e)
            e = decay * e + (1 - decay) * row
    return np.hstack(np.array(found).reshape(len(decays), *values.shape))


def log_loss(score, label):
    if len(score) == 1:
        return np.logaddexp(0.0, -score[0] if label else score[0])
    return np.logaddexp.reduce(score) - score[label]


def combined(scores, numbers, y, opens, bound, delay=0):
    """Scores with the memory, from those without; ``opens`` says before which rows it is open.

    ``bound`` limits what is written: log odds, or the lowest probability of several classes; of
    what is known of the labels and numbers the last ``delay`` rows are left out, and a row counts
    1 / (delay + 1).
    """
    n, C = scores.shape
    labels = (y[:, None] == (1 if C == 1 else np.arange(C))).astype(float)
    known = np.maximum(np.arange(n) - delay, 0)
    m = 2 * decayed(labels, LABEL_DECAYS, 0.5)[known] - 1
    z = np.clip(numbers, -6, 6)
    z[:64] = 0  # nothing is remembered before the numbers are known
    d = np.hstack([z] * 3) - decayed(z, INPUT_DECAYS, 0.0)[known]
    F = np.column_stack([np.ones(n), scores, m, d])
    W = np.zeros((F.shape[1], C))
    W[1 : 1 + C] = np.eye(C)
    variance = np.where((np.arange(len(W)) > 0) & (np.arange(len(W)) <= C), 0.01, 1.0)
    inverse = np.diag(1 / variance)
    losses, out, between = np.zeros(2), scores.copy(), int(0.25 / (1 - 0.999))
    for rows, t in enumerate(np.flatnonzero(opens), start=1):
        s = F[t] @ W
        if losses[1] < losses[0]:
            if C == 1:
                out[t] = np.clip(s, -bound, bound)
            else:
                p = np.maximum(np.exp(s - np.logaddexp.reduce(s)), bound)
                out[t] = np.log(p / p.sum())
        losses = 0.999 * losses + [log_loss(scores[t], y[t]), log_loss(s, y[t])]
        if C == 1:
            p = 1 / (1 + np.exp(-s))
            slope, h = p - y[t], max((p * (1 - p)).item(), 0.01)
        else:
            p = np.exp(s - np.logaddexp.reduce(s))
            slope, h = p - np.eye(C)[y[t]], max(0.5 * (p * (1 - p)).sum(), 0.01)
        new = inverse + h / (1 + delay) * np.outer(F[t], F[t])
        W = W - np.outer(np.linalg.solve(new, F[t]), slope / (1 + delay))
        inverse = 0.999 * new
        if rows % between == 0:  # all features are in all rows
            inverse += (1 - 0.999**between) * np.eye(len(W))
    return out
