"""Kill a training run at random moments, and compare its model with that of a run never stopped.

python benchmarks/kills.py --kills 100

The rows are made here: 200,000 of two views, with numbers, categories and text.  Each process is
killed (SIGKILL), one in five while it starts, the others up to a second after their first
checkpoint, and the same command goes on.  Each run that comes to its end is compared.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import safe_open

ROWS = 200_000
SMALL_BATCHES = (
    "import sys; from crossview.cli import main; "
    "from crossview.evaluation.labeled import LabeledTable; LabeledTable.batch_rows = 2000; "
    "sys.exit(main(sys.argv[1:]))"
)


def make_rows(path: Path) -> None:
    """Write the rows."""
    rng = np.random.default_rng(0)
    x, color = rng.normal(size=ROWS), rng.integers(0, 50, ROWS)
    words = [" ".join(f"w{w}" for w in rng.integers(0, 300, 5)) for _ in range(ROWS)]
    y = np.where(x + (color < 9) + rng.normal(size=ROWS) > 0.4, "yes", "no")
    columns = {"n__x": x, "n__color": [f"c{c}" for c in color], "t__words": words, "y": y}
    pq.write_table(pa.table(columns), path)


def contents(path: Path) -> dict[str, bytes]:
    """All arrays of a model file."""
    with safe_open(str(path), framework="numpy") as file:
        return {key: file.get_tensor(key).tobytes() for key in sorted(file.keys())}


def _written(file: Path) -> int | None:
    """When a file was written; None if there is none."""
    return file.stat().st_mtime_ns if file.exists() else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--model", default="stacking")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_rows(folder / "rows.parquet")
        command = [
            *(sys.executable, "-c", SMALL_BATCHES, "train", str(folder / "rows.parquet")),
            *("--label", "y", "--text", "t=t__words", "--hash-bits", "10", "--epochs", "1"),
            *("--model", options.model, "-o"),
        ]
        subprocess.run([*command, str(folder / "whole.st")], check=True, capture_output=True)
        whole = contents(folder / "whole.st")
        kept = folder / "kept.st"
        resumed = [*command, str(folder / "parts.st"), "--checkpoint", str(kept)]
        resumed += ["--every", "0s", "--resume"]
        kills = finished = 0
        chance = random.Random(0)
        while kills < options.kills or finished == 0:
            before = _written(kept)
            run = subprocess.Popen(resumed, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            # one run in five is killed while it starts, the others while they learn
            early = chance.random() < 0.2
            while not early and run.poll() is None and _written(kept) == before:
                time.sleep(0.01)
            try:
                seconds = chance.uniform(0.0, 4.0 if early else 1.0)
                more = kills < options.kills
                _, words = run.communicate(timeout=seconds if more else None)
            except subprocess.TimeoutExpired:
                run.kill()
                run.communicate()
                kills += 1
                continue
            assert run.returncode == 0, words.decode()
            assert contents(folder / "parts.st") == whole, "another model"
            finished += 1
            (folder / "parts.st").unlink()
        left = sorted(path.name for path in folder.iterdir())
        print(f"{kills} kills, {finished} runs finished, each with the same model; files: {left}")


if __name__ == "__main__":
    main()
