"""Models in MLflow: ``pip install 'crossview[mlflow]'``.

A flavor has `save_model`, `log_model` and `load_model`, and whatever serves or scores models by
``mlflow.pyfunc`` scores these:

    import mlflow
    from crossview import datasets, train
    from crossview.compat import mlflow as flavor

    table = datasets.load("breast-cancer")
    with mlflow.start_run():
        logged = flavor.log_model(train(table, "diagnosis"), input_example=table.slice(0, 3))
    mlflow.pyfunc.load_model(logged.model_uri).predict(table.to_pandas())

Beside the model file lies its card, ``README.md``.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

from crossview import __version__, load, model_card, predict, save
from crossview.errors import InputError

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own type hints, while it loads
        pyfunc = import_module("mlflow.pyfunc")
    from mlflow.models import Model, ModelSignature, infer_signature
    from mlflow.models.model import ModelInfo
    from mlflow.tracking.artifact_utils import _download_artifact_from_uri
    from mlflow.types import ColSpec, Schema
    from mlflow.types.schema import AnyType
except ImportError:
    raise ImportError(
        "crossview.compat.mlflow needs MLflow: pip install 'crossview[mlflow]'"
    ) from None

FLAVOR_NAME = "crossview"
# in the folder of a model, where pyfunc has its data
FILE = "model.safetensors"
DATA = "data"


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    signature: ModelSignature | None = None,
    input_example: Any = None,
    mlflow_model: Model | None = None,
    pip_requirements: list[str] | str | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a model as a folder of MLflow.

    Parameters
    ----------
    model : path-like, Trained, Pipeline or learner
        A model file, what `crossview.train` returned, or a fitted model.
    path : path-like
        The folder to write, which must not exist or be empty.
    signature : mlflow.models.ModelSignature, default=None
        The columns that the model takes and gives.  None: those of the encoder, of any type and
        each of them optional, and what `crossview.predict` gives for the example, if there is one.
    input_example : data frame, default=None
        Rows such as those that the model will see, which MLflow keeps with it.
    mlflow_model : mlflow.models.Model, default=None
        What the flavor is added to; MLflow passes it.
    pip_requirements : list of str, or path to a file, default=None
        What the model needs.  None: this version of crossview.
    metadata : dict, default=None
        What MLflow keeps besides.

    Raises
    ------
    InputError
        A model file is none, or the model cannot be saved.
    """
    with tempfile.TemporaryDirectory(prefix="crossview-") as folder:
        file = Path(folder) / FILE
        _write(model, file)
        loaded = load(file)
        example = _as_frame(input_example, loaded)
        if signature is None:
            signature = _signature(loaded, example)
        mlflow_model = Model() if mlflow_model is None else mlflow_model
        mlflow_model.add_flavor(
            FLAVOR_NAME, crossview_version=__version__, data=f"{DATA}/{FILE}", code=None
        )
        with _whole_or_none(Path(path)):
            pyfunc.save_model(
                path=os.fspath(path),
                loader_module=__name__,
                data_path=str(file),
                mlflow_model=mlflow_model,
                signature=signature,
                input_example=example,
                pip_requirements=pip_requirements or [f"crossview[cli]=={__version__}"],
                metadata=metadata,
            )
            (Path(path) / "README.md").write_text(model_card(file), encoding="utf-8")


def log_model(
    model: Any,
    name: str = "model",
    *,
    signature: ModelSignature | None = None,
    input_example: Any = None,
    registered_model_name: str | None = None,
    pip_requirements: list[str] | str | None = None,
    metadata: dict[str, Any] | None = None,
    **options: Any,
) -> ModelInfo:
    """Log a model to the active run of MLflow.

    Parameters
    ----------
    model : path-like, Trained, Pipeline or learner
        As for `save_model`.
    name : str, default="model"
        Its name.
    signature, input_example, pip_requirements, metadata
        As for `save_model`.
    registered_model_name : str, default=None
        Also make a version of this registered model.
    **options : any
        More of ``mlflow.models.Model.log``, such as ``params`` and ``tags``.

    Returns
    -------
    info : mlflow.models.model.ModelInfo
        Its ``model_uri`` is for `load_model` and ``mlflow.pyfunc.load_model``.
    """
    import crossview.compat.mlflow as flavor

    return Model.log(
        artifact_path=None,
        name=name,
        flavor=flavor,
        model=model,
        signature=signature,
        input_example=input_example,
        registered_model_name=registered_model_name,
        pip_requirements=pip_requirements,
        metadata=metadata,
        **options,
    )


