"""Sketch of the rows that a model has learned, and whether other rows are among them."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from crossview.encoding.encode import ViewEncoder
from crossview.encoding.rows.row_hashes import hash_views
from crossview.errors import InputError
from crossview.saving.schema import check_header

# hashes of a sketch, with which a share of 10 % is known to 1.3 percentage points
SIZE = 512
# rows learned equally often that must be found, and their share beyond twice what chance gives
FEWEST_FOUND, LEAST_SHARE = 5, 0.1
# beyond, counts of all hashes together would overflow
MOST_ROWS = 2**53


def hash_rows(X: Any, encoder: Any) -> np.ndarray:
    """Return a hash of each row of a table, or of views, as the model of this encoder reads it."""
    return encoder.hash_rows(X) if isinstance(encoder, ViewEncoder) else hash_views(X)


@dataclass(frozen=True, eq=False)
class RowSketch:
    """The smallest hashes of some rows, and how many of the rows have each of them.

    They follow from the rows alone, in any order and batches, and those of other rows add up
    (bottom-k sketch; Cohen and Kaplan 2007).  A sketch of fewer than 512 hashes has all rows.
    """

    hashes: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    counts: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.uint64))

    def with_rows(self, hashes: np.ndarray) -> RowSketch:
        """Return the sketch of these rows and more, by their hashes."""
        some, counts = np.unique(self._in_reach(hashes), return_counts=True)
        return self + RowSketch(some[:SIZE], counts[:SIZE].astype(np.uint64))

    def __add__(self, other: RowSketch) -> RowSketch:
        if not len(other.hashes):
            return self
        both = np.concatenate([self.hashes, other.hashes])
        hashes, place = np.unique(both, return_inverse=True)
        counts = np.zeros(len(hashes), dtype=np.uint64)
        np.add.at(counts, place, np.concatenate([self.counts, other.counts]))
        return RowSketch(hashes[:SIZE], counts[:SIZE])

    def _in_reach(self, hashes: np.ndarray) -> np.ndarray:
        """Return those of some hashes that the sketch has where their rows were counted."""
        return hashes if len(self.hashes) < SIZE else hashes[hashes <= self.hashes[-1]]

    def find(self, hashes: np.ndarray) -> Found:
        """Return how many of some rows the sketch has."""
        some = self._in_reach(hashes)
        own = np.isin(some, self.hashes)
        times = self.counts[np.searchsorted(self.hashes, some[own])]
        return Found(len(some), Counter(times.tolist()))

    def expected(self, times: int) -> float:
        """Return the share of new rows that are equal to a row learned so many times, by chance.

        It is about the share of the learned rows that came once more (Good 1953); with two rows
        more that did, because few rows say little.
        """
        more = times + 1
        return float(more * (2 + (self.counts == more).sum()) / max(self.counts.sum(), 1))

    def learned_share(self, found: Found) -> float | None:
        """Return the share of rows that are equal to learned ones: 0 where chance explains it.

        None: too few rows say something.
        """
        if found.of < FEWEST_FOUND:
            return None
        surely = any(
            rows >= FEWEST_FOUND and rows / found.of > LEAST_SHARE + 2.0 * self.expected(times)
            for times, rows in found.times.items()
        )
        return found.times.total() / found.of if surely else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        text = base64.b64encode(self.hashes.astype("<u8").tobytes()).decode()
        return {"hashes": text, "counts": self.counts.tolist()}

    @classmethod
    def of_info(cls, info: Mapping[str, Any]) -> Self | None:
        """Return the sketch of the metadata of a model; None if they have none."""
        known = info.get("row_sketch")
        return None if known is None else cls.from_json(known)

    @classmethod
    def from_json(cls, known: Any) -> Self:
        """Return what `to_json` gave; `InputError` if it is not sound."""
        check_header(known, {"hashes": str, "counts": [int]}, "the rows learned")
        counts = known["counts"]
        if len(counts) > SIZE or not all(0 < n <= MOST_ROWS for n in counts):
            raise InputError("the rows learned have counts that no sketch has")
        try:
            content = base64.b64decode(known["hashes"], validate=True)
            hashes = np.frombuffer(content, dtype="<u8").astype(np.uint64)
        except ValueError:
            hashes = np.empty(0, dtype=np.uint64)
        if len(hashes) != len(counts) or (hashes[1:] <= hashes[:-1]).any():
            raise InputError("the rows learned have hashes that no sketch has")
        return cls(hashes, np.array(counts, dtype=np.uint64))


@dataclass(frozen=True)
class Found:
    """How many rows a sketch has, of those that it would have; those of other rows add up.

    times: those that it has, by how many times they were learned.
    """

    of: int = 0
    times: Counter[int] = field(default_factory=Counter)

    def __add__(self, other: Found) -> Found:
        return Found(self.of + other.of, self.times + other.times)
