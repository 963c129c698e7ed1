"""The score of scikit-learn's trees, node by node in plain Python."""

import math


def walk(tree, x):
    """Return the value of the leaf that a row gets to."""
    node = tree.nodes[0]
    while not node["is_leaf"]:
        value = float(x[int(node["feature_idx"])])
        if math.isnan(value):
            left = bool(node["missing_go_to_left"])
        elif node["is_categorical"]:
            words = tree.raw_left_cat_bitsets[int(node["bitset_idx"])]
            left = bool(int(words[int(value) // 32]) >> (int(value) % 32) & 1)
        else:
            left = value <= float(node["num_threshold"])
        node = tree.nodes[int(node["left"] if left else node["right"])]
    return float(node["value"])


def score(model, x):
    """Return the scores of a row: the baseline, and the leaves of all iterations."""
    scores = [float(one) for one in model._baseline_prediction.reshape(-1)]
    for trees in model._predictors:
        for k, tree in enumerate(trees):
            scores[k] += walk(tree, x)
    return scores


def ordered_statistics(codes, y, order, a):
    """Return the target statistics of each row, and the number of rows behind them, one by one."""
    prior = sum(y) / len(y)
    found = []
    for i, code in enumerate(codes):
        before = [y[j] for j in range(len(y)) if codes[j] == code and order[j] < order[i]]
        before = before if code >= 0 else []
        found.append([(sum(before) + a * prior) / (len(before) + a), len(before)])
    return found
