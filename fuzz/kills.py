"""Kill training runs at random moments, or change their source, and see what the same command does.

python fuzz/kills.py --kills 78

Three runs over rows that are made here: Parquet (a stack, in order), CSV (AROW with a diagonal,
shuffled) and Vowpal Wabbit (a multi-view machine, two passes).  Each is killed (SIGKILL) a third
of ``--kills`` times, some while it starts, some while it writes a checkpoint, the others up to a
second after one, and the same command goes on.  Each run that comes to its end must give the model
file of a run that was never stopped, byte by byte.

Then a run is killed after a checkpoint, its source is changed, always with the same number of rows,
and the same command must refuse to go on: status 2, one line that names the file, no model, and the
checkpoint as it was.  The same rows, written again, must be taken.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from crossview.saving.model_files import load_progress

COMMAND = (
    "import sys; from crossview.cli import main; "
    "from crossview.data.labeled import LabeledSource; LabeledSource.batch_rows = 2000; "
    "sys.exit(main(sys.argv[1:]))"
)
# a temporary folder, which is there while a file is written
WRITING = ".crossview-unfinished-*"


def make_rows(n: int) -> pa.Table:
    """Two views, with numbers, a category and text; and a label."""
    rng = np.random.default_rng(0)
    x, color = rng.normal(size=n), rng.integers(0, 50, n)
    words = [" ".join(f"w{w}" for w in rng.integers(0, 300, 5)) for _ in range(n)]
    y = np.where(x + (color < 9) + rng.normal(size=n) > 0.4, "yes", "no")
    columns = {"n__x": x, "n__z": rng.normal(size=n), "n__color": [f"c{c}" for c in color]}
    return pa.table(columns | {"t__words": words, "y": y})


def write_vw(table: pa.Table, path: Path) -> None:
    """Write the rows as text of Vowpal Wabbit."""
    lines = []
    for row in table.to_pylist():
        label = 1 if row["y"] == "yes" else -1
        numbers = f"x:{row['n__x']} z:{row['n__z']} {row['n__color']}"
        lines.append(f"{label} |n {numbers} |t {row['t__words']}\n")
    path.write_text("".join(lines))


def write_json(table: pa.Table, path: Path) -> None:
    """Write the rows as lines of JSON."""
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "parquet": lambda table, path: pq.write_table(table, path, row_group_size=5000),
    "csv": lambda table, path: pa.csv.write_csv(table, path),
    "vw": write_vw,
    "jsonl": write_json,
}
OF_TABLES = ["--label", "y", "--text", "t__words"]


class Run(NamedTuple):
    """A command that trains, and the suffix of its source."""

    name: str
    suffix: str
    options: list[str]

    def command(self, folder: Path, output: str, *, kept: bool) -> list[str]:
        """The command; with ``kept`` it keeps a checkpoint, and goes on from it."""
        source, more = folder / f"rows.{self.suffix}", []
        if kept:
            more = ["--checkpoint", str(folder / "kept.st"), "--every", "0s", "--resume"]
        given = [] if self.suffix == "vw" else OF_TABLES
        named = [*given, *self.options, "--hash-bits", "10", "-o", str(folder / output)]
        return [sys.executable, "-c", COMMAND, "train", str(source), *named, *more]


RUNS = [
    Run("stack, in order", "parquet", ["--model", "stacking", "--in-order"]),
    Run("AROW diagonal, shuffled", "csv", ["--model", "arow:diagonal"]),
    Run("multi-view machine, 2 passes", "vw", ["--model", "mvm", "--epochs", "2"]),
]


def written(file: Path) -> int | None:
    """When a file was written; None if there is none."""
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def kill_at(run: subprocess.Popen, folder: Path, moment: str, chance: random.Random) -> bool:
    """Kill a run at some moment; return whether it was still there."""
    kept, before = folder / "kept.st", written(folder / "kept.st")
    if moment != "start":
        while run.poll() is None and written(kept) == before:
            time.sleep(0.005)
    if moment == "write":
        time.sleep(chance.uniform(0.0, 0.5))
        while run.poll() is None and not any(folder.glob(WRITING)):
            pass
    else:
        time.sleep(chance.uniform(0.0, 3.0 if moment == "start" else 1.0))
    there = run.poll() is None
    run.kill()
    run.communicate()
    return there


def kill(run: Run, table: pa.Table, n_kills: int, chance: random.Random) -> str:
    """Kill a run so many times, and let it end; return what happened."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        WRITERS[run.suffix](table, folder / f"rows.{run.suffix}")
        command = run.command(folder, "whole.st", kept=False)
        subprocess.run(command, check=True, capture_output=True)
        whole = (folder / "whole.st").read_bytes()
        kills: Counter[str] = Counter()
        finished, last = 0, False
        while not last:
            last = kills.total() >= n_kills
            process = subprocess.Popen(
                run.command(folder, "parts.st", kept=True),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            if not last:
                moment = chance.choices(["start", "write", "after"], [1, 1, 3])[0]
                if kill_at(process, folder, moment, chance):
                    kills[moment] += 1
                    if not (folder / "parts.st").exists():
                        continue
            else:
                words = process.communicate()[1].decode()
                assert process.returncode == 0, words
            # it has come to its end
            assert (folder / "parts.st").read_bytes() == whole, "another model"
            finished += 1
            (folder / "parts.st").unlink()
        left = sorted(
            path.name for path in folder.iterdir() if not path.name.startswith(WRITING[:-1])
        )
    moments = ", ".join(f"{count} {moment}" for moment, count in sorted(kills.items()))
    return f"{kills.total()} kills ({moments}), {finished} finished, same bytes; left: {left}"


# --- another source --------------------------------------------------------------------------


def replaced(table: pa.Table, name: str, row: int, value: object) -> pa.Table:
    """The table with another value in one cell; row -1 is the last one."""
    column = table[name].to_pylist()
    column[row] = value
    kind = table.schema.field(name).type
    return table.set_column(table.column_names.index(name), name, pa.array(column, kind))


def reordered(table: pa.Table, rows: dict[int, int]) -> pa.Table:
    """The table with some rows in the place of others."""
    order = np.arange(table.num_rows)
    order[list(rows)] = list(rows.values())
    return table.take(order)


def inserted(table: pa.Table) -> pa.Table:
    """A row more among the first ones, and the last one not."""
    parts = [table.slice(0, 100), table.slice(7, 1), table.slice(100, table.num_rows - 101)]
    return pa.concat_tables(parts)


def narrow(table: pa.Table) -> pa.Table:
    """The numbers of one column with half the bits."""
    return table.set_column(0, "n__x", table["n__x"].cast(pa.float32()))


def other_label(table: pa.Table, row: int) -> pa.Table:
    """The table with the other label in one row."""
    label = table["y"][row].as_py()
    return replaced(table, "y", row, "no" if label == "yes" else "yes")


CHANGES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "a cell": lambda table: replaced(table, "n__x", 100, 0.125),
    "a label": lambda table: other_label(table, 100),
    "two rows swapped": lambda table: reordered(table, {100: 200, 200: 100}),
    "a row inserted, the last dropped": inserted,
    "all rows replaced": lambda table: table.take(np.arange(table.num_rows)[::-1]),
}
OF_LAST_ROW: dict[str, Callable[[pa.Table], pa.Table]] = {
    "a cell of the last row": lambda table: replaced(table, "n__x", table.num_rows - 1, 0.125),
    "the label of the last row": lambda table: other_label(table, table.num_rows - 1),
}
# what is changed between the kill and the next command
TRIALS = [
    *(
        (Run(order, suffix, ["--model", "pa:squared", *option]), CHANGES)
        for suffix in WRITERS
        for order, option in (("in order", ["--in-order"]), ("shuffled", []))
    ),
    *(
        (Run(order, "parquet", ["--model", "pa:squared", *option]), {"float32": narrow})
        for order, option in (("in order", ["--in-order"]), ("shuffled", []))
    ),
    (Run("second pass", "vw", ["--model", "mvm", "--in-order", "--epochs", "2"]), OF_LAST_ROW),
]


