"""Text: which columns hold it, and the words, characters and shape that a model learns of it."""

from __future__ import annotations

import functools
import re
import string
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossview.errors import GuessWarning, NumbersAsTextWarning, argument
from crossview.tables.arrow import codes_of, decoded, integers, numbers_of, pyarrow
from crossview.tables.dates import is_text

if TYPE_CHECKING:
    import pyarrow as pa

# what a view may hold of a text
FORMS = ("words", "chars", "shape")
SHAPE = ("log length", "words", "digits", "capitals", "marks", "addresses")
CHARACTERS = (3, 4, 5)  # of a sequence of characters

# a column is text by this many of its values, out of these rows
MOST_VALUES, MOST_ROWS, FEWEST_VALUES = 10_000, 100_000, 20
VALUES_WATCHED = 50  # of a stream whose first rows were too few
MOST_CHARACTERS = 500_000  # that are read word by word
# and from these shares of different values, numbers of words, and shares of letters on
DIFFERENT, WORDS, DEVIATION, LETTERS, MANY_WORDS = 0.3, 3.0, 0.2, 0.5, 20.0
# where the number of words hardly differs: words that no form has filled in, by how often the same
# word stands at the same place
WORDS_THAT_MOVE, SAME_PLACE = 5.0, 0.35

# numbers that are written as text: with a decimal point, with a decimal comma, and with separators
# of thousands, which are none of those, a sign such as € or %, another minus, or in parentheses
_FLOAT = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
NUMBER = rf"^\s*{_FLOAT}\s*$"
DECIMAL_COMMA = r"^\s*[-+]?\d*,\d+\s*$"
# digits, of which points, commas, apostrophes or spaces, also those that no line breaks at, divide
# thousands
_SPACED = r"[1-9]\d{0,2}(['’ \x{a0}\x{2009}\x{202f}]\d{3})+([.,]\d+)?"
_DIGITS, _GAP = rf"({_SPACED}|\d[\d.,]*)", r"[\s\x{a0}\x{2009}\x{202f}]*"
_SIGN = r"(\p{Sc}|EUR|USD|GBP|CHF|Fr\.|SEK|NOK|DKK|PLN|CZK|HUF|kr\.?)"
AMOUNT = (
    rf"^\s*([-+−]?({_SPACED}|\d{{1,3}}((,\d{{3}}){{2,}}|(\.\d{{3}}){{2,}}|(,\d{{3}})+\.\d+"
    rf"|(\.\d{{3}})+,\d+))|[-+−]?\s*{_SIGN}{_GAP}[-+−]?{_DIGITS}"
    rf"|[-+−]?{_DIGITS}{_GAP}({_SIGN}|%)|−\d[\d.,]*"
    rf"|\(\s*{_SIGN}?{_GAP}{_DIGITS}{_GAP}({_SIGN}|%)?\s*\))\s*$"
)
WITHOUT_SIGNS = "write numbers without separators of thousands, signs and units"
# vectors, as Python, JSON and NumPy write them
VECTOR = rf"^\s*\[\s*{_FLOAT}(\s*[,\s]\s*{_FLOAT})+\s*\]\s*$"
WHOLE, LEADING_ZERO = r"^\s*[-+]?\d+\s*$", r"^\s*[-+]?0\d"
_NOT_KNOWN = r"k\.\s?a\.|n\.\s?[abdv]\.|#nv"
MISSING = (
    r"(?i)^\s*(#?n/?a|<na>|nan|null|none|nil|missing|unknown"
    rf"|{_NOT_KNOWN}|\?+|-+|–|—|\.+)?\s*$"
)
# text is numbers where so large a share of the values that are not missing are; by so many values
MANY_NUMBERS, NUMBERS_SEEN = 0.8, 1000


class StringColumn(NamedTuple):
    """What a column of strings holds, by its first values: sentences, numbers, or neither.

    ``number`` is the first value that looks like a number, where most do; None where they do not.
    """

    is_text: bool
    number: str | None


