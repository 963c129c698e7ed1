"""
Mail: words, and the shape of a message
=======================================

Spam gives itself away by its words and by its shape: length, digits, capitals, exclamation marks.
Two views of one message, from text to a decision that can be explained.
"""

import numpy as np
import pyarrow as pa

from crossview import InputError, Scoring, ViewEncoder, datasets, evaluate, predict, train, weights

# %%
# The messages are the SMS Spam Collection if it is on this machine
# (``crossview datasets sms_spam -o sms.parquet`` gets it), and made ones otherwise.

try:
    found = datasets.fetch("sms_spam", download_if_missing=False)
    table = found.data.append_column("kind", pa.array(found.target))
    print("real messages:", found.DESCR)
except InputError:
    rng = np.random.default_rng(0)
    words = {
        "spam": ["free", "prize", "call", "now", "cash"],
        "ham": ["home", "ok", "later", "love"],
    }
    kinds = np.where(rng.random(2000) < 0.15, "spam", "ham")
    texts = [" ".join(rng.choice([*words[kind], "you", "to", "the"], 8)) for kind in kinds]
    digits = rng.poisson(np.where(kinds == "spam", 6, 1))
    table = pa.table({"words__message": texts, "shape__digits": digits, "kind": kinds})
    print("made messages: the real ones are not on this machine")
order = np.random.default_rng(0).permutation(len(table))
learn, test = table.take(order[: len(order) * 3 // 4]), table.take(order[len(order) * 3 // 4 :])

# %%
# ``ViewEncoder(text=)`` says that the words of a column count, not the column as one category.

trained = train(
    learn,
    "kind",
    model="pa:squared",
    settings={"C": 1, "average": True},
    encoder=ViewEncoder(text=["words__message"], tf_idf=True),
    scoring=Scoring("f1", positive="spam"),
)
found = evaluate(trained.fitted, test, "kind", scoring=Scoring(positive="spam"))
print(found.summary)

# %%
# What is each view worth? The F1 if it is missing:

for view in found.views:
    low, high = view.missing.low, view.missing.high
    print(f"without {view.view}: {view.missing.value:.3f} ({low:.3f} to {high:.3f})")

# %%
# Why was a message called spam? The columns that contributed most:

answers = predict(trained.fitted, test, explain=3).to_pylist()
spam = next(i for i, one in enumerate(answers) if one["prediction"] == "spam")
print(test["words__message"][spam].as_py()[:70])
for i in (1, 2, 3):
    one = answers[spam]
    print(f"  {one[f'explain_{i}_column']}: {one[f'explain_{i}_contribution']:+.2f}")

# %%
# And which words speak for spam in general? All weights are a table with view, column and value.

learned = weights(trained.fitted).to_pandas()
print(learned.sort_values("weight", ascending=False).head(6).to_string(index=False))
