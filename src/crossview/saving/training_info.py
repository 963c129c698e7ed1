"""The metadata that training keeps in a model file, and their check where they are read."""

from __future__ import annotations

import os
from typing import Any

from crossview.catalog.metrics import check_metric
from crossview.catalog.names import TASKS
from crossview.errors import InputError
from crossview.labels import read_threshold
from crossview.saving.model_files import read_info
from crossview.saving.schema import MAX_COUNT, check_header

SCHEMA: dict[str, Any] = {
    "model": str,
    "task": str,
    "label": (str, None),
    "rows": int,
    "unlabeled": int,
    "passes": (int, None),
    "order": (str, None),
    "loss": (float, None),
    "accuracy": (float, None),
    "metric": {"name": str, "value": (float, None)},
    "positive": (str, int, float, bool, None),
    "positive_by": (str, None),
    "threshold": (float, [float], None),
    "threshold_for": (str, None),
    "view_shares": (dict, None),
    "rows_of_view_shares": int,
    "reference": (dict, None),
}
# all that a server says of a model that began with nothing
BEGUN: dict[str, Any] = {key: SCHEMA[key] for key in ("model", "task", "label")}
# what files of earlier versions lack
LATER: dict[str, Any] = {
    "row_sketch": (dict, None),
    "groups": (str, None),
    "time": (str, None),
    "column_reference": (dict, None),
}


def read_training_info(file: str | os.PathLike[str], learner: Any) -> dict[str, Any]:
    """Return the metadata that `train`, or a server, has written with a learner; empty if the file
    is of neither.
    """
    info = read_info(file)
    if "model" not in info:
        return {}
    try:
        _check(info, learner)
    except InputError as error:
        what = f"is a damaged model file: {error.message}"
        raise InputError(what, file=os.fspath(file)) from None
    return info


def _check(info: dict[str, Any], learner: Any) -> None:
    """Raise an error for metadata that `train` did not write."""
    known = info.keys() & (SCHEMA | LATER).keys()
    begun = known - LATER.keys() == BEGUN.keys()
    schema = (BEGUN if begun else SCHEMA) | {key: LATER[key] for key in known & LATER.keys()}
    check_header({key: info[key] for key in known}, schema, "training")
    classes = getattr(learner, "classes_", None)
    if info["task"] not in TASKS or (classes is not None) != (info["task"] == "classification"):
        raise InputError("its task is not that of its learner")
    if begun:
        return
    metric = info["metric"]
    for name in (metric["name"], info["threshold_for"]):
        if name is not None and check_metric(name, task=info["task"]) != name:
            raise InputError(f"its metric {name!r} is not the whole name of one")
    if (info["positive_by"] is None) != (info["positive"] is None):
        raise InputError("it does not say what chose its positive class")
    for name in ("rows", "unlabeled", "passes", "rows_of_view_shares"):
        if not 0 <= (info[name] or 0) <= MAX_COUNT:
            raise InputError(f"its {name} are no number of rows")
    if info["positive"] is not None and (
        classes is None or info["positive"] not in classes.tolist()
    ):
        raise InputError("its positive class is none of its classes")
    read_threshold(info["threshold"], 2 if classes is None else len(classes))
    shares = info["view_shares"]
    if shares is not None:
        check_header(shares, dict.fromkeys(learner.layout_.names, float), "the shares of the views")
