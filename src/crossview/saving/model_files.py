"""Model files without pickle: one ``.safetensors`` file, arrays and a JSON header.

Loading runs no code from the file: the header names classes from a fixed list, that of the
catalog, and the arrays are numeric.  A checksum finds what was damaged by chance.  What somebody
has made up is found by the schemas of the classes (`saving.schema`): no loop sees an array
before its type, its shape and its values were checked.  Files are written atomically.

Of an array that is mostly one value a file holds the rows that are not (`saving.touched`): under
the name of the array their values, under a name without "/" their positions, which arrays may
share, and in the header the number of all rows and the value.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from crossview.catalog import saved_classes
from crossview.errors import InputError, check_kind
from crossview.saving.files import MODEL, replacing
from crossview.saving.model_header import FORMAT, VERSION, read_header
from crossview.saving.pipelines import is_pipeline, make_pipeline, steps_of
from crossview.saving.touched import Touched, new_array

# the part of the file that is no step of the model
PROGRESS = "progress"
# the part of the header that says which arrays are not whole
TOUCHED = "touched"
# what the arrays that are not whole may take in memory, of which a short file may claim any size
MAX_BYTES = 2**32
# such an array is made once its shape was checked; a smaller one at once
SMALL = 2**16

# names of the types in safetensors
DTYPES = {
    "<f8": "F64",
    "<f4": "F32",
    "<i8": "I64",
    "<u8": "U64",
    "<i4": "I32",
    "<u4": "U32",
    "|u1": "U8",
    "|b1": "BOOL",
}
# what values that no model has end with; an AttributeError or a TypeError is a bug of ours, except
# where JSON of another form is read
DAMAGE = (
    *(ArithmeticError, LookupError, MemoryError),
    *(RecursionError, ValueError),
)


class Model(Protocol):
    """A learner, or a Pipeline of encoder and learner, for type checkers.

    What only some models have, such as `learn_one` and `predict_proba`, is untyped.
    """

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from scratch."""

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction of each row."""

    def __getattr__(self, name: str) -> Any:
        """Return what else the model has."""


def save(
    model: Any,
    path: str | os.PathLike,
    *,
    info: dict[str, Any] | None = None,
    progress: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None,
) -> None:
    """Write a fitted learner, or a Pipeline of encoder and learner, to a model file.

    The format is safetensors: numeric arrays and a JSON header, no pickle.

    Parameters
    ----------
    model : learner, Pipeline or Trained
        A fitted Crossview estimator, a scikit-learn Pipeline of them, or what `train` returned,
        whose file is that of ``train(output=)``: it also knows its label, metric and training rows.
    path : path-like
        The file to write, usually ``*.safetensors``.  An existing model file is replaced
        atomically, once the new one is complete; any other file stays.
    info : dict, default=None
        Metadata that JSON can represent; `read_info` returns it.
    progress : (dict, dict of str to ndarray), default=None
        Of an unfinished run: what JSON can represent, and arrays; `load_progress` returns it.

    Raises
    ------
    InputError
        Model files do not support the type of the model, its parameters were changed and its
        state does not fit them, or the file cannot be written.

    Examples
    --------
    >>> import tempfile, os, numpy as np, crossview
    >>> model = crossview.Perceptron(random_state=0).fit(np.eye(4), [0, 1, 0, 1])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> crossview.save(model, path)
    >>> bool((crossview.load(path).coef_ == model.coef_).all())
    True
    """
    check_kind("a path", path=path)
    if hasattr(model, "fitted"):  # what `train` returned
        info, progress = model.info | (info or {}), progress or model.progress
        model = model.fitted
    save_steps(steps_of(model), path, pipeline=is_pipeline(model), info=info, progress=progress)


def save_steps(
    steps: Sequence[tuple[str, Any]],
    path: str | os.PathLike,
    *,
    pipeline: bool,
    info: dict[str, Any] | None = None,
    progress: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None,
) -> None:
    """Write the steps of a pipeline, or a learner as one step, as `save` does."""
    arrays: dict[str, np.ndarray] = {}
    header: list[dict[str, Any]] = []
    for name, step in steps:
        if hasattr(step, "check_fits_state"):
            step.check_fits_state()
        header.append({"name": name, **_estimator_to_json(step), "header": step.get_header()})
        for key, array in step.get_state().items():
            arrays[f"{name}/{key}"] = np.ascontiguousarray(array)
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "pipeline": json.dumps(pipeline),
        "steps": json.dumps(header),
        "info": json.dumps(info or {}),
    }
    if progress is not None:
        metadata[PROGRESS] = json.dumps(progress[0])
        for key, array in progress[1].items():
            arrays[f"{PROGRESS}/{key}"] = np.ascontiguousarray(array)
    arrays, metadata[TOUCHED] = _split(arrays)
    _write(path, arrays, metadata)


def add_info(path: str | os.PathLike, **info: Any) -> None:
    """Add to the ``info`` of a model file; all else stays as it is."""
    metadata, arrays = _whole(path)
    metadata["info"] = json.dumps(read_info(path) | info)
    _write(path, arrays, metadata)


def _write(
    path: str | os.PathLike, arrays: Mapping[str, np.ndarray], metadata: dict[str, str]
) -> None:
    """Write a model file, with its checksum."""
    metadata["sha256"] = checksum(arrays, metadata)
    with replacing(path, MODEL) as unfinished, unfinished.open("wb") as file:
        file.writelines(content_of(arrays, metadata))


def load(path: str | os.PathLike) -> Model:
    """Load a model that `save` wrote.

    Parameters
    ----------
    path : path-like
        The model file.

    Returns
    -------
    model : learner or Pipeline
        The saved model.  `partial_fit` and `learn_one` resume exactly where they stopped.

    Raises
    ------
    InputError
        The file does not exist, is not a model file, is damaged, or has another version of the
        format.

    Examples
    --------
    >>> import tempfile, os, numpy as np, crossview
    >>> X, y = np.random.default_rng(0).normal(size=(20, 3)), [0, 1] * 10
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> crossview.save(crossview.Perceptron(random_state=0).fit(X, y), path)
    >>> crossview.load(path).partial_fit(X, y).classes_
    array([0, 1])
    """
    check_kind("a path", path=path)
    steps, pipeline = load_steps(path)
    return make_pipeline(steps) if pipeline else steps[-1][1]


def load_steps(path: str | os.PathLike) -> tuple[list[tuple[str, Any]], bool]:
    """Load the steps of a model, and whether they are a pipeline."""
    metadata, arrays = _content(path)
    try:
        return _steps_from(metadata, arrays), bool(json.loads(metadata["pipeline"]))
    except InputError as error:
        raise InputError(error.message, file=str(path)) from None
    except DAMAGE as error:
        raise _damaged(error, path) from error


def load_progress(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the ``progress`` that was passed to `save`; a finished model is an error."""
    metadata, arrays = _content(path)
    if PROGRESS not in metadata:
        raise InputError("holds a model and no unfinished run", file=str(path))
    try:
        with _reading_json():
            header = dict(json.loads(metadata[PROGRESS]))
    except DAMAGE as error:
        raise _damaged(error, path) from error
    prefix = f"{PROGRESS}/"
    mine = {
        key.removeprefix(prefix): new_array(value)
        for key, value in arrays.items()
        if key.startswith(prefix)
    }
    return header, mine


