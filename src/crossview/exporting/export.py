"""A trained model in other languages."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from crossview.catalog.names import load_object
from crossview.errors import InputError
from crossview.exporting.checking import Difference, compare_rows, made_up_rows
from crossview.exporting.plan import Plan, make_plan
from crossview.exporting.target import Target, target_of
from crossview.saving.files import EXPORTED, check_writable, replacing
from crossview.saving.pipelines import pipeline
from crossview.scoring.fitted_model import FittedModel

__all__ = ["Exported", "export"]


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes
    ----------
    path : str
        The file.
    target : str
        Its language.
    n_bytes : int
        Its size.
    difference : Difference
        Of probabilities, scores or numbers from those of the model, of made-up rows.
    """

    path: str
    target: str
    n_bytes: int
    difference: Difference


def export(model: Any, path: str | os.PathLike[str]) -> Exported:
    """Write a trained model as a program or as data that other programs score rows with.

    Parameters
    ----------
    model : path-like, Trained, Pipeline or learner
        A model file, what `train` returned, or a fitted model such as ``train(...).fitted``.
    path : path-like
        The file to write.  ``.py``: one file that needs Python 3.9 or newer and nothing else.
        ``.js``: an ES module without dependencies, for browsers and Node.  ``.json``: the model
        alone, which ``load`` of such a module reads.

    Returns
    -------
    exported : Exported
        Size, and the largest difference of probabilities on made-up rows from those of the model,
        which is that of rounding.

    Raises
    ------
    InputError
        A part of the model has no such form, such as a kernel that is a function of Python, or the
        file cannot be written.  Nothing is written then.

    See Also
    --------
    save : A model file, which Crossview reads and goes on learning with.

    Notes
    -----
    A row is a mapping of columns to values, as for ``predict_proba_one`` of a `Pipeline`.  A value
    that cannot be read is an error.  Dates are text; Python takes dates and datetimes, too.
    The memory of labels of `OnlineNewtonClassifier` stays as it is at the end of training.

    Examples
    --------
    >>> import runpy, tempfile
    >>> from crossview import datasets, export, train
    >>> table = datasets.load("breast-cancer")
    >>> trained = train(table, "diagnosis", model="pa:squared")
    >>> row = table.slice(0, 1).to_pylist()[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exported = export(trained, f"{folder}/tumors.py")
    ...     tumors = runpy.run_path(exported.path)
    >>> tumors["predict"](row), exported.difference.largest < 1e-9
    ('malignant', True)
    """
    target = target_of(path)
    file = os.fspath(model) if isinstance(model, str | os.PathLike) else None
    check_writable(path, EXPORTED, [] if file is None else [file])
    plan = make_plan(model)
    return _write(plan, model, path, target)


def _write(plan: Plan, model: Any, path: str | os.PathLike[str], target: Target) -> Exported:
    """Write a plan of a model."""
    content = load_object(target.path)(plan)
    fitted = FittedModel(model)
    difference = compare_rows(plan, pipeline(fitted.encoder, fitted.learner), made_up_rows(plan))
    if difference.is_wrong:
        raise InputError(
            f"the export would differ from the model by up to {difference.largest:.1g}, which is "
            "an error in crossview: please report it; nothing was written",
            file=os.fspath(path),
        )
    content = content.encode() if isinstance(content, str) else content
    with replacing(path, EXPORTED) as unfinished:
        unfinished.write_bytes(content)
    return Exported(os.fspath(path), target.name, len(content), difference)