def look_at_strings(
    batches: Iterable[Mapping[str, pa.Array]], names: Sequence[str]
) -> dict[str, StringColumn]:
    """Return what columns of strings hold, by their first values."""
    samples = {name: _Sample() for name in names}
    for batch in batches:
        for name, sample in samples.items():
            sample.add(batch[name])
        if all(sample.complete for sample in samples.values()):
            break
    return {name: StringColumn(one.is_text, one.number) for name, one in samples.items()}


def is_amount(value: str) -> bool:
    """Return whether text is a number but for separators of thousands, or a sign such as €."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return bool(pc.match_substring_regex(pa.scalar(value), AMOUNT).as_py())


def number_in(values: pa.Array) -> str | None:
    """Return the first value of a column of strings that looks like a number, where most do.

    None where they do not, and where they may be codes: only whole numbers, or some that begin
    with 0.
    """
    sample = _Sample()
    sample.add(values)
    return sample.number


def warn_of_number(name: str, number: str) -> None:
    """Warn of a column of numbers that are text, such as this one, and learned as a category."""
    warnings.warn(
        f"column {name!r} is learned as a category, and its values look like numbers, such as "
        f"{number!r:.40}; give numbers (describe says how), or {argument(categorical=[name])}",
        NumbersAsTextWarning,
        stacklevel=2,
    )


class TextWatch:
    """Columns of a stream that nobody declared, and a warning if one looks like text or numbers.

    Its first rows were too few to tell, so that each value is a category.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._samples = {name: _Sample() for name in names}

    def names_in(self, names: Iterable[str]) -> list[str]:
        """Return which of these columns are still watched."""
        return [name for name in names if name in self._samples]

    def see(self, table: pa.Table) -> None:
        """Take some rows; warn of each column that is text or numbers by its first values."""
        for name in table.column_names:
            array = table.column(name)
            array = array.combine_chunks() if hasattr(array, "combine_chunks") else array
            sample = self._samples[name]
            if not (is_text(array.type) or str(array.type) == "null"):
                del self._samples[name]
                continue
            sample.add(array)
            if sample.n_values < VALUES_WATCHED:
                continue
            if sample.is_text:
                warnings.warn(
                    f"column {name!r} is learned as a category, and its values look like sentences;"
                    f" to learn their words, begin anew with {argument(text=[name])}, or with a "
                    f"first table of {FEWEST_VALUES} rows or more",
                    GuessWarning,
                    stacklevel=2,
                )
            elif (number := sample.number) is not None:
                warn_of_number(name, number)
            del self._samples[name]

    def see_one(self, x: Mapping[Any, Any]) -> None:
        """Take a row of `partial_fit_transform_one`."""
        if not self._samples:
            return
        import pyarrow as pa

        found = {}
        for name in self._samples:
            view, _, column = name.partition("__")
            own = x.get(view)
            cell = x.get(name, own.get(column) if isinstance(own, Mapping) else None)
            if cell is not None:
                found[name] = pa.array([cell]) if isinstance(cell, str) else pa.array([True])
        self.see(pa.table(found))


