"""Files of Vowpal Wabbit; views are namespaces."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from crossview.errors import InputError, closest_names, some_names
from crossview.kernels.text import parsing as grammar
from crossview.kernels.text.parsing import TextRows
from crossview.kernels.text.vw import NO_SLOT, Namespaces, VwRows, parse_vw
from crossview.readers.sparse.text_rows import (
    EXPLAINED,
    ROWS_OF_FIRST_PASS,
    Parser,
    TextRowSource,
    read_parts,
)

# the view of features behind a bar without a name
DEFAULT = "default"
MOST_NAMESPACES, MOST_BYTES = 10_000, 1 << 12


EXPLANATIONS = {
    **EXPLAINED,
    grammar.BAD_LABEL: "{word} is no simple label, which is one number; rows of several "
    "labels or costs are not supported, and classes with names are to be numbered",
    grammar.BAD_WEIGHT: "{word} is no importance weight, a number of 0 or more",
    grammar.HAS_BASE: "{word} is an initial prediction, which no learner here takes; leave it out",
    grammar.NO_BAR: "the line ends without a bar |, behind which features begin",
    grammar.BAD_VALUE: "{word} has no finite number after the colon; leave out what is 0 or "
    "missing",
    grammar.NEW_NAMESPACE: f"{{word}} is one namespace more than {MOST_NAMESPACES:,}, or its name "
    f"has more than {MOST_BYTES:,} bytes; is it a feature?",
}


class _Namespaces(Parser):
    """Reads rows, and learns the names of namespaces."""

    explanations = EXPLANATIONS

    def __init__(self, view_of: dict[str, int], n_slots: int, keep_tags: bool) -> None:
        self.view_of = view_of
        self.names: list[str] = []
        self.weighted = False
        self._n_slots, self._keep_tags = n_slots, keep_tags
        self._more = VwRows(np.empty(0), np.empty((0, 2), dtype=np.uint64))
        self._tags: list[str | None] = []
        self._set([])

    def _set(self, hashes: list[int]) -> None:
        self._hashes = hashes
        views = [self.view_of.get(name, NO_SLOT) for name in self.names]
        slots = np.array([NO_SLOT if v < 0 else v * self._n_slots for v in views], dtype=np.int64)
        self._spaces = Namespaces(np.array(hashes, dtype=np.uint64), slots, self._n_slots - 1)

    def parse(self, text: np.ndarray, at: np.ndarray, rows: TextRows) -> int:
        n = len(rows.labels)
        if len(self._more.weights) < n:
            self._more = VwRows(np.empty(n), np.empty((n, 2), dtype=np.uint64))
        return int(parse_vw(text, at, self._spaces, self._more, rows))

    def take(self, text: np.ndarray, first: int, end: int) -> None:
        if self._keep_tags:
            for low, high in self._more.tags[first:end].tolist():
                tag = bytes(text[low:high]).decode(errors="replace")
                self._tags.append(tag or None)
        weights = self._more.weights[first:end]
        self.weighted = self.weighted or bool((weights != 1.0).any())

    def extras(self, n: int) -> dict[str, Any]:
        tags, self._tags = self._tags, []
        return {"weight": self._more.weights[:n].copy(), "tags": tags if self._keep_tags else None}

    def resume(self, status: int, text: np.ndarray, p: int) -> bool:
        if status != grammar.NEW_NAMESPACE or len(self.names) >= MOST_NAMESPACES:
            return False
        name = re.split(rb"[|:\s]", bytes(text[p : p + MOST_BYTES + 1]), maxsplit=1)[0]
        if len(name) > MOST_BYTES:
            return False
        found = 0xCBF29CE484222325  # FNV-1a
        for byte in name:
            found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        self.names.append(name.decode(errors="replace") or DEFAULT)
        self._set([*self._hashes, found])
        return True


class VwSource(TextRowSource):
    """Files of lines ``[label [weight]] ['tag]|namespace[:scale] name[:value] ... |...``.

    A view is a list of namespaces; without views each namespace is one, in the order in which they
    appear.  Features behind a bar without a name are in the namespace "default".  A view has
    ``2^hash_bits`` slots: a name that is a whole number is a slot, modulo their number, and another
    one is hashed.  Entries that meet in a slot are added up.
    """

    format = "vw"
    _groups: dict[str, list[str]] | None = None

    @property
    def weighted(self) -> bool:
        """True if a row has a weight other than 1."""
        self.first_pass()
        return self._scanned.weighted

    @property
    def is_open(self) -> bool:
        """Whether each namespace of the files is a view."""
        return self._given is None

    def _beyond_views(self, parser: Any) -> str | None:
        others = [name for name in parser.names if name not in parser.view_of]
        return f"namespace {others[0]!r:.60}" if others else None

    def check_views(self) -> None:
        """Raise an error for a view none of whose namespaces is in the files."""
        self.first_pass()
        known = self._scanned.names
        for view, names in (self._given or {}).items():
            if not set(names) & set(known):
                raise InputError(
                    f"view {view!r}: no row has a namespace {names[0]!r}"
                    f"{closest_names(names[0], known)}",
                    file=self.files[0],
                )

    def missing_views(self) -> list[str]:
        """The given views none of whose namespaces is in the files; an error if that is all."""
        given, scanner = self._given or {}, _Namespaces({}, 1, False)
        missing = list(given)
        for file in self.files:
            for _ in read_parts(file, ROWS_OF_FIRST_PASS, scanner, self._part_bytes):
                missing = [view for view in missing if not set(given[view]) & set(scanner.names)]
                if not missing:
                    return []
        if scanner.names and len(missing) == len(given):
            names = [name for view in missing for name in given[view]]
            raise InputError(
                f"has none of the model's namespaces ({some_names(names)}); it has "
                f"{some_names(scanner.names)}",
                file=self.files[0],
            )
        return missing

    def _scanner(self) -> Parser:
        self._scanned = _Namespaces({}, 1, False)
        return self._scanned

    def _parser(self) -> Parser:
        view_of = {name: v for v, names in enumerate(self._resolved().values()) for name in names}
        return _Namespaces(view_of, 1 << self.hash_bits, self._tags)

    def _parts(self) -> dict[str, dict[str, int]]:
        n = 1 << self.hash_bits  # which the namespaces of a view share
        views = self._resolved().items()
        return {view: {name: n * (k == 0) for k, name in enumerate(own)} for view, own in views}

    def _resolved(self) -> dict[str, list[str]]:
        """The namespaces of each view; a pass over the files finds them if no views are given."""
        if self._groups is None:
            if self._given is None:
                self.first_pass()
                names = self._scanned.names
                if not names:
                    raise InputError("has no namespace", file=self.files[0])
                self._groups = {name: [name] for name in dict.fromkeys(names)}
            else:
                names = [name for group in self._given.values() for name in group]
                if len(set(names)) < len(names):
                    twice = next(name for name in names if names.count(name) > 1)
                    raise InputError(
                        f"namespace {twice!r} is in two views; give each to one view only"
                    )
                self._groups = self._given
        return self._groups
