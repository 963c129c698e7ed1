"""Training on two processes of one core each: speed-up, the model of cost, accuracy after mixing.

Each worker has a core of its own, as a machine would, so that reading ahead in threads does not use
the core of the other one.
"""

from __future__ import annotations

import copy
import math
import os
import pickle
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import crossview
from benchmarks.harness import Table, benchmark, middle, ratio, results_in_turn, size
from benchmarks.speed import clicks
from crossview.distributed import connected, fit_svm, train

PAGE = "docs/scale.md"
ROWS, TEST_ROWS, FEW, FILES = *size((10_000_000, 200_000, 100_000), (40_000, 4_000, 4_000)), 4
MODELS = size(("pa:squared", "arow:diagonal", "mvm"), ("pa:squared",))
SVM_ROWS, SVM_COLUMNS = size((2_000_000, 400_000), (20_000,)), 60
FAN_IN = 8


def write(folder: Path, rows: int, seed: int, files: int = FILES) -> list[str]:
    """Write rows to Parquet files of equal length."""
    parts = range(files)
    return [
        str(clicks.write(folder, rows // files, "parquet", seed=seed + f)["parquet"]) for f in parts
    ]


@contextmanager
def cores(n: int) -> Iterator[Any]:
    """A cluster of ``n`` processes, each on a core of its own."""
    with connected(f"local:{n}") as client:
        for core, worker in enumerate(client.scheduler_info()["workers"]):
            client.run(os.sched_setaffinity, 0, {core % os.cpu_count()}, workers=[worker])
        yield client


def timed(client: Any, files: list[str], model: str, n: int, rounds: int = 1) -> tuple:
    """Return the seconds of a training, and what it trained."""
    # the threshold is that of the score: one tuned on few held-out rows would differ by chance
    given: dict[str, Any] = {"model": model, "classes": [0, 1]}
    given |= {"n_partitions": n, "n_rounds": rounds, "scoring": crossview.Scoring(threshold=None)}
    began = time.perf_counter()
    trained = train(files, "click", client=client, in_order=True, **given)
    return time.perf_counter() - began, trained


def merging(fitted: Any) -> tuple[float, float, float]:
    """Return the bytes of a model, the bytes merged per second, and those pickled per second."""
    data = pickle.dumps(fitted, protocol=5)
    began = time.perf_counter()
    for _ in range(3):
        pickle.loads(pickle.dumps(fitted, protocol=5))
    copied = 3 * len(data) / (time.perf_counter() - began)
    began = time.perf_counter()
    crossview.merge([fitted, fitted], start=fitted)
    return len(data), 2 * len(data) / (time.perf_counter() - began), copied


def of_merges(n_workers: int, n_partitions: int, size: float, merged: float, sent: float) -> float:
    """Return the seconds of the merges of a round, as on the page."""
    depth = math.ceil(math.log(n_partitions, FAN_IN))
    models = min(FAN_IN, n_partitions)
    return depth * models * size * (1 / merged + 1 / sent) + math.log2(n_workers) * size / sent


def speed_ups(tables: list[Table]) -> list[str]:
    """Say how far the goals are."""
    (table,) = tables
    fast, miss = table.column("speed-up"), table.column("predicted", 1)
    one, mixed = table.column("accuracy of 1"), table.column("after 1, 2, 3 rounds of 2", -1)
    return [
        f"{name}: a speed-up of {fast[name]:.2f} (goal 1.7), prediction off by {miss[name]:+.0f} % "
        f"(goal 20), {100 * (mixed[name] - one[name]):+.2f} points after three rounds."
        for name in fast
    ]


@benchmark(PAGE, findings=speed_ups)
def cluster() -> list[Table]:
    """A row per model: one worker, two, and what the model of cost predicts."""
    header = ["model", "rows/s of a worker", "size", "1 worker", "2 workers", "speed-up"]
    table = Table([*header, "predicted", "accuracy of 1", "after 1, 2, 3 rounds of 2"])
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name) / "model.safetensors"
        files = write(folder, ROWS, 1)
        small = write(folder, max(FEW, ROWS // 8), 9, 2)
        test = write(folder, TEST_ROWS, 99, 1)
        for model in MODELS:
            with cores(1) as one:
                timed(one, small, model, 1)  # loads the code
                first, _ = timed(one, small, model, 1)
                half, _ = timed(one, files[: FILES // 2], model, 1)
                alone, trained = timed(one, files, model, 1)
            with cores(2) as two:
                timed(two, small, model, 2)
                both, mixed = timed(two, files, model, 2)
                again = [timed(two, files, model, 2, rounds)[1] for rounds in (2, 3)]
            # n / (W r) + overhead, from two smaller trainings of one worker
            n_small = max(FEW, ROWS // 8)
            rate = (ROWS / 2 - n_small) / (half - first)
            overhead = first - n_small / rate
            each = merging(trained.fitted)
            predicted = overhead + ROWS / (2 * rate) + of_merges(2, 2, *each)
            accuracy = []
            for done in (trained, mixed, *again):
                crossview.save(done.fitted, path, info=done.info)
                accuracy.append(crossview.evaluate(path, test).metrics["accuracy"].value)
            table.add(
                *(f"`{model}`", f"{rate:,.0f}", f"{each[0] / 1e6:,.1f} MB", f"{alone:.1f} s"),
                *(f"{both:.1f} s", f"{alone / both:.2f}"),
                f"{predicted:.1f} s ({100 * (predicted / both - 1):+.0f} %)",
                *(f"{accuracy[0]:.4f}", " ".join(f"{a:.4f}" for a in accuracy[1:])),
            )
    return [table]


# --- the SVM ----------------------------------------------------------------------------


def products(block: tuple[np.ndarray, np.ndarray]) -> None:
    """What an iteration does with the rows, some times."""
    X, y = block
    for _ in range(10):
        X.T @ (X @ np.ones(X.shape[1]) * y)


@benchmark(PAGE)
def cluster_svm() -> list[Table]:
    """The SVM for F1 on dense rows that the workers have made."""
    from dask.delayed import delayed

    from distributed import wait

    header = ["SVM for F1", "1 worker", "2 workers", "speed-up", "that of the products alone"]
    table = Table([*header, "iterations", "objective apart from one machine"])
    learner = crossview.MultiViewSVMPerf([20, 20, 20], C2=0.0001, calibration="none")
    for rows in SVM_ROWS:

        def make(part: int, rows: int = rows) -> tuple[np.ndarray, np.ndarray]:
            rng = np.random.default_rng(part)
            X = rng.normal(size=(rows // 4, SVM_COLUMNS))
            return X, (X[:, :9].sum(axis=1) + 3.0 * rng.normal(size=len(X)) > 2.0).astype(int)

        with ExitStack() as stack:
            clients = {n: stack.enter_context(cores(n)) for n in (1, 2)}
            blocks = {
                n: client.persist([delayed(make)(part) for part in range(4)])
                for n, client in clients.items()
            }
            held = {n: client.compute(blocks[n]) for n, client in clients.items()}
            wait([block for each in held.values() for block in each])

            def both(n: int, clients=clients, blocks=blocks, held=held) -> tuple:
                """The fit, its seconds, and those of its products alone."""
                client, began = clients[n], time.perf_counter()
                fitted = fit_svm(learner, blocks[n], client=client)
                ended, homes = time.perf_counter(), client.who_has(held[n])
                client.gather([client.submit(products, block, workers=homes[block.key], pure=False)
                               for block in held[n]])  # fmt: skip
                return fitted, ended - began, time.perf_counter() - ended

            done = results_in_turn({1: lambda both=both: both(1), 2: lambda both=both: both(2)}, 5)
        one, two = (list(zip(*done[n], strict=True)) for n in (1, 2))
        here = learner.fit(*(np.concatenate(x) for x in zip(*map(make, range(4)), strict=True)))
        fitted = two[0][-1]
        apart = abs(fitted.objective_history_[-1][1] / here.objective_history_[-1][1] - 1)
        table.add(
            f"{rows:,} x {SVM_COLUMNS}",
            *(f"{middle(seconds):.1f} s" for seconds in (one[1], two[1])),
            *(ratio(one[1], two[1]), ratio(one[2], two[2]), fitted.n_iter_, f"{apart:.1e}"),
        )
    return [table]


# --- mixing ---------------------------------------------------------------------------------


@benchmark(PAGE)
def mixing() -> list[Table]:
    """Accuracy after rounds of mixing, in one process."""
    n = size(200_000, 4_000)
    (X, y), (X_test, y_test) = (
        (clicks.to_views(c), y) for c, y in (clicks.draw(n, 1), clicks.draw(n // 4, 2))
    )
    table = Table(["", "one machine, 1 pass", "2 partitions, 1, 2, 3 rounds", "8 partitions, ..."])
    for name, learner in {
        "PA-I, C = 0.01": crossview.PassiveAggressiveClassifier(C=0.01),
        "AROW, diagonal": crossview.AROWClassifier(covariance="diagonal"),
        "multi-view machine, 8 factors": crossview.MultiViewMachineClassifier(
            n_factors=8, learning_rate=0.1, random_state=0
        ),
    }.items():
        cells = []
        for K, n_rounds in ((1, 1), (2, 3), (8, 3)):
            common, accuracy = None, []
            for _ in range(n_rounds):
                models = []
                for k in range(K):
                    here = slice(n * k // K, n * (k + 1) // K)
                    model = clone(learner) if common is None else copy.deepcopy(common)
                    models.append(model.partial_fit(X[here], y[here], classes=[0, 1]))
                common = crossview.merge(models, start=common)
                accuracy.append(f"{100 * common.score(X_test, y_test):.2f}")
            cells.append(", ".join(accuracy))
        table.add(name, *cells)
    return [table]