def load_model(model_uri: str, dst_path: str | None = None) -> Any:
    """Return a model as `crossview.load` does.

    Parameters
    ----------
    model_uri : str
        A folder of `save_model`, or an address of MLflow, such as ``models:/tumors/3``.
    dst_path : str, default=None
        An existing folder to download to.  None: a new one.

    Returns
    -------
    model : learner or Pipeline
        The model, with all it can do; ``mlflow.pyfunc.load_model`` returns what only predicts.
    """
    folder = _download_artifact_from_uri(artifact_uri=os.fspath(model_uri), output_path=dst_path)
    flavors = Model.load(folder).flavors
    if FLAVOR_NAME not in flavors:
        raise InputError(
            f"holds no model of crossview, but of {', '.join(flavors)}", file=str(model_uri)
        )
    return load(Path(folder) / flavors[FLAVOR_NAME]["data"])


class _Scorer:
    """What ``mlflow.pyfunc`` calls."""

    def __init__(self, file: str) -> None:
        self.model = load(file)

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return prediction, probabilities and one score per view as a data frame.

        Of a model that learned views of numbers and no table it is an array of predictions.
        """
        if not _reads_tables(self.model):
            return self.model.predict(model_input)
        return predict(self.model, model_input).to_pandas()


def _load_pyfunc(path: str) -> _Scorer:
    """Return the model for ``mlflow.pyfunc``, which finds this function by its name."""
    return _Scorer(path)


@contextmanager
def _whole_or_none(folder: Path) -> Iterator[None]:
    """Leave a folder as it was where its model cannot be written."""
    is_there = folder.is_dir()
    is_other = folder.exists() and not (is_there and not any(folder.iterdir()))
    try:
        yield
    except BaseException:
        if not is_other:
            shutil.rmtree(folder, ignore_errors=True)
            if is_there:
                folder.mkdir()
        raise


def _write(model: Any, file: Path) -> None:
    """Write a model file; one that there is keeps what it says of its training."""
    if isinstance(model, str | os.PathLike):
        load(model)  # whatever is wrong with it is said here
        file.write_bytes(Path(model).read_bytes())
    else:
        save(getattr(model, "fitted", model), file, info=getattr(model, "info", None))


def _reads_tables(model: Any) -> bool:
    return hasattr(model, "steps") and hasattr(model[0], "view_columns")


def _as_frame(example: Any, model: Any) -> Any:
    """A table as pandas, which MLflow reads, with the columns of the model; all else as it is."""
    frame = example.to_pandas() if hasattr(example, "to_pandas") else example
    if not _reads_tables(model) or not hasattr(frame, "columns"):
        return frame
    known = model[0].kinds()
    frame = frame[[name for name in frame.columns if name in known]]
    for name in frame.columns:  # MLflow writes JSON, which has no decimals
        if any(isinstance(cell, Decimal) for cell in frame[name]):
            frame = frame.assign(**{name: frame[name].map(float, na_action="ignore")})
    return frame


def _signature(model: Any, example: Any) -> ModelSignature | None:
    """The columns of the encoder, and those of the predictions for the example."""
    if not _reads_tables(model):
        return None if example is None else infer_signature(example, model.predict(example))
    # any other type refuses columns that `predict` takes, such as those of int64
    anything: Any = AnyType
    inputs = Schema([ColSpec(anything(), name=name, required=False) for name in model[0].kinds()])
    if example is None:
        return ModelSignature(inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of a few rows say nothing about the model
        outputs = infer_signature(None, predict(model, example).to_pandas()).outputs
    return ModelSignature(inputs, outputs)
