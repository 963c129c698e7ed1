"""The words of the command line: options for arguments, and what a narrow encoding can show."""

from __future__ import annotations

import ast
import codecs
import re
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress

# of the library's messages: what the command line has no words for, and columns of views
_LIBRARY_ONLY = re.compile(r""",? or views=\{[^}]*\}""")
_VIEWS = re.compile(r"views=\{([^}]*)\}")
_VIEW = re.compile(r"'(\w+)': ('[^']*')(?:, )?")
_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# whose parts are options of their own
_SCORING = re.compile(rf"scoring=Scoring\(((?:{_TEXT}|[^()'\"])*)\)")
_ARGUMENT = re.compile(rf"(?<![\w'-])(\w+)=(?:({_TEXT})|([^\s,;:()]*))")
# of the command that runs: the options for an argument of the library, and for False, and whether
# they take a list
_OPTIONS: dict[str, tuple[str, str, bool]] = {}
# what other commands say about compare
_OF_COMPARE = {
    "in_order": ("--in-order", "--in-order", False),
    "groups": ("--groups", "--groups", False),
    "random_folds": ("--random-folds", "--random-folds", False),
}
# what it has said of its rows, for a page
_SAID: list[str] = []


# a name of a list that has a comma, or =, in it
QUOTED = re.compile(r"""(?<![^\s,=])"(?:[^"]|"")*"(?![^\s,=])""")
_IN_LIST = re.compile(rf"(?s:\s*({QUOTED.pattern})\s*(?:,|$)|([^,]*)(?:,|$))")


def split_list(text: str, *, strip: bool = True) -> list[str]:
    """Return names with commas between; as in CSV, one that has a comma is in double quotes."""
    names = [
        quoted[1:-1].replace('""', '"') if quoted else plain.strip() if strip else plain
        for quoted, plain in _IN_LIST.findall(text)
    ]
    return [name for name in names if name]


def in_list(name: str) -> str:
    """Return a name as `split_list` reads it."""
    if not set('",=').isdisjoint(name) or name != name.strip():
        return '"' + name.replace('"', '""') + '"'
    return name


def declare(options: Mapping[str, tuple[str, str, bool]]) -> None:
    """Set the options of the command: for an argument of the library, and for its value False.

    The third says whether they take a list.
    """
    _SAID.clear()
    _OPTIONS.clear()
    _OPTIONS.update(options)


def as_options(message: str) -> str:
    """Return a message with options where the library names arguments: ``--cv 1`` for ``cv=1``.

    Arguments for which the command has no option, such as parameters of a model, stay.
    """

    def option(found: re.Match[str]) -> str:
        known = _OPTIONS.get(found[1]) or _OF_COMPARE.get(found[1])
        if known is None:
            return found[0]
        on, off, takes_list = known
        value = found[3]
        if found[2] is not None:
            text = found[2][1:-1]
            with suppress(ValueError, SyntaxError):  # what is quoted may be no literal of Python
                text = str(ast.literal_eval(found[2]))
            value = shlex.quote(in_list(text) if takes_list else text)
        if found[2] is None and value in ("True", "False"):
            return on if value == "True" else off
        return f"{on} {value}".rstrip()

    def views(found: re.Match[str]) -> str:
        return _VIEW.sub(r"--view \1=\2 ", found[1]).rstrip()

    message = _VIEWS.sub(views, _LIBRARY_ONLY.sub("", message))
    message = _SCORING.sub(r"\1", message)
    return _ARGUMENT.sub(option, message)


def say(line: str) -> None:
    """Write a line about the rows, with options for arguments; a page has it, too."""
    line = as_options(line)
    print(f"crossview: {line}", file=sys.stderr)
    _SAID.append(line.removeprefix("warning: "))


def said() -> list[str]:
    """Return the lines about the rows that the command has written, each once."""
    return list(dict.fromkeys(_SAID))


# one character where that is possible, so that columns stay aligned
_ASCII = dict(zip("→±–−×…─━", ">~--x~--", strict=True))
_ASCII |= {
    "≥": ">=",
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "η": "eta",
    "λ": "lambda",
    "ρ": "rho",
}


def _spell(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    unknown = error.object[error.start : error.end]
    return "".join(_ASCII.get(character, "?") for character in unknown), error.end


def never_fail_to_print() -> None:
    """Spell out what an ASCII or cp1252 terminal cannot show: a table must not be lost to that."""
    codecs.register_error("crossview", _spell)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not where it is captured
            stream.reconfigure(errors="crossview")
