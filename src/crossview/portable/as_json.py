"""Descriptions as what JSON has.

Tables and slots are written shortly: columns as the steps from one to the next, the first one from
0, and values in one list, as multiples of ``step`` where there is one.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from crossview.portable.encoding import Hashed
from crossview.portable.scoring import Table


def as_json(part: Any) -> Any:
    """Return a description as what JSON has; fields that are None are left out."""
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Hashed) and part.slots is not None:
        slots = _steps(part.slots)
        return _fields(part) | {"slots": slots}
    if is_dataclass(part) and not isinstance(part, type):
        kind = {"kind": part.kind} if hasattr(part, "kind") else {}
        return kind | _fields(part)
    if isinstance(part, np.ndarray | np.generic):
        return part.tolist()
    if isinstance(part, dict):
        return {str(key): as_json(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [as_json(one) for one in part]
    return part


def _fields(part: Any) -> dict[str, Any]:
    values = {one.name: getattr(part, one.name) for one in fields(part)}
    return {k: as_json(value) for k, value in values.items() if value is not None}


def _table(table: Table) -> dict[str, Any]:
    values, found = table.values.ravel(), {"columns": _steps(table.columns)}
    if table.step is None:
        return found | {"values": values.tolist()}
    levels = np.rint(values / table.step).astype(np.int64)
    return found | {"values": levels.tolist(), "step": table.step}


def _steps(columns: np.ndarray) -> list[int]:
    steps: list[int] = np.diff(columns, prepend=0).tolist()
    return steps
