"""Modules that load when they are used, where a library that we need imports them at its start."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# what we, scikit-learn, scipy and Numba import at the start, and few commands use, or none that
# ends with an error in an option; scipy reads every name of numpy
RARELY_USED = ["numpy.ctypeslib", "numpy.f2py", "numpy.testing", "asyncio", "yaml"]
RARELY_USED += ["scipy.sparse", "scipy.special", "scipy.stats"]


class _Later(MetaPathFinder, Loader):
    """Answers an import of some modules with one that is empty until a name of it is looked up.

    ``importlib.util.LazyLoader`` is of no help: a second import statement loads its modules.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.lock = threading.Lock()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to make one of the modules; None if it is another, or not installed."""
        if name not in self.names or (real := PathFinder.find_spec(name, path)) is None:
            return None
        return ModuleSpec(name, self, origin=real.origin)

    def exec_module(self, module: ModuleType) -> None:
        """Let the first look for a name load the module."""
        name = module.__name__

        def load(attribute: str) -> Any:
            with self.lock:  # of two threads one loads it, and the other waits in its import
                self.names.discard(name)
                if sys.modules.get(name) is module:
                    del sys.modules[name]
            loaded = importlib.import_module(name)
            vars(module).update(vars(loaded))
            return getattr(loaded, attribute)

        # modules are searched by their file, which must not load them
        file = module.__spec__.origin if module.__spec__ else None
        vars(module).update(__file__=file, __getattr__=load)


_LATER = _Later()


def load_lazily(*names: str) -> None:
    """Let modules load at the first use of one of their names.

    *names: names of the modules.  Nothing happens to those that are loaded.
    """
    _LATER.names.update(names)
    if _LATER not in sys.meta_path:
        sys.meta_path.insert(0, _LATER)


def load_without_rarely_used() -> None:
    """Let what follows load neither tests, Fortran nor statistics of numpy and scipy until used."""
    load_lazily(*RARELY_USED)


def load_scikit_learn() -> None:
    """Load scikit-learn without what is rarely used, until it is, and without pandas.

    ``scipy.stats`` and pandas take three quarters of its time to load, and pandas 40 MB in each
    process.  No command and no worker has a data frame of pandas; other libraries that import it
    later have it.
    """
    load_without_rarely_used()
    absent = "pandas" not in sys.modules
    if absent:
        sys.modules["pandas"] = None  # type: ignore[assignment]  # "not installed"
    try:
        import sklearn.base  # noqa: F401
    finally:
        if absent:
            del sys.modules["pandas"]
