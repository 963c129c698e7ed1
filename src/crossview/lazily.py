"""Modules that load when they are used, where a library that we need imports them at its start."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

__all__ = ["load_lazily", "load_scikit_learn"]


def load_lazily(name: str) -> None:
    """Let a module load at the first use of one of its names.

    ``importlib.util.LazyLoader`` is of no help: a second import statement loads its modules.

    Parameters
    ----------
    name : str
        Name of the module.  Nothing happens if it is loaded, or not installed.
    """
    if name in sys.modules or (spec := importlib.util.find_spec(name)) is None:
        return
    module = ModuleType(name)

    package, _, last = name.rpartition(".")

    def load(attribute: str) -> Any:
        if sys.modules.get(name) is module:
            del sys.modules[name]
            if package:
                delattr(sys.modules[package], last)
        loaded = importlib.import_module(name)
        vars(module).update(vars(loaded))
        return getattr(loaded, attribute)

    # modules are searched by their file, which must not load them
    vars(module).update(__spec__=spec, __file__=spec.origin, __getattr__=load)
    sys.modules[name] = module
    if package:
        setattr(sys.modules[package], last, module)


def load_scikit_learn() -> None:
    """Load scikit-learn without ``scipy.stats``, until that is used, and without pandas.

    The two take three quarters of its time to load, and pandas 40 MB in each process.  No command
    and no worker has a data frame of pandas; other libraries that import it later have it.
    """
    load_lazily("scipy.stats")
    absent = "pandas" not in sys.modules
    if absent:
        sys.modules["pandas"] = None  # type: ignore[assignment]  # "not installed"
    try:
        import sklearn.base  # noqa: F401
    finally:
        if absent:
            del sys.modules["pandas"]
