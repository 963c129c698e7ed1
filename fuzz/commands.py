"""Command lines by chance: each ends with one line at most, and changes no input.

``python fuzz/commands.py --seconds 600`` changes the arguments of commands that work, and runs them
in a folder of tables and models.  The exit status is 0, 1 (a pipe that nobody reads) or 2, with one
line of error, and all files that were there before are as they were.
"""

import os
import shlex
import sys
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from crossview import ViewEncoder
from harness import fuzz, memory_folder, parser

COMMANDS = """
describe rows.csv --label label
describe rows.parquet --view one=a__* --task regression --json new
train rows.csv --label label --model arow --hash-bits 4 -o new
train rows.jsonl --init classes --seed 3 --in-order -o new
train rows.parquet --label id --task regression --model fm --hash-bits 4 --set n_factors=2 \\
    --epochs 2 -o new
train rows.parquet --label label --model pa:squared --time id --weight c__w --text b__u \\
    --hash-bits 4 --checkpoint kept -o new
train "SELECT * FROM 'rows.parquet' ORDER BY id" --label label --model scw --hash-bits 4 \\
    --log log.jsonl --log-every 8 -o new
predict classes rows.csv --keep id -o new.csv
predict numbers rows.parquet --explain 2 -o new.parquet
predict classes rows.jsonl --threshold 0.4 --positive q
evaluate classes rows.parquet --by a__y --time id --window 8
evaluate numbers rows.csv --metric mae --json new.json
inspect classes --top 3
inspect numbers --weights new.csv
datasets breast-cancer -o new.csv
compare rows.csv --label label --model none
--version
train --help
"""
OUTPUTS = ["-o", "--output", "--json", "--weights", "--log", "--checkpoint"]
OPTIONS = [
    *("--label", "--view", "--text", "--categorical", "--numeric", "--task", "--json", "--format"),
    *("--null", "--decimal", "--delimiter", "--quote", "--no-header", "--metric", "--k", "--cost"),
    *("--positive", "--threshold", "--hash-bits", "--ngrams", "--tf-idf", "--bins", "--time", "-o"),
    *(
        "--no-scale-views",
        "--weight",
        "--missing-columns",
        "--source",
        "--on",
        "--init",
        "--set",
        "-h",
    ),
    *("--epochs", "--shuffle", "--seed", "--classes", "--checkpoint", "--every", "--resume", "--x"),
    *(
        "--log",
        "--log-every",
        "--progress",
        "--keep",
        "--explain",
        "--by",
        "--window",
        "--no-views",
    ),
    *("--weights", "--top", "--model", "--output"),
]
VALUES = [
    *("", "-", "--", "0", "-1", "1", "2", "0.5", "nan", "inf", "1e400", "9" * 30, "0x1", "1_0"),
    *("none", "tuned", "x", "=", "a=", "=a", "a=b", "C=0.1", "C=", "C=[", "C=-1", "variant=PA"),
    *(
        "n_epochs=2",
        "x" * 9000,
        "é",
        "\u2028",
        "\udcff",
        "a\nb",
        ",",
        "*",
        "[",
        "a__*",
        "b__u",
        "id",
    ),
    *("label", "a__x", "a__y", "c__w", "p", "q", "p,q", "f1", "roc_auc", "F1", "precision_at_k"),
    *("fp=1,fn=2", "fp=x", "fp=-1,fn=0", "csv", "json", "parquet", ";", "\\t", "1s", "0s", "5min"),
    *("1d", "rows.csv", "rows.parquet", "rows.jsonl", "late.parquet", "rows.*", "nothing.csv", "."),
    *("..", "/", "/dev/null", "classes", "numbers", "broken", "new", "new.csv", "new/x", "view:a"),
    *("classification", "regression", "pa", "SELECT", "SELECT 1", "FROM 'rows.csv' LIMIT 3"),
    *("SELECT * FROM 'rows.parquet'; DROP TABLE x", "WITH a AS (SELECT 1) FROM a", "one=a__*"),
    *("COPY (SELECT 1) TO 'rows.csv'", "SELECT 1/0 AS a__x, 'p' AS label", "file://rows.csv"),
]


