"""The words of the command line: options for arguments, and what a narrow encoding can show."""

from __future__ import annotations

import codecs
import re
import shlex
import sys

__all__ = ["as_options", "never_fail_to_print"]

# of the library's messages: what the command line has no words for, and its words for arguments
_LIBRARY_ONLY = re.compile(r""",? or (?:views=\{[^}]*\}|y='COLUMN')""")
_VIEWS = re.compile(r"views=\{([^}]*)\}")
_VIEW = re.compile(r"'(\w+)': ('[^']*')(?:, )?")
_ARGUMENT = re.compile(
    r"(?<![\w'-])(views?|ignore|date|text|categorical|numeric|hash_bits|ngram_range|tf_idf|bins|task|metric|k|positive|threshold"
    r"|classes|cv|repeats|groups|in_order|random_folds|rope|seed|epochs|keep|null|decimal|delimiter|quote|header|encoding"
    r"|missing_columns|explain|format|model|settings|scale_views|init|checkpoint|every|log_every|resume|by"
    r"|time|weight|window|ablate|baselines|budget|n_jobs|on)=(?:'([^']*)'|([^\s,;:()]*))"
)
# where an option has another name than the argument
_NAMES = {
    "views": "view",
    "ngram_range": "ngrams",
    "settings": "set",
    "header": "no-header",
    "baselines": "baseline",
    "n_jobs": "jobs",
    "scale_views": "no-scale-views",
}


def as_options(message: str) -> str:
    """Return a message with options where the library names arguments: ``--cv 1`` for ``cv=1``."""

    def option(found: re.Match[str]) -> str:
        name = _NAMES.get(found[1], found[1].replace("_", "-"))
        value = found[3] if found[2] is None else shlex.quote(found[2])
        if value == "True":
            return f"--{found[1].replace('_', '-')}"
        return f"--{name} {value}" if value and not name.startswith("no-") else f"--{name}"

    def views(found: re.Match[str]) -> str:
        return _VIEW.sub(r"--view \1=\2 ", found[1]).rstrip()

    message = _VIEWS.sub(views, _LIBRARY_ONLY.sub("", message))
    return _ARGUMENT.sub(option, message)


# one character where that is possible, so that columns stay aligned
_ASCII = dict(zip("→±–−×…─━", ">~--x~--", strict=True))
_ASCII |= {"≥": ">=", "α": "alpha", "β": "beta", "γ": "gamma", "η": "eta", "λ": "lambda"}


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
