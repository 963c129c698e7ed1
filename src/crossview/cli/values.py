"""Values of options without pydantic, by which typer converts them: a tenth of a second to load."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group"]

_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)


class _Plain:
    """What converts text and plain numbers itself, and leaves all else to typer."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, which convert their values."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            # of a typer without pydantic there is nothing to leave out
            if hasattr(param, "type_descriptor") and "process_value" not in vars(param):
                param.process_value = _converting(param, param.process_value)
        return params


class Command(_Plain, TyperCommand):
    """A command that loads no pydantic for plain values."""


class Group(_Plain, TyperGroup):
    """The program, which loads no pydantic for plain values."""


def _converting(param: Any, process: Callable[..., Any]) -> Callable[..., Any]:
    """What a value of a parameter becomes; typer's way for values that are not plain."""
    several, kind = param.multiple or param.nargs == -1, param.type_descriptor.annotation

    def process_value(context: Any, value: Any) -> Any:
        if value is None and not param.required:
            value = () if several else None
            return value if param.callback is None else param.callback(context, param, value)
        if value is None or param.callback is not None or not _is_plain(value, kind, several):
            return process(context, value)
        return list(value) if several else kind(value)

    return process_value


def _is_plain(value: Any, kind: Any, several: bool) -> bool:
    """Whether values are of this kind, or are converted to it by its constructor."""
    if several:
        return kind == list[str] and bool(value) and all(isinstance(one, str) for one in value)
    if kind not in (int, float) or not isinstance(value, str):
        return kind in (str, int, float) and type(value) is kind
    return bool((_WHOLE if kind is int else _NUMBER).fullmatch(value))
