"""Model files without pickle: one ``.safetensors`` file, arrays and a JSON header.

Loading runs no code from the file: the header names classes from a fixed list, that of the
catalog, and the arrays are numeric.  Files are written atomically.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from crossview.catalog import saved_classes
from crossview.errors import InputError
from crossview.files import MODEL, replacing

__all__ = ["load", "read_info", "save"]

FORMAT = "crossview-model"
VERSION = 3


def save(model: Any, path: str | os.PathLike, *, info: dict[str, Any] | None = None) -> None:
    """Write a fitted learner, or a Pipeline of encoder and learner, to a model file.

    The format is safetensors: numeric arrays and a JSON header, no pickle.

    Parameters
    ----------
    model : learner or Pipeline
        A fitted Crossview estimator, or a scikit-learn Pipeline of them.
    path : path-like
        The file to write, usually ``*.safetensors``.  An existing model file is replaced
        atomically, once the new one is complete; any other file stays.
    info : dict, default=None
        Metadata that JSON can represent; `read_info` returns it.

    Raises
    ------
    InputError
        Model files do not support the type of the model, or the file cannot be written.

    Examples
    --------
    >>> import tempfile, os, numpy as np, crossview
    >>> model = crossview.Perceptron(random_state=0).fit(np.eye(4), [0, 1, 0, 1])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> crossview.save(model, path)
    >>> bool((crossview.load(path).coef_ == model.coef_).all())
    True
    """
    from safetensors.numpy import save as to_bytes

    steps = list(model.steps) if isinstance(model, Pipeline) else [("model", model)]
    arrays: dict[str, np.ndarray] = {}
    header: list[dict[str, Any]] = []
    for name, step in steps:
        header.append({"name": name, **_estimator_to_json(step), "header": step.get_header()})
        for key, array in step.get_state().items():
            arrays[f"{name}/{key}"] = np.ascontiguousarray(array)
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "pipeline": json.dumps(isinstance(model, Pipeline)),
        "steps": json.dumps(header),
        "info": json.dumps(info or {}),
    }
    with replacing(path, MODEL) as unfinished:
        unfinished.write_bytes(to_bytes(arrays, metadata))


def load(path: str | os.PathLike) -> Any:
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
    from safetensors import SafetensorError, safe_open

    metadata = _metadata(path)
    try:
        arrays: dict[str, dict[str, np.ndarray]] = {}
        with safe_open(str(path), framework="numpy") as file:
            for key in file.keys():  # noqa: SIM118 - not a dict
                step, _, name = key.partition("/")
                arrays.setdefault(step, {})[name] = file.get_tensor(key)
        steps = []
        for entry in json.loads(metadata["steps"]):
            model = _estimator_from_json(entry)
            model.set_header(entry["header"])
            model.set_state(arrays.get(entry["name"], {}))
            steps.append((entry["name"], model))
        return Pipeline(steps) if json.loads(metadata["pipeline"]) else steps[0][1]
    except InputError as error:
        raise InputError(error.message, file=str(path)) from None
    except (SafetensorError, KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"is a damaged model file ({error})", file=str(path)) from error


def read_info(path: str | os.PathLike) -> dict[str, Any]:
    """Return the ``info`` that was passed to `save`, without loading the model.

    Parameters
    ----------
    path : path-like
        A model file.

    Returns
    -------
    info : dict
        The metadata.
    """
    return dict(json.loads(_metadata(path)["info"]))


def _metadata(path: str | os.PathLike) -> dict[str, str]:
    """Return the header of a model file; `InputError` if the file is not a valid one."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise InputError("no such model file", file=str(path))
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = dict(file.metadata() or {})
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"is not a model file, or is truncated ({error})", file=str(path)
        ) from error
    if metadata.get("format") != FORMAT:
        raise InputError("is a safetensors file, but not a crossview model", file=str(path))
    version = metadata.get("version", "")
    if version != str(VERSION):
        older = version.isdigit() and int(version) < VERSION
        raise InputError(
            f"was written by {'an older' if older else 'a newer'} version of crossview (format "
            f"{version}, and this one reads {VERSION}); "
            f"{'train the model again' if older else 'upgrade crossview'}",
            file=str(path),
        )
    return metadata


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
        return {_hashable(_from_json(k)): _from_json(v) for k, v in value["dict"]}
    return value


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
