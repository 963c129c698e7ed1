"""The private functions of scikit-learn that Crossview uses, and a decorator with its types.

scikit-learn may move or change the private ones in any version; only this file imports them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.utils import _safe_indexing as select_rows
from sklearn.utils._param_validation import Interval, Options
from sklearn.utils._param_validation import StrOptions as _StrOptions
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

if TYPE_CHECKING:
    Method = TypeVar("Method", bound=Callable[..., Any])

    def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
        """scikit-learn's, which is untyped: a method that is there if ``check(self)``."""
else:
    from sklearn.utils.metaestimators import available_if


class StrOptions(_StrOptions):
    """scikit-learn's, whose message names the strings in alphabetical order."""

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


__all__ = [
    "Interval",
    "Options",
    "StrOptions",
    "available_if",
    "check_sample_weight",
    "select_rows",
]
