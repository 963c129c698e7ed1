"""Crossview combines several data sources in one model, which predicts even if one is missing.

Public names load on first use, so that ``import crossview`` loads neither NumPy nor Numba nor
scikit-learn.  Type checkers and editors read them from ``__init__.pyi``.
"""

from importlib import import_module
from typing import Any

from crossview.catalog import public_names

__all__ = sorted([*public_names(), "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("crossview")
    else:
        module = public_names().get(name)
        if module is None:
            raise AttributeError(f"module 'crossview' has no attribute {name!r}")
        value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
