"""
Why this prediction?
====================

The contribution of a column is what the score loses without it. In a linear model the
contributions and the intercepts add up to the score. `predict --explain 3` writes the strongest
ones of each row.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossview import datasets, predict, train

table = datasets.load("breast-cancer")
trained = train(table[:400], "diagnosis", model="pa:squared", settings={"C": 0.1})
row = predict(trained.fitted, table[500:501], explain=8).to_pylist()[0]
names = [row[f"explain_{i}_column"] for i in range(1, 9)]
values = np.array([row[f"explain_{i}_contribution"] for i in range(1, 9)])

figure, ax = plt.subplots(figsize=(7.2, 3.4))
ax.barh(range(8), values[::-1], color=np.where(values[::-1] > 0, "C1", "C0"))
ax.set_yticks(range(8), names[::-1])
ax.axvline(0, color="0.4", linewidth=0.8)
ax.set(xlabel="contribution to the score")
ax.set_title(f"Predicted {row['prediction']}: blue speaks against it")
plt.show()
