"""Training from a file, as whole processes: against Vowpal Wabbit, scikit-learn and SOL."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import (
    Table,
    apart,
    benchmark,
    crossview,
    middle,
    ratio,
    results_in_turn,
    run,
    size,
    vowpal_wabbit,
)
from benchmarks.speed.clicks import VIEWS, write

PAGE = "docs/benchmarks.md"
ROWS, REPEATS = size(3_000_000, 20_000), 5
PEER = "Vowpal Wabbit"


def train(file: Path, model: str, output: object, *more: object) -> list[object]:
    """The command that trains in the order of the file."""
    return crossview("train", file, "--model", model, "--in-order", "-o", output, *more)


def peer(file: Path, output: object) -> list[object]:
    """The same by Vowpal Wabbit."""
    return vowpal_wabbit(file, "--loss_function", "hinge", "-b", 20, "-f", f"{output}.vw")


def both_sizes(commands: dict[str, Any], large: Any, small: Any) -> dict[str, dict[str, list]]:
    """Run each command on many rows and on 200 in turn: processes by size and name."""
    tasks = {
        (files, name): lambda c=command, f=files: run(c(large if f == "large" else small))
        for name, command in commands.items()
        for files in ("large", "small")
    }
    done = results_in_turn(tasks, REPEATS)
    return {files: {n: done[files, n] for n in commands} for files in ("large", "small")}


@benchmark(PAGE)
def stream() -> list[Table]:
    """Rates of `crossview train` from Parquet, and of Vowpal Wabbit from its text."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, model = Path(temporary), Path(temporary) / "model"
        commands = {
            f"`crossview train --model {name}`": lambda files, name=name: train(
                files["parquet"], name, model, "--label", "click"
            )
            for name in ("pa:squared", "pa:concatenated")
        } | {PEER: lambda files: peer(files["vw"], model)}
        large, small = (write(folder, n, "parquet", "vw") for n in (ROWS, 200))
        done = both_sizes(commands, large, small)
        sizes = ", ".join(f"{f.stat().st_size / 1e6:.0f} MB of {k}" for k, f in large.items())
        helped = results_in_turn({"": lambda: run(crossview("--help")).seconds}, 2 * REPEATS)[""]
    whole, start = ({n: [p.seconds for p in ps] for n, ps in d.items()} for d in done.values())
    rest = {n: [w - s for w, s in zip(whole[n], start[n], strict=True)] for n in whole}
    header = ["process", "whole process, s", "start and end, s", "million rows/s after the start"]
    header += ["processor time per row, µs", f"rate over {PEER}'s", "the same for whole processes"]
    table = Table([*header, "peak memory, MB"], title=f"{ROWS:,} rows, {sizes}")
    for name in commands:
        pairs = zip(done["large"][name], done["small"][name], strict=True)
        busy = [(long.processor - short.processor) / ROWS * 1e6 for long, short in pairs]
        table.add(
            *(name, f"{middle(whole[name]):.2f}", f"{middle(start[name]):.2f}"),
            *(f"{ROWS / middle(rest[name]) / 1e6:.2f}", f"{middle(busy):.2f}"),
            *(ratio(each[PEER], each[name]) if name != PEER else "" for each in (rest, whole)),
            f"{max(p.peak_mb for p in done['large'][name]):.0f}",
        )
    begin = Table(["start", "seconds", "goal"])
    begin.add("`crossview --help`", f"{middle(helped):.2f}", 0.3)
    seconds = middle(start["`crossview train --model pa:squared`"])
    begin.add("`crossview train` on 200 rows, whole process", f"{seconds:.2f}", 1.2)
    return [table, begin]


# --- text with views ---------------------------------------------------------------------

SCIKIT_LEARN = """
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
X, y = load_svmlight_file({file!r})
X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")
SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", max_iter=1, tol=None).fit(X, y)
"""


def read(file: str, small: str, views: dict) -> float:
    """Return the seconds in which text is read, parsed and made batches, without learning."""
    from crossview import open_rows

    rows = open_rows(file, views=views)
    rows.layout  # noqa: B018  # a pass of its own
    list(open_rows(small, views=views))
    begin = time.perf_counter()
    for _ in rows:
        pass
    return time.perf_counter() - begin