class _Sample:
    """The first values of a column, by which it is text, numbers or a category."""

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []
        self._missing, self._rows = MOST_VALUES, 0

    def add(self, array: pa.Array) -> None:
        """Take more rows, as far as they are needed."""
        import pyarrow as pa
        import pyarrow.compute as pc

        self._rows += len(array)
        values = pc.drop_null(decoded(array.slice(0, MOST_ROWS)))
        self._parts.append(values.slice(0, self._missing).cast(pa.large_string()))
        self._missing -= len(self._parts[-1])

    @property
    def n_values(self) -> int:
        """The number of values that are there."""
        return MOST_VALUES - self._missing

    @property
    def complete(self) -> bool:
        """True if more rows would change nothing."""
        return not self._missing or self._rows >= MOST_ROWS

    @property
    def is_text(self) -> bool:
        """True if the values are sentences.

        Their words, of two letters or more, are many and not always as many or in the same places,
        most characters are letters unless there are very many words, and few values are repeated.
        """
        import pyarrow.compute as pc

        values = self._values()
        there = numbers_of(pc.utf8_length(pc.utf8_trim_whitespace(values))) > 0
        coded = values.take(integers(np.flatnonzero(there))).dictionary_encode()
        n = len(coded)
        if n < FEWEST_VALUES or len(coded.dictionary) < DIFFERENT * n:
            return False
        ends = np.cumsum(numbers_of(pc.utf8_length(coded.dictionary)))
        some = coded.dictionary.slice(0, 1 + int(np.searchsorted(ends, MOST_CHARACTERS)))
        rows = np.bincount(codes_of(coded.indices, -1))[: len(some)]
        n = rows.sum()
        if rows @ numbers_of(pc.count_substring_regex(some, r"\S+")) < WORDS * n:
            return False
        words, letters = np.array([_words(text) for text in some.to_pylist()]).T
        mean = rows @ words / n
        deviation = np.sqrt(rows @ (words - mean) ** 2 / n)
        shown = rows @ numbers_of(pc.count_substring_regex(some, r"\S"))
        return bool(
            mean >= WORDS
            and (deviation >= DEVIATION * mean or (mean >= WORDS_THAT_MOVE and _moves(some)))
            and (mean >= MANY_WORDS or rows @ letters >= LETTERS * shown)
        )

    @property
    def number(self) -> str | None:
        """The first value that looks like a number, as `number_in` returns it."""
        import pyarrow.compute as pc

        values = self._values().slice(0, NUMBERS_SEEN)

        def like(*patterns: str) -> np.ndarray:
            either = "|".join(f"({pattern})" for pattern in patterns)
            return numbers_of(pc.match_substring_regex(values, either)).astype(bool)

        numbers = like(NUMBER, DECIMAL_COMMA, AMOUNT, VECTOR)
        if not numbers.any() or numbers.sum() < MANY_NUMBERS * (~like(MISSING)).sum():
            return None
        if like(WHOLE).all() or like(LEADING_ZERO).any():
            return None
        return str(values[int(np.argmax(numbers))])

    def _values(self) -> pa.Array:
        import pyarrow as pa

        return pa.chunked_array(self._parts, pa.large_string()).combine_chunks()


def _words(text: str) -> tuple[int, int]:
    """The words of a text, without their punctuation, and the letters in them."""
    lengths = [len(token) for token in _tokens(text) if len(token) > 1 and token.isalpha()]
    return len(lengths), sum(lengths)


def _moves(texts: pa.Array) -> bool:
    """Return whether two of the same word are seldom at the same place of their texts."""
    words, places = Counter[str](), Counter[tuple[str, int]]()
    for text in texts.to_pylist():
        at = [(token, i) for i, token in enumerate(_tokens(text)) if token.isalpha()]
        words.update(token for token, _ in at)
        places.update(at)
    pairs, same = (sum(n * (n - 1) for n in found.values()) for found in (words, places))
    return bool(pairs) and same <= SAME_PLACE * pairs


def _tokens(text: str) -> list[str]:
    return [token.strip(_PUNCTUATION) for token in text.split()]


_PUNCTUATION = string.punctuation + "“”„‘’«»…–—¿¡"


@functools.lru_cache(maxsize=16)
def word_analyzer(shortest: int, longest: int) -> Callable[[str], list[str]]:
    """Return the function that gives the n-grams of lower-case words of a text."""
    # loads much that others do not need
    from sklearn.feature_extraction.text import HashingVectorizer

    analyzer: Callable[[str], list[str]] = HashingVectorizer(
        ngram_range=(shortest, longest)
    ).build_analyzer()
    return analyzer


def characters_of(text: str) -> list[str]:
    """Return the sequences of characters of each word of a text."""
    return [term for word in text.lower().split() for term in _characters(word)]


