"""Errors and warnings about the input of the user."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Protocol


class Spelling(Protocol):
    """How messages name arguments."""

    def __call__(self, name: str, *given: Any) -> str | None:
        """Return what stands for an argument, and its value; None: how Python has it."""

    def listed(self, name: str) -> str:
        """Return a name as it is written in a list of names."""


_spelling: Spelling | None = None


def argument(name: str = "", /, **value: Any) -> str:
    """Return an argument, with or without its value, in the words of a message: ``cv=1``, ``cv=``.

    The command line has options instead, such as ``--cv 1`` (`spell_arguments`).

    >>> from crossview.errors import argument
    >>> argument(cv=1), argument("cv")
    ('cv=1', 'cv=')
    """
    given = [*value.values()]
    name = name or next(iter(value))
    spelled = None if _spelling is None else _spelling(name, *given)
    return f"{name}={repr(given[0]) if given else ''}" if spelled is None else spelled


def has_argument(name: str) -> bool:
    """Return whether an argument can be given here; of a command line, whether it is an option."""
    return _spelling is None or _spelling(name) is not None


def arguments_of(call: str, arguments: str) -> str:
    """Return arguments of an object that is an argument itself, for which there are options, too.

    >>> from crossview.errors import argument, arguments_of
    >>> arguments_of("scoring=Scoring", argument(positive="spam"))
    "scoring=Scoring(positive='spam')"
    """
    return f"{call}({arguments})" if _spelling is None else arguments


def spell_arguments(spelling: Spelling | None) -> None:
    """Set how messages of this process name arguments; None: as Python does."""
    global _spelling
    _spelling = spelling


def argument_spelling() -> Spelling | None:
    """Return how messages of this process name arguments, for the processes that it starts."""
    return _spelling


class InputError(ValueError):
    """Error in the input: data, a column name, a parameter or a file.

    The message is one line: what is wrong, where, and what to do.  ``str`` of the error starts with
    the file, the row and the column, as far as they are known.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    file : str or None
        The file with the error.
    row : int or None
        The row with the error; 0 is the first data row of the file or table.
    column : str or None
        The column with the error: its name, or its position.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        message = " ".join(message.splitlines())  # names of columns may hold line breaks
        super().__init__(message)
        self.message = message
        self.file = file
        self.row = row
        self.column = column

    def __str__(self) -> str:
        where = []
        if self.file is not None:
            where.append(str(self.file))
        if self.row is not None:
            where.append(f"row {self.row}")
        if self.column is not None:
            where.append(f"column {self.column!r}")
        return f"{', '.join(where)}: {self.message}" if where else self.message

    def __reduce__(self) -> tuple:
        # joblib sends errors between processes, and an exception with keyword arguments needs this
        # method to be pickled
        return _rebuild, (type(self), self.message, self.file, self.row, self.column)


@contextmanager
def in_file(file: str | os.PathLike[str] | None) -> Iterator[None]:
    """Name the file in an error that names none."""
    try:
        yield
    except InputError as error:
        if file is None or error.file is not None:
            raise
        raise type(error)(error.message, file=str(file)) from None


class NoRowsError(InputError):
    """A source has no rows, so that there is nothing to learn, to evaluate or to predict."""


# the exit status of a command then
NO_ROWS = 3


class DivergedError(InputError):
    """The loss or a step of a learner grows without end in this setting; others may do."""


class LabelOrderWarning(UserWarning):
    """Warning that the labels of a stream come in long blocks.

    A model that learns row by row then follows the block it is in.
    """


class OneClassWarning(UserWarning):
    """Warning that a trained model predicts the same class for all or nearly all rows.

    Another threshold, metric or positive class changes that.
    """


class GuessWarning(UserWarning):
    """Warning of a guess, and how to change it.

    The encoding or decimal point of a text file, whether labels are classes or numbers, and which
    of them are one class.
    """


class NumbersAsTextWarning(GuessWarning):
    """Warning that numbers, which are written as text, are learned as categories."""


class FirstDownloadWarning(UserWarning):
    """Warning that a file was downloaded whose checksum nobody knew, and what it is."""


class LeakWarning(UserWarning):
    """Warning that a column tells the label, and may be known only after it.

    A model that learns from it is good in every test, and useless for rows to come.
    """


class LearnedRowsWarning(UserWarning):
    """Warning that a model is evaluated on rows that it has learned, or learns them again."""


class UnlabeledRowsWarning(UserWarning):
    """Warning that rows without a label have no effect on a learner that could learn from them."""


class UnusedColumnsWarning(UserWarning):
    """Warning that columns are in no view, although nobody left them out."""


def _rebuild(
    kind: type[InputError], message: str, file: str | None, row: int | None, column: str | None
) -> InputError:
    return kind(message, file=file, row=row, column=column)


