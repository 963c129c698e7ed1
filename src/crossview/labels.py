"""What the labels and the weights of rows are."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["MAX_WEIGHT", "has_label", "known_labels", "places_of", "whole_labels"]

# beside a row of this weight, one of weight 1 is still seen by sums in double precision
MAX_WEIGHT = 1e12


def has_label(y: Any) -> np.ndarray:
    """Return which labels are present; None, NaN and pandas' NA are missing.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The labels.

    Returns
    -------
    mask : ndarray of bool of shape (n_samples,)
        False where the label is missing.

    Examples
    --------
    >>> from crossview.labels import has_label
    >>> has_label(["spam", None, "ham", float("nan")]).tolist()
    [True, False, True, False]
    """
    if not isinstance(y, np.ndarray):
        y = np.asarray(y, dtype=object)
    if y.dtype.kind in "fc":
        return np.asarray(~np.isnan(y))
    if y.dtype.kind != "O":
        return np.ones(len(y), dtype=bool)
    return np.fromiter((_is_present(label) for label in y), dtype=bool, count=len(y))


def known_labels(y: np.ndarray) -> np.ndarray:
    """Return the labels that are present, with the type of their values; text stays as it is.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        The labels.

    Returns
    -------
    labels : ndarray
        Without missing ones.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview.labels import known_labels
    >>> known_labels(np.array([1, None, 0], dtype=object))
    array([1, 0])
    """
    labels = y[has_label(y)] if y.dtype.kind in "fcO" else y
    # as an array of text, all would be as wide as the longest
    if labels.dtype.kind != "O" or (len(labels) and isinstance(labels[0], str)):
        return labels
    return np.asarray(labels.tolist())


def _is_present(label: Any) -> bool:
    """Return whether a label is present: NaN differs from itself, and pandas' NA has no truth."""
    return label is not None and type(label).__name__ != "NAType" and bool(label == label)


def places_of(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the place of each label in the sorted classes, as `numpy.searchsorted` does.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Labels, each among the classes; the place of another one is from 0 to ``n_classes``.
    classes : ndarray of shape (n_classes,)
        Sorted, each once.

    Returns
    -------
    places : ndarray of int of shape (n_samples,)
        Where ``classes`` has each label.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview.labels import places_of
    >>> places_of(np.array(["yes", "no"]), np.array(["no", "yes"]))
    array([1, 0])
    """
    if len(classes) == 2:  # a comparison takes a tenth of the time
        return np.asarray(labels > classes[0]).astype(np.intp)
    return np.searchsorted(classes, labels)


def whole_labels(labels: np.ndarray) -> np.ndarray:
    """Return labels as whole numbers where all are; None stands for a missing one then.

    Parameters
    ----------
    labels : ndarray of float64
        NaN where one is missing.

    Returns
    -------
    ndarray
        Of int64, of objects, or as given.
    """
    known = ~np.isnan(labels)
    if not (np.trunc(labels[known]) == labels[known]).all() or (np.abs(labels) > 2.0**53).any():
        return labels
    if known.all():
        return labels.astype(np.int64)
    whole = np.full(len(labels), None, dtype=object)
    whole[known] = labels[known].astype(np.int64)
    return whole
