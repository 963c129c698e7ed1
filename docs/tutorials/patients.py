"""
Patients: an examination is missing
===================================

569 tumors were examined: the mean of ten measures over the cell nuclei, their standard error, and
their worst value. In practice a result is late or lost. Nothing is filled in: the model predicts
from the views that are there.
"""

import numpy as np

from crossview import (
    MultiView,
    MultiViewPAClassifier,
    Scoring,
    ViewEncoder,
    datasets,
    evaluate,
    train,
)

# %%
# The table is bundled. Its columns are called ``view__column``.

table = datasets.load("breast-cancer")
order = np.random.default_rng(0).permutation(len(table))
learn, test = table.take(order[:400]), table.take(order[400:])
print(table.column_names[0], table.column_names[10], table.column_names[20])

# %%
# A model that was trained on whole rows, and what it predicts with one examination missing:

trained = train(learn, "diagnosis", model="pa:squared", settings={"C": 1, "average": True})
found = evaluate(trained.fitted, test, "diagnosis", scoring=Scoring(positive="malignant"))
print(found.summary)
for view in found.views:
    print(
        f"without {view.view}: F1 {view.missing.value:.3f}, difference {view.difference.value:+.3f}"
    )

# %%
# If examinations are missing in training, too: ``present`` says which. Of 60 patients one in three
# lacks the worst values here, and one in three the errors. A method without missing views would
# have to learn from the patients that happen to be complete.

encoder = ViewEncoder().fit(learn.drop_columns("diagnosis"))
X, y = encoder.transform(learn.drop_columns("diagnosis")), learn["diagnosis"].to_numpy()
X_test, y_test = encoder.transform(test.drop_columns("diagnosis")), test["diagnosis"].to_numpy()
model = MultiViewPAClassifier(average=True, n_epochs=3, random_state=0)
accuracies = []
for seed in range(20):
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:60]
    present = rng.random((60, 3)) > [0, 1 / 3, 1 / 3]
    incomplete = MultiView.from_matrix(X.matrix[rows], X.layout, present=present)
    all_rows = model.fit(incomplete, y[rows]).score(X_test, y_test)
    complete = rows[present.all(axis=1)]
    accuracies.append([all_rows, model.fit(X[complete], y[complete]).score(X_test, y_test)])
with_all, with_complete = np.mean(accuracies, axis=0)
print(f"learned from all patients: {with_all:.3f}; from the complete ones: {with_complete:.3f}")

# %%
# A single patient, as a nested mapping, without one of the views:

row = {"mean": dict(zip("ab", (17.9, 10.4), strict=True))}
small = MultiViewPAClassifier()
small.learn_one({**row, "worst": {"a": 25.4}}, "malignant")
small.learn_one({"mean": {"a": 12.0, "b": 15.0}}, "benign")
print(small.predict_one(row))
