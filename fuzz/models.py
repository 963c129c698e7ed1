"""Mutants of model files: each is refused with `InputError`, or works.

``python fuzz/models.py --seconds 600`` saves a small model of each kind, changes bytes, arrays and
headers of the files by chance, and loads, predicts and learns with what comes of it.  The mutants
run in processes of their own, so that a crash is seen as a crash; each says which mutant it begins.

Mutant i depends on seed and i only: ``--only i`` repeats it.  ``--plain`` runs the loops as plain
Python, which tells an index out of range from one that happens to hit memory of the process.
"""

import argparse
import faulthandler
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

# a mutant that takes longer hangs, and one that asks for more is greedy
SECONDS, MEGABYTES = 30, 1024

WEIRD = [
    *(None, True, False, -1, 0, 1, 2, 7, 2**31, 2**40, 2**63, -(2**70), 0.5, -0.0, 1e308),
    *(float("nan"), float("inf"), "", "x", "nan", "<U99999999", "|O", [], {}, [[]], [None]),
    *([0, 0], {"slice": [0, 1]}, {"estimator": {}}, {"tuple": [1]}, {"dict": [[1]]}),
]
FLOATS = [0.0, -1.0, 1e300, -1e300, np.nan, np.inf, -np.inf, 5e-324, 1e16]
INTEGERS = [0, 1, 2, 3, 7, 12, 13, 80, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1]


# --- the corpus -----------------------------------------------------------------------------------


def make_corpus(folder: Path) -> None:
    """Save a small model of each kind: learned in one piece, from mappings, with three classes."""
    import pandas as pd
    from sklearn.base import is_classifier
    from sklearn.pipeline import Pipeline

    import crossview
    from contract.instances import CASES, learn, make_rows, new, streams

    for n_classes in (2, 3):
        X, y = make_rows(n_classes, rows=40)
        for name in CASES:
            if n_classes == 2 or is_classifier(new(name)):
                model = learn(new(name), X, y)
                crossview.save(model, folder / f"{name}-{n_classes}.safetensors")
    rows = [{"a": {"x": 1.0, f"w{i % 5}": 2.0}, "b": {f"v{i % 3}": -1.0}} for i in range(12)]
    for name in CASES:
        model = new(name)
        if streams(model) and getattr(model, "groups", None) is None:
            model.set_params(**({"views": None} if "views" in model.get_params() else {}))
            if getattr(model, "experts", None) or getattr(model, "update", "") == "published":
                continue
            for i, row in enumerate(rows):
                model.learn_one(row, ["ant", "bee"][i % 2] if is_classifier(model) else i % 2)
            crossview.save(model, folder / f"{name}-named.safetensors")
    for kernel in ("fourier", "nystroem", "random", "precomputed", "merging"):
        options = {
            "fourier": {"approximation": "fourier", "n_components": 6},
            "nystroem": {"approximation": "nystroem", "n_components": 6},
            "random": {"random_views": (2, 0.5)},
            "precomputed": {"kernel": "precomputed"},
            "merging": {"budget": 5, "maintenance": "merging", "schedule": "stream"},
        }[kernel]
        model = crossview.KeCoClassifier(**options, random_state=0, n_iterations=100)
        given = X @ X.T if kernel == "precomputed" else X
        crossview.save(model.fit(given, y), folder / f"KeCo-{kernel}.safetensors")
    table = pd.DataFrame(
        {
            "a__x": np.arange(40.0),
            "a__city": ["Oslo", "Bonn"] * 20,
            "b__text": ["cheap flights", "weather in Oslo"] * 20,
        }
    )
    encoder = crossview.ViewEncoder(text=["b__text"], hash_bits=4, bins=3)
    views = encoder.fit_transform(table)
    learner = crossview.MultiViewPAClassifier().fit(views, y)
    crossview.save(Pipeline([("encoder", encoder), ("learner", learner)]), folder / "encoded")
    scaler = crossview.ViewScaler().fit(views)
    crossview.save(Pipeline([("scaler", scaler), ("learner", learner)]), folder / "scaled")


def probe(path: Path) -> str:
    """Use a model file in every way; return "refused" or "works"."""
    import pandas as pd

    import crossview
    from crossview.errors import InputError
    from crossview.report.model import model_tables

    try:
        model = crossview.load(path)
        crossview.persistence.read_info(path)
    except InputError as error:
        return "refused" if "\n" not in str(error) else "failed two lines"
    learner, encoder = (model[-1], model[0]) if hasattr(model, "steps") else (model, None)
    if encoder is not None and hasattr(encoder, "feature_name"):
        columns = encoder.feature_names_in_
        X = pd.DataFrame({name: ["1", "Oslo", None] for name in columns})
        attempt(lambda: encoder.transform(X))
        attempt(lambda: encoder.partial_fit_transform(X))
        attempt(lambda: model.predict(X))
    d = learner.layout_.n_columns if encoder is not None else learner.n_features_in_
    if d < 10**6:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(5, d)) * (rng.random((5, d)) < 0.7)
        if encoder is not None:
            X = crossview.MultiView.from_matrix(X, learner.layout_)
        attempt(lambda: learner.view_scores(X))
        attempt(lambda: model.predict(X))
        attempt(lambda: learner.predict_proba(X))
        for part in [np.array([0, 1, 2]), np.array([3]), np.array([4])]:
            attempt(lambda part=part: teach(learner, X[part], len(part)))
        attempt(lambda: model.predict(X))
    for row in ({"a": {"x": 1.0, "new": 2.0}, "c": {"z": 1.0}}, {"x": 1.0}, {0: 1.0, 11: 2.0}):
        attempt(lambda row=row: learner.predict_one(row))
        attempt(lambda row=row: learner.learn_one(row, labels_of(learner, 1)[0]))
    attempt(lambda: learner.learn_one({"a": {"x": 1.0}}, "a new class"))
    attempt(lambda: list(model_tables(learner, None, {}, top=3)))
    attempt(lambda: crossview.save(model, path))
    return "works"


