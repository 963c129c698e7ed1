"""Mutants of model files: each is refused with `InputError`, or works.

``python fuzz/models.py --seconds 600`` saves a small model of each kind, changes bytes, arrays and
headers of the files by chance, and loads, predicts and learns with what comes of it, and goes on
training from it.  ``--plain`` runs the loops as plain Python, which tells an index out of range
from one that happens to hit memory of the process.
"""

import copy
import inspect
import json
import os
import sys
import tempfile
import traceback
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness import change_bytes, fuzz, memory_folder, parser

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
    from training_runs import Killed, Killer

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
            if isinstance(getattr(model, "lam", None), dict):
                continue  # it names other views
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
    # a hashed space of which the file holds what was touched
    experts = [
        ("pa", crossview.MultiViewPAClassifier()),
        ("arow", crossview.AROWClassifier(covariance="diagonal", initial_variance=0.5)),
        ("fm", crossview.FactorizationMachineClassifier(n_factors=2)),
    ]
    wide = crossview.ViewEncoder(text=["b__text"], hash_bits=14)
    stack = crossview.OnlineStackingClassifier(experts=experts, random_state=0)
    stack.fit(wide.fit_transform(table), y)
    crossview.save(Pipeline([("encoder", wide), ("learner", stack)]), folder / "hashed")
    scaler = crossview.ViewScaler().fit(views)
    crossview.save(Pipeline([("scaler", scaler), ("learner", learner)]), folder / "scaled")
    # what has its metadata, and the counts from which training goes on
    for name, options in TRAINED.items():
        rows = labeled_table(1100 if name == "arow" else 40)
        own = options | {"encoder": crossview.ViewEncoder(**options["encoder"])}
        crossview.train(rows, model=name, output=folder / f"trained-{name}", **own)
    with suppress(Killed):
        crossview.train(labeled_table(40), **checkpointed(folder / "checkpoint"), log=Killer(50))


TRAINED = {
    "pa:squared": {"y": "y", "encoder": {"hash_bits": 4, "text": ["t__words"]}},
    "arow": {"y": "y", "encoder": {"hash_bits": 4}},
    "fm": {"y": "number", "task": "regression", "encoder": {"hash_bits": 4}},
    # categories with codes and, with color alone, with statistics
    "trees": {
        "y": "y",
        "encoder": {"hash_bits": 4, "text": ["t__words"]},
        "settings": {"n_bags": 1, "max_iter": 20},
    },
    "trees:additive": {
        "y": "number",
        "task": "regression",
        "encoder": {"hash_bits": 4, "text": ["t__words"]},
        "settings": {
            "max_categories": 0,
            "max_columns": 2,
            "n_components": 2,
            "n_bags": 1,
            "max_iter": 20,
        },
    },
}


def labeled_table(n: int) -> object:
    """Return rows, all with a label."""
    from training_runs import make_table

    rows = make_table(n)
    return rows.filter(rows["y"].is_valid())


def checkpointed(path: Path) -> dict:
    """Return the options of a run that is kept in a file."""
    import crossview

    kept = {"checkpoint": crossview.Checkpoint(path, every=0.0, resume=True), "epochs": 2}
    return {"y": "y", "model": "scw", "encoder": crossview.ViewEncoder(hash_bits=4), **kept}


def probe(path: Path) -> str:
    """Use a model file in every way; return "refused" or "works"."""
    import pandas as pd

    import crossview
    from crossview.errors import InputError
    from crossview.reporting.model import model_tables

    try:
        model = crossview.load(path)
        info = crossview.saving.model_files.read_info(path)
    except InputError as error:
        if "\n" in str(error):
            raise ValueError(f"more than one line: {error}") from error
        return "refused"
    if info:
        attempt(lambda: crossview.train(labeled_table(8), init=path))
        attempt(lambda: list(crossview.predict(path, labeled_table(8), keep=["y"])))
        attempt(lambda: crossview.evaluate(path, labeled_table(8)))
    elif b"position" in path.read_bytes():
        attempt(lambda: crossview.train(labeled_table(40), **checkpointed(path)))
    learner, encoder = (model[-1], model[0]) if hasattr(model, "steps") else (model, None)
    if encoder is not None and hasattr(encoder, "feature_name"):
        columns = encoder.feature_names_in_
        X = pd.DataFrame({name: ["1", "Oslo", None] for name in columns})
        attempt(lambda: encoder.transform(X))
        attempt(lambda: encoder.partial_fit_transform(X))
        attempt(lambda: model.predict(X))
    d = learner.layout_.n_columns if encoder is not None else learner.n_features_in_
    if d < 10**6:
        X = np.random.default_rng(0).normal(size=(5, d)) * ROWS_OF_ZEROS
        if encoder is not None:
            X = crossview.MultiView.from_matrix(X, learner.layout_)
        attempt(lambda: learner.view_scores(X))
        attempt(lambda: learner.predict_proba(X))
        attempt(lambda: learner.partial_fit(X[:3], labels_of(learner, 3)))
        attempt(lambda: learner.partial_fit(X[3:], labels_of(learner, 2)))
        attempt(lambda: model.predict(X))
    for row in ({"a": {"x": 1.0, "new": 2.0}, "c": {"z": 1.0}}, {0: 1.0, 11: 2.0}):
        attempt(lambda row=row: learner.predict_one(row))
        attempt(lambda row=row: learner.learn_one(row, labels_of(learner, 1)[0]))
    attempt(lambda: learner.learn_one({"a": {"x": 1.0}}, "a new class"))
    attempt(lambda: list(model_tables(learner, None, {}, top=3)))
    attempt(lambda: crossview.save(model, path))
    return "works"


