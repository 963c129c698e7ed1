"""Labels, numeric targets and sample weights: checked and encoded for the learning loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from crossview.errors import InputError
from crossview.estimators.validation import check_sample_weight
from crossview.labels import MAX_WEIGHT, SpelledLabels, as_labels, has_label, places_of
from crossview.saving.schema import MAX_FINITE

# spare bytes of a label in a model file
MAX_LABEL_BYTES = 2**16
# of targets whose logarithm may be better; that of an exponential distribution is 2
LEAST_SKEWNESS = 1.0
# share of the skewness that their logarithms may have
MOST_LEFT = 0.75
# of the prediction of a logarithm: e^-745 is not yet 0, and e^170 can still be squared
LEAST_EXPONENT, LARGEST_EXPONENT = -745.0, 170.0
# the range of the learned logarithms, by which share of it predictions may be beyond it
BEYOND = 0.5
# the same of what members of ensembles and kernel ridge regression predict
LIMIT = 0.1


def read_labels(y: Any, n_rows: int | None, learner: str) -> np.ndarray:
    """Return the labels as an array; `InputError` if one is missing or the length is wrong."""
    y = one_per_row(y, n_rows, learner)
    missing = ~has_label(y)
    if y.dtype.kind in "fc":
        missing |= np.isinf(y)
    if missing.any():
        raise InputError(
            "the label is missing (NaN, None or infinity); leave the row out, or label it",
            row=int(np.argmax(missing)),
        )
    check_classes(y)
    return y


def check_classes(labels: np.ndarray) -> None:
    """Raise `InputError` if labels are no classes, such as numbers with decimals.

    Integers, Booleans and text are, whatever their values, and also where each is another one.
    """
    if labels.dtype.kind in "iubUS":
        return
    check_types(labels)
    kind = type_of_target(labels, input_name="y")
    if kind == "unknown":  # to scikit-learn, objects other than text
        kinds = ", ".join(sorted({type(label).__name__ for label in labels.tolist()}))
        raise InputError(
            f"Unknown label type: {kinds}. Give labels as text, such as by .astype(str), or as an "
            "array of numbers or of Booleans"
        )
    if kind not in ("binary", "multiclass"):
        raise InputError(  # the wording that scikit-learn's estimator checks expect
            f"Unknown label type: {kind}. A classifier predicts classes; a regressor predicts "
            "numbers"
        )


def check_types(labels: np.ndarray) -> None:
    """Raise `InputError` if some labels are text, and others are not."""
    kinds = sorted({type(label).__name__ for label in labels.tolist()})
    if "str" in kinds and len(kinds) > 1:
        raise InputError(f"y has labels of different types ({', '.join(kinds)}); give all as text")


def check_label(y: Any, classes: np.ndarray | None) -> None:
    """Raise `InputError` if ``y`` is not one label, or of another kind than the classes so far."""
    label = np.asarray(y)
    if label.ndim or label.dtype.kind not in "biufSUO":
        raise InputError(f"the label {y!r:.60} is no single text, number or Boolean")
    if label.dtype.kind == "f" and np.isinf(label):
        raise InputError("the label is infinite; leave the row out, or label it")
    if (
        classes is not None
        and _family(label) != _family(np.asarray(classes.tolist()[0]))
        and SpelledLabels(classes.tolist()).code(label.item()) < 0
    ):
        raise InputError(
            f"the label {y!r:.60} is of another kind than the classes so far, "
            f"{classes.tolist()!r:.200}; give all labels as text, or all as numbers"
        )


def _family(label: np.ndarray) -> str:
    """Return what kind of thing a label is; text and numbers do not mix."""
    if label.dtype.kind == "O":
        return type(label.item()).__name__
    return "number" if label.dtype.kind in "biuf" else label.dtype.kind


def read_numbers(y: Any, n_rows: int | None, learner: str) -> np.ndarray:
    """Return the targets as finite numbers; `InputError` if one is not, or the length is wrong."""
    y = one_per_row(y, None, learner)
    try:
        if y.dtype.kind in "cmM":  # NumPy would drop the imaginary part, or the unit
            raise TypeError
        y = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "the target is not a number; a regressor predicts numbers, a classifier predicts labels"
        ) from None
    nonfinite = ~np.isfinite(y)
    if nonfinite.any():
        raise InputError(
            "the target is missing (NaN or infinity); leave the row out, or give its target",
            row=int(np.argmax(nonfinite)),
        )
    if n_rows is not None:
        _check_length(y, n_rows)
    return y


def scaled_targets(y: np.ndarray, scale: str) -> np.ndarray:
    """Return the targets on a ``target_scale``; NaN stays, `InputError` if one has no logarithm."""
    if scale == "linear":
        return y
    wrong = y <= 0.0 if scale == "log" else y < 0.0
    if wrong.any():
        row = int(np.argmax(wrong))
        other = " (log1p: 0 or more)" if scale == "log" and y[row] == 0.0 else ""
        raise InputError(
            f"the target {y[row]:g} has no logarithm, which target_scale={scale!r} learns{other}; "
            "leave the row out, or the scale linear",
            row=row,
        )
    return np.asarray(np.log(y) if scale == "log" else np.log1p(y))


def without_unit(y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return ``(y - center) / scale``, of a mean near 0 and a variance near 1, center and scale.

    The scale is a power of two and the center a multiple of it, so that no digit is lost.  Targets
    that are all the same become 0.
    """
    lowest, highest = float(y.min()), float(y.max())
    if lowest == highest:
        return np.zeros(len(y)), lowest, 1.0
    exponent = int(np.frexp(max(-lowest, highest))[1]) - 1
    small = np.ldexp(y, -exponent)  # no square overflows
    mean = float(np.average(small, weights=weight))
    deviation = np.sqrt(np.average((small - mean) ** 2, weights=weight))
    scale = 2.0 ** np.round(np.log2(deviation))
    center = scale * np.round(mean / scale)
    found = (small - center) / scale
    return found, float(np.ldexp(center, exponent)), float(np.ldexp(scale, exponent))


