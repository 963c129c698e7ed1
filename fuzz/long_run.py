"""Many updates on badly scaled values: what each online learner of the catalog is like afterwards.

``python fuzz/long_run.py --updates 1e9 --seconds 2400``

The columns have scales from 1e-6 to 1e6, which change places between blocks of rows, as do the
labels; so the blocks cost nothing to make.  A learner that would take longer than ``--seconds`` (of
the processor) makes fewer updates.  The exit status is 1 if a state is not finite, or a covariance
not positive definite.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from crossview import InputError, MultiView, ViewLayout
from crossview.catalog.learner import Learner
from crossview.catalog.learners import known_learners

ROWS, WIDTHS, BLOCKS, TENTHS = 8192, [4, 3, 5], 8, 10
LAYOUT = ViewLayout(["a", "b", "c"], WIDTHS)


def make_blocks(task: str) -> list[tuple[MultiView, np.ndarray]]:
    """Rows and labels: the same values at other scales, with labels of other weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, sum(WIDTHS)))
    blocks = []
    for i in range(BLOCKS):
        score = X @ rng.normal(size=X.shape[1]) + rng.normal(size=ROWS)
        y = (score > 0).astype(int) if task == "classification" else score * 10.0 ** (i % 4 * 4 - 6)
        scales = 10.0 ** rng.permutation(np.linspace(-6, 6, X.shape[1]))
        blocks.append((MultiView.from_matrix(X * scales, LAYOUT), y))
    return blocks


def learners() -> Iterator[Learner]:
    """Yield the online learners; of those of one view, one."""
    for task in ("classification", "regression"):
        known = known_learners(task, LAYOUT.names)
        yield from (one for one in known if one.streams and one.view in (None, "a"))


def memory() -> float:
    """Megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def cells_of(entry: Learner, updates: float, seconds: float) -> tuple[list[str], bool]:
    """Return what a learner did, as cells of the table, and whether its state is sound."""
    model = entry.make(**entry.stream_params, **entry.memory_params, random_state=0)
    blocks = [(entry.select_view(X), y) for X, y in make_blocks(entry.task)]
    classes = {"classes": [0, 1]} if entry.task == "classification" else {}

    refused = 0

    def learn(first: int, count: int) -> float:
        nonlocal refused
        begin = time.process_time()
        for i in range(first, first + count):
            try:
                model.partial_fit(*blocks[i % BLOCKS], **classes)
            except InputError:  # of a row whose step is too long; all others are learned
                refused += 1
        return time.process_time() - begin

    learn(0, 1)  # compiles
    pace = learn(1, BLOCKS) / BLOCKS
    n = max(1, math.ceil(min(updates / ROWS, seconds / pace) / TENTHS))
    times, sizes = [], []
    for tenth in range(TENTHS):
        times.append(learn(tenth * n, n))
        sizes.append(memory())
    state = {name: array for name, array in model.get_state().items() if array.dtype.kind == "f"}
    finite = all(np.isfinite(array).all() for array in state.values())
    largest = max(float(np.abs(array).max(initial=0.0)) for array in state.values())
    diagonals = [a for name, a in state.items() if name.split("/")[-1] in ("S.D", "S.d") and a.size]
    smallest = min((float(a.min()) for a in diagonals), default=math.inf)
    total = n * TENTHS * ROWS
    cells = [
        entry.name + (" (number)" if entry.task == "regression" else ""),
        f"{total:.2g}",
        f"{total / sum(times) / 1e3:,.0f}",
        f"{refused / (n * TENTHS + BLOCKS + 1):.0%}",
        f"{times[-1] / times[0]:.2f}",
        f"{sizes[-1] - sizes[0]:+.1f}",
        f"{largest:.1e}" if finite else "not finite",
        "" if smallest == math.inf else f"{smallest:.1e}",
    ]
    return cells, finite and smallest > 0.0


def main() -> int:
    """Run each learner; the exit status is 1 if a state is not sound."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--updates", type=float, default=1e9)
    parser.add_argument("--seconds", type=float, default=600.0, help="of one learner, at most")
    parser.add_argument("--model", help="this one only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    header = ["model", "updates", "1,000 rows/s", "with a refused row", "last / first tenth"]
    header += ["MB from first tenth", "largest number", "smallest diagonal"]
    all_sound = True
    for cells in (header, ["---"] * len(header)):
        print("| " + " | ".join(cells) + " |")
    for entry in learners():
        if options.model in (None, entry.name):
            cells, sound = cells_of(entry, options.updates, options.seconds)
            print("| " + " | ".join(cells) + " |", flush=True)
            all_sound &= sound
    return int(not all_sound)


if __name__ == "__main__":
    sys.exit(main())
