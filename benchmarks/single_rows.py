"""One row at a time: how long does a learner take to predict, and to learn, a single row?

Processor time per call of `predict_one` and `learn_one` on a row as an array, a sparse row, a
MultiView of one row, and a mapping of views to features.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview import (
    AROWClassifier,
    MultiView,
    MultiViewMachineClassifier,
    OnlineStackingClassifier,
    PassiveAggressiveClassifier,
)
from harness import middle, table

ROWS, DENSE, SPARSE, ENTRIES = 300, 100, 100_000, 24
LEARNERS = (
    PassiveAggressiveClassifier,
    AROWClassifier,
    MultiViewMachineClassifier,
    OnlineStackingClassifier,
)


def rows() -> dict[str, Any]:
    """Return the same kind of rows in all containers; a mapping has 16 features."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(ROWS, DENSE))
    sparse = sp.random_array((ROWS, SPARSE), density=ENTRIES / SPARSE, rng=rng, format="csr")
    half = SPARSE // 2
    return {
        f"array of {DENSE}": dense,
        f"sparse row, {ENTRIES} entries": sparse,
        "MultiView of it": MultiView({"a": sparse[:, :half], "b": sparse[:, half:]}),
        "mapping of 16 features": [
            {"user": dict(enumerate(x[:8])), "ad": dict(enumerate(x[8:]))}
            for x in dense[:, :16].tolist()
        ],
    }


def microseconds(call: Callable[[], object], calls: int, repeats: int = 5) -> float:
    """Return the processor time of one call, the median of repeats."""
    call()
    found = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(calls):
            call()
        found.append((time.process_time() - start) / calls * 1e6)
    return middle(found)


def main(calls: int = 200) -> str:
    body, containers = [], rows()
    for kind in LEARNERS:
        cells = []
        for X in containers.values():
            model = kind()
            if isinstance(X, list):
                for i, x in enumerate(X):
                    model.learn_one(x, i % 2)
                row = X[0]
            else:
                model.partial_fit(X, np.arange(ROWS) % 2, classes=[0, 1])
                row = X[0] if isinstance(X, np.ndarray) else X[0:1]
            cells.append(
                f"{microseconds(lambda m=model, x=row: m.predict_one(x), calls):.0f}, "
                f"{microseconds(lambda m=model, x=row: m.learn_one(x, 1), calls):.0f}"
            )
        body.append([f"`{kind.__name__}`", *cells])
    return table(["µs to predict, to learn", *containers], body)


if __name__ == "__main__":
    print(main())
