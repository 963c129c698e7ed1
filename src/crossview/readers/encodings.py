"""Encodings of text files: which one a file has, and copies in UTF-8, which all readers take.

Bytes that are UTF-8 are hardly ever so by chance, and a byte order mark says UTF-16.  All else is a
guess, which is made from lines of the whole file that hold other bytes than ASCII.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import unicodedata
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from crossview.errors import GuessWarning, InputError, argument
from crossview.saving.files import process_folder
from crossview.tables.arrow import one_line, pyarrow

UTF_8 = "utf-8"
_CHUNK = 1 << 20
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: UTF_8,
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# what Windows and the Macintosh write, the most frequent first: it decides between equals
_CODE_PAGES = (
    *("cp1252", "cp1250", "cp1251", "cp1254", "cp1253", "cp1257", "cp932", "gb18030", "cp949"),
    *("big5", "cp1255", "cp1256", "cp1258", "cp874", "mac_roman", "koi8_r"),
    *("cp850", "cp437", "cp852", "cp866"),  # DOS; last, because old
)
_ONE_BYTE = {page for page in _CODE_PAGES if page not in ("cp932", "gb18030", "cp949", "big5")}
_ASCII = bytes(range(128))
# the first line of a file by which Excel is told the delimiter
_SEPARATOR = re.compile(r"\ufeff?\"?sep=([^\r\n])\"?(?:\r\n|\r|\n)", re.IGNORECASE)
_ODD = re.compile(rb"[\x80-\xff]")
# of a sample: lines of one chunk, lines in all, and bytes of a line
_LINES_OF_CHUNK, _LINES, _BYTES = 20, 400, 2000
# words that show a guess
_WORDS = 3
# signs that may follow a letter
_AFTER_LETTERS = frozenset("’”»…™®©²³¹°ªº·•–—‰")
# in which two code pages fit a language alike
_ALIKE = 0.01


def codec_name(encoding: str) -> str:
    """Return Python's name of an encoding such as Windows-1252; an error if it is unknown."""
    try:
        "a".encode(encoding)  # which refuses codecs that are no encodings of text
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError, TypeError):
        raise InputError(
            f"{argument(encoding=encoding)} is unknown; give one such as utf-8, cp1252, utf-16 or "
            "latin-1"
        ) from None
    return UTF_8 if name == "utf-8-sig" else name


def find_encoding(file: str, given: str | None = None, expected: str | None = None) -> str:
    """Return the encoding of a text file, perhaps compressed; warn of a guess.

    It is an error if the file does not have the one that the user gave, or if none fits.  A file
    that is not UTF-8 is likely to have the ``expected`` one, that of other files like it.
    """
    with one_line(file):
        mark = _mark(file)
        wide = mark not in (None, UTF_8)
        if given is None and wide:
            return str(mark)
        name = None if given is None else codec_name(given)
        if name is not None and wide and name[:6] != str(mark)[:6]:
            raise InputError(f"is {mark}; leave {argument(encoding=given)} out", file=file)
        bad = None if wide else _first_bad_byte(file)
        if bad is not None:
            _check_unpacked(file)
        if name == UTF_8 and bad is not None:
            raise InputError(f"is not UTF-8: {bad}; give another {argument('encoding')}", file=file)
        if name is not None:
            is_utf_8 = name in _ONE_BYTE and not bad
            if is_utf_8 and (words := _show(_Sample.of(file).text.decode(errors="ignore"))):
                warn_of_guess(
                    f"{file} is UTF-8 ({words}), but is read as {name}, as you say; leave "
                    f"{argument(encoding=given)} out if it looks wrong"
                )
            return name
        return UTF_8 if bad is None else _guess(file, bad, expected)


def compression(start: bytes) -> str | None:
    """Return how the name of a file that begins with these bytes ends if it is compressed."""
    return next((suffix for magic, suffix in _MAGIC.items() if start.startswith(magic)), None)


