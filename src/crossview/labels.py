"""Labels and weights of rows, and the positive one of two classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from crossview.errors import InputError, argument

# beside a row of this weight, one of weight 1 is still seen by sums in double precision
MAX_WEIGHT = 1e12
# what the positive class of two is called, in lower case
POSITIVE_NAMES = frozenset(
    [
        *("true", "yes", "ja", "oui", "sí", "si", "sim"),
        *("positive", "positiv", "positif", "positivo", "pos"),
        *("case", "spam", "fraud", "malignant"),
    ]
)
# names that are those of the positive class only beside such another one
POSITIVE_BESIDE = {
    "1": ("0", "-1"),
    "+1": ("0", "-1"),
    "+": ("-",),
    "y": ("n",),
    "j": ("n",),
    "p": ("n",),
    "t": ("f",),
}
# words for true and false, which readers of CSV mix up with these
WORDS_OF_TRUTH = dict.fromkeys("yt", "true") | dict.fromkeys("nf", "false")
WORDS_OF_TRUTH |= {"yes": "true", "no": "false"}
# a class is the rarer one if fewer of the rows than this are of it
MOST_OF_RARER = 0.4


def about_constant(y: float) -> str:
    """Return that this is the number to predict of all rows."""
    return f"the number to predict is {y:g} in every row, of which nothing can be learned"


def about_weights(models: Sequence[str]) -> str:
    """Return that weights of rows do not change what these models learn."""
    return (
        f"weights of rows do not change what is learned by {', '.join(models)}, but for rows of "
        "weight 0, which are left out: an error has no price that they could multiply, as it "
        "has in scw and arow; probabilities do count them, and metrics and thresholds each row once"
    )


def as_labels(y: Any) -> Any:
    """Return labels in memory as an array, where None is a missing one unless they are floats.

    y: an array, a list, or a column of pandas, polars or Arrow; of these, whole numbers with a
      missing one stay whole.  A name, or None, stays.
    """
    if y is None or isinstance(y, str):
        return y
    labels, kind = np.asarray(y), str(getattr(y, "dtype", getattr(y, "type", "float"))).lower()
    if labels.dtype.kind == "f" and not ("float" in kind or "double" in kind):
        names = (name for name in ("to_pylist", "to_list", "tolist") if hasattr(y, name))
        values = getattr(y, next(names))()
        labels = np.array(values, dtype=object)
    if labels.dtype.kind == "O" and labels.ndim == 1:
        missing = ~has_label(labels)
        if missing.any():
            labels = labels.copy()
            labels[missing] = None
    return labels


def has_label(y: Any) -> np.ndarray:
    """Return which labels are present; None, NaN and pandas' NA are missing.

    y (n_samples,): the labels.
    Returns mask (n_samples,): False where the label is missing.

    >>> from crossview.labels import has_label
    >>> has_label(["spam", None, "ham", float("nan")]).tolist()
    [True, False, True, False]
    """
    if not isinstance(y, np.ndarray):
        y = np.asarray(y, dtype=object)
    if y.dtype.kind in "fc":
        return np.asarray(~np.isnan(y))
    if y.dtype.kind in "mM":
        return np.asarray(~np.isnat(y))
    if y.dtype.kind != "O":
        return np.ones(len(y), dtype=bool)
    if y.ndim > 1:
        raise InputError(f"y has {y.ndim} dimensions; give one label per row")
    return np.fromiter((_is_present(label) for label in y), dtype=bool, count=len(y))


def known_labels(y: np.ndarray) -> np.ndarray:
    """Return the labels that are present, with the type of their values; text stays as it is.

    y (n_samples,): the labels.
    Returns labels: without missing ones.

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

    labels (n_samples,): labels, each among the classes; the place of another one is from 0 to
      ``n_classes``.
    classes (n_classes,): sorted, each once.
    Returns places (n_samples,): where ``classes`` has each label.

    >>> import numpy as np
    >>> from crossview.labels import places_of
    >>> places_of(np.array(["yes", "no"]), np.array(["no", "yes"]))
    array([1, 0])
    """
    if len(classes) == 2:  # a comparison takes a tenth of the time
        return np.asarray(labels > classes[0]).astype(np.intp)
    return np.searchsorted(classes, labels)


def written_label(label: Any) -> str:
    """Return a label as files of predictions write it, for the names of their columns.

    >>> from crossview.labels import written_label
    >>> [written_label(one) for one in (True, 2.0, 2, "2.0")]
    ['true', '2', '2', '2.0']
    """
    if isinstance(label, bool):
        return "true" if label else "false"
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


class SpelledLabels:
    """Labels as codes of known classes, however they are written.

    A label of another type is compared as text: 1 in one file may be "1" in another.  So are yes
    and true, which readers of CSV mix up.
    """

    def __init__(self, classes: Sequence[Any]) -> None:
        texts = {str(label): code for code, label in enumerate(classes)}
        self._codes = texts | {label: code for code, label in enumerate(classes)}
        truths = {_truth(label): code for code, label in enumerate(classes)}
        self._truths = truths if truths.keys() == {False, True} else {}

    def code(self, label: Any) -> int:
        """The code of a label, -1 if it is none of the classes."""
        for key in (label, str(label)):
            if key in self._codes:
                return self._codes[key]
        return self._truths.get(_truth(label), -1)


def _truth(label: Any) -> bool | None:
    """Return the Boolean that a label is or spells, as yes or no do; otherwise None."""
    words = WORDS_OF_TRUTH | {"true": "true", "false": "false"}
    word = words.get(str(label).casefold())
    return None if word is None else word == "true"


def whole_labels(labels: np.ndarray) -> np.ndarray:
    """Return labels as whole numbers where all are; None stands for a missing one then.

    labels: NaN where one is missing.
    Returns: of int64, of objects, or as given.
    """
    known = ~np.isnan(labels)
    if not (np.trunc(labels[known]) == labels[known]).all() or (np.abs(labels) > 2.0**53).any():
        return labels
    if known.all():
        return labels.astype(np.int64)
    whole = np.full(len(labels), None, dtype=object)
    whole[known] = labels[known].astype(np.int64)
    return whole


def choose_positive(classes: Any, class_rows: Any = None) -> tuple[int, str]:
    """Return which of two classes is the positive one, and what says so.

    That is the class that is called 1, true, yes or the like, in any case; not if both are, and 1
    only beside 0 or -1. If the other class is the rare one, measures of the named class alone are
    high without any model, and those that count both classes are better. Where no name says it, it
    is the rarer class, if it has less than 40 % of the rows. Where neither speaks, it is the second
    one, which is a guess: measures that need no positive class are better there.

    classes (2,): the labels, sorted.
    class_rows (2,): the number of rows of each; None: it is not known.
    Returns code: its place among the classes; by: what says so.

    >>> from crossview.labels import choose_positive
    >>> choose_positive(["ja", "nein"]), choose_positive([0, 1]), choose_positive([1, 2])
    ((0, 'name'), (1, 'name'), (1, 'guess'))
    >>> choose_positive(["case", "control"], [70, 30])
    (0, 'majority')
    >>> choose_positive(["bought", "left"], [30, 70]), choose_positive(["AD", "NC"], [45, 55])
    ((0, 'rarer'), (1, 'guess'))
    """
    first, second = (_name(label) for label in np.asarray(classes).tolist())
    named = _is_positive(first, second), _is_positive(second, first)
    a, b = (0, 0) if class_rows is None else (int(n) for n in class_rows)
    if named[0] != named[1]:
        others = a if named[1] else b
        return int(named[1]), "majority" if 0 < others < MOST_OF_RARER * (a + b) else "name"
    if class_rows is not None and min(a, b) < MOST_OF_RARER * (a + b):
        return int(b < a), "rarer"
    return 1, "guess"


def _name(label: Any) -> str:
    """A label as it is compared with the names: in lower case, 1.0 as 1."""
    if isinstance(label, Real) and not isinstance(label, bool):
        return f"{float(label):g}"
    return str(label).strip().casefold()


def _is_positive(name: str, other: str) -> bool:
    return name in POSITIVE_NAMES or other in POSITIVE_BESIDE.get(name, ())


def rows_per_class(classes: np.ndarray, counts: Mapping[Any, int]) -> np.ndarray:
    """Return the number of rows of each class, given those of each label."""
    return np.array([counts[label] for label in classes.tolist()], dtype=np.int64)


# the probability above which the second of two classes is predicted; of more one per class
Threshold = float | list[float]


def decide(
    scores: np.ndarray,
    probabilities: np.ndarray | None = None,
    threshold: float | Sequence[float] | None = None,
) -> np.ndarray:
    """Return the codes of the predicted classes, as every learner predicts.

    Without a threshold a score above 0 is class 1 of two, and 0 is not; of scores of shape
    (n_samples, n_classes) the highest decides.  With one, of the probabilities, (n_samples,
    n_classes), that of class 1 above it; with one per class the highest multiple of its threshold,
    which for two classes is the same where the thresholds are 1 - t and t.
    """
    if threshold is not None and probabilities is not None:
        if isinstance(threshold, float):
            return (probabilities[:, 1] > threshold).astype(np.intp)
        return (probabilities / np.asarray(threshold)).argmax(axis=1)
    return scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0.0).astype(np.intp)


def read_threshold(threshold: Any, n_classes: int) -> Threshold | None:
    """Return a threshold of two classes, or one per class; raise an error for another."""
    if threshold is None:
        return None
    t = np.asarray(threshold, dtype=np.float64)
    two = n_classes == 2
    if t.shape != (() if two else (n_classes,)) or n_classes < 2:
        wanted = "one number" if two else "one number per class, in their order"
        raise InputError(
            f"{argument(threshold=threshold)}, and there are {n_classes} classes; give {wanted}"
        )
    if not ((t >= 0.0) & (t <= 1.0) & (two | (t > 0.0))).all():
        above = "between 0 and 1" if two else "above 0 and at most 1"
        raise InputError(f"{argument(threshold=threshold)}; give probabilities {above}")
    return float(t) if two else list(t.tolist())


def mean_threshold(thresholds: Sequence[Any], shares: Sequence[float]) -> Any:
    """Return the mean of thresholds; None where one is not known."""
    if any(one is None for one in thresholds):
        return None
    return np.dot(shares, np.asarray(thresholds)).tolist()