def scale_of_skewed(y: np.ndarray) -> str | None:
    """Return the ``target_scale`` that may suit targets better; None: they are fine as they are.

    It is a logarithm where targets are 0 or more and skewed, and their logarithms much less so.
    """
    if not len(y) or y.min() < 0.0:
        return None
    scale = "log" if y.min() > 0.0 else "log1p"
    skewed = _skewness(y)
    if skewed <= LEAST_SKEWNESS:
        return None
    return scale if abs(_skewness(scaled_targets(y, scale))) < MOST_LEFT * skewed else None


def _skewness(y: np.ndarray) -> float:
    """Return the third moment of standardized numbers; 0 if they are all the same."""
    with np.errstate(over="ignore", invalid="ignore"):
        away = y - y.mean()
        scale = away.std()
        return float(np.mean((away / scale) ** 3)) if scale > 0.0 else 0.0


def reach_of(lowest: Any, highest: Any) -> tuple[Any, Any]:
    """Return between which logarithms predictions are kept, of those of the learned targets.

    A sum far from all rows would be their exponential: one such row would be the whole error.
    Before the first target there are no bounds.
    """
    room = np.where(highest < lowest, np.inf, BEYOND * (highest - lowest))
    low, high = np.maximum(lowest - room, LEAST_EXPONENT), highest + room
    return low, np.minimum(high, LARGEST_EXPONENT)


def limits_of(y: np.ndarray) -> np.ndarray:
    """Return (lowest, highest) of what may be predicted where nothing is to be far beyond y."""
    low, high = y.min(), y.max()
    with np.errstate(over="ignore"):  # the range of large numbers
        room = LIMIT * (high - low)
    return np.clip(np.array([low - room, high + room]), -MAX_FINITE, MAX_FINITE)


def targets_of_scale(values: np.ndarray, scale: str, low: Any, high: Any) -> np.ndarray:
    """Return logarithms that are predicted, between low and high, in the units of the targets."""
    exponents = np.minimum(np.maximum(values, low), high)
    return np.asarray(np.exp(exponents) if scale == "log" else np.expm1(exponents))


def one_per_row(y: Any, n_rows: int | None, learner: str) -> np.ndarray:
    """Return the targets as an array; `InputError` if y is None or its length is not ``n_rows``."""
    if y is None:
        raise InputError(f"{learner} requires y to be passed, but the target y is None")
    if type(y) is not np.ndarray or y.ndim != 1:  # looking for data frames loads pandas
        dtype: Any = getattr(y, "dtype", None)
        if hasattr(dtype, "numpy_dtype") and dtype.kind in "biu":  # scikit-learn makes floats
            y = as_labels(y) if y.isna().any() else y.to_numpy(dtype=dtype.numpy_dtype)
        y = column_or_1d(y, warn=True)
    if n_rows is not None:
        _check_length(y, n_rows)
    return y


def _check_length(y: np.ndarray, n_rows: int) -> None:
    if len(y) != n_rows:  # the wording that scikit-learn's estimator checks expect
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: {[n_rows, len(y)]}"
        )


