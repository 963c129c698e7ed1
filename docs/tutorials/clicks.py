"""
Clicks: counts and categories in the order of time
==================================================

An advertisement is shown; is it clicked? Each row has 13 counts and 26 categories, which are two
views by nature. Rows come in the order of time, and a model must predict tomorrow's from today's.
"""

import numpy as np
import pandas as pd

from crossview import InputError, Scoring, ViewEncoder, compare, datasets, evaluate, train

# %%
# The rows are a sample of the Criteo challenge if they are on this machine
# (``crossview datasets criteo_sample -o clicks.parquet`` gets them), and made ones otherwise.

try:
    found = datasets.fetch("criteo_sample", download_if_missing=False)
    table = found.data.to_pandas()
    table["click"] = np.where(found.target == 1, "yes", "no")
    print("real rows:", found.DESCR)
except InputError:
    rng = np.random.default_rng(0)
    n = 6000
    counts = rng.poisson(3.0, size=(n, 4))
    codes = rng.integers(0, [5, 20, 50], size=(n, 3))
    logit = 0.3 * np.log1p(counts[:, 0]) + np.take(rng.normal(size=50), codes[:, 2]) - 1.5
    table = pd.DataFrame(counts, columns=[f"counts__{i}" for i in range(4)])
    for i in range(3):
        table[f"categories__{i}"] = [f"c{code}" for code in codes[:, i]]
    table["click"] = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no")
    print("made rows: the real ones are not on this machine")
print(table["click"].value_counts().to_dict())

# %%
# Which learner, on rows that come later? ``in_order`` learns the first part and scores the next
# one, so no model sees the future. A few models keep this page fast; without ``models=`` all are
# compared.

answer = compare(
    table,
    "click",
    scoring=Scoring("roc_auc", positive="yes"),
    in_order=True,
    models=["pa:squared", "arow:diagonal", "linear", "view:counts", "view:categories"],
    baselines=["logistic-regression"],
    encoder=ViewEncoder(hash_bits=14),
    budget=None,
    cv=3,
    curve=False,
    n_jobs=1,
)
for row in answer.rows:
    print(f"{row.model:35} {row.value:.3f} ± {row.std:.3f}")
print("recommended:", answer.recommended.model)

# %%
# Neither view is as good alone as both: the table has ``view:counts`` and ``view:categories``.
# Nothing has to be chosen with stacking, the default of ``train``. It learns the first rows in
# their order and is then evaluated on the last ones.

split = int(0.8 * len(table))
trained = train(
    table[:split],
    "click",
    scoring=Scoring("roc_auc", positive="yes"),
    in_order=True,
    encoder=ViewEncoder(hash_bits=14),
)
later = evaluate(trained.fitted, table[split:], "click", scoring="roc_auc")
print(later.summary)

# %%
# What would it cost if one source failed?

for view in later.views:
    print(f"without {view.view}: {view.missing.value:.3f}")

# %%
# A missed click may cost more than a wasted impression. The threshold follows from the costs.

for cost in (1, 5, 20):
    found = evaluate(
        trained.fitted,
        table[split:],
        "click",
        scoring=Scoring(cost={"fp": 1, "fn": cost}, threshold=1 / (1 + cost)),
    )
    print(f"a missed click costs {cost}: mean cost of a row {found.value:.3f}")