# one row is empty
ROWS_OF_ZEROS = np.array([1.0, 1.0, 0.0, 1.0, 1.0])[:, None]


def labels_of(learner: object, n: int) -> list:
    """Return labels that the learner knows, or numbers."""
    classes = getattr(learner, "classes_", np.arange(3.0))
    return [classes[i % len(classes)] for i in range(n)]


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


class Model(NamedTuple):
    """A model file, and what it holds."""

    name: str
    content: bytes
    arrays: dict[str, np.ndarray]
    metadata: dict[str, str]

    @classmethod
    def read(cls, file: Path) -> "Model":
        """Read it as any other tool would."""
        from safetensors import safe_open

        with safe_open(file, framework="numpy") as content:
            arrays = {key: content.get_tensor(key) for key in content.keys()}  # noqa: SIM118
            return cls(file.name, file.read_bytes(), arrays, content.metadata())


def mutate(model: Model, rng: np.random.Generator) -> bytes:
    """Return a changed file."""
    if rng.random() < 0.1:
        return change_bytes(model.content, rng)
    arrays, metadata = dict(model.arrays), dict(model.metadata)
    for _ in range(rng.integers(1, 3)):
        if rng.random() < 0.6:
            change_array(arrays, rng)
        else:
            others = [name for name in ("info", "progress", "touched") if name in metadata]
            part = rng.choice(["steps", "steps", "steps", *others])
            root = {"root": json.loads(metadata[part])}
            change_json(root, rng)
            metadata[part] = json.dumps(root["root"])
    if rng.random() < 0.02:
        depth = int(rng.integers(10, 100_000))
        metadata[str(rng.choice(sorted(metadata)))] = "[" * depth + "]" * depth
    return sealed(arrays, metadata)


def sealed(arrays: dict, metadata: dict) -> bytes:
    """Return a model file with these arrays and this header, and a checksum that is right."""
    from crossview.saving.model_files import checksum, content_of

    metadata = {key: value for key, value in metadata.items() if key != "sha256"}
    return b"".join(content_of(arrays, metadata | {"sha256": checksum(arrays, metadata)}))


def change_array(arrays: dict, rng: np.random.Generator) -> None:
    """Change values, shape, type or name of an array."""
    if not arrays:
        return
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name] = arrays[name].copy()
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
        owner[key] = copy.deepcopy(other[inner])
    else:
        owner[key] = WEIRD[rng.integers(len(WEIRD))]


# --- trials ---------------------------------------------------------------------------------------


def main() -> int:
    """Run mutants for some time, or some number of them; return 1 if one failed."""
    options = parser(__doc__)
    options.add_argument("--plain", action="store_true", help="run the loops as plain Python")
    options = options.parse_args()
    if options.plain:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    inspect.signature = cache(inspect.signature)  # scikit-learn asks for it at every step
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        folder = Path(name)
        make_corpus(folder)
        models = [Model.read(file) for file in sorted(folder.iterdir())]
        for model in models:  # loads and compiles what all need
            assert probe(folder / model.name) == "works", model.name

        def trial(rng: np.random.Generator) -> str:
            model = models[rng.integers(len(models))]
            path = folder / f"mutant-{os.getpid()}"
            path.write_bytes(mutate(model, rng))
            try:
                return probe(path)
            except Exception as error:
                error.args = (f"{model.name}: {error}",)
                raise

        return fuzz(trial, options)


if __name__ == "__main__":
    sys.exit(main())