def weighted_classes(
    labels: np.ndarray, weight: np.ndarray, class_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the classes, the code and the weight of each row, and the weights of the classes.

    Those of the rows are times those of their classes, which are None where none are given.
    """
    classes = several_classes(labels, class_weight)
    codes = class_codes(labels, classes)
    if class_weight is None:
        return classes, codes, weight, None
    of_classes = class_weights(class_weight, classes, codes, weight)
    return classes, codes, weight * of_classes[codes], of_classes


def several_classes(labels: np.ndarray, class_weight: Any = None) -> np.ndarray:
    """Return the sorted classes of all labels; `InputError` for fewer than two.

    As in scikit-learn, a weight of no class is an error if a class has none: it is misspelled, or
    of another type.
    """
    classes = np.unique(labels)
    if len(classes) < 2:
        seen = f"one class, {classes.tolist()[0]!r}" if len(classes) else "no label"
        raise InputError(f"y has {seen}; a classifier needs two or more classes")
    if isinstance(class_weight, Mapping):
        known = classes.tolist()
        other = [label for label in class_weight if label not in known]
        if other and not all(label in class_weight for label in known):
            raise InputError(
                f"class_weight names {other[0]!r}, which is no class; "
                f"the classes are {known!r:.200}"
            )
    return classes


def class_codes(y: np.ndarray, classes: np.ndarray, advice: str = "") -> np.ndarray:
    """Return the position of each label in ``classes``; `InputError` for a label not in it.

    ``advice`` ends its message.
    """
    if not len(y):  # of any type
        return np.zeros(0, dtype=np.intp)
    check_label(y[:1].tolist()[0], classes)  # an array has one type
    y = as_classes(y, classes)
    codes = places_of(y, classes)
    codes[codes == len(classes)] = 0
    unknown = classes[codes] != y
    if unknown.any():
        row = int(np.argmax(unknown))
        label = y[row : row + 1].tolist()[0]
        what = f"label {label!r} is not among the classes {classes.tolist()!r}{advice}"
        raise InputError(what, row=row)
    return codes


def as_classes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return labels; the classes that they spell, where they are of another kind than these."""
    labels = y.tolist()
    if not labels or _family(np.asarray(labels[0])) == _family(np.asarray(classes.tolist()[0])):
        return y
    spelled = SpelledLabels(classes.tolist())
    codes = {label: spelled.code(label) for label in dict.fromkeys(labels)}
    for row, label in enumerate(labels):
        if codes[label] < 0:
            what = f"label {label!r} is not among the classes {classes.tolist()!r}"
            raise InputError(what, row=row)
    return np.asarray(classes[[codes[label] for label in labels]])


def row_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return the weight of each row; `InputError` or `ValueError` if one is not from 0 to 1e12."""
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, int | float | np.number):  # the same for all rows
        if not 0.0 <= float(sample_weight) <= MAX_WEIGHT:
            raise InputError(
                f"sample_weight={sample_weight!r}; give a number from 0 to {MAX_WEIGHT:g}"
            )
        return np.full(n_rows, float(sample_weight))
    weight = check_sample_weight(
        sample_weight,
        np.empty(n_rows),
        dtype=np.float64,
        copy=True,
        ensure_non_negative=True,
        allow_all_zero_weights=True,  # as of a part of a stream
    )
    if (large := weight > MAX_WEIGHT).any():
        row = int(large.argmax())
        raise InputError(
            f"sample_weight {weight[row]:g} is too large; give numbers up to {MAX_WEIGHT:g}",
            row=row,
        )
    return weight


def check_class_weight(class_weight: Any) -> None:
    """Raise `InputError` where the weight of a class is not from 0 to 1e12."""
    for label, value in class_weight.items() if isinstance(class_weight, Mapping) else ():
        if not (isinstance(value, int | float | np.number) and 0.0 <= value <= MAX_WEIGHT):
            raise InputError(
                f"class_weight of {label!r} is {value!r}; give a number from 0 to {MAX_WEIGHT:g}"
            )


def class_weights(
    class_weight: Mapping[Any, float] | str,
    classes: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
) -> np.ndarray:
    """Return the weight of each class, of rows with these codes and weights.

    "balanced": inversely proportional to the weight of its rows; 1 without any.
    """
    if isinstance(class_weight, str):
        sums = np.bincount(codes, weight, len(classes))
        balanced, there = np.ones(len(classes)), sums > 0.0
        balanced[there] = sums.sum() / (there.sum() * sums[there])
        return balanced
    return np.asarray([class_weight.get(label, 1.0) for label in classes.tolist()])


def classes_to_json(classes: np.ndarray) -> dict[str, Any]:
    """Return the classes for a model file; `InputError` for those that it cannot hold."""
    values = classes.tolist()
    if any(isinstance(value, bytes) for value in values):
        raise InputError(
            f"the class {values[0]!r} is bytes, not text; decode the labels, then learn"
        )
    if classes.dtype.kind in "mM":
        raise InputError(
            f"the class {str(classes[0])!r} is a {classes.dtype.name}, and a model file has text, "
            "numbers and Booleans; make text of the labels, then learn"
        )
    return {"dtype": classes.dtype.str, "values": values}


def classes_from_json(dtype: str, values: list[Any]) -> np.ndarray:
    """Return the classes of a model file; `InputError` if they are no classes."""
    kind = np.dtype(dtype)
    longest = max([len(value) for value in values if isinstance(value, str)], default=0)
    # a type may be wider than its texts, but not take memory at will
    if kind.kind in "biufUO" and kind.itemsize <= 4 * longest + MAX_LABEL_BYTES:
        classes = np.asarray(values, dtype=kind)
        if len(classes) and np.array_equal(classes, np.unique(classes)):
            return classes
    raise InputError("the classes are not different labels in ascending order")
