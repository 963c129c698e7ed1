"""γ of a kernel, from the rows of one view."""

import numpy as np

# squared distances below this share of the largest squared norm are those of equal rows
EQUAL_ROWS = 1e-12


def median_gamma(sqnorms: np.ndarray, products: np.ndarray) -> float:
    """Return 1 / the median squared distance between rows that differ; 0 if none do."""
    squares = sqnorms[:, None] + sqnorms[None, :] - 2.0 * products
    squares = squares[np.triu_indices(len(sqnorms), 1)]
    squares = squares[squares > EQUAL_ROWS * max(float(sqnorms.max(initial=0.0)), 1e-300)]
    return float(1.0 / np.median(squares)) if len(squares) else 0.0


def scale_gamma(entries: np.ndarray, n_rows: int, n_columns: int) -> float:
    """Return 1 / (columns * variance of all values, zeros included); 0 if all are the same."""
    n = n_rows * n_columns
    variance = float(entries @ entries) / n - (float(entries.sum()) / n) ** 2
    return 1.0 / (n_columns * variance) if variance > 0.0 else 0.0
