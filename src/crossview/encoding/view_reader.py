"""Reader of views from sparse files, which scales them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from crossview.catalog.names import load_object
from crossview.catalog.readers import READERS
from crossview.encoding.encode import Meaning
from crossview.encoding.view_scaler import ViewScaler
from crossview.errors import InputError, type_of
from crossview.readers.find import find_reader
from crossview.readers.sparse.whole_lines import whole_lines
from crossview.views import MultiView, OneRow, ViewLayout
from crossview.views.one_row import finite_number

# what the parts of a view look like where no pass over a file is needed
_PARTS = {
    "svmlight": re.compile(r"\d{1,18}:\d{1,18}"),
    "libffm": re.compile(r"\d{1,5}:\d{1,18}:\d{1,18}"),
    "vw": re.compile(r".*", re.DOTALL),
}


@dataclass(eq=False, repr=False, match_args=False)
class ViewReader(ViewScaler):
    r"""Reader of views from sparse files, which also scales them as `ViewScaler` does.

    `train` makes one for rows of svmlight, libffm and Vowpal Wabbit files, so that the model knows
    how to read other files in the same way.  Its parameters are those of `open_rows`.

    Parameters
    ----------
    format : {"svmlight", "libffm", "vw"}
        The format of the files.
    views : mapping of str to list of str
        What each view holds, in a form that needs no pass over a file.
    hash_bits : int, default=18
        Slots of a view, as a power of two, where it is hashed or folded.
    scale_views : bool, default=True
        Whether each view is divided by the mean norm of its rows.
    is_open : bool, default=False
        Whether the views reached as far as the columns of the first files, so that other files add
        columns when training goes on, and those that it has not learned are warned of.
    scale_columns : bool, default=False
        Whether columns of very different sizes are scaled before; see `ViewScaler`.  Not without
        ``scale_views``.

    Notes
    -----
    A single row maps what the files name to numbers: columns of svmlight, ``{"12": 0.5}``, fields
    and indices of libffm, ``{"3:17": 1}``, and namespaces of Vowpal Wabbit, ``{"user": {"age":
    31}}``.  It is read as a line of a file, which takes about a millisecond.

    Examples
    --------
    >>> import os, tempfile
    >>> from crossview import train
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.svm")
    >>> with open(path, "w") as file:
    ...     print("+1 1:0.5 3:2", "-1 2:1 3:1", sep="\n", file=file)
    >>> train(path, model="pa:squared").fitted[0]
    ViewReader(format='svmlight', is_open=True, scale_columns=True,
               views={'all': ['1:3']})
    """

    format: str
    views: Mapping[str, Sequence[str]]
    hash_bits: int = 18
    scale_views: bool = True
    is_open: bool = False

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments that read files in the same way, as `Source.read_as` takes them."""
        return {"format": self.format, "views": self.views, "hash_bits": self.hash_bits}

    def check_params(self) -> None:
        """Raise an error for parameters that no file can be read with."""
        views = self.views
        if not (
            isinstance(views, Mapping)
            and views
            and all(isinstance(parts, list) and parts for parts in views.values())
            and all(isinstance(part, str) for parts in views.values() for part in parts)
            and self.format in _PARTS
            and all(_PARTS[self.format].fullmatch(p) for parts in views.values() for p in parts)
            and type(self.hash_bits) is int
            and 1 <= self.hash_bits <= 30
            and isinstance(self.scale_views, bool)
            and isinstance(self.is_open, bool)
            and self.scale_columns in (False, self.scale_views)
        ):
            raise InputError(
                "a ViewReader has a format, and what each view holds, such as {'page': ['1:1840']}"
            )

    def set_header(self, header: Mapping[str, Any]) -> None:
        """Restore the header that `get_header` returned.

        Parameters
        ----------
        header : mapping
            As from JSON.
        """
        super().set_header(header)
        if self.layout_.names != tuple(self.views):
            raise InputError(f"a ViewReader of {list(self.views)} has the views {self.layout_}")

    def widen(self, views: Mapping[str, Sequence[str]]) -> np.ndarray:
        """Take views with wider ranges of columns; return where the columns so far are in them.

        Parameters
        ----------
        views : mapping of str to list of str
            The same views, with the same parts, of which each holds that so far.

        Returns
        -------
        moved : ndarray of shape (n_columns,)
            The new position of each column.
        """
        moved, offset = [], 0
        for view, parts in views.items():
            for part, before in zip(parts, self.views[view], strict=True):
                (low, n), (old_low, old_n) = self._slots(part), self._slots(before)
                moved.append(offset + (np.arange(old_n) + old_low - low) % n)
                offset += n
        widths = [sum(self._slots(part)[1] for part in parts) for parts in views.values()]
        self.views, self.layout_ = views, ViewLayout(list(views), widths)
        places = np.concatenate(moved)
        if self.scale_columns:
            sums, self.column_sums_ = self.column_sums_, np.zeros((sum(widths), 2))
            self.column_sums_[places] = sums
        self.__dict__.pop("_single", None)
        return places

    def _slots(self, part: str) -> tuple[int, int]:
        """Return the first column of a part, and the number of its slots."""
        *field, low, high = part.split(":")
        n = int(high) - int(low) + 1
        return int(low), min(n, 1 << self.hash_bits) if field else n

    def explain_columns(self, view: str, columns: Sequence[int]) -> list[Meaning]:
        """Return what columns of a view are called in the files.

        Parameters
        ----------
        view : str
            Name of the view.
        columns : sequence of int
            Columns within the view.

        Returns
        -------
        list of Meaning
            The number of a column of svmlight, field and index of libffm, and the slot of Vowpal
            Wabbit, of which the names are not kept: `find_names` finds them.
        """
        parts = self.views[view]
        if self.format == "vw":
            return [self._explain_slot(view, i) for i in columns]
        names = []
        for i in columns:
            for part in parts:
                low, n_slots = self._slots(part)
                if i < n_slots:
                    break
                i -= n_slots
            names.append(":".join([*part.split(":")[:-2], str(low + i)]))
        return [Meaning(f"{view}: {name}", name, None) for name in names]

    def find_names(self, file: str) -> None:
        """Find what features are called, as ``--invert_hash`` of Vowpal Wabbit does.

        Models and their files do not keep them.

        Parameters
        ----------
        file : path
            Rows of Vowpal Wabbit, such as those that were learned; also a glob or folder of files.

        Raises
        ------
        InputError
            The encoder reads files of another format, in which columns have numbers; or the file
            cannot be read, or has no features.
        """
        if self.format != "vw":
            raise InputError(f"columns of {self.format} files have numbers, and no names to find")
        found: dict[tuple[str, str], None] = {}
        _, files = find_reader(file, "vw")
        for text, n in chain.from_iterable(map(whole_lines, files)):
            for line in bytes(text[:n]).decode().splitlines():
                for part in line.split("|")[1:]:
                    words = [word.partition(":")[0] for word in part.split()]
                    namespace = words.pop(0) if part[:1].strip() else ""
                    found |= {(namespace, word): None for word in words if word}
        if not found:
            raise InputError("has no feature behind a bar", file=files[0])
        names = list(found)
        X = self._read_lines([f"|{namespace} {name}" for namespace, name in names])
        self._names: dict[tuple[str, int], list[tuple[str, str]]] = {}
        for i, j in zip(*X.matrix.nonzero(), strict=True):
            v = int(np.searchsorted(X.layout.ptr, j, side="right")) - 1
            at = X.layout.names[v], int(j - X.layout.ptr[v])
            self._names.setdefault(at, []).append(names[i])

    def _explain_slot(self, view: str, slot: int) -> Meaning:
        """Return what is known of a slot of a namespace."""
        known = self.__dict__.get("_names", {}).get((view, slot))
        if known is None:
            return Meaning(f"{view}: slot {slot}", None, None, slot)
        namespace, name = known[0]
        return Meaning(f"{view}: {name}", namespace or view, name, slot, len(known) > 1)

    def _scale(self, X: MultiView, *, learn: bool, copy: bool = True) -> MultiView:
        if self.scale_views:
            return super()._scale(X, learn=learn, copy=copy)
        if X.layout != self.layout_:
            raise InputError(f"X has the views {X.layout}, but the model has {self.layout_}")
        return X

    def _scale_one(self, x: Any, *, learn: bool) -> OneRow:
        row = x if isinstance(x, OneRow) else self._read_one(x)
        return super()._scale_one(row, learn=learn) if self.scale_views else row

    def _read_one(self, x: Any) -> OneRow:
        """Return a row whose entries are named as in the files, as these would be read."""
        try:
            X = self._read_lines([_line(self.format, x)])
        except InputError as error:  # the file is not one of the user
            raise InputError(error.message) from None
        there = [True] * self.layout_.n_views
        return OneRow(self.layout_, X.matrix.indices.tolist(), X.matrix.data.tolist(), there)

    def _read_lines(self, lines: list[str]) -> MultiView:
        """Return lines as a file of them would be read."""
        reader = next(one for one in READERS if one.name == self.format)
        with TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
            source = load_object(reader.path)([path], self.views, self.hash_bits)
            (batch,) = source.batches(len(lines))
        return batch.X


def _line(format: str, x: Any) -> str:
    """Return a row as a line of a file: the entries of all groups, or after their namespaces."""
    if not isinstance(x, Mapping):
        raise InputError(f"a row is a mapping of names to numbers, and not {type_of(x)}")
    words = ["0" if format != "vw" else "|"]
    for group, own in x.items():
        if own is None:
            continue
        if format == "vw":
            words.append(f"|{_word(group)}")
        elif not isinstance(own, Mapping):
            own = {group: own}
        if not isinstance(own, Mapping):
            raise InputError(f"namespace {group!r} is {type_of(own)}; give a mapping of features")
        words += [
            f"{_word(name, format)}:{finite_number(value, group)!r}" for name, value in own.items()
        ]
    return " ".join(words)


def _word(name: Any, format: str = "vw") -> str:
    """Return a name that ends where it should."""
    word = str(name)
    if not word or set(word) & set(" \t\r\n|" + (":" if format == "vw" else "")):
        raise InputError(f"{name!r} is no name of a feature in {format} files")
    return word
