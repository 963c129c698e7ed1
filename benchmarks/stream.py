"""Training from a file, as a whole process: `crossview train` against Vowpal Wabbit.

3,000,000 rows of 24 categorical columns in three views of eight.  Crossview
reads a Parquet file, Vowpal Wabbit (from its wheel) the same rows in its own text
format, with one namespace a view; both with hinge loss, one pass.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from harness import middle, ratio, run, table

ROWS, VIEWS, COLUMNS, CHUNK = 3_000_000, ("user", "ad", "query"), 8, 100_000
CARDINALITY = [2, 5, 12, 40, 150, 1_000, 10_000, 100_000]
BIN = Path(sys.executable).parent


def write(folder: Path, rows: int) -> tuple[Path, Path]:
    """The same rows twice; values are drawn with Zipf's frequencies, labels from a linear model."""
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
    schema = pa.schema(
        [("click", pa.int8()), *((name, pa.dictionary(pa.int32(), pa.string())) for name in names)]
    )
    with pq.ParquetWriter(parquet, schema) as writer, text.open("wb") as out:
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            codes = [np.minimum(rng.zipf(1.3, count) - 1, n - 1).astype(np.int32) for n in sizes]
            score = sum(e[c] for e, c in zip(effects, codes, strict=True))
            click = (score + rng.logistic(size=count) > 0).astype(np.int8)
            columns = [
                pa.DictionaryArray.from_arrays(pa.array(c), v)
                for c, v in zip(codes, values, strict=True)
            ]
            writer.write_batch(pa.record_batch([pa.array(click), *columns], schema=schema))
            fields = [pc.if_else(pa.array(click == 1), "1", "-1")]
            for v, view in enumerate(VIEWS):
                fields.append(pa.array([f"|{view}"] * count))
                fields += [c.cast(pa.string()) for c in columns[v * COLUMNS : (v + 1) * COLUMNS]]
            lines = pc.binary_join_element_wise(*fields, " ")
            out.write("\n".join(lines.to_pylist()).encode() + b"\n")
    return parquet, text


def main(folder: Path | None = None, rows: int = ROWS, repeats: int = 5) -> str:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(folder or temporary)
        parquet, text = write(folder, rows)
        model = Path(temporary) / "model.safetensors"
        crossview = [BIN / "crossview", "train"]
        common = ["--label", "click", "-o", model]
        ours = {
            f"crossview train --model {name}": [*crossview, parquet, *common, "--model", name]
            for name in ("squared", "concatenated")
        }
        vw = [
            sys.executable, "-m", "vowpalwabbit", "-d", text, "--loss_function", "hinge",
            "-b", "20", "--quiet", "-f", Path(temporary) / "vw.model",
        ]  # fmt: skip
        commands = {**ours, "Vowpal Wabbit": vw}
        for command in commands.values():
            run(command)
        results = {name: [] for name in commands}
        for _ in range(repeats):
            for name, command in commands.items():
                results[name].append(run(command))
        seconds = {name: [r.seconds for r in rs] for name, rs in results.items()}
        body = [
            [
                f"`{name}`" if name in ours else name,
                f"{middle(seconds[name]):.1f}",
                f"{rows / middle(seconds[name]) / 1e6:.2f}",
                f"{max(r.peak_mb for r in results[name]):.0f}",
                ratio(seconds["Vowpal Wabbit"], seconds[name]),
            ]
            for name in commands
        ]
        # a file of two rows: everything but the rows
        small, _ = write(Path(temporary), 200)
        first = [
            run([*crossview, small, *common, "--model", "squared"]) for _ in range(repeats + 1)
        ]
        start = middle([r.seconds for r in first[1:]])
        help_ = [run([BIN / "crossview", "--help"]).seconds for _ in range(2 * repeats)][1:]
        size = " and ".join(
            f"{os.path.getsize(file) / 1e6:.0f} MB of {kind}"
            for file, kind in [(parquet, "Parquet"), (text, "text")]
        )
    return "\n\n".join(
        [
            table(
                [
                    "process",
                    "seconds",
                    "million rows/s",
                    "peak memory, MB",
                    "times as fast as Vowpal Wabbit",
                ],
                body,
            ),
            f"{rows:,} rows, {size}; whole processes, start and writing the model included.",
            table(
                ["start", "seconds", "goal"],
                [
                    ["`crossview --help`", f"{middle(help_):.2f}", "0.3"],
                    ["`crossview train` on 200 rows, whole process, warm", f"{start:.2f}", "3"],
                ],
            ),
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help="folder that keeps the generated files")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.data:
        options.data.mkdir(parents=True, exist_ok=True)
    print(main(options.data, options.rows, options.repeats))
