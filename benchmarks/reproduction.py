"""Write docs/reproduction.md: the evidence for the defaults.

    python benchmarks/reproduction.py --write docs/reproduction.md
    python benchmarks/reproduction.py --only labels

CROSSVIEW_DATA names the folder with the data sets; a set that is absent is left out and named.
USPS is an HDF5 file and needs h5py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


import reproduction_calibration
import reproduction_compare
import reproduction_coverage
import reproduction_intercept
import reproduction_labels
import reproduction_stacking
import reproduction_thresholds
import reproduction_views
import shared_data
from crossview import (
    MultiView,
)


def cells(name: str, sparse: bool) -> tuple[object, np.ndarray]:
    """Return a set of matrices: of words rows of unit length, others as they are."""
    found = shared_data.fetch(name)
    blocks = {view: found.data[view] for view in found.data.layout.names}
    if not sparse:
        return frame(blocks), found.target
    # in MATLAB's order, on which the last bit of a norm depends
    whole = {view: block.toarray(order="F") for view, block in blocks.items()}
    unit = {
        view: sp.csr_array(b / np.maximum(np.linalg.norm(b, axis=1, keepdims=True), 1e-12))
        for view, b in whole.items()
    }
    return MultiView(unit), found.target


def frame(blocks: dict[str, np.ndarray]) -> pd.DataFrame:
    return pd.DataFrame(
        {f"{v}__{j}": b[:, j] for v, b in blocks.items() for j in range(b.shape[1])}
    )


def mfeat():
    views, y = shared_data.mfeat()
    return frame(views), y


def bundled(name: str, label: str):
    from crossview import datasets

    table = datasets.load(name).to_pandas()
    return table.drop(columns=label), table[label].to_numpy()


SETS = {
    "webkb_course": lambda: shared_data.webkb_course(),
    "internet_ads": lambda: shared_data.internet_ads(),
    "uci_mfeat": mfeat,
    "breast-cancer": lambda: bundled("breast-cancer", "diagnosis"),
    "digits": lambda: bundled("digits", "digit"),
    "bbcsport": lambda: cells("bbcsport", sparse=True),
    "reuters_1200": lambda: cells("reuters_1200", sparse=True),
    "movies": lambda: cells("movies", sparse=True),
    "cora": lambda: cells("cora", sparse=True),
    "msrc_v5": lambda: cells("msrc_v5", sparse=False),
    "wikipedia": lambda: cells("wikipedia", sparse=False),
    "100leaves": lambda: cells("100leaves", sparse=False),
}


def labels(names: list[str]) -> str:
    """Return the section on the number of labels: KeCo, Pegasos and scikit-learn."""
    return reproduction_labels.section(names, SETS)


def intercept(names: list[str]) -> str:
    """Return the section on the intercept of the linear learners."""
    return reproduction_intercept.section(names, SETS)


def calibration(names: list[str]) -> str:
    """Return the section on calibrated probabilities."""
    return reproduction_calibration.section(names)


def thresholds(names: list[str]) -> str:
    """Return the section on thresholds: F1 with and without a tuned one."""
    return reproduction_thresholds.section(names)


def stacking(names: list[str]) -> str:
    """Return the section on online stacking."""
    return reproduction_stacking.section(names)


def views(names: list[str]) -> str:
    """Return the section on scaled views and on bins of numbers."""
    return reproduction_views.section(names)


def compared(names: list[str]) -> str:
    """Return the section on the answer of `compare`, on every set."""
    return reproduction_compare.section(names, SETS)


SECTIONS = {
    "labels": labels,
    "calibration": calibration,
    "thresholds": thresholds,
    "intercept": intercept,
    "stacking": stacking,
    "views": views,
    "coverage": reproduction_coverage.section,
    "compare": compared,
}
SOURCES = {
    **SETS,
    **reproduction_intercept.OWN,
    **dict.fromkeys(
        [
            *reproduction_labels.SPLITS,
            *reproduction_calibration.SETS,
            *reproduction_thresholds.SETS,
            *reproduction_stacking.NAMES,
            *reproduction_views.SETS,
            *reproduction_compare.OWN,
        ]
    ),
}


HEAD = """# Reproduction

Which learner is best on public data, and what are the defaults worth? The papers' tables are
[run again](papers/results.md) on a page of their own.

Run every command from the project's root. `CROSSVIEW_DATA` names a folder with one subfolder per
data set; a data set that is absent is left out and named.

```sh
pip install -e '.[bench,dev]'
export CROSSVIEW_DATA=FOLDER
python benchmarks/reproduction.py --write docs/reproduction.md   # writes this document
python benchmarks/reproduction.py --only labels ionosphere       # one section, one data set
```

Contents:

- [Labels](#labels): KeCo, Pegasos and scikit-learn with 3 to 100 labels per class
- [Probabilities](#probabilities)
- [Thresholds](#thresholds)
- [The intercept](#the-intercept)
- [Online stacking](#online-stacking): Hazan, Agarwal and Kale (2007), Herbster and Warmuth (1998)
- [Views and columns](#views-and-columns): scaled views, bins of numbers
- [The answer of compare](#the-answer-of-compare)

Unless a section says otherwise, ± is a standard deviation. A row "A minus B" shows the mean of
the paired differences."""

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only", choices=list(SECTIONS), help="write this section only")
    parser.add_argument("sets", nargs="*", default=[*SOURCES])
    options = parser.parse_args()
    if options.only:
        text = SECTIONS[options.only](options.sets) + "\n"
    else:
        text = "\n\n".join([HEAD, *(make(options.sets) for make in SECTIONS.values())]) + "\n"
    if options.write:
        options.write.write_text(text)
    else:
        print(text)
