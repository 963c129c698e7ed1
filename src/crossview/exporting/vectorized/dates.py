"""Dates in text as seconds, in SQL: what `crossview.tables.dates` reads.

Databases read dates in ways of their own, and few can be asked whether a text is one.  So a text
is rewritten in steps, each a column: YYYYMMDD and what follows, its time, the zone at the end.
They look at its shape, in which each digit is 0.  What does not match is NULL.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

from crossview.errors import InputError

# from words of sqlglot's own dialect to the name of a column of a layer
Keep = Callable[[str], str]

_WIDTHS = {"%Y": (4,), "%y": (2,), "%m": (2, 1), "%d": (2, 1), "%H": (2, 1), "%M": (2,), "%S": (2,)}
BLANKS = "CHR(32) || CHR(9) || CHR(10) || CHR(12) || CHR(13)"
_ONE_BLANK = "CHR(32), CHR(9), CHR(10), CHR(12), CHR(13)"
_FRACTIONS = ["", *(mark + "0" * n for mark in ".," for n in range(1, 10))]
_TIMES = [f"{h}:00" for h in ("00", "0")]
_TIMES += [f"{h}:00:00{f}" for h in ("00", "0") for f in _FRACTIONS]


def seconds_of_text(column: str, text: str, format: str, keep: Keep) -> str:
    """Return the words for the seconds since 1970, in UTC, of a text without blanks around it.

    text: the name of the column of a layer that has it.
    Raises InputError: the format has seconds or a zone before other parts.
    """
    pieces = re.split(r"(%.)", format)
    has_time, needs_zone, between = "%H" in pieces, pieces[-2] == "%z", ""
    if has_time:
        if pieces[-2] in ("%S", "%z") and (end := pieces.pop()):
            n = len(end)
            words = f"CASE WHEN {_end(text, n)} = {_quoted(end)} THEN {_start(text, n)} END"
            text = keep(words)
        if needs_zone:
            pieces.pop()
            between = pieces.pop()
        last = [one for one in pieces if one.startswith("%")][-1]
        if "%z" in pieces or ("%S" in pieces and last != "%S") or between.strip(" "):
            raise InputError(
                f"holds dates as in {format}, of which SQL reads seconds and then a zone at the "
                "end only; write them so, and train with them",
                column=column,
            )
    shape = keep(_shape(text))
    days = [_of_widths(text, shape, pieces, widths) for widths in _all_widths(pieces)]
    own = keep(f"CASE {' '.join(days)} END")
    if has_time and not needs_zone:
        own = keep(f"{own} || 'Z'")
    year, month, day = (
        keep(f"CAST(SUBSTRING({own}, {first}, {n}) AS DOUBLE)")
        for first, n in ((1, 4), (5, 2), (7, 2))
    )
    rest = (
        f"CASE WHEN SUBSTRING({own}, 9, 1) = '' THEN '0:00' WHEN SUBSTRING({own}, 9, 1) IN "
        f"('T', ' ') THEN TRIM({BLANKS} FROM SUBSTRING({own}, 10)) END"
    )
    time, time_shape = keep(rest), keep(_shape(rest))
    since = keep(_days(year, month, day))
    zone = keep(
        f"CASE WHEN {_end(time_shape, 1)} = 'Z' THEN 1 "
        f"WHEN {_end(time_shape, 6)} IN ('+00:00', '-00:00') THEN 6 "
        f"WHEN {_end(time_shape, 5)} IN ('+0000', '-0000') THEN 5 "
        f"WHEN {_end(time_shape, 3)} IN ('+00', '-00') THEN 3 ELSE 0 END",
    )
    has_blank = f"{zone} > 0 AND {_end(time, f'{zone} + 1', 1)} IN ({_ONE_BLANK})"
    blank = f"CASE WHEN {has_blank} THEN 1 ELSE 0 END"
    clock, clock_shape = (
        keep(f"SUBSTRING({one}, 1, LENGTH({one}) - {zone} - {blank})") for one in (time, time_shape)
    )
    shapes = ", ".join(map(_quoted, _TIMES))
    is_time = f"{clock_shape} IN ({shapes})" + (f" AND {zone} > 0" if needs_zone else "")
    colon = f"CASE WHEN SUBSTRING({clock}, 2, 1) = ':' THEN 2 ELSE 3 END"
    hour = f"CAST(SUBSTRING({clock}, 1, {colon} - 1) AS DOUBLE)"
    minute = f"CAST(SUBSTRING({clock}, {colon} + 1, 2) AS DOUBLE)"
    second = f"CAST('0' || REPLACE(SUBSTRING({clock}, {colon} + 4), ',', '.') AS DOUBLE)"
    # to the microsecond, as the model
    rounded = f"FLOOR({second} * 1000000.0e0 + 0.5e0) / 1000000.0e0"
    is_minus = f"CASE WHEN {_end(time, zone, 1)} = '-' THEN -1.0e0 ELSE 1.0e0 END"
    hours = f"CAST({_end(time, f'{zone} - 1', 2)} AS DOUBLE) * 3600.0e0"
    minutes = f"CASE WHEN {zone} > 3 THEN CAST({_end(time, 2)} AS DOUBLE) * 60.0e0 ELSE 0.0e0 END"
    offset = f"CASE WHEN {zone} > 1 THEN {is_minus} * ({hours} + {minutes}) ELSE 0.0e0 END"
    return (
        f"CASE WHEN {is_time} THEN CASE WHEN {hour} < 24.0e0 AND {minute} < 60.0e0 AND "
        f"{second} < 60.0e0 THEN {since} * 86400.0e0 + {hour} * 3600.0e0 + {minute} * 60.0e0 + "
        f"{rounded} - {offset} END END"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _start(text: str, n: int) -> str:
    """All but the last n characters."""
    return f"SUBSTRING({text}, 1, LENGTH({text}) - {n})"


def _end(text: str, n: int | str, size: int | None = None) -> str:
    """The last n characters, or the first ones of them."""
    return f"SUBSTRING({text}, LENGTH({text}) - ({n}) + 1, {n if size is None else size})"


def _shape(text: str) -> str:
    for digit in "123456789":
        text = f"REPLACE({text}, '{digit}', '0')"
    return text


def _all_widths(pieces: list[str]) -> list[dict[str, int]]:
    """The widths that the parts may have, as a regular expression tries them."""
    parts = [one for one in pieces if one in _WIDTHS]
    choices = itertools.product(*(_WIDTHS[one] for one in parts))
    return [dict(zip(parts, widths, strict=True)) for widths in choices]


def _of_widths(text: str, shape: str, pieces: list[str], widths: dict[str, int]) -> str:
    """Return WHEN a text has parts of these widths THEN YYYYMMDD, its time, and what follows."""
    at, begins, conditions, part = 1, "", [], dict[str, str]()
    for piece in pieces:
        n = widths.get(piece, len(piece))
        if piece in widths:
            begins += "0" * n
            part[piece] = f"SUBSTRING({text}, {at}, {n})"
            part[piece] = f"'0' || {part[piece]}" if n == 1 else part[piece]
        else:
            begins += re.sub("[0-9]", "0", piece)
            if re.search("[0-9]", piece):
                conditions.append(f" AND SUBSTRING({text}, {at}, {n}) = {_quoted(piece)}")
        at += n
    year = part.get("%Y")
    if year is None:
        year = f"CASE WHEN {part['%y']} < '69' THEN '20' ELSE '19' END || {part['%y']}"
    words = [year, part["%m"], part["%d"]]
    if "%H" in part:
        words += ["' '", part["%H"], "':'", part.get("%M", "'00'")]
        words += ["':'", part["%S"]] if "%S" in part else []
    words.append(f"SUBSTRING({text}, {at})")
    is_so = f"SUBSTRING({shape}, 1, {at - 1}) = {_quoted(begins)}{''.join(conditions)}"
    return f"WHEN {is_so} THEN {' || '.join(words)}"


def _days(year: str, month: str, day: str) -> str:
    """The days since 1970 (Hinnant, "chrono-compatible low-level date algorithms")."""

    def divides(n: int) -> str:
        return f"{year} / {n}.0e0 = FLOOR({year} / {n}.0e0)"

    leap = f"{divides(4)} AND (NOT ({divides(100)}) OR {divides(400)})"
    last = (
        f"CASE WHEN {month} IN (4.0e0, 6.0e0, 9.0e0, 11.0e0) THEN 30.0e0 WHEN {month} <> 2.0e0 "
        f"THEN 31.0e0 WHEN {leap} THEN 29.0e0 ELSE 28.0e0 END"
    )
    y = f"({year} - CASE WHEN {month} <= 2.0e0 THEN 1.0e0 ELSE 0.0e0 END)"
    since_march = f"{month} + CASE WHEN {month} > 2.0e0 THEN -3.0e0 ELSE 9.0e0 END"
    of_year = f"FLOOR((153.0e0 * ({since_march}) + 2.0e0) / 5.0e0)"
    leaps = f"FLOOR({y} / 4.0e0) - FLOOR({y} / 100.0e0) + FLOOR({y} / 400.0e0)"
    return (
        f"CASE WHEN {month} BETWEEN 1.0e0 AND 12.0e0 AND {day} BETWEEN 1.0e0 AND {last} THEN "
        f"365.0e0 * {y} + {leaps} + {of_year} + {day} - 1.0e0 - 719468.0e0 END"
    )
