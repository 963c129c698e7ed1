"""Settings in words: ``C=0.1``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from crossview.errors import InputError


def parse_settings(settings: Sequence[str] | None, what: str = "--set") -> dict[str, Any]:
    """Return ``NAME=VALUE`` options as parameters."""
    parsed: dict[str, Any] = {}
    for setting in settings or []:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"{what} {setting!r}: give a name and a value, such as {what} C=0.1")
        # "none" is the name of an option, None is no value
        parsed[name] = text if text == "none" else literal_value(text)
    return parsed


def literal_value(text: str) -> Any:
    """Return the value of an option: a number, a Boolean, None, or text, such as PA-II."""
    try:
        words = {"true": "True", "false": "False", "none": "None"}
        return ast.literal_eval(words.get(text.lower(), text))
    except (ValueError, SyntaxError):
        return text