def labels_of(learner: object, n: int) -> list:
    """Return labels that the learner knows, or numbers."""
    classes = getattr(learner, "classes_", np.arange(3.0))
    return [classes[i % len(classes)] for i in range(n)]


def teach(learner: object, X: object, n: int) -> None:
    """Learn n rows."""
    learner.partial_fit(X, labels_of(learner, n))


def attempt(call: object) -> None:
    """Call it; what it raises must be one of our errors, or an attribute that is not there."""
    from crossview.errors import InputError

    try:
        call()
    except (InputError, AttributeError) as error:
        if type(error) is AttributeError and "has no attribute" in str(error):
            frame = traceback.extract_tb(error.__traceback__)[-1]
            if "/crossview/" in frame.filename:
                raise
    except OverflowError as error:
        if str(error) != "math range error":  # of exp in plain Python; compiled it is infinity
            raise
    except ValueError as error:
        if "is expecting" not in str(error):  # scikit-learn's words for another number of columns
            raise


# --- mutants --------------------------------------------------------------------------------------


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """Return a changed file."""
    if rng.random() < 0.15:
        return change_bytes(content, rng)
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    metadata = header.pop("__metadata__")
    data = content[8 + size :]
    dtypes = {"F64": "f8", "F32": "f4", "I64": "i8", "U64": "u8", "U32": "u4", "U8": "u1"}
    dtypes["BOOL"] = "b1"
    arrays = {
        name: np.frombuffer(data[slice(*one["data_offsets"])], dtypes[one["dtype"]])
        .reshape(one["shape"])
        .copy()
        for name, one in header.items()
    }
    steps = json.loads(metadata["steps"])
    for _ in range(rng.integers(1, 3)):
        if rng.random() < 0.6:
            change_array(arrays, rng)
        else:
            change_json({"steps": steps}, rng)
    metadata["steps"] = json.dumps(steps)
    if rng.random() < 0.02:
        depth = int(rng.integers(10, 100_000))
        metadata[str(rng.choice(list(metadata)))] = "[" * depth + "]" * depth
    return sealed(arrays, metadata)


def sealed(arrays: dict, metadata: dict) -> bytes:
    """Return a model file with these arrays and this header, and a checksum that is right."""
    from crossview.persistence import checksum, content_of

    metadata = {key: value for key, value in metadata.items() if key != "sha256"}
    return b"".join(content_of(arrays, metadata | {"sha256": checksum(arrays, metadata)}))


