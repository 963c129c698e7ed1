"""Tables and models for training runs that stop and go on."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from crossview import Scoring, ViewEncoder
from crossview.scoring.models.trained import TrainingObserver


def contents(path):
    """All that a model file holds: two saves of a model are the same bytes."""
    return Path(path).read_bytes()


def make_table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) * [1.0, 30.0]
    color = rng.choice(["red", "green", "blue"], n)
    words = np.array([" ".join(rng.choice(["a1", "b2", "c3", "d4"], 3)) for _ in range(n)])
    noise = rng.normal(size=n)
    y = np.where(x[:, 0] + (color == "red") + noise > 0.3, "yes", "no").astype(object)
    y[rng.random(n) < 0.05] = None
    columns = {"n__x": x[:, 0], "n__z": x[:, 1], "c__color": color, "t__words": words}
    return pa.table(columns | {"number": x[:, 0] + noise, "y": y})


class Killed(BaseException):
    """No error: nothing catches it."""


class Killer(TrainingObserver):
    """Stops a run once so many rows are learned."""

    def __init__(self, rows):
        self.left = rows

    def add_rows(self, n_rows):
        self.left -= n_rows
        if self.left <= 0:
            raise Killed


WORDS = {"text": ["t__words"], "hash_bits": 8}
COLUMNS = {"encoder": ViewEncoder(**WORDS)}
KINDS = [
    ("stacking", {}),
    ("pa:squared", {"epochs": 3, "encoder": ViewEncoder(**WORDS, ngram_range=(1, 2))}),
    ("pa:independent", {"in_order": True, "settings": {"average": True}}),
    ("arow", {"encoder": ViewEncoder(**WORDS, bins=4, tf_idf=True)}),
    ("pam:squared-diagonal", {"scoring": Scoring(threshold=0.4)}),
    ("fm", {"epochs": 2}),
    ("mvm", {"scoring": "log_loss"}),
    ("linear", {"task": "regression"}),
    ("keco", {"settings": {"schedule": "stream"}}),
]