def closest_names(
    name: str, known: Sequence[str], most: int = 20, *, taken: Collection[str] = ()
) -> str:
    """Return the end of a message about an unknown name: the closest name and all known names.

    Capital letters make no difference to what is close, and names that are ``taken`` are not meant.
    """
    import difflib

    folded = {str(k).casefold(): k for k in reversed(list(known)) if k not in taken}
    close = difflib.get_close_matches(str(name).casefold(), list(folded), n=1)
    hint = ""
    if close:
        nearest = str(folded[close[0]])
        listed = nearest if _spelling is None else _spelling.listed(nearest)
        how = f" (written {listed} in a list)" if listed != nearest else ""
        hint = f"; did you mean {nearest!r}{how}?"
    return f"{hint} (there are: {some_names([*dict.fromkeys(known)], most)})"


# of a value that is the name of its column, in text
NAMES_AGAIN = "the line names the columns again: remove it"

# by which a package is installed: the first of these that brings it
EXTRAS = ("cli", "report", "dask", "serve", "postgres", "export", "river")


def cannot_import(what: str, package: str, error: ImportError) -> InputError:
    """Return the error about a package that is not there, or that the system cannot load.

    what: what needs it.
    """
    if isinstance(error, ModuleNotFoundError):
        return InputError(f"{what} needs {package}: pip install {_brings(package)}")
    return InputError(f"{what} needs {package}, which is there and cannot be loaded ({error})")


def _brings(package: str) -> str:
    """Return the first extra that requires a package; one that users choose alone is its own."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        known = requires("crossview") or []
    except PackageNotFoundError:
        known = []
    lines = {re.sub(r"[<>=;\[ ].*?; extra == .(\w+).$", r" \1", line) for line in known}
    name = package.lower().replace("_", "-")
    found = (extra for extra in EXTRAS if f"{name} {extra}" in lines)
    return next((f"'crossview[{extra}]'" for extra in found), package)


def _is_series(value: Any) -> bool:
    """Return whether a value is a list, an array of one dimension or the like."""
    is_one = isinstance(value, Iterable) and getattr(value, "ndim", 1) == 1
    return is_one and not isinstance(value, Mapping | bytes)


# kinds of arguments, as a message names them
_KINDS: dict[str, Callable[[Any], bool]] = {
    "a whole number": lambda one: isinstance(one, Integral) and not isinstance(one, bool),
    "a number": lambda one: isinstance(one, Real) and not isinstance(one, bool),
    "a list of names": lambda one: _is_series(one) and not isinstance(one, str),
    "a list of models": lambda one: _is_series(one) and not isinstance(one, str),
    "a mapping of names": lambda one: isinstance(one, Mapping),
    "a name": lambda one: isinstance(one, str),
    "a path": lambda one: isinstance(one, str | os.PathLike),
    "one value per row": lambda one: _is_series(one) and not isinstance(one, str),
    "True": lambda one: type(one).__name__ in ("bool", "bool_"),
    "None": lambda one: one is None,
}
_KINDS["False"] = _KINDS["True"]


def check_kind(kind: str, **given: Any) -> None:
    """Raise an error for an argument that is not of a kind, such as "a number or None".

    Kinds are those of `_KINDS` and names of classes, such as "a path or a Checkpoint".

    >>> from crossview.errors import check_kind
    >>> check_kind("a whole number", cv=3, repeats="2")
    Traceback (most recent call last):
    ...
    crossview.errors.InputError: repeats= is a str; give a whole number
    """
    for name, value in given.items():
        if not any(_is_of_kind(value, one) for one in kind.split(" or ")):
            raise InputError(f"{argument(name)} is {type_of(value)}; give {kind}")


def _is_of_kind(value: Any, kind: str) -> bool:
    if kind in _KINDS:
        return _KINDS[kind](value)
    return kind.partition(" ")[2] in (own.__name__ for own in type(value).__mro__)


def type_of(value: Any) -> str:
    """Return the type of a value with its article: an int, a Pipeline."""
    name = type(value).__name__
    shape = f" of {n} dimensions" if (n := getattr(value, "ndim", 1)) != 1 else ""
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}{shape}"


def first_names(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def some_names(names: Sequence[Any], most: int = 20) -> str:
    """Return the names; of very many the first, the last, and how many there are.

    A name that is very long, such as one that a request has made up, is cut.
    """
    shown: Sequence[Any] = names
    if len(names) > most:
        shown = [*names[: most - 1], "...", names[-1]]  # a label is often the last column
    words = ", ".join(name if len(name) <= 200 else f"{name[:200]}..." for name in map(str, shown))
    return words if len(names) <= most else f"{words} ({len(names)} in all)"