def _check_unpacked(file: str) -> None:
    """Raise an error for a compressed file whose name does not say so."""
    with pyarrow().input_stream(file) as stream:
        suffix = compression(bytes(stream.read(MOST_MAGIC)))
    if suffix is not None:
        raise InputError(
            f"is compressed, and its name does not say so: rename it to end in {suffix}", file=file
        )


def check_utf8(file: str, format: str) -> str:
    """Return "utf-8", or "utf-8-sig" with a byte order mark; an error if a file is not UTF-8.

    ``format`` is what the file should be, for the message.
    """
    with one_line(file):
        mark = _mark(file)
        bad = mark if mark not in (None, UTF_8) else _first_bad_byte(file)
        if bad is not None:
            _check_unpacked(file)
    if bad is not None:
        raise InputError(
            f"is not UTF-8 ({bad}), and {format} files are; convert it, such as by "
            f"iconv -f {'cp1252' if mark in (None, UTF_8) else mark} -t utf-8",
            file=file,
        )
    return UTF_8 if mark is None else "utf-8-sig"


# the first bytes of compressed files, and how their names end
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
MOST_MAGIC = max(map(len, _MAGIC))
_copies: dict[tuple[Any, ...], str] = {}


def said_delimiter(file: str, encoding: str) -> str | None:
    """Return the delimiter that a first line ``sep=;``, which Excel writes and reads, says."""
    found = _separator_line(file, encoding)
    return found and found[1]


def _separator_line(file: str, encoding: str) -> re.Match | None:
    with one_line(file), pyarrow().input_stream(file) as stream:
        return _SEPARATOR.match(bytes(stream.read(64)).decode(encoding, errors="ignore"))


def line_ends(file: str, encoding: str) -> list[str]:
    """Return the ways in which lines of a text file end: CRLF, LF, CR."""
    decoder: Any = codecs.getincrementaldecoder(encoding)("replace")
    decoder = io.IncrementalNewlineDecoder(decoder, translate=False)
    with one_line(file):
        for chunk in _chunks(file):
            decoder.decode(chunk)
    found = decoder.newlines
    ends = found if isinstance(found, tuple) else (found,)
    return [{"\r\n": "CRLF", "\n": "LF", "\r": "CR", None: "none"}[end] for end in ends]


def as_utf8(file: str, encoding: str, *, same_ends: bool = False) -> str:
    """Return the name of a file with the same text in UTF-8, without a first line ``sep=;``.

    If the file is not so itself, this is a temporary copy, made once; with ``same_ends`` one in
    which all lines end with a line feed.
    """
    line = _separator_line(file, encoding)
    if encoding == UTF_8 and line is None and not same_ends:
        return file
    folder, known = process_folder(), os.stat(file)
    state = (os.path.realpath(file), known.st_size, known.st_mtime_ns)
    key = (str(folder), *state, encoding, same_ends)
    if key not in _copies:
        copy = str(folder / f"{len(_copies)}.csv")
        decoder: Any = codecs.getincrementaldecoder(encoding)()
        skipped = "" if line is None else line[0]
        if same_ends:
            decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
            skipped = skipped.replace("\r\n", "\n")
        _write_copy(file, encoding, decoder, copy, len(skipped))
        _copies[key] = copy
    return _copies[key]


def _write_copy(file: str, encoding: str, decoder: Any, copy: str, skip: int) -> None:
    line = 1
    with one_line(file), open(copy, "wb") as out:
        for chunk in chain(_chunks(file), [None]):
            try:
                text = decoder.decode(chunk or b"", final=chunk is None)[skip:].encode()
            except UnicodeError as error:
                start = getattr(error, "start", 0)
                before = error.object[:start] if isinstance(error, UnicodeDecodeError) else b""
                raise InputError(
                    f"is not {encoding} (line {line + before.count(10)}: "
                    f"{getattr(error, 'reason', error)}); give another {argument('encoding')}",
                    file=file,
                ) from None
            line, skip = line + text.count(b"\n") + (skip > 0), 0
            try:
                out.write(text)
            except OSError as error:
                raise InputError(
                    f"has no room for its copy in UTF-8 in {os.path.dirname(copy)} "
                    f"({error.strerror}); name another folder by the variable TMPDIR",
                    file=file,
                ) from None


