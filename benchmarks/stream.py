"""Train from a file, as a whole process: `crossview train` against Vowpal Wabbit.

3,000,000 rows of 24 categorical columns in three views of eight.  Crossview
reads a Parquet file, Vowpal Wabbit (from its wheel) the same rows in its own text
format, with one namespace per view; both with hinge loss, one pass.
"""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from harness import middle, ratio, run, table

ROWS, VIEWS, COLUMNS, CHUNK = 3_000_000, ("user", "ad", "query"), 8, 1_000_000
CARDINALITY = [2, 5, 12, 40, 150, 1_000, 10_000, 100_000]
BIN = Path(sys.executable).parent


def write(folder: Path, rows: int) -> tuple[Path, Path]:
    """Write the same rows twice; values follow Zipf's law, labels a linear model."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    parquet, text = folder / f"clicks-{rows}.parquet", folder / f"clicks-{rows}.vw"
    if parquet.exists() and text.exists():
        return parquet, text
    rng = np.random.default_rng(0)
    names = [f"{view}__c{j}" for view in VIEWS for j in range(COLUMNS)]
    sizes = CARDINALITY * len(VIEWS)
    values = [
        pa.array([f"{name[0]}{j}v{k}" for k in range(n)])
        for j, (name, n) in enumerate(zip(names, sizes, strict=True))
    ]
    effects = [rng.normal(size=n) * 0.4 for n in sizes]
    schema = pa.schema([("click", pa.int8()), *((name, pa.string()) for name in names)])
    with pq.ParquetWriter(parquet, schema) as writer, text.open("wb") as out:
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            codes = [np.minimum(rng.zipf(1.3, count) - 1, n - 1).astype(np.int32) for n in sizes]
            score = sum(e[c] for e, c in zip(effects, codes, strict=True))
            click = (score + rng.logistic(size=count) > 0).astype(np.int8)
            columns = [v.take(pa.array(c)) for c, v in zip(codes, values, strict=True)]
            writer.write_batch(pa.record_batch([pa.array(click), *columns], schema=schema))
            fields = [pc.if_else(pa.array(click == 1), "1", "-1")]
            for v, view in enumerate(VIEWS):
                fields.append(pa.array([f"|{view}"] * count))
                fields += columns[v * COLUMNS : (v + 1) * COLUMNS]
            lines = pc.binary_join_element_wise(*fields, " ")
            out.write("\n".join(lines.to_pylist()).encode() + b"\n")
    return parquet, text


def main(folder: Path | None = None, rows: int = ROWS, repeats: int = 5) -> str:
    with tempfile.TemporaryDirectory() as temporary:
        model = Path(temporary) / "model"

        def crossview(name: str, parquet: Path, text: Path) -> list:
            return [BIN / "crossview", "train", parquet, "--label", "click", "--model", name,
                    "--in-order", "-o", model]  # fmt: skip

        def vowpal_wabbit(parquet: Path, text: Path) -> list:
            return [sys.executable, "-m", "vowpalwabbit", "-d", text, "--loss_function", "hinge",
                    "-b", "20", "--quiet", "-f", f"{model}.vw"]  # fmt: skip

        peer = "Vowpal Wabbit"
        commands = {
            "`crossview train --model pa:squared`": partial(crossview, "pa:squared"),
            "`crossview train --model pa:concatenated`": partial(crossview, "pa:concatenated"),
            peer: vowpal_wabbit,
        }
        # the same command on 200 rows measures the start and the writing of the model (the files
        # are written by another process, so that its peak memory is not passed on to these)
        with ProcessPoolExecutor(1) as other:
            large = other.submit(write, Path(folder or temporary), rows).result()
            small = other.submit(write, Path(temporary), 200).result()
        whole: dict[str, list[float]] = {name: [] for name in commands}
        start: dict[str, list[float]] = {name: [] for name in commands}
        busy: dict[str, list[float]] = {name: [] for name in commands}
        peak = dict.fromkeys(commands, 0.0)
        for turn in range(repeats + 1):
            for name, command in commands.items():
                long, short = run(command(*large)), run(command(*small))
                if turn:  # the first is not counted
                    whole[name].append(long.seconds)
                    start[name].append(short.seconds)
                    busy[name].append((long.processor - short.processor) / rows * 1e6)
                    peak[name] = max(peak[name], long.peak_mb)
        rest = {
            name: [w - s for w, s in zip(whole[name], start[name], strict=True)]
            for name in commands
        }
        help_ = [run([BIN / "crossview", "--help"]).seconds for _ in range(2 * repeats + 1)][1:]
        size = " and ".join(
            f"{os.path.getsize(file) / 1e6:.0f} MB of {kind}"
            for file, kind in zip(large, ("Parquet", "text"), strict=True)
        )
    body = [
        [
            name,
            f"{middle(whole[name]):.2f}",
            f"{middle(start[name]):.2f}",
            f"{rows / middle(rest[name]) / 1e6:.2f}",
            f"{middle(busy[name]):.2f}",
            ratio(rest[peer], rest[name]) if name != peer else "",
            ratio(whole[peer], whole[name]) if name != peer else "",
            f"{peak[name]:.0f}",
        ]
        for name in commands
    ]
    header = [
        "process",
        "whole process, s",
        "start and end, s",
        "million rows/s after the start",
        "processor time per row, µs",
        f"rate over {peer}'s",
        "the same for whole processes",
        "peak memory, MB",
    ]
    goals = [
        ["`crossview --help`", f"{middle(help_):.2f}", "0.3"],
        [
            "`crossview train` on 200 rows, whole process",
            f"{middle(start['`crossview train --model pa:squared`']):.2f}",
            "1.2",
        ],
    ]
    return "\n\n".join(
        [
            table(header, body),
            f"{rows:,} rows, {size}. 'Start and end' is the time of the same command on 200 rows; "
            "processor time per row is that of both cores, without it.",
            table(["start", "seconds", "goal"], goals),
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help="folder to keep the generated files in")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.data:
        options.data.mkdir(parents=True, exist_ok=True)
    print(main(options.data, options.rows, options.repeats))
