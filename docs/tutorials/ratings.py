"""
Ratings: this user *and* this film
==================================

Whether a user likes a film is not additive in user and film. Factorization machines and
multi-view machines learn the interaction.
"""

import numpy as np
import pyarrow as pa

from crossview import InputError, ViewEncoder, compare, datasets

# %%
# The ratings are MovieLens-100k if it is on this machine (``crossview datasets movielens_100k``
# gets it; its terms allow research use and no publishing again), and made ones otherwise. A part of
# the rows keeps this page fast.

try:
    found = datasets.fetch("movielens_100k", download_if_missing=False)
    order = np.argsort(found.data["time"].to_numpy(), kind="stable")[:30_000]
    rating = found.target[order].astype(float)
    table = found.data.drop_columns(["time"]).take(order)
    print("real ratings:", found.DESCR)
except InputError:
    rng = np.random.default_rng(0)
    users, films = rng.normal(size=(80, 2)), rng.normal(size=(120, 2))
    user, item = rng.integers(80, size=20_000), rng.integers(120, size=20_000)
    rating = 3.5 + (users[user] * films[item]).sum(axis=1) + 0.5 * rng.normal(size=len(user))
    table = pa.table({"user__id": user, "item__id": item})
    print("made ratings: the real ones are not on this machine")
table = table.append_column("rating", pa.array(rating))
print(table.shape)

# %%
# Each row is predicted, then learned, in the order of time; no row is lost for testing.
# ``categorical`` says that the numbers are names.

answer = compare(
    table,
    "rating",
    task="regression",
    progressive=True,
    encoder=ViewEncoder(categorical=["user__id", "item__id"], hash_bits=12),
    models=["linear", "fm:cross-view", "mvm", "view:user", "view:item"],
    rope=0.001,  # a smaller difference in RMSE is none
    budget=None,
)
for row in answer.rows:
    print(f"{row.model:20} RMSE {row.value:.4f}   MAE {row.mae:.4f}")

# %%
# The ensemble of all models is recommended, where there is one; of models named by `models=` the
# cheapest that is shown to be equal to the best.

print(answer.recommended.model, "is recommended")