def arguments_by_chance(rng: np.random.Generator) -> list[str]:
    """Return a command that works, changed here and there."""
    commands = COMMANDS.replace("\\\n", "").strip().splitlines()
    words = shlex.split(commands[rng.integers(len(commands))])
    compares = words[0] == "compare"
    for _ in range(rng.integers(0, 5)):
        at = int(rng.integers(1, len(words) + 1))
        kind = rng.integers(6)
        if kind <= 1:
            words[at:at] = [OPTIONS[rng.integers(len(OPTIONS))], VALUES[rng.integers(len(VALUES))]]
        elif kind == 2 and at < len(words):
            words[at] = VALUES[rng.integers(len(VALUES))]
        elif kind == 3 and at < len(words):
            del words[at]
        elif kind == 4:
            words.append(OPTIONS[rng.integers(len(OPTIONS))])
        elif at < len(words):
            other = int(rng.integers(1, len(words)))
            words[at], words[other] = words[other], words[at]
    # a comparison that begins takes a minute
    return [*words, "--model", "none"] if compares else words


def make_folder(folder: Path) -> None:
    """Write tables, models, and a file that is neither."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    import crossview

    rows = {
        "a__x": np.arange(24.0),
        "a__y": ["Oslo", "Bonn"] * 12,
        "b__u": ["cheap flights", "weather in Oslo"] * 12,
        "c__w": np.arange(24) % 7,
        "label": ["p", "q", "q", "p"] * 6,
        "id": np.arange(24),
    }
    table = pa.table(rows)
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    table.to_pandas().to_json(folder / "rows.jsonl", orient="records", lines=True)
    pyarrow.parquet.write_table(table.select(["id", "label"]).slice(5), folder / "late.parquet")
    kept = {"encoder": ViewEncoder(hash_bits=4, text=["b__u"])}
    crossview.train(table, "label", model="arow", output=folder / "classes", **kept)
    crossview.train(table, "id", model="fm", task="regression", output=folder / "numbers", **kept)
    (folder / "broken").write_bytes((folder / "classes").read_bytes()[:-100])


def trial(folder: Path, rng: np.random.Generator) -> str:
    """Run a command; return how it ended."""
    from crossview.cli import main

    words = arguments_by_chance(rng)
    given = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    try:
        with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
            with redirect_stdout(out), redirect_stderr(err):
                status = main(words)
            err.seek(0)
            lines = err.read().splitlines()
        problem = check(status, lines)
        for path, content in given.items():
            if not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)
                if not (status == 0 and is_output(path.name, words)):
                    problem = f"changed {path.name}"
    finally:
        for path in folder.iterdir():
            if path not in given and path.is_file():
                path.unlink()
            elif path not in given:
                problem = f"left a folder {path.name}"
    if problem is not None:
        raise ValueError(f"{problem}: crossview {words}")
    return f"status_{status}"


def is_output(name: str, words: list[str]) -> bool:
    """Whether a command says that it writes a file, and does not read it."""
    written = [i for i, word in enumerate(words) if i and words[i - 1] in OUTPUTS]
    read = [word for i, word in enumerate(words) if i not in written]
    named = any(words[i] == name for i in written)
    return named and not any(name in word or "rows.*" in word for word in read)


def check(status: int, lines: list[str]) -> str | None:
    """Return what is wrong with an exit status and the lines on stderr."""
    if status not in (0, 2):
        return f"status {status}"
    errors = [line for line in lines if line.startswith("crossview: error:")]
    if len(errors) != (status == 2) or (errors and lines[-1] != errors[0]):
        return f"status {status} with {len(errors)} lines of error, the last line {lines[-1:]}"
    if any("Traceback" in line for line in lines):
        return "a traceback"
    return None


def main() -> int:
    """Run commands for some time, or some number of them; return 1 if one failed."""
    options = parser(__doc__).parse_args()
    os.environ["LOKY_MAX_CPU_COUNT"] = "1"
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        common = Path(name)
        make_folder(common)
        files = {path.name: path.read_bytes() for path in common.iterdir()}

        def own(rng: np.random.Generator) -> str:
            """Run a trial in the folder of this process."""
            folder = common / f"of-{os.getpid()}"
            if not folder.exists():
                folder.mkdir()
                for file, content in files.items():
                    (folder / file).write_bytes(content)
            os.chdir(folder)
            return trial(folder, rng)

        for i in range(20):  # loads what all need
            own(np.random.default_rng([0, i]))
        return fuzz(own, options)


if __name__ == "__main__":
    sys.exit(main())
