"""Tasks, lookup of objects by name, and errors about unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from crossview.errors import InputError, closest_names

# task -> the default metric, and the metrics that every table of a comparison shows
TASKS: dict[str, tuple[str, ...]] = {
    "classification": ("f1", "accuracy", "roc_auc"),
    "regression": ("rmse", "rmse", "mae"),
}
# the default metric of two classes of which neither is known to be the positive one; it also places
# the threshold for metrics that do not depend on one, such as roc_auc
SYMMETRIC = "macro_f1"


def load_object(path: str) -> Any:
    """Import and return the object ``"module:name"``."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def check_task(name: str) -> str:
    """Return the name if it is one of `TASKS`; otherwise raise an `InputError` that lists them."""
    if name not in TASKS:
        raise unknown_name("task", name, TASKS)
    return name


def unknown_name(what: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error about an unknown name, with the closest and all known names."""
    return InputError(f"no {what} {name!r}{closest_names(name, list(known))}")
