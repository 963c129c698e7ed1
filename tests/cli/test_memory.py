"""Memory of the commands, in a process of its own."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

PROGRAM = """
import re, sys
from pathlib import Path
from crossview.cli import main
from crossview.data.labeled import LabeledSource
from crossview.data import shuffle
shuffle.MAX_BYTES = 16 * 2**20
LabeledSource.batch_rows = 4096
for more in (["--in-order"], []):
    main(["train", "rows.parquet", "--label", "y", "--model", "pa:squared", "-o", "m", *more])
    print(int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is of Linux")
def test_shuffling_more_rows_than_its_buffer_takes_no_more_memory_than_that(tmp_path):
    rng = np.random.default_rng(0)
    n, group = 400_000, 20_000  # 38 MB
    y = rng.integers(0, 2, n)
    columns = {f"{'ab'[i % 2]}__{i}": rng.normal(size=n).astype(np.float32) for i in range(24)}
    rows = pa.table({**columns, "y": y})
    parquet.write_table(rows, tmp_path / "rows.parquet", row_group_size=group, use_dictionary=False)
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    in_order, shuffled = (int(line) for line in done.stdout.split() if line.isdigit())
    assert shuffled - in_order < 100_000  # kB; 165 MB with an allocator that leaves holes
