"""
Interactions of two views
=========================

A rating that depends on this user *and* this film is no sum of two effects. A multi-view machine
learns the product of factors; the picture compares the learned interaction of each pair with the
true one.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossview import MultiView, MultiViewMachineRegressor

rng = np.random.default_rng(0)
users, films, n = 12, 16, 6000
taste, kind = rng.normal(size=(users, 2)), rng.normal(size=(films, 2))
user, film = rng.integers(users, size=n), rng.integers(films, size=n)
truth = taste @ kind.T
rating = truth[user, film] + 0.3 * rng.normal(size=n)
X = MultiView({"user": np.eye(users)[user], "film": np.eye(films)[film]})
model = MultiViewMachineRegressor(n_factors=4, alpha=0.001, random_state=0).fit(X, rating)

pairs = np.array([(u, f) for u in range(users) for f in range(films)])
every = MultiView({"user": np.eye(users)[pairs[:, 0]], "film": np.eye(films)[pairs[:, 1]]})
learned = model.predict(every).reshape(users, films)

figure, axes = plt.subplots(1, 2, sharey=True, figsize=(7.2, 3.4))
limit = abs(truth).max()
for ax, values, title in zip(axes, (truth, learned), ("true", "learned"), strict=True):
    image = ax.imshow(values, cmap="PuOr", vmin=-limit, vmax=limit)
    ax.set(xlabel="film", title=title)
axes[0].set_ylabel("user")
figure.colorbar(image, ax=axes, shrink=0.8, label="rating, above the mean")
plt.show()