def _chunks(file: str) -> Iterator[bytes]:
    """The bytes of a file, decompressed."""
    with pyarrow().input_stream(file) as stream:
        while chunk := stream.read(_CHUNK):
            yield bytes(chunk)


def _mark(file: str) -> str | None:
    """The encoding that a byte order mark says."""
    with pyarrow().input_stream(file) as stream:
        start = bytes(stream.read(4))
    return next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)


def _first_bad_byte(file: str) -> str | None:
    """The first byte that is none of UTF-8, and its line, in words."""
    rest, line = b"", 1
    for chunk in chain(_chunks(file), [None]):
        text = rest + (chunk or b"")
        cut = len(text) if chunk is None else _end_of_characters(text)
        if not is_utf8(text[:cut]):
            try:
                text[:cut].decode()
            except UnicodeDecodeError as error:
                at = line + text.count(b"\n", 0, error.start)
                return f"byte 0x{text[error.start]:02x} in line {at}"
        line += text.count(b"\n", 0, cut)
        rest = text[cut:]
    return None


def _end_of_characters(text: bytes) -> int:
    """Return the start of the last character if it may go on in the next chunk, or the end."""
    for n in range(1, min(4, len(text) + 1)):
        if text[-n] >= 0xC0:
            return len(text) - n
    return len(text)


def is_utf8(text: bytes | np.ndarray) -> bool:
    """Return whether bytes are UTF-8: as `bytes.decode` says, in a tenth of the time."""
    if text.isascii() if isinstance(text, bytes) else text.max(initial=0) < 0x80:
        return True
    pa = pyarrow()
    offsets = pa.py_buffer(np.array([0, len(text)], dtype=np.int64))
    try:
        array = pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(text))
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


@dataclass
class _Sample:
    """Lines of all parts of a file that hold odd bytes, those beyond ASCII."""

    lines: list[bytes] = field(default_factory=list)
    odd: set[int] = field(default_factory=set)
    some_zero: bool = False
    _every: int = 1

    @classmethod
    def of(cls, file: str) -> _Sample:
        """Return the sample of a file."""
        sample, rest = cls(), b""
        for i, chunk in enumerate(_chunks(file)):
            sample.odd.update(chunk.translate(None, _ASCII))
            sample.some_zero |= b"\0" in chunk
            head, newline, tail = (rest + chunk).rpartition(b"\n")
            if i % sample._every == 0 or not newline:
                sample._add(head)
            rest = tail[-_CHUNK:]
        sample._add(rest)
        return sample

    def _add(self, text: bytes) -> None:
        at = 0
        for _ in range(_LINES_OF_CHUNK):
            found = _ODD.search(text, at)
            if found is None:
                break
            start = text.rfind(b"\n", 0, found.start()) + 1
            at = text.find(b"\n", found.start()) % (len(text) + 1)
            self.lines.append(text[start : min(at, start + _BYTES)])
        if len(self.lines) > _LINES:
            self.lines, self._every = self.lines[::2], 2 * self._every

    @property
    def text(self) -> bytes:
        return b"\n".join(self.lines)

    def breaks(self, encoding: str) -> int:
        """Return the number of odd characters that are hardly in words, if it has this encoding."""
        return _breaks(self.text.decode(encoding, errors="replace"))


