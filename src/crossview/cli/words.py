"""The words of the command line: options for arguments, and what a narrow encoding can show."""

from __future__ import annotations

import codecs
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crossview.errors import spell_arguments

# what other commands say about compare
_OF_COMPARE = {
    "in_order": ("--in-order", "--in-order", False),
    "groups": ("--groups", "--groups", False),
    "random_folds": ("--random-folds", "--random-folds", False),
}
# options that stand for None
_NONE = {"budget": "--thorough"}
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


@dataclass(frozen=True)
class Options:
    """Spelling of arguments by the options of a command: ``--cv 1`` for ``cv=1``.

    of: by argument the option, that for False, and whether it takes a list.
    """

    of: Mapping[str, tuple[str, str, bool]]

    def __call__(self, name: str, *given: Any) -> str | None:
        """Return an option, with its value if that is known; None where there is none.

        Arguments without an option, such as parameters of a model, stay.
        """
        if given == (None,) and name in _NONE:
            return _NONE[name]
        if (known := self.of.get(name) or _OF_COMPARE.get(name)) is None:
            return None
        on, off, takes_list = known
        value = given[0] if given else True
        if isinstance(value, bool):
            return on if value else off
        value = "none" if value is None else value
        if isinstance(value, Mapping) and takes_list:
            return " ".join(f"{on} {key}={shlex.quote(str(one))}" for key, one in value.items())
        if isinstance(value, Mapping):
            value = [f"{key}={one}" for key, one in value.items()]
        names = [str(one) for one in (value if isinstance(value, list | tuple) else [value])]
        return f"{on} {shlex.quote(','.join(map(in_list, names) if takes_list else names))}"

    def listed(self, name: str) -> str:
        """Return a name as it is written in a list of names."""
        return in_list(name)


def declare(options: Mapping[str, tuple[str, str, bool]]) -> None:
    """Let messages name the options of a command, which has said nothing yet."""
    _SAID.clear()
    spell_arguments(Options(options))


def say(line: str) -> None:
    """Write a line about the rows; a page has it, too."""
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
