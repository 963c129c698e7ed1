"""Model files without pickle: one ``.safetensors`` file, arrays and a JSON header.

Loading runs no code: the header names a class of a fixed list, and the arrays
are numbers.  Writing is atomic: a temporary file in the same folder is renamed
over the old one when it is complete.
"""

from __future__ import annotations

import json
import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from crossview.errors import InputError

__all__ = ["load", "read_info", "save"]

FORMAT = "crossview-model"
VERSION = 1

# what a model file may hold, and nothing else
CLASSES = {
    "AROWClassifier": "crossview.estimators.second_order",
    "ConfidenceWeightedClassifier": "crossview.estimators.second_order",
    "FactorizationMachineClassifier": "crossview.estimators.machines.factorization_machine",
    "FactorizationMachineRegressor": "crossview.estimators.machines.factorization_machine",
    "KeCoClassifier": "crossview.estimators.keco",
    "MultiViewMachineClassifier": "crossview.estimators.machines.multi_view_machine",
    "MultiViewMachineRegressor": "crossview.estimators.machines.multi_view_machine",
    "MultiViewPAClassifier": "crossview.estimators.coupled",
    "MultiViewSVMPerf": "crossview.estimators.performance",
    "PAMClassifier": "crossview.estimators.second_order",
    "PassiveAggressiveClassifier": "crossview.estimators.linear",
    "PegasosClassifier": "crossview.estimators.keco",
    "Perceptron": "crossview.estimators.linear",
    "SecondOrderPerceptron": "crossview.estimators.second_order",
    "SoftConfidenceWeightedClassifier": "crossview.estimators.second_order",
    "SupportTensorMachineClassifier": "crossview.estimators.machines.support_tensor_machine",
    "ViewEncoder": "crossview.streams.encode",
}


def save(model: Any, path: str | os.PathLike, *, info: dict[str, Any] | None = None) -> None:
    """Write a fitted learner, or a Pipeline of an encoder and a learner, to a model file.

    Parameters
    ----------
    model : learner or Pipeline
        A fitted Crossview estimator, or a scikit-learn Pipeline of them.
    path : path-like
        The file; by custom it ends in ``.safetensors``.  An old one is replaced
        only when the new one is complete.
    info : dict, default=None
        Anything that JSON can hold, given back by `read_info`.

    Raises
    ------
    InputError
        The model is of a kind that model files do not hold, or the file cannot
        be written.

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
        kind = type(step).__name__
        if CLASSES.get(kind) != type(step).__module__:
            raise InputError(
                f"a model file cannot hold a {kind}; it holds {', '.join(sorted(CLASSES))}, "
                "alone or in a Pipeline"
            )
        header.append(
            {
                "name": name,
                "class": kind,
                "params": {key: _to_json(value, key) for key, value in step.get_params().items()},
                "header": step._get_header(),
            }
        )
        for key, array in step._get_state().items():
            arrays[f"{name}/{key}"] = np.ascontiguousarray(array)
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "pipeline": json.dumps(isinstance(model, Pipeline)),
        "steps": json.dumps(header),
        "info": json.dumps(info or {}),
    }
    _write(Path(path), to_bytes(arrays, metadata))


def load(path: str | os.PathLike) -> Any:
    """Read a model file.

    Parameters
    ----------
    path : path-like
        A file that `save` wrote.

    Returns
    -------
    model : learner or Pipeline
        As it was saved; it learns on exactly as if it had never stopped.

    Raises
    ------
    InputError
        The file is absent, is not a model file, is damaged, or is from a newer
        version of the format.

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
            if entry["class"] not in CLASSES:
                raise InputError(
                    f"holds a {entry['class']}, which this version does not know; "
                    "use a newer version of crossview",
                    file=str(path),
                )
            kind = getattr(import_module(CLASSES[entry["class"]]), entry["class"])
            model = kind(**{key: _from_json(value) for key, value in entry["params"].items()})
            model._set_header(entry["header"])
            model._set_state(arrays.get(entry["name"], {}))
            steps.append((entry["name"], model))
        return Pipeline(steps) if json.loads(metadata["pipeline"]) else steps[0][1]
    except InputError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"is a damaged model file ({error})", file=str(path)) from error


def read_info(path: str | os.PathLike) -> dict[str, Any]:
    """Read what `save` was given as ``info``, without loading the model.

    Parameters
    ----------
    path : path-like
        A model file.

    Returns
    -------
    info : dict
        As it was given.
    """
    return dict(json.loads(_metadata(path)["info"]))


def _metadata(path: str | os.PathLike) -> dict[str, str]:
    """The header of a model file, or an error that says why it is none."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise InputError("there is no such model file", file=str(path))
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = dict(file.metadata() or {})
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"is not a model file, or is cut short ({error})", file=str(path)
        ) from error
    if metadata.get("format") != FORMAT:
        raise InputError("is a safetensors file, but not a model of crossview", file=str(path))
    version = metadata.get("version", "")
    if not version.isdigit() or int(version) > VERSION:
        raise InputError(
            f"is from a newer version of crossview (format {version}; this one reads up to "
            f"{VERSION}); upgrade crossview",
            file=str(path),
        )
    return metadata


def _write(path: Path, content: bytes) -> None:
    """All of it or nothing: a temporary file beside it, synced, then renamed."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", file=str(path)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"cannot be written ({error.strerror})", file=str(path)) from error
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _to_json(value: Any, key: str) -> Any:
    """A parameter as JSON: plain values, and what views= may hold."""
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
        return None  # a learner that goes on does not draw from it again
    raise InputError(f"a model file cannot hold {key}={value!r}")


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    if isinstance(value, dict):
        if "slice" in value:
            return slice(*value["slice"])
        if "tuple" in value:
            return tuple(_from_json(item) for item in value["tuple"])
        return {_hashable(_from_json(k)): _from_json(v) for k, v in value["dict"]}
    return value


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
