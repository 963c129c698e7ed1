"""Text files of rows by chance: each is read, or refused with `InputError`, and stays as it is.

``python fuzz/rows.py --seconds 600`` writes small files of svmlight, libffm and Vowpal Wabbit,
changes their bytes, and loads, describes, learns, predicts, evaluates and converts them with
options by chance.
"""

import gzip
import io
import os
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np

from harness import change_bytes, fuzz_files

FORMATS = {".svm": "svmlight", ".ffm": "libffm", ".vw": "vw"}
# more than four times the file, for what the libraries take at their first use, and for the slots
CONSTANT_MEGABYTES = 256

LABELS = [
    *(
        "1",
        "-1",
        "+1",
        "0",
        "2",
        "0.5",
        "-2.5e3",
        "nan",
        "NaN",
        "1e400",
        "1e-400",
        "abc",
        "",
        "1,2",
    ),
    *("0x1", "inf", "9" * 40, "1.", ".5", "-", "1e", "--1", "1e5", "true", "\xe9", "1:1"),
]
INDICES = [*map(str, range(9)), "17", "00", "-1", "1000000", str(2**31), str(2**63), "9" * 18, "x"]
VALUES = [
    *("1", "1", "1", "0", "-0", "0.5", "2e-3", "1e308", "1e309", "4.9e-324", "1" * 400, "nan", ""),
    *("0." + "0" * 400 + "1", "123456789012345678901234567890", "inf", "1e+", "0x10", "1_0"),
]
NAMES = ["u", "age", "v1", "é", "日本", "12", "x" * 300, "", "a-b", "0"]
SPACES = ["user", "ad", "user", "ad", "", "q", "é", "user:2", "ad:0.5", "ad:x", "x" * 300]
BETWEEN = [" "] * 12 + ["\t", "  ", "\r", "\v", "\x00", ":", "|", "#", "\u2028"]
VIEWS = {
    ".svm": [{"a": "1:3", "b": "4:"}, {"a": "0:"}, {"a": "7,1:2"}, {"a": ["3", "5:6"]}],
    ".ffm": [{"a": "0", "b": "1,2"}, {"a": [0, 1]}, {"a": "1"}, {"a": "0:2:9"}],
    ".vw": [{"a": "user", "b": "ad"}, {"a": ["user", "ad"]}, {"a": "default"}, {"a": "q"}],
}
ODD_VIEWS = [{}, {"a": ""}, {"a": "1:3", "b": "2:5"}, {"a": "9:1"}, {"a": "x"}, {"": "1"}, "a", [1]]
HUGE = [
    *(b"", b"\n" * 10_000, b"\x00" * 2**16, b"1 " * 2**16, b"#" * 10_000, b"1 |" + b"a" * 2**17),
    *(b"1 " + b" ".join(b"%d:1" % i for i in range(20_000, 0, -1)), b"\xef\xbb\xbf1 1:1\n", b"|"),
    *(b"\n".join(b"1 |n%d x" % i for i in range(10_010)), b"1 0:0:1 " * 5_000, b"\xff\xfe1\x00"),
]


def pick(rng: np.random.Generator, values: list, first: int, odd: float = 0.004) -> Any:
    """Return one of the first values as a rule, sometimes any."""
    return values[rng.integers(len(values) if rng.random() < odd else first)]


def line_by_chance(kind: str, rng: np.random.Generator) -> str:
    """Return a row."""
    label, between = pick(rng, LABELS, 2), pick(rng, BETWEEN, 12)
    words = []
    if kind == ".vw":
        if rng.random() < 0.3:
            label += between + pick(rng, VALUES, 6)
        if rng.random() < 0.2:
            label += f" '{pick(rng, NAMES, 5)}"
        for _ in range(rng.integers(1, 4)):
            words.append("|" + pick(rng, SPACES, 4))
            for _ in range(rng.integers(4)):
                value = ":" + pick(rng, VALUES, 7) if rng.random() < 0.4 else ""
                words.append(pick(rng, NAMES, 6) + value)
    else:
        n, first = int(rng.integers(6)), "" if kind == ".svm" else "012"[rng.integers(3)] + ":"
        indices = sorted(rng.choice(9, size=n, replace=rng.random() < 0.002).tolist())
        indices = rng.permutation(indices).tolist() if rng.random() < 0.05 else indices
        for index in indices:
            shown = str(index) if rng.random() < 0.998 else pick(rng, INDICES, len(INDICES))
            words.append(f"{first}{shown}:{pick(rng, VALUES, 7)}")
        if kind == ".svm" and rng.random() < 0.05:
            words = [str(rng.choice(["qid:3", "qid:", "qid:x", "# 1:1"])), *words]
    return between.join([label, *words])


def content_by_chance(kind: str, rng: np.random.Generator) -> bytes:
    """Return a file."""
    if rng.random() < 0.03:
        return bytes(HUGE[rng.integers(len(HUGE))])
    lines = [line_by_chance(kind, rng) for _ in range(rng.choice([0, 1, 24], p=[0.02, 0.03, 0.95]))]
    if rng.random() < 0.1:
        lines.insert(0, str(rng.choice(["", "# a comment", " ", "label index:value"])))
    content = str(rng.choice(["\n", "\n", "\n", "\r\n"])).join(lines).encode(errors="replace")
    content += b"\n" if rng.random() < 0.8 else b""
    return change_bytes(content, rng) if content and rng.random() < 0.3 else content


