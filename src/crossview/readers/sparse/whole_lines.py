"""The bytes of a text file in parts that end where a line ends."""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from crossview.errors import InputError
from crossview.kernels.text.words import PADDING
from crossview.readers.encodings import check_utf8, is_utf8
from crossview.tables.arrow import first_line, pyarrow

PART_BYTES = 1 << 22
# a longer line is none of a text file
MOST_BYTES_OF_A_LINE = 1 << 28
_SEARCHED = 1 << 16
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NEWLINE = ord("\n")


def whole_lines(file: str, part_bytes: int = PART_BYTES) -> Iterator[tuple[np.ndarray, int]]:
    """Yield a text file, perhaps compressed, in parts that end with a newline.

    Each part is a buffer and its number of valid bytes, behind which padding follows.  Two buffers
    take turns, so a part is valid until the next but one is drawn.
    """
    buffers = [_buffer(part_bytes) for _ in range(2)]
    with _opened(file) as stream:
        start = bytes(stream.read(len(BYTE_ORDER_MARK)))
        rest = np.frombuffer(b"" if start == BYTE_ORDER_MARK else start, dtype=np.uint8)
        for turn in itertools.cycle((0, 1)):
            buffer = _with_room(buffers[turn], rest[:0], len(rest))
            buffer[: len(rest)] = rest
            end = _fill(stream, buffer, len(rest))
            while end == len(buffer) and (cut := _last_newline(buffer) + 1) == 0:  # a long line
                if end > MOST_BYTES_OF_A_LINE:
                    raise InputError(
                        f"has a line of more than {MOST_BYTES_OF_A_LINE >> 20} MB, so it is no "
                        "text file of rows; name the right file, or its format",
                        file=file,
                    )
                buffer = _with_room(buffer, buffer, end)
                end = _fill(stream, buffer, end)
            buffers[turn] = buffer
            at_end = end < len(buffer)
            if at_end:
                if end and buffer[end - 1] != NEWLINE:
                    buffer[end] = NEWLINE
                    end += 1
                cut = end
            rest = buffer[cut:end]
            sound = cut if is_utf8(buffer[:cut]) else _sound_lines(buffer[:cut])
            if sound < cut:  # errors of the lines before come first, wherever parts end
                if sound:
                    yield _with_padding(buffer), sound
                check_utf8(file, "svmlight, libffm and Vowpal Wabbit")
            if cut:
                yield _with_padding(buffer), cut
            if at_end:
                return


def _with_room(buffer: np.ndarray, content: np.ndarray, n_used: int) -> np.ndarray:
    """The buffer, or a larger one with the same content where too much of it is used."""
    if 2 * n_used < len(buffer):
        return buffer
    larger = _buffer(4 * n_used + 4)
    larger[: len(content)] = content
    return larger


def _buffer(n_bytes: int) -> np.ndarray:
    """A buffer that is followed by padding."""
    return np.zeros(n_bytes + PADDING, dtype=np.uint8)[:n_bytes]


def _with_padding(buffer: np.ndarray) -> np.ndarray:
    """The buffer with what follows, read-only."""
    assert buffer.base is not None
    view = buffer.base.view()
    view.flags.writeable = False
    return view


def _last_newline(buffer: np.ndarray) -> int:
    """The position of the last newline, or -1."""
    for end in range(len(buffer), 0, -_SEARCHED):
        start = max(end - _SEARCHED, 0)
        found = buffer[start:end].tobytes().rfind(b"\n")
        if found >= 0:
            return start + found
    return -1


def _sound_lines(text: np.ndarray) -> int:
    """The end of the lines before the first byte that is none of UTF-8."""
    content = text.tobytes()
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return content.rfind(b"\n", 0, error.start) + 1
    return len(content)


def _fill(stream: Any, buffer: np.ndarray, start: int) -> int:
    """Read until the buffer is full or the file ends; return where it ends."""
    memory = memoryview(buffer.data)
    while start < len(buffer):
        n = stream.readinto(memory[start:])
        if not n:
            break
        start += n
    return start


@contextmanager
def _opened(file: str) -> Iterator[Any]:
    """Open a file, decompressed; raise what is wrong with it as an error of one line."""
    try:
        with _open(file) as stream:
            yield stream
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(f"is damaged, or no gzip file ({error})", file=file) from None
    except OSError as error:
        raise InputError(error.strerror or first_line(error), file=file) from None


def _open(file: str) -> Any:
    if file.lower().endswith(".gz"):
        return gzip.open(file)
    if file.lower().endswith(".zst"):
        return pyarrow().input_stream(file, compression="zstd")
    return open(file, "rb", buffering=0)