def _content(
    path: str | os.PathLike,
) -> tuple[dict[str, str], dict[str, np.ndarray | Touched]]:
    """Return the header and the arrays, if the checksum is theirs."""
    metadata, arrays = _whole(path)
    try:
        with _reading_json():
            return metadata, _joined(arrays, json.loads(metadata[TOUCHED]))
    except DAMAGE as error:
        raise _damaged(error, path) from error


def _whole(path: str | os.PathLike) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Return the header and the arrays as they are in the file."""
    from safetensors import SafetensorError, safe_open

    metadata = read_header(path)
    try:
        with safe_open(str(path), framework="numpy") as file:
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - not a dict
    except (SafetensorError, *DAMAGE) as error:
        raise _damaged(error, path) from error
    if metadata.pop("sha256", None) != checksum(arrays, metadata):
        what = "is a damaged model file: its checksum is not that of its content"
        raise InputError(what, file=str(path))
    return metadata, arrays


def _split(arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], str]:
    """Return what a file holds of these arrays, and what its header says of them."""
    found: dict[str, np.ndarray] = {}
    header: dict[str, tuple[str, int, str]] = {}
    names: dict[bytes, str] = {}
    left = MAX_BYTES
    for name, array in sorted(arrays.items()):
        touched = Touched.of(array) if array.nbytes <= left else None
        if touched is None:
            found[name] = array
            continue
        left -= array.nbytes
        rows = names.setdefault(touched.rows.tobytes(), f"rows{len(names)}")
        found |= {name: touched.values, rows: touched.rows}
        header[name] = rows, len(touched), touched.fill.hex()
    return found, json.dumps(header)


def _joined(
    arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]
) -> dict[str, np.ndarray | Touched]:
    """Undo `_split`; an error if it says what cannot be, or asks for too much memory."""
    found: dict[str, np.ndarray | Touched] = dict(arrays)
    left = MAX_BYTES
    for name, (of_rows, n, fill) in header.items():
        rows, values = arrays[of_rows], arrays[name]
        touched = Touched(rows, values, n, bytes.fromhex(fill))
        if "/" in of_rows or "/" not in name or not touched.is_possible():
            raise ValueError(f"the rows of {name!r}")
        left -= touched.nbytes
        if left < 0:
            raise ValueError(f"its arrays would take more than {MAX_BYTES / 2**30:g} GiB")
        found.pop(of_rows, None)
        found[name] = touched if touched.nbytes > SMALL else touched.dense()
    return found


def _steps_from(
    metadata: dict[str, str], arrays: dict[str, np.ndarray | Touched]
) -> list[tuple[str, Any]]:
    """Return the steps of a file; all that it says is checked."""
    states: dict[str, dict[str, Any]] = {}
    for key, array in arrays.items():
        step, _, name = key.partition("/")
        states.setdefault(step, {})[name] = array
    steps = []
    with _reading_json():
        entries = list(json.loads(metadata["steps"]))
    for entry in entries:
        with _reading_json():
            name, model = str(entry["name"]), _estimator_from_json(entry)
            if hasattr(model, "check_params"):
                model.check_params()
            model.set_header(entry["header"])
        state = states.pop(name, {})
        if hasattr(model, "transform"):  # a learner takes what is not whole
            state = {name: new_array(value) for name, value in state.items()}
        model.set_state(state)
        steps.append((name, model))
    if PROGRESS in metadata:
        states.pop(PROGRESS, None)
    if states:
        raise InputError(f"is a damaged model file: no step is called {min(states)!r}")
    *transformers, (_, last) = steps
    if not json.loads(metadata["pipeline"]):
        (_,) = steps
        return steps
    for _, model in transformers:
        if not hasattr(model, "transform") or model.layout_ != last.layout_:
            raise InputError("is a damaged model file: its steps do not fit together")
    return steps


def read_info(path: str | os.PathLike) -> dict[str, Any]:
    """Return the ``info`` that was passed to `save`; neither model nor checksum is looked at."""
    metadata = read_header(path)
    try:
        with _reading_json():
            return dict(json.loads(metadata["info"]))
    except DAMAGE as error:
        raise _damaged(error, path) from error


def checksum(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> str:
    """Return the SHA-256 of all that a model file says, in hexadecimal digits."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def content_of(
    arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> Iterator[bytes | memoryview]:
    """Yield the parts of a safetensors file: the same bytes for the same content.

    The library's function orders the metadata by chance, and copies all arrays.
    """
    # wide types first, so that every array begins at a multiple of its type
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    at = 0
    for name in names:
        array = arrays[name]
        header[name] = {
            "dtype": DTYPES[array.dtype.str],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for name in names:
        yield arrays[name].reshape(-1).view(np.uint8).data


@contextmanager
def _reading_json() -> Iterator[None]:
    """Take JSON of another form as damage."""
    try:
        yield
    except (AttributeError, TypeError) as error:
        raise ValueError(str(error)) from error


def _damaged(error: Exception, path: str | os.PathLike) -> InputError:
    """Return the error of a file whose content cannot be read."""
    text = " ".join(str(error).split())[:200] or type(error).__name__
    return InputError(f"is a damaged model file ({text})", file=str(path))


def _estimator_to_json(estimator: Any) -> dict[str, Any]:
    """Return the class and the parameters of an estimator; `InputError` if it is not ours."""
    kind, classes = type(estimator).__name__, saved_classes()
    if classes.get(kind) != type(estimator).__module__:
        raise InputError(
            f"a model file cannot store a {kind}; it stores {', '.join(classes)}, "
            "alone or in a Pipeline"
        )
    params = estimator.get_params(deep=False)
    return {"class": kind, "params": {key: _to_json(value, key) for key, value in params.items()}}


def _estimator_from_json(entry: dict[str, Any]) -> Any:
    """Undo `_estimator_to_json`; only classes of the catalog are made."""
    kind, classes = entry["class"], saved_classes()
    if kind not in classes:
        raise InputError(
            f"contains a {kind}, which this version does not support; "
            "use a newer version of crossview"
        )
    params = {key: _from_json(value) for key, value in entry["params"].items()}
    return getattr(import_module(classes[kind]), kind)(**params)


def _to_json(value: Any, key: str) -> Any:
    """Return a parameter as JSON: plain values, and the types that ``views=`` accepts."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, slice):
        return {"slice": [_to_json(part, key) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, dict):
        return {"dict": [[_to_json(k, key), _to_json(v, key)] for k, v in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_to_json(item, key) for item in value]}
    if isinstance(value, list | np.ndarray | range):
        return [_to_json(item, key) for item in value]
    if isinstance(value, np.random.RandomState):
        return None  # a fitted learner does not use it again
    if isinstance(value, BaseEstimator):
        return {"estimator": _estimator_to_json(value)}
    raise InputError(f"a model file cannot store {key}={value!r}")


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    if isinstance(value, dict):
        if "slice" in value:
            return slice(*value["slice"])
        if "estimator" in value:
            return _estimator_from_json(value["estimator"])
        if "tuple" in value:
            return tuple(_from_json(item) for item in value["tuple"])
        pairs = [(_from_json(k), _from_json(v)) for k, v in value["dict"]]
        return {tuple(k) if isinstance(k, list) else k: v for k, v in pairs}
    return value