def change_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut, insert or change bytes."""
    changed = bytearray(content)
    kind = rng.integers(4)
    if kind == 0:
        return bytes(changed[: rng.integers(len(changed))])
    if kind == 1:
        at = int(rng.integers(len(changed)))
        changed[at:at] = rng.bytes(int(rng.integers(1, 20)))
    for _ in range(int(rng.integers(1, 9))):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)


def change_array(arrays: dict, rng: np.random.Generator) -> None:
    """Change values, shape, type or name of an array."""
    if not arrays:
        return
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name]
    kind = rng.integers(10)
    if kind <= 4 and array.size:
        flat = array.reshape(-1)
        for at in rng.integers(array.size, size=rng.integers(1, 4)):
            if array.dtype.kind == "f":
                flat[at] = rng.choice(FLOATS).astype(array.dtype)
            elif array.dtype.kind == "b":
                flat.view(np.uint8)[at] = rng.integers(256)
            else:
                value = np.uint64(rng.choice(np.array(INTEGERS, dtype=np.uint64)))
                flat[at] = value.astype(array.dtype)
    elif kind == 5:
        arrays[name] = np.ascontiguousarray(array[: rng.integers(2)]) if array.ndim else array
    elif kind == 6:
        arrays[name] = np.concatenate([array, array]) if array.ndim else array
    elif kind == 7:
        arrays[name] = np.ascontiguousarray(array.T)
    elif kind == 8:
        arrays[name] = array.astype(str(rng.choice(["f8", "f4", "i8", "u8", "u4", "u1", "b1"])))
    elif rng.random() < 0.3:
        del arrays[name]
    elif rng.random() < 0.5:
        arrays[name + str(rng.choice(["", "x", "/W", "0"]))] = arrays.pop(name)
    else:
        other = str(rng.choice(sorted(arrays)))
        arrays[name], arrays[other] = arrays[other], arrays[name]


def change_json(root: object, rng: np.random.Generator) -> None:
    """Change one node of a JSON value."""
    places = [(root, key) for key in root]
    found = []
    while places:
        owner, key = places.pop()
        found.append((owner, key))
        value = owner[key]
        if isinstance(value, dict):
            places += [(value, inner) for inner in value]
        elif isinstance(value, list):
            places += [(value, i) for i in range(len(value))]
    owner, key = found[rng.integers(len(found))]
    if owner is root:
        return
    kind = rng.integers(6)
    if kind == 0:
        del owner[key]
    elif kind == 1 and isinstance(owner, list):
        owner.insert(key, owner[key])
    elif kind == 2 and isinstance(owner[key], int | float):
        owner[key] += int(rng.choice([-1, 1, 2, 2**20]))
    elif kind == 3:
        other, inner = found[rng.integers(1, len(found))]
        owner[key] = json.loads(json.dumps(other[inner]))
    else:
        owner[key] = WEIRD[rng.integers(len(WEIRD))]


# --- processes ------------------------------------------------------------------------------------


def work(corpus: Path, seed: int, first: int, step: int) -> None:
    """Run the mutants first, first + step, ...; say each before it begins, and how it ended."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    files = sorted(corpus.iterdir())
    contents = [file.read_bytes() for file in files]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant"
        for content in contents[:: max(1, len(contents) // 8)]:
            path.write_bytes(content)
            assert probe(path) == "works"
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + MEGABYTES * 2**20,) * 2)
        i = first
        while True:
            rng = np.random.default_rng([seed, i])
            which = int(rng.integers(len(files)))
            path.write_bytes(mutate(contents[which], rng))
            print(f"begin {i} {files[which].name}", flush=True)
            faulthandler.dump_traceback_later(SECONDS, exit=True)  # a hang
            try:
                print(f"end {probe(path)}", flush=True)
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(where.filename).name}:{where.lineno}"
                text = f"{type(error).__name__}: {str(error)[:200]} ({place})"
                print("end failed " + " ".join(text.split()), flush=True)
            faulthandler.cancel_dump_traceback_later()
            i += step


def main() -> int:
    """Run mutants for some time, or some number of them; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--mutants", type=int, default=10**9, help="stop after as many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", type=int, help="run one mutant in this process")
    parser.add_argument("--plain", action="store_true", help="run the loops as plain Python")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plain:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    if options.worker:
        corpus, first, step = options.worker
        work(Path(corpus), options.seed, int(first), int(step))
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder)
        warnings.simplefilter("ignore")
        make_corpus(corpus)
        if options.only is not None:
            rng = np.random.default_rng([options.seed, options.only])
            files = sorted(corpus.iterdir())
            file = files[int(rng.integers(len(files)))]
            file.write_bytes(mutate(file.read_bytes(), rng))
            print(file.name, probe(file))
            return 0
        return run(corpus, options)


def run(corpus: Path, options: argparse.Namespace) -> int:
    """Watch the workers; start one anew after the mutant that ended it."""
    counts = {"refused": 0, "works": 0, "failed": 0}
    stop = time.monotonic() + options.seconds
    workers = [Worker(corpus, options, first) for first in range(options.jobs)]
    while time.monotonic() < stop and sum(counts.values()) < options.mutants:
        for worker in workers:
            how = worker.next()
            counts[how.split()[0]] += 1
            if how.startswith("failed"):
                print(f"mutant {worker.at} of {worker.file} {how}", flush=True)
    for worker in workers:
        worker.process.kill()
        worker.process.wait()
    total = sum(counts.values())
    print(
        f"{total:,} mutants of {len(list(corpus.iterdir()))} models: "
        f"{counts['refused']:,} refused, {counts['works']:,} harmless, {counts['failed']:,} failed"
    )
    return int(counts["failed"] > 0)


class Worker:
    """A process that runs every n-th mutant."""

    def __init__(self, corpus: Path, options: argparse.Namespace, first: int) -> None:
        self.corpus, self.options, self.at, self.file = corpus, options, first, ""
        self.start(first)

    def start(self, first: int) -> None:
        """Begin at a mutant."""
        options = self.options
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            str(HERE / "models.py"),
            "--seed",
            str(options.seed),
        ]
        command += ["--plain"] * options.plain
        command += ["--worker", str(self.corpus), str(first), str(options.jobs)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def next(self) -> str:
        """Return how the next mutant ended."""
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "end":
                return rest
            if word == "begin":
                number, _, self.file = rest.partition(" ")
                self.at = int(number)
        trace = self.process.stderr.read().splitlines()
        error = [line.strip() for line in trace if "/crossview/" in line][:1] or trace[-1:]
        code = self.process.wait()
        if not self.file:
            raise RuntimeError(f"a worker did not start: {error}")
        self.start(self.at + self.options.jobs)
        return f"failed with exit status {code} {error}"


if __name__ == "__main__":
    sys.exit(main())