def _guess(file: str, bad: str, expected: str | None) -> str:
    """The encoding of a file that is not UTF-8."""
    sample = _Sample.of(file)
    if sample.some_zero:
        raise InputError(
            "holds zero bytes, so it is no text; if it is, name its encoding, such as "
            f"{argument(encoding='utf-16-le')}",
            file=file,
        )
    if expected is not None and not _fits(expected, sample):
        expected = None
    if expected is not None and not sample.breaks(expected):
        return expected
    text = sample.text.decode(errors="replace")
    n_bad, n_odd = text.count("\ufffd"), sum(not one.isascii() for one in text)
    if n_odd >= 2 * n_bad:
        raise InputError(
            f"is UTF-8 in most lines, but not in all ({bad}); mend them, or name the encoding of "
            f"all of it, such as {argument(encoding='cp1252')}",
            file=file,
        )
    page = _likely_page(file, bad, sample)
    if expected is not None and sample.breaks(expected) <= sample.breaks(page):
        return expected
    words = _show(sample.text.decode(page, errors="replace"))
    warn_of_guess(
        f"{file} is not UTF-8: read as {page} ({words}); if that looks wrong, give "
        f"{argument(encoding='NAME')}"
    )
    return page


def _likely_page(file: str, bad: str, sample: _Sample) -> str:
    """The code page that fits best."""
    if _has_signs_only(sample):
        return "cp1252"
    try:
        import charset_normalizer
    except ImportError:
        raise InputError(
            f"is not UTF-8 ({bad}); name its encoding, such as {argument(encoding='cp1252')}, or "
            "install what finds it: pip install 'crossview[cli]'",
            file=file,
        ) from None
    found = charset_normalizer.from_bytes(sample.text, cp_isolation=list(_CODE_PAGES))
    fits = {
        page: match.coherence
        for match in found
        for page in {match.encoding, *match.could_be_from_charset}
        if page in _CODE_PAGES and _fits(page, sample)
    }
    if not fits:
        raise InputError(
            f"is not UTF-8 ({bad}), and which encoding it has is not clear; name it, such as "
            f"{argument(encoding='cp1252')}",
            file=file,
        )
    breaks = {page: sample.breaks(page) for page in fits}
    fits = {page: fits[page] for page in fits if breaks[page] == min(breaks.values())}
    most = max(fits.values())
    page = min((p for p in fits if fits[p] >= most - _ALIKE), key=_CODE_PAGES.index)
    if page == "mac_roman" and _fits("cp1252", sample):  # the Macintosh is rarer
        return min(("cp1252", page), key=sample.breaks)
    return page


def _has_signs_only(sample: _Sample) -> bool:
    """Return whether all that is odd are signs of cp1252 where such stand: no letters to guess by.

    They are the same or others in most code pages, and the language says nothing of them.
    """
    if not _fits("cp1252", sample) or sample.breaks("cp1252"):
        return False
    text = sample.text.decode("cp1252")
    # a run of them is a word of an alphabet that has two bytes for a letter
    return not re.search(r"[^\0-\x7f]{3}", text) and all(
        one.isascii()
        or not (one.isalpha() or (before.isalpha() and one not in _AFTER_LETTERS))
        or one in "ªº"
        for before, one in zip("\n" + text, text, strict=False)
    )


def _fits(encoding: str, sample: _Sample) -> bool:
    """Return whether the odd bytes of a file are characters of an encoding."""
    try:
        (bytes(sorted(sample.odd)) if encoding in _ONE_BYTE else sample.text).decode(encoding)
    except UnicodeError:
        return False
    return True


def _breaks(text: str) -> int:
    """Signs and capitals inside of words, and control characters; of those beyond ASCII."""
    return sum(
        (before.isalpha() and after.isalpha() and not _is_letter(one) and one not in "’‘'·–—")
        or (before.isalpha() and one.isupper() and (before.islower() or after.islower()))
        or unicodedata.category(one) == "Cc"
        for before, one, after in zip(text, text[1:], text[2:], strict=False)
        if not one.isascii()
    )


def _is_letter(one: str) -> bool:
    return unicodedata.category(one) in ("Lu", "Ll", "Lt", "Lo", "Mn", "Mc")


def _show(text: str) -> str:
    """Some words that are not ASCII."""
    words = [word for word in re.findall(r"[^\s;,|\"]+", text) if not word.isascii()]
    return ", ".join(list(dict.fromkeys(words))[:_WORDS])


def warn_of_guess(words: str) -> None:
    """Warn of what was guessed of a file."""
    warnings.warn(words, GuessWarning, stacklevel=2)