def rows_of(path: Path, kind: str, rng: np.random.Generator, **more: Any) -> Any:
    """Open the file with options by chance."""
    import crossview

    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["views"] = pick(rng, VIEWS[kind] + ODD_VIEWS, 2, 0.1)
    if rng.random() < 0.5:
        options["hash_bits"] = int(rng.choice([1, 5, 10, 0, 31], p=[0.3, 0.3, 0.3, 0.05, 0.05]))
    if rng.random() < 0.03:
        more["format"] = str(rng.choice([*FORMATS.values(), "csv", ""]))
    return crossview.open_rows(path, batch_rows=int(rng.choice([1, 7, 10_000])), **options, **more)


def read(folder: Path, path: Path, kind: str, rng: np.random.Generator) -> str:
    """Read it in parts of any size, which change nothing."""
    stream = rows_of(path, kind, rng, tags=kind == ".vw")
    stream._reader._part_bytes = int(rng.choice([1, 3, 64, 1 << 22]))
    batches = list(stream)
    for batch in batches:
        assert batch.X.matrix.has_sorted_indices
        assert np.isfinite(batch.X.matrix.data).all()
    rows = sum(len(batch.X) for batch in batches)
    assert rows == stream.n_rows
    return "read"


def describe(folder: Path, path: Path, kind: str, rng: np.random.Generator) -> str:
    """Say what it holds."""
    from rich.console import Console

    import crossview
    from crossview.reporting.tables import rows_table

    found = crossview.describe(rows_of(path, kind, rng))
    Console(file=io.StringIO()).print(rows_table(found))
    return "described"


def train(folder: Path, path: Path, kind: str, rng: np.random.Generator) -> str:
    """Learn from it."""
    import crossview

    task = "regression" if rng.random() < 0.2 else "classification"
    model = "linear" if task == "regression" else str(rng.choice(["pa:squared", "arow", "fm"]))
    output = folder / f"trained-{os.getpid()}"
    crossview.train(rows_of(path, kind, rng), model=model, task=task, output=output)
    crossview.load(output)
    return "learned"


def predict(folder: Path, path: Path, kind: str, rng: np.random.Generator) -> str:
    """Predict its rows."""
    from crossview.predicting.predict import Predictions

    model = folder / f"model{kind if rng.random() < 0.9 else '.svm'}"
    rows = sum(batch.num_rows for batch in Predictions(model, str(path)))
    return "predicted" if rows else "predicted_nothing"


def evaluate(folder: Path, path: Path, kind: str, rng: np.random.Generator) -> str:
    """Say how good a model is on it."""
    import crossview

    crossview.evaluate(folder / f"model{kind}", str(path), views=bool(rng.integers(2)))
    return "evaluated"


def convert(folder: Path, path: Path, kind: str, rng: np.random.Generator) -> str:
    """Write it in another format, which gives the same rows."""
    import crossview

    rows = rows_of(path, kind, rng)
    other = str(rng.choice(list(FORMATS)))
    output = folder / f"converted-{os.getpid()}{other}{rng.choice(['', '', '.gz'])}"
    answer = crossview.convert(rows, None, output)
    widest = max(rows.layout.widths)
    if answer.n_rows and (other != ".vw" or widest <= 1 << 20):
        bits = {".svm": 18, ".ffm": 30, ".vw": max(1, int(widest - 1).bit_length())}[other]
        again = crossview.open_rows(output, views=answer.views, hash_bits=bits)
        for view in rows.layout.names:
            assert np.array_equal(entries(rows, view), entries(again, view)), "other rows"
    return "converted"


def entries(rows: Any, view: str) -> np.ndarray:
    """Return row, column and value of all entries of a view that are not 0."""
    found, first = [], 0
    for batch in rows:
        block = batch.X[view].tocoo()
        here = np.column_stack([block.row + first, block.col, block.data])
        found.append(here[block.data != 0.0])
        first += len(batch.X)
    return np.concatenate(found)


USES = [read, read, describe, train, predict, evaluate, convert]


def trial(folder: Path, rng: np.random.Generator) -> str:
    """Use a file in one way; return what happened."""
    from crossview.errors import InputError

    kind = str(rng.choice(list(FORMATS)))
    content, packed = content_by_chance(kind, rng), rng.random() < 0.1
    path = folder / f"rows-{os.getpid()}{kind}{'.gz' if packed else ''}"
    before = gzip.compress(content) if packed else content
    if packed and rng.random() < 0.3:
        before = change_bytes(before, rng)
    path.write_bytes(before)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        how = USES[rng.integers(len(USES))](folder, path, kind, rng)
    except InputError as error:
        if len(str(error).splitlines()) != 1:
            raise ValueError(f"not one line: {error!r}") from error
        how = "refused"
    finally:
        assert path.read_bytes() == before, "the file was changed"
        path.unlink()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    allowed = 4 * len(content) / 1024 + CONSTANT_MEGABYTES * 1024
    assert grown <= allowed, f"{grown // 1024} MB for a file of {len(content) // 1024} kB"
    return how


def make_models(folder: Path) -> None:
    """Train the models that predict and are evaluated."""
    import crossview

    for kind, line in {
        ".svm": "{} 1:1 3:0.5 8:{}",
        ".ffm": "{} 0:1:1 1:3:{}",
        ".vw": "{} |user u age:{} |ad 7",
    }.items():
        path = folder / f"rows{kind}"
        path.write_text("".join(line.format(i % 2 * 2 - 1, i) + "\n" for i in range(40)))
        output = folder / f"model{kind}"
        crossview.train(crossview.open_rows(path, hash_bits=6), model="pa:squared", output=output)


if __name__ == "__main__":
    sys.exit(fuzz_files(__doc__, make_models, trial))