def split_terms(
    texts: Sequence[str], form: str, ngram_range: tuple[int, int]
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the different terms of texts; those of text i are ``codes[indptr[i]:indptr[i + 1]]``.

    Terms are n-grams of lower-case words, or of the characters of each word, with its start and
    end as ``<`` and ``>``.
    """
    if form != "chars":
        return _coded(map(word_analyzer(*ngram_range), texts))
    words, of_texts, ends = _coded(text.lower().split() for text in texts)
    terms, of_words, indptr = _coded(map(_characters, words))  # once for each word
    lengths = np.diff(indptr)[of_texts]
    places = np.cumsum(lengths) - lengths
    at = np.repeat(indptr[of_texts] - places, lengths) + np.arange(lengths.sum())
    return terms, of_words[at], np.append(places, lengths.sum())[ends]


def _characters(word: str) -> list[str]:
    """The sequences of characters of a word; of a short one the whole of it."""
    word = f"<{word}>"
    longest = min(CHARACTERS[-1], len(word))
    return [
        word[start : start + n]
        for n in range(CHARACTERS[0], longest + 1)
        for start in range(len(word) - n + 1)
    ]


def _coded(lists: Iterable[list[str]]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The different strings of some lists, their codes, and where each list begins."""
    codes_by_name: dict[str, int] = defaultdict()
    codes_by_name.default_factory = codes_by_name.__len__  # type: ignore[attr-defined]
    codes = [list(map(codes_by_name.__getitem__, one)) for one in lists]
    indptr = np.cumsum([0, *map(len, codes)])
    flat = np.fromiter(chain.from_iterable(codes), np.int64, indptr[-1])
    return list(codes_by_name), flat, indptr


# digits, capitals, and marks or symbols: no character is two of them
_KINDS = r"\p{Nd}", r"\p{Lu}", r"[\p{P}\p{S}]"
_ADDRESS = r"(?i)(?:https?://|\bwww\.)\S"
_WORD = re.compile(r"[^\t\n\f\r ]+")
# the number of the kind of each character so far; 0 if it is of none
_kind_of_character: dict[str, int] = {}


def shape_numbers(texts: pa.Array) -> np.ndarray:
    """Return the numbers of each text that say how it is written (`SHAPE`).

    They are the logarithm of 1 + its characters, its words, the shares of digits, capitals and
    punctuation marks or symbols among the characters that are not blank, and that of web addresses
    among the words.
    """
    import pyarrow.compute as pc

    lengths = numbers_of(pc.utf8_length(texts)).astype(np.float64)
    patterns = (r"\S+", r"\S", *_KINDS, _ADDRESS)
    return np.column_stack(_shape(lengths, *(_count(texts, pattern) for pattern in patterns)))


def shape_of(text: str) -> list[float]:
    """Return the row of `shape_numbers` of one text, without its expressions, which take 3 ms.

    >>> import pyarrow as pa
    >>> from crossview.tables.text import shape_numbers, shape_of
    >>> texts = ["Über 12 €, see www.example.org", ""]
    >>> [shape_of(text) for text in texts] == shape_numbers(pa.array(texts)).tolist()
    True
    """
    if new := sorted(set(text).difference(_kind_of_character)):
        counted = [_count(pyarrow().array(new), kind) for kind in _KINDS]
        _kind_of_character.update(zip(new, np.array([1, 2, 3]) @ counted, strict=True))
    words = _WORD.findall(text)
    kinds = [_kind_of_character[character] for character in text]
    own = [float(kinds.count(k)) for k in (1, 2, 3)]
    may_have = "://" in text or "www." in text.lower()
    addresses = _count(pyarrow().array([text]), _ADDRESS)[0] if may_have else 0.0
    numbers = _shape(float(len(text)), len(words), sum(map(len, words)), *own, addresses)
    return [float(number) for number in numbers]


def _count(texts: pa.Array, pattern: str) -> np.ndarray:
    import pyarrow.compute as pc

    return numbers_of(pc.count_substring_regex(texts, pattern)).astype(np.float64)


def _shape(length: Any, words: Any, shown: Any, *counts: Any) -> list[Any]:
    *kinds, addresses = counts
    shares = [count / np.maximum(shown, 1.0) for count in kinds]
    return [np.log1p(length), words, *shares, addresses / np.maximum(words, 1.0)]
