"""
A view that moves
=================

`evaluate` compares the norms and the scores of each view with those of the last training rows, by
the population stability index, and names a view that moved before any label is there. Here one
sensor drifts.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from crossview import evaluate, train

rng = np.random.default_rng(0)
n = 12_000
frame = pd.DataFrame(rng.normal(size=(n, 6)), columns=[f"{v}__{i}" for v in "ab" for i in range(3)])
frame["y"] = np.where(frame["a__0"] + frame["b__0"] + 0.5 * rng.normal(size=n) > 0, "yes", "no")
later = frame[4000:].reset_index(drop=True)
drift = np.clip((np.arange(len(later)) - 3000) / 3000, 0, 1)[:, None]
later.loc[:, ["b__0", "b__1", "b__2"]] += 2 * drift
with tempfile.TemporaryDirectory() as folder:
    file = f"{folder}/model.safetensors"  # it knows how the views were distributed in training
    train(frame[:4000], "y", model="pa:squared", in_order=True, output=file)
    found = evaluate(file, later, "y", window=1000, scoring="accuracy")

at = np.arange(len(found.windows)) * 1000 + 500
figure, (top, bottom) = plt.subplots(2, 1, sharex=True, figsize=(7.2, 5.0))
values = [window.metric.value for window in found.windows]
top.fill_between(
    at,
    [window.metric.low for window in found.windows],
    [window.metric.high for window in found.windows],
    alpha=0.15,
    linewidth=0,
)
top.plot(at, values, "o-")
top.set(ylabel="accuracy")
named = max(found.drift, key=lambda one: one.index)
top.set_title(f"Accuracy falls, and view {named.view} is named as the one that moved")
for view, color in (("a", "C2"), ("b", "C1")):
    index = [
        next(one.index for one in window.drift if (one.view, one.what) == (view, "inputs"))
        for window in found.windows
    ]
    bottom.plot(at, index, "o-", color=color)
    bottom.annotate(
        f"view {view}",
        (at[-1], index[-1]),
        xytext=(6, 0),
        color=color,
        textcoords="offset points",
        va="center",
    )
bottom.axhline(0.25, color="0.6", linestyle="--")
bottom.set(xlabel="rows", ylabel="stability index", xlim=(0, 8800))
plt.show()
