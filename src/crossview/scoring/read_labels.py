"""The labels of rows to evaluate, as a model knows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crossview.data.arrow import codes_of
from crossview.data.row_columns import explain_target, first_bad_number, number_or_nan
from crossview.errors import InputError, some_names
from crossview.labels import has_label


class ClassLabels:
    """Labels as codes of the classes of a model.

    classes: the classes, sorted.  A label of another type is compared as text: 1 in one file may be
      "1" in another.  So are yes and true, which readers of CSV mix up.
    """

    def __init__(self, classes: Sequence[Any], column: str | None) -> None:
        self._classes, self._column = list(classes), column
        texts = {str(label): code for code, label in enumerate(classes)}
        self._codes = texts | {label: code for code, label in enumerate(classes)}
        truths = {_truth(label): code for code, label in enumerate(classes)}
        self._truths = truths if truths.keys() == {False, True} else {}

    def _code(self, label: Any) -> int:
        """The code of a label, -1 if it is none of the classes."""
        for codes, key in ((self._codes, label), (self._codes, str(label))):
            if key in codes:
                return codes[key]
        return self._truths.get(_truth(label), -1)

    def read(self, labels: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the rows that have a label, and these labels."""
        values, index = _distinct(labels)
        there = has_label(np.array([*values, None], dtype=object))
        codes = np.array([*map(self._code, values), -1])
        unknown = (codes < 0) & there
        if unknown[index].any():
            row = int(unknown[index].argmax())
            names = some_names(self._classes)
            raise InputError(
                f"label {values[index[row]]!r} is not among the classes of the model ({names})",
                row=row,
                column=self._column,
            )
        known = np.flatnonzero(there[index])
        return known, np.asarray(self._classes)[codes[index[known]]]


class NumberLabels:
    """Labels as numbers; reads as `ClassLabels` does."""

    def __init__(self, column: str | None) -> None:
        self._column = column

    def read(self, labels: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows have a number, and these numbers."""
        values, index = _distinct(labels)
        there = has_label(np.array([*values, None], dtype=object))
        numbers = np.array([*map(number_or_nan, values), np.nan])
        known = np.flatnonzero(there[index])
        y = numbers[index[known]]
        row = first_bad_number(y)
        if row is not None:
            what = explain_target(values[index[known[row]]])
            raise InputError(what, row=int(known[row]), column=self._column)
        return known, y


def _truth(label: Any) -> bool | None:
    """Return the Boolean that a label is or spells, as yes or no do; otherwise None."""
    words = {"true": True, "yes": True, "false": False, "no": False}
    return words.get(str(label).casefold())


def _distinct(labels: Any) -> tuple[list[Any], np.ndarray]:
    """The different labels, and for each row which of them it has; one past them: none."""
    import pyarrow as pa

    if isinstance(labels, np.ndarray):
        places: dict[Any, int] = {}
        index = [places.setdefault(value, len(places)) for value in labels.tolist()]
        return list(places), np.array(index, dtype=np.intp)
    if pa.types.is_nested(labels.type) or isinstance(labels.type, pa.BaseExtensionType):
        raise InputError(f"the label holds {labels.type}; labels are text, numbers or booleans")
    if str(labels.type) == "string_view":
        labels = labels.cast(pa.large_string())
    if not isinstance(labels, pa.DictionaryArray):
        labels = labels.dictionary_encode()
    values = labels.dictionary.to_pylist()
    return values, codes_of(labels.indices, len(values))
