"""Training on two processes of one core each: speed-up, accuracy after mixing, the model of cost.

python benchmarks/cluster.py                    # 10,000,000 rows
python benchmarks/cluster.py --rows 400000      # some minutes
python benchmarks/cluster.py --svm              # the SVM alone
python benchmarks/cluster.py --mixing           # accuracy after mixing, in one process
python benchmarks/cluster.py --evaluation --rows 2000000   # evaluate: time and processor time

Rows are those of `stream.py`: 24 categorical columns in three views, Zipf's law, a logistic model.
Each worker has a core of its own, as a machine would, so that reading ahead in threads does not use
the core of the other one.
"""

from __future__ import annotations

import argparse
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
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from sklearn.base import clone

import crossview
from crossview import MultiView, Scoring, ViewLayout
from crossview.distributed import connected, evaluate, fit_svm, train
from harness import middle, ratio, table
from stream import CARDINALITY, COLUMNS, VIEWS

ROWS, TEST_ROWS, GROUP, FILES = 10_000_000, 200_000, 25_000, 4
MODELS = ("pa:squared", "arow:diagonal", "mvm")
SVM_COLUMNS = 60
FAN_IN = 8


def write(path: Path, rows: int, seed: int) -> str:
    """Write rows to a Parquet file; the model that makes the labels is always the same."""
    rng = np.random.default_rng(0)
    names = [f"{view}__c{j}" for view in VIEWS for j in range(COLUMNS)]
    sizes = CARDINALITY * len(VIEWS)
    values = [pa.array([f"{j}v{k}" for k in range(n)]) for j, n in enumerate(sizes)]
    effects = [rng.normal(size=n) * 0.4 for n in sizes]
    rng = np.random.default_rng(seed)
    schema = pa.schema([("click", pa.int8()), *((name, pa.string()) for name in names)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, GROUP):
            count = min(GROUP, rows - start)
            codes = [np.minimum(rng.zipf(1.3, count) - 1, n - 1).astype(np.int32) for n in sizes]
            score = sum(e[c] for e, c in zip(effects, codes, strict=True))
            click = (score + rng.logistic(size=count) > 0).astype(np.int8)
            columns = [v.take(pa.array(c)) for c, v in zip(codes, values, strict=True)]
            writer.write_batch(pa.record_batch([pa.array(click), *columns], schema=schema))
    return str(path)


@contextmanager
def cores(n: int, address: str = "local:{}") -> Iterator[Any]:
    """A cluster of ``n`` processes, each on a core of its own."""
    with connected(address.format(n)) as client:
        for core, worker in enumerate(client.scheduler_info()["workers"]):
            client.run(os.sched_setaffinity, 0, {core % os.cpu_count()}, workers=[worker])
        yield client


def seconds(client: Any, files: list[str], model: str, n: int, rounds: int = 1) -> tuple:
    """Return the seconds of a training, and what it trained."""
    # the threshold is that of the score: one tuned on few held-out rows would differ by chance
    given: dict[str, Any] = {"model": model, "classes": [0, 1], "scoring": Scoring(threshold=None)}
    given |= {"n_partitions": n, "n_rounds": rounds}
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
    """Return the seconds of the merges of a round: `docs/scale.md`."""
    if n_partitions == 1:
        return 0.0
    depth = math.ceil(math.log(n_partitions, FAN_IN))
    models = min(FAN_IN, n_partitions)
    return depth * models * size * (1 / merged + 1 / sent) + math.log2(n_workers) * size / sent


def online(folder: Path, rows: int) -> str:
    each = rows // FILES
    files = [write(folder / f"{f}.parquet", each, f + 1) for f in range(FILES)]
    small = [write(folder / f"small-{f}.parquet", max(GROUP, each // 4), 9 + f) for f in range(2)]
    test = write(folder / "test.parquet", TEST_ROWS, 99)
    n_small = 2 * max(GROUP, each // 4)
    lines = []
    for model in MODELS:
        with cores(1) as one:
            seconds(one, small, model, 1)  # loads the code
            first, _ = seconds(one, small, model, 1)
            half, _ = seconds(one, files[: FILES // 2], model, 1)
            alone, trained = seconds(one, files, model, 1)
        with cores(2) as two:
            seconds(two, small, model, 2)
            both, mixed = seconds(two, files, model, 2)
            again = [seconds(two, files, model, 2, rounds)[1] for rounds in (2, 3)]
        # n / (W r) + overhead, from two smaller trainings of one worker
        rate = (rows / 2 - n_small) / (half - first)
        overhead = first - n_small / rate
        size, merged, sent = merging(trained.fitted)
        predicted = overhead + rows / (2 * rate) + of_merges(2, 2, size, merged, sent)
        accuracy = [
            crossview.evaluate(_saved(folder, one), test).metrics["accuracy"].value
            for one in (trained, mixed, *again)
        ]
        lines.append(
            [
                f"`{model}`",
                f"{rate:,.0f}",
                f"{size / 1e6:,.1f} MB",
                f"{alone:.1f} s",
                f"{both:.1f} s",
                f"{alone / both:.2f}",
                f"{predicted:.1f} s ({predicted / both - 1:+.0%})",
                f"{accuracy[0]:.4f}",
                " ".join(f"{a:.4f}" for a in accuracy[1:]),
            ]
        )
    header = ["model", "rows/s of a worker", "size", "1 worker", "2 workers", "speed-up",
              "predicted", "accuracy of 1", "after 1, 2, 3 rounds of 2"]  # fmt: skip
    return table(header, lines)


def _saved(folder: Path, trained: Any) -> Path:
    path = folder / "model.safetensors"
    crossview.save(trained.fitted, path, info=trained.info)
    return path


def evaluation(folder: Path, rows: int) -> str:
    """Seconds and processor seconds of `evaluate` on one machine and on workers."""
    from distributed import LocalCluster

    files = [write(folder / f"{f}.parquet", rows // FILES, f + 1) for f in range(FILES)]
    model = folder / "model.safetensors"
    crossview.train(files[0], "click", model="pa:squared", output=model)

    def timed(call: Any, processor: Any) -> tuple[float, float, Any]:
        call(files[:1])  # loads the code
        before, began = processor(), time.perf_counter()
        found = call(files)
        return time.perf_counter() - began, processor() - before, found

    def on(client: Any) -> tuple[float, float, Any]:
        def processor() -> float:
            return float(sum(client.run(time.process_time).values()))

        given = {"client": client, "n_partitions": 8}
        return timed(lambda some: evaluate(model, some, **given), processor)

    measured = {"one machine": timed(lambda f: crossview.evaluate(model, f), time.process_time)}
    for n in (1, 2):
        with cores(n) as client:
            measured[f"{n} worker{'s' * (n > 1)}"] = on(client)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        with cores(2, address) as client:
            measured["2 workers, memory given back at once"] = on(client)
    alone = measured["one machine"][-1]
    same = (
        "identical" if all(f.confusion == alone.confusion for *_, f in measured.values()) else "-"
    )
    lines = [[name, f"{s:.1f} s", f"{p:.1f} s", same] for name, (s, p, _) in measured.items()]
    return table([f"{rows:,} rows", "time", "processor time", "counts"], lines)


def products(block: tuple[np.ndarray, np.ndarray]) -> None:
    """What an iteration does with the rows, some times."""
    X, y = block
    for _ in range(10):
        X.T @ (X @ np.ones(X.shape[1]) * y)


def svm(rows: int, repeats: int = 5) -> str:
    """The SVM for F1 on dense rows that the workers have made."""
    from dask.delayed import delayed

    from distributed import wait

    def make(part: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(part)
        X = rng.normal(size=(rows // 4, SVM_COLUMNS))
        return X, (X[:, :9].sum(axis=1) + 3.0 * rng.normal(size=len(X)) > 2.0).astype(int)

    learner = crossview.MultiViewSVMPerf([20, 20, 20], C2=0.0001, calibration="none")
    took: dict[int, list[float]] = {1: [], 2: []}
    alone: dict[int, list[float]] = {1: [], 2: []}
    with ExitStack() as stack:
        clients = {n: stack.enter_context(cores(n)) for n in took}
        blocks = {
            n: client.persist([delayed(make)(part) for part in range(4)])
            for n, client in clients.items()
        }
        held = {n: client.compute(blocks[n]) for n, client in clients.items()}
        wait([block for each in held.values() for block in each])
        for turn in range(repeats + 1):
            for n, client in clients.items():
                began = time.perf_counter()
                fitted = fit_svm(learner, blocks[n], client=client)
                ended = time.perf_counter()
                homes = client.who_has(held[n])
                client.gather([client.submit(products, block, workers=homes[block.key], pure=False)
                               for block in held[n]])  # fmt: skip
                if turn:  # the first fit takes its memory from the system
                    took[n].append(ended - began)
                    alone[n].append(time.perf_counter() - ended)
    here = learner.fit(*(np.concatenate(x) for x in zip(*map(make, range(4)), strict=True)))
    apart = abs(fitted.objective_history_[-1][1] / here.objective_history_[-1][1] - 1)
    line = [f"{rows:,} x {SVM_COLUMNS}", f"{middle(took[1]):.1f} s", f"{middle(took[2]):.1f} s",
            ratio(took[1], took[2]), ratio(alone[1], alone[2]), str(fitted.n_iter_),
            f"{apart:.1e}"]  # fmt: skip
    header = ["SVM for F1", "1 worker", "2 workers", "speed-up", "that of the products alone",
              "iterations", "objective apart from one machine"]  # fmt: skip
    return table(header, [line])


def hashed_rows(rows: int, seed: int) -> tuple[MultiView, np.ndarray]:
    """The same kind of rows as arrays: one column per category, in three views."""
    rng = np.random.default_rng(0)
    sizes = CARDINALITY * len(VIEWS)
    ptr = np.cumsum([0, *sizes])
    effects = [rng.normal(size=n) * 0.4 for n in sizes]
    rng = np.random.default_rng(seed)
    codes = np.stack([np.minimum(rng.zipf(1.3, rows) - 1, n - 1) for n in sizes], axis=1)
    score = sum(effect[codes[:, j]] for j, effect in enumerate(effects))
    y = (score + rng.logistic(size=rows) > 0).astype(int)
    indptr = np.arange(0, codes.size + 1, len(sizes))
    matrix = sp.csr_array((np.ones(codes.size), (codes + ptr[:-1]).ravel(), indptr))
    matrix.resize(rows, int(ptr[-1]))
    layout = ViewLayout(VIEWS, [int(ptr[-1]) // len(VIEWS)] * len(VIEWS))
    return MultiView.from_matrix(matrix, layout), y


def mixing(rows: int = 200_000) -> str:
    """Accuracy after rounds of mixing, in one process."""
    X, y = hashed_rows(rows, 1)
    X_test, y_test = hashed_rows(rows // 4, 2)
    lines = []
    for name, learner in (
        ("PA-I, C = 0.01", crossview.PassiveAggressiveClassifier(C=0.01)),
        ("AROW, diagonal", crossview.AROWClassifier(covariance="diagonal")),
        (
            "multi-view machine, 8 factors",
            crossview.MultiViewMachineClassifier(n_factors=8, learning_rate=0.1, random_state=0),
        ),
    ):
        line = [name]
        for K, n_rounds in ((1, 1), (2, 3), (8, 3)):
            common, accuracy = None, []
            for _ in range(n_rounds):
                common = crossview.merge(learned(learner, common, X, y, K), start=common)
                accuracy.append(f"{100 * common.score(X_test, y_test):.2f}")
            line.append(", ".join(accuracy))
        lines.append(line)
    header = ["", "one machine, 1 pass", "2 partitions, 1, 2, 3 rounds", "8 partitions, ..."]
    return table(header, lines) + "\n\n" + mean_and_product(X, y, X_test, y_test)


def learned(learner: Any, common: Any, X: MultiView, y: np.ndarray, K: int) -> list[Any]:
    """One model for each of K parts of the rows, each from the common one."""
    models = []
    for k in range(K):
        here = slice(len(y) * k // K, len(y) * (k + 1) // K)
        model = clone(learner) if common is None else copy.deepcopy(common)
        models.append(model.partial_fit(X[here], y[here], classes=[0, 1]))
    return models


def mean_and_product(X: MultiView, y: np.ndarray, X_test: MultiView, y_test: np.ndarray) -> str:
    """Accuracy of the mean of the weights and of the product of Gaussians, after one round."""
    lines = []
    for kind in ("AROW", "SoftConfidenceWeighted", "ConfidenceWeighted", "SecondOrderPerceptron"):
        cls = getattr(crossview, kind if kind == "SecondOrderPerceptron" else f"{kind}Classifier")
        learner = cls(covariance="diagonal")
        parts = learned(learner, None, X, y, 8)
        models = [*learned(learner, None, X, y, 1), crossview.merge(parts)]
        models.append(crossview.merge(parts, product=True))
        lines.append([kind, *(f"{100 * model.score(X_test, y_test):.2f}" for model in models)])
    header = ["8 partitions, 1 round", "one machine", "mean", "product of Gaussians"]
    return table(header, lines)


def main(rows: int = ROWS, svm_rows: int = 2_000_000) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return online(Path(folder), rows) + "\n\n" + svm(svm_rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--svm-rows", type=int, default=2_000_000)
    parser.add_argument("--svm", action="store_true", help="only the SVM")
    parser.add_argument("--mixing", action="store_true", help="only the accuracy, in one process")
    parser.add_argument("--evaluation", action="store_true", help="only that of evaluate")
    options = parser.parse_args()
    if options.evaluation:
        with tempfile.TemporaryDirectory() as folder:
            print(evaluation(Path(folder), options.rows))
        raise SystemExit
    if options.svm:
        print(svm(options.svm_rows))
        raise SystemExit
    print(mixing() if options.mixing else main(options.rows, options.svm_rows))
