"""Descriptions as what JSON has."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from crossview.portable.scoring import Table

__all__ = ["as_json"]


def as_json(part: Any) -> Any:
    """Return a description as what JSON has; fields that are None are left out."""
    if isinstance(part, Table):
        return {"columns": part.columns.tolist(), "values": part.values.ravel().tolist()}
    if is_dataclass(part) and not isinstance(part, type):
        kind = {"kind": part.kind} if hasattr(part, "kind") else {}
        values = {one.name: getattr(part, one.name) for one in fields(part)}
        return kind | {k: as_json(value) for k, value in values.items() if value is not None}
    if isinstance(part, np.ndarray | np.generic):
        return part.tolist()
    if isinstance(part, dict):
        return {str(key): as_json(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [as_json(one) for one in part]
    return part
