"""A million users with deviations of their own: memory, and rows per second on one core."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from benchmarks.harness import Table, apart, benchmark, middle, size
from crossview import AROWClassifier, ViewEncoder

USERS, ROWS, BATCH = size(1_000_000, 10_000), size(4_000_000, 40_000), size(65_536, 8_192)
# features of a row, and the values of each: 100 weights of a user who has met them all
FEATURES, VALUES = 20, 5
BITS = size((22, 26, 27), (16,))
BOUNDED = size((26, 200_000), (16, 2_000))


def measure(bits: int, most: int | None = None) -> dict[str, float]:
    """Stream rows of users drawn by Zipf's law, their features as categories."""
    rng = np.random.default_rng(0)
    share = np.cumsum(1.0 / np.arange(1, USERS + 1))
    share, names = share / share[-1], rng.permutation(USERS)
    features = [f"c{k}" for k in range(FEATURES)]
    options = {"hash_bits": bits - 4, "remember_names": 1000, "max_users": most}
    encoder = ViewEncoder({"row": features}, categorical=features, per="user", **options)
    learner = AROWClassifier(covariance="diagonal")
    seconds: dict[str, list[float]] = {"read": [], "encode": [], "predict": [], "learn": []}
    for start in range(0, ROWS, BATCH):
        drawn = {name: pa.array(rng.integers(0, VALUES, BATCH)) for name in features}
        user = names[np.searchsorted(share, rng.random(BATCH))]
        table, y = pa.table({**drawn, "user": user}), rng.random(BATCH) < 0.5
        begin = time.process_time()
        X = encoder.partial_fit_transform(table)
        done = {"encode": time.process_time()}
        learner.partial_fit(X, y, classes=[False, True])
        done["learn"] = time.process_time()
        other = table.slice(0, BATCH - 1)  # a table that was not decoded yet
        asked = time.process_time()
        X = encoder.transform(other)
        done["read"] = time.process_time()
        learner.decision_function(X)
        done["predict"] = time.process_time()
        if start >= 2 * BATCH:  # what compiles does not count
            seconds["encode"].append(done["encode"] - begin)
            seconds["learn"].append(done["learn"] - done["encode"])
            seconds["read"].append(done["read"] - asked)
            seconds["predict"].append(done["predict"] - done["read"])
    return {name: BATCH / middle(times) for name, times in seconds.items()}


def findings(tables: list[Table]) -> list[str]:
    """Updates and predictions of a core, tables included, and the memory."""
    (table,) = tables
    lines = []
    for name, cell in table.words("peak memory").items():
        encode, learn, read, predict = (table.column(header)[name] for header in table.header[1:5])
        update = 1.0 / (1.0 / encode + 1.0 / learn)
        answer = 1.0 / (1.0 / read + 1.0 / predict)
        lines.append(
            f"{name}, {cell}: {update / 1e6:.2f} M updates/s and {answer / 1e6:.2f} M "
            f"predictions/s from tables; {predict / 1e6:.1f} M/s of rows that are encoded already"
        )
    return lines


@benchmark("docs/guide/personal.md", findings=findings)
def users() -> Iterator[Table]:
    """Rows per second, by the slots of the personal view, and with a bound on the users."""
    table = Table(
        ["personal view", "encode and learn names", "learn", "encode", "predict", "peak memory"],
        title=f"{USERS:,} users by Zipf's law, {FEATURES} features a row, {ROWS:,} rows: rows per "
        "second of processor time",
    )
    for bits, most in (*((bits, None) for bits in BITS), BOUNDED):
        found, peak = apart(measure, bits, most)
        order = ("encode", "learn", "read", "predict")
        bound = f", {most:,} users at most" if most else ""
        numbers = (f"{found[name]:,.0f}" for name in order)
        table.add(f"2^{bits} slots{bound}", *numbers, f"{peak:,.0f} MB")
    yield table