def pass_of(kept: Path) -> int:
    """The pass of a checkpoint, of which there may be a new one at any time."""
    copy = Path(shutil.copy(kept, kept.with_name("looked-at.st")))
    return load_progress(copy)[0]["position"]["number"]


def change(run: Run, table: pa.Table, changes: dict[str, Callable]) -> tuple[int, int, list[str]]:
    """Stop a run, and change its source; return trials, those refused, and what went wrong."""
    write, wrong, refused = WRITERS[run.suffix], [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, kept = folder / f"rows.{run.suffix}", folder / "kept.st"
        write(table, source)
        plain = run.command(folder, "whole.st", kept=False)
        subprocess.run(plain, check=True, capture_output=True)
        command = run.command(folder, "parts.st", kept=True)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        number = 2 if run.name == "second pass" else 1
        while not kept.exists() or pass_of(kept) < number:
            assert process.poll() is None, "it has ended before it was killed"
            time.sleep(0.002)
        process.kill()
        process.wait()
        copy = Path(shutil.copy(kept, folder / "copy.st"))
        for what, changed in changes.items():
            write(changed(table), source)
            shutil.copy(copy, kept)
            done = subprocess.run(command, capture_output=True, text=True)
            lines = done.stderr.splitlines()
            good = done.returncode == 2 and len(lines) == 1 and str(source) in lines[0]
            good &= kept.exists() and kept.read_bytes() == copy.read_bytes()
            good &= not (folder / "parts.st").exists()
            refused += good
            if not good:
                wrong.append(f"{run.suffix}, {run.name}, {what}: {done.returncode} {lines}")
            (folder / "parts.st").unlink(missing_ok=True)
        write(table, source)
        shutil.copy(copy, kept)
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert (folder / "parts.st").read_bytes() == (folder / "whole.st").read_bytes()
    return len(changes), refused, wrong


def main() -> None:
    """Kill runs, then change sources; the exit status is 1 if one was not refused."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=78, help="0: none")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    if options.kills:
        table = make_rows(options.rows)
        for run in RUNS:
            answer = kill(run, table, options.kills // len(RUNS), chance)
            print(f"{run.suffix} ({run.name}): {answer}", flush=True)
    table = make_rows(options.rows // 5)
    n_trials = n_refused = 0
    wrong: list[str] = []
    for run, changes in TRIALS:
        n, refused, of_run = change(run, table, changes)
        print(
            f"{run.suffix} ({run.name}): {refused} of {n} changed sources were refused", flush=True
        )
        n_trials, n_refused, wrong = n_trials + n, n_refused + refused, wrong + of_run
    print("\n".join([*wrong, f"{n_refused} of {n_trials} changed sources were refused"]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
