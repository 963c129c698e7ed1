"""
Which model, and is it worth it?
================================

`compare` ranks models by the same folds. Those within the rope of the best one are practically
equal to it; of these the arrow recommends the cheapest. Here it is a single view.
"""

import matplotlib.pyplot as plt

from crossview import compare, datasets

answer = compare(
    datasets.load("breast-cancer"),
    "diagnosis",
    models=["pa:squared", "pa:concatenated", "view:worst", "view:mean", "view:error"],
    yardsticks=["logistic-regression"],
    budget=None,
    curve=False,
    n_jobs=1,
)

rows = answer.rows[::-1]
figure, ax = plt.subplots(figsize=(7.2, 3.8))
for i, row in enumerate(rows):
    color = "C0" if row.equal else "0.6"
    ax.errorbar(row.value, i, xerr=row.std, fmt="o", color=color, capsize=3)
    ax.annotate(
        f"{row.value:.3f}",
        (row.value, i),
        xytext=(0, 6),
        textcoords="offset points",
        ha="center",
        color=color,
        fontsize=9,
    )
best = answer.rows[0].value
ax.axvspan(best - answer.rope, best, color="C0", alpha=0.12, linewidth=0)
names = [("→ " if row is answer.recommended else "") + row.model for row in rows]
ax.set_yticks(range(len(rows)), names)
ax.set(xlabel="F1, mean and standard deviation over 5 folds", ylim=(-0.5, len(rows) - 0.2))
ax.set_title("→ the cheapest of those practically equal")
plt.show()
