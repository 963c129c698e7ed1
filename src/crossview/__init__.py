"""Crossview combines several data sources in one model, which predicts even if one is missing.

Public names, and the list of them, load on first use, so that ``import crossview`` loads nothing.
Type checkers and editors read them from ``__init__.pyi``.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    from crossview.catalog import public_names

    if name == "__all__":
        value: Any = sorted([*public_names(), "__version__"])
    elif name == "__version__":
        from importlib.metadata import version

        value = version("crossview")
    elif name == "datasets":
        value = import_module("crossview.datasets")
    else:
        module = public_names().get(name)
        if module is None:
            raise AttributeError(f"module 'crossview' has no attribute {name!r}")
        value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
