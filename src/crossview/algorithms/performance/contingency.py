"""Losses of contingency tables: ``a`` of P positive rows are found, with ``b`` of N others."""

from typing import Any

import numpy as np


def f_loss(a: Any, b: Any, P: int, N: int, beta: float) -> Any:
    """Return 1 - F = 1 - (1 + β²) a / (a + β² P + b); it is concave in b, and convex in a."""
    return 1.0 - (1.0 + beta**2) * a / (a + beta**2 * P + b)


def g_mean_loss(a: Any, b: Any, P: int, N: int) -> Any:
    """Return 1 - sqrt(a/P · (N - b)/N)."""
    return 1.0 - np.sqrt(a / P) * np.sqrt((N - b) / N)


def precision_loss(a: Any, b: Any, P: int, N: int) -> Any:
    """Return 1 - a / (a + b); 1 if no row is predicted positive."""
    return 1.0 - a / np.maximum(a + b, 1)


def recall_loss(a: Any, b: Any, P: int, N: int) -> Any:
    """Return 1 - a/P."""
    return 1.0 - a / P + 0.0 * b
