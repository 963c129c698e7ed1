"""Peak memory of `crossview train` for more and more rows, shuffled and in order.

python benchmarks/memory.py
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from harness import run, table

ROWS = (100_000, 1_000_000, 10_000_000, 30_000_000)
ROWS_PER_GROUP = 100_000
GOAL_MB = 1200
BIN = Path(sys.executable).parent


def write(file: Path, n_rows: int, *, text: bool) -> None:
    """Write 16 columns of numbers and 8 of categories, whole numbers or text, and a label."""
    rng = np.random.default_rng(0)
    names = pa.array([f"value {i}" for i in range(5000)])
    writer = None
    for start in range(0, n_rows, ROWS_PER_GROUP):
        n = min(ROWS_PER_GROUP, n_rows - start)
        numbers = rng.standard_normal((16, n), dtype=np.float32)
        columns = {f"n__{i}": pa.array(numbers[i]) for i in range(16)}
        for i in range(8):
            codes = pa.array(rng.integers(0, 5000, n, dtype=np.int32))
            columns[f"k__{i}"] = names.take(codes) if text else codes
        noise = rng.standard_normal(n, dtype=np.float32)
        columns["y"] = pa.array((numbers[0] + numbers[1] + noise > 0).astype(np.int64))
        rows = pa.table(columns)
        writer = writer or parquet.ParquetWriter(file, rows.schema)
        writer.write_table(rows, row_group_size=ROWS_PER_GROUP)
    assert writer is not None
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    options = parser.parse_args()
    lines, peaks = [], []
    with tempfile.TemporaryDirectory() as name:
        file, model = Path(name) / "rows.parquet", Path(name) / "model"
        for text in (False, True):
            for n_rows in options.rows:
                with ProcessPoolExecutor(1) as other:  # its memory is not passed on
                    other.submit(write, file, n_rows, text=text).result()
                ids = [] if text else ["--categorical", "k__*"]
                given = ["--label", "y", "--hash-bits", "14", "--model", "pa:squared", *ids]
                command = [BIN / "crossview", "train", file, *given]
                done = [run([*command, "-o", model, *how]) for how in ((), ("--in-order",))]
                peaks.append(done[0].peak_mb)
                lines.append(
                    [
                        "text" if text else "whole numbers",
                        f"{n_rows:,}",
                        f"{file.stat().st_size / 1e6:,.0f}",
                        *(f"{one.peak_mb:,.0f}" for one in done),
                        *(f"{one.seconds:.1f}" for one in done),
                    ]
                )
    header = ["categories", "rows", "file, MB", "shuffled, MB", "in order, MB", "shuffled, s", "s"]
    print(table(header, lines))
    met = "met" if max(peaks) <= GOAL_MB else "missed"
    print(f"\nThe goal of {GOAL_MB:,} MB is {met}: at most {max(peaks):,.0f} MB shuffled.")


if __name__ == "__main__":
    main()