@benchmark(PAGE)
def formats() -> list[Table]:
    """The same rows from svmlight, Vowpal Wabbit's text and Parquet; and reading alone."""
    sol, kinds = shutil.which("sol_train"), ("svm", "vw", "parquet")
    reading = Table(["reading alone", "MB", "MB/s", "peak memory, MB"])
    with tempfile.TemporaryDirectory() as temporary:
        folder, model = Path(temporary), Path(temporary) / "model"

        def ours(kind: str, *more: object) -> Any:
            return lambda files: train(files[kind], "pa:concatenated", model, *more)

        svm, vw = (f"`crossview train` from {kind}" for kind in ("svmlight", f"{PEER} text"))
        commands = {
            svm: ours("svm"),
            vw: ours("vw", "--hash-bits", 18),
            "`crossview train` from Parquet": ours("parquet", "--label", "click"),
            PEER: lambda files: peer(files["vw"], model),
            "scikit-learn, svmlight": lambda files: [
                *(sys.executable, "-c", SCIKIT_LEARN.format(file=str(files["svm"]))),
            ],
        }
        goals = {vw: (PEER, 0.4)}
        if sol is not None:
            commands["SOL, svmlight"] = lambda files: [
                *(sol, "-a", "pa1", files["svm"], f"{model}.sol"),
            ]
            goals[svm] = ("SOL, svmlight", 0.8)
        large, small = (write(folder, n, *kinds) for n in (ROWS, 200))
        done = both_sizes(commands, large, small)
        views = {"svm": {"all": "1:400000"}, "vw": {view: [view] for view in VIEWS}}
        for kind, given in views.items():
            seconds, peak = apart(read, str(large[kind]), str(small[kind]), given)
            megabytes = large[kind].stat().st_size / 1e6
            reading.add(kind, f"{megabytes:.0f}", f"{megabytes / seconds:.0f}", f"{peak:.0f}")
    s = {name: [p.seconds for p in processes] for name, processes in done["large"].items()}
    header = ["process", "whole process, s", "on 200 rows, s", "peak memory, MB", "time"]
    table = Table(header, title=f"{ROWS:,} rows")
    for name in commands:
        other, goal = goals.get(name, (None, 0.0))
        times = f"{ratio(s[name], s[other])} of {other}, goal {goal}" if other else ""
        start = middle([p.seconds for p in done["small"][name]])
        peak = max(p.peak_mb for p in done["large"][name])
        table.add(name, f"{middle(s[name]):.2f}", f"{start:.2f}", f"{peak:.0f}", times)
    return [table, reading]


# --- memory -----------------------------------------------------------------------------

GROUP, GOAL_MB = 100_000, 1200
MANY = size((100_000, 1_000_000, 10_000_000, 30_000_000), (10_000, 20_000))


def write_mixed(file: Path, n_rows: int, text: bool) -> None:
    """Write 16 columns of numbers and 8 of categories, whole numbers or text, and a label."""
    rng = np.random.default_rng(0)
    names, writer = pa.array([f"value {i}" for i in range(5000)]), None
    for start in range(0, n_rows, GROUP):
        n = min(GROUP, n_rows - start)
        numbers = rng.standard_normal((16, n), dtype=np.float32)
        columns = {f"n__{i}": pa.array(numbers[i]) for i in range(16)}
        for i in range(8):
            codes = pa.array(rng.integers(0, 5000, n, dtype=np.int32))
            columns[f"k__{i}"] = names.take(codes) if text else codes
        noise = rng.standard_normal(n, dtype=np.float32)
        columns["y"] = pa.array((numbers[0] + numbers[1] + noise > 0).astype(np.int64))
        rows = pa.table(columns)
        writer = writer or pq.ParquetWriter(file, rows.schema)
        writer.write_table(rows, row_group_size=GROUP)
    writer.close()


def memory_findings(tables: list[Table]) -> list[str]:
    """Say whether the goal is met."""
    most = max(tables[0].column("shuffled, MB").values())
    met = "met" if most <= GOAL_MB else "missed"
    return [f"The goal of {GOAL_MB:,} MB is {met}: at most {most:,.0f} MB shuffled."]


@benchmark(PAGE, findings=memory_findings)
def memory() -> list[Table]:
    """Peak memory of `crossview train` for more and more rows, shuffled and in order."""
    header = ["categories, rows", "file, MB", "shuffled, MB", "in order, MB", "shuffled, s", "s"]
    table = Table(header)
    with tempfile.TemporaryDirectory() as name:
        file, model = Path(name) / "rows.parquet", Path(name) / "model"
        for text in (False, True):
            for n_rows in MANY:
                write_mixed(file, n_rows, text)
                ids = [] if text else ["--categorical", "k__*"]
                given = ["--label", "y", "--hash-bits", 14, "--model", "pa:squared", *ids]
                command = crossview("train", file, *given, "-o", model)
                done = [run([*command, *how]) for how in ((), ("--in-order",))]
                table.add(
                    f"{'text' if text else 'whole numbers'}, {n_rows:,}",
                    f"{file.stat().st_size / 1e6:,.0f}",
                    *(f"{one.peak_mb:,.0f}" for one in done),
                    *(f"{one.seconds:.1f}" for one in done),
                )
    return [table]
