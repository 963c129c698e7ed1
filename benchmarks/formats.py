"""Train from text with views, as a whole process: svmlight, Vowpal Wabbit, and Parquet beside.

3,000,000 rows of 24 categories in three views of eight, one-hot, in file order, one pass.  In
svmlight text a category is a column; in the text of Vowpal Wabbit it is a name, in a namespace per
view; in Parquet it is a string.  scikit-learn reads the svmlight file into memory and learns PA-I.
SOL (its program sol_train, by --sol) and Vowpal Wabbit learn as they read.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from harness import middle, ratio, run, table

ROWS, CHUNK = 3_000_000, 250_000
VIEWS, SIZES = ("user", "ad", "query"), [2, 5, 12, 40, 150, 1_000, 10_000, 100_000] * 3
BIN = Path(sys.executable).parent
FILES = ("svm", "vw", "parquet")

SCIKIT_LEARN = """
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
X, y = load_svmlight_file({file!r})
X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")
SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", max_iter=1, tol=None).fit(X, y)
"""
READ = """
import time
from crossview import open_rows
rows = open_rows({file!r}, views={views!r})
rows.layout
list(open_rows({small!r}, views={views!r}))
begin = time.perf_counter()
for batch in rows:
    pass
print(time.perf_counter() - begin)
"""


def write(folder: Path, rows: int) -> dict[str, Path]:
    """Write the same rows three times; values follow Zipf's law, labels a linear model."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    files = {end: folder / f"rows-{rows}.{end}" for end in FILES}
    if all(file.exists() for file in files.values()):
        return files
    rng = np.random.default_rng(0)
    first = np.concatenate([[1], 1 + np.cumsum(SIZES)])
    effects = [rng.normal(size=n) * 0.4 for n in SIZES]
    names = [f"{view}__c{j}" for view in VIEWS for j in range(8)]
    columns = [pa.array([f"{first[j] + k}:1" for k in range(n)]) for j, n in enumerate(SIZES)]
    words = [pa.array([f"{names[j][0]}{j % 8}v{k}" for k in range(n)]) for j, n in enumerate(SIZES)]
    schema = pa.schema([("click", pa.int8()), *((name, pa.string()) for name in names)])
    with (
        pq.ParquetWriter(files["parquet"], schema) as parquet,
        files["svm"].open("wb") as svm,
        files["vw"].open("wb") as vw,
    ):
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            codes = [np.minimum(rng.zipf(1.3, count) - 1, n - 1).astype(np.int32) for n in SIZES]
            score = sum(e[c] for e, c in zip(effects, codes, strict=True))
            click = score + rng.logistic(size=count) > 0
            label = pc.if_else(pa.array(click), "1", "-1")
            for out, texts in ((svm, columns), (vw, words)):
                fields = [label]
                for j, code in enumerate(codes):
                    if out is vw and j % 8 == 0:
                        fields.append(pa.scalar(f"|{VIEWS[j // 8]}"))
                    fields.append(texts[j].take(pa.array(code)))
                lines = pc.binary_join_element_wise(*fields, " ")
                out.write("\n".join(lines.to_pylist()).encode() + b"\n")
            strings = [w.take(pa.array(c)) for w, c in zip(words, codes, strict=True)]
            parquet.write_batch(
                pa.record_batch([pa.array(click.astype(np.int8)), *strings], schema=schema)
            )
    return files


def commands(model: Path, sol: str | None) -> dict:
    """Each process, by a function of the files."""

    def crossview(end: str, *options: str) -> object:
        return lambda files: [
            *(BIN / "crossview", "train", files[end], *options, "--model", "pa:concatenated"),
            *("--in-order", "-o", model),
        ]

    found = {
        "`crossview train` from svmlight": crossview("svm"),
        "`crossview train` from Vowpal Wabbit text": crossview("vw", "--hash-bits", "18"),
        "`crossview train` from Parquet": crossview("parquet", "--label", "click"),
        "Vowpal Wabbit": lambda files: [
            *(sys.executable, "-m", "vowpalwabbit", "-d", files["vw"], "--loss_function", "hinge"),
            *("-b", "20", "--quiet", "-f", f"{model}.vw"),
        ],
        "scikit-learn, svmlight": lambda files: [
            *(sys.executable, "-c", SCIKIT_LEARN.format(file=str(files["svm"]))),
        ],
    }
    if sol is not None:
        found["SOL, svmlight"] = lambda files: [sol, "-a", "pa1", files["svm"], f"{model}.sol"]
    return found


def reading(files: dict[str, Path], small: dict[str, Path]) -> list[list[str]]:
    """How fast text is read, parsed and made batches, without learning."""
    body = []
    views = {"svm": {"all": "1:400000"}, "vw": {view: [view] for view in VIEWS}}
    for end, given in views.items():
        script = READ.format(file=str(files[end]), small=str(small[end]), views=given)
        done = run([sys.executable, "-c", script])
        size = os.path.getsize(files[end]) / 1e6
        body.append([end, f"{size:.0f}", f"{size / float(done.output):.0f}", f"{done.peak_mb:.0f}"])
    begin = time.perf_counter()
    with files["svm"].open("rb", buffering=0) as file:
        buffer = bytearray(1 << 22)
        while file.readinto(buffer):
            pass
    size = os.path.getsize(files["svm"]) / 1e6
    body.append(["copied from the page cache", f"{size:.0f}"])
    body[-1] += [f"{size / (time.perf_counter() - begin):.0f}", ""]
    return body


def main(folder: Path | None, rows: int, repeats: int, sol: str | None) -> str:
    with tempfile.TemporaryDirectory() as temporary:
        with ProcessPoolExecutor(1) as other:
            large = other.submit(write, Path(folder or temporary), rows).result()
            small = other.submit(write, Path(temporary), 200).result()
        tasks = commands(Path(temporary) / "model", sol)
        seconds: dict[str, list[float]] = {name: [] for name in tasks}
        start: dict[str, list[float]] = {name: [] for name in tasks}
        peak = dict.fromkeys(tasks, 0.0)
        for turn in range(repeats + 1):
            for name, task in tasks.items():
                done, short = run(task(large)), run(task(small))
                if turn:  # the first is not counted
                    seconds[name].append(done.seconds)
                    start[name].append(short.seconds)
                    peak[name] = max(peak[name], done.peak_mb)
        read = reading(large, small)
    ours = list(tasks)
    peers = {ours[1]: ("Vowpal Wabbit", 0.4)}
    if sol:
        peers[ours[0]] = "SOL, svmlight", 0.8
    body = []
    for name in tasks:
        peer, goal = peers.get(name, ("", 0.0))
        body.append(
            [
                name,
                f"{middle(seconds[name]):.2f}",
                f"{middle(start[name]):.2f}",
                f"{peak[name]:.0f}",
                f"{ratio(seconds[name], seconds[peer])} of {peer}, goal {goal}" if peer else "",
            ]
        )
    header = ["process", "whole process, s", "on 200 rows, s", "peak memory, MB", "time"]
    return "\n\n".join(
        [
            table(header, body),
            f"{rows:,} rows.",
            table(["reading alone", "MB", "MB/s", "peak memory, MB"], read),
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help="folder to keep the generated files in")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sol", default=shutil.which("sol_train"), help="SOL's program")
    options = parser.parse_args()
    if options.data:
        options.data.mkdir(parents=True, exist_ok=True)
    print(main(options.data, options.rows, options.repeats, options.sol))
