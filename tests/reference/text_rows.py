"""Slow parsers of svmlight, libffm and Vowpal Wabbit text, from the documents of the formats.

A row is a label (None: there is none), a weight, a tag, and its entries by view and column.
"""

import struct
from collections import defaultdict


def _label(word):
    return None if word.lower() == "nan" else float(word)


def _lines(text):
    return [line for line in text.replace("\r", " ").split("\n") if line.strip()]


def svmlight(text):
    """``label [qid:n] index:value ... [# comment]``: one view, "all"."""
    rows = []
    for line in _lines("\n".join(line.partition("#")[0] for line in text.split("\n"))):
        label, *words = line.split()
        entries = {int(i): float(x) for i, x in (w.split(":") for w in words if w[0] != "q")}
        rows.append((_label(label), 1.0, None, {"all": entries}))
    return rows


def libffm(text):
    """``label field:index:value ...``: a view per field."""
    rows = []
    for line in _lines(text):
        label, *words = line.split()
        views = defaultdict(dict)
        for word in words:
            field, index, value = word.split(":")
            views[field][int(index)] = float(value)
        rows.append((_label(label), 1.0, None, dict(views)))
    return rows


def vw(text, hash_bits):
    """``[label [weight]] ['tag]|namespace[:scale] name[:value] ...``: a view per namespace."""
    rows = []
    for line in _lines(text):
        head, *spaces = line.split("|")
        words, tag = head.split(), None
        if words and (words[-1][0] == "'" or not head[-1].isspace()):
            tag = words.pop().removeprefix("'")
        label, weight = [*map(float, words), *[None, 1.0][len(words) :]]
        views = defaultdict(lambda: defaultdict(float))
        for space in spaces:
            names = space.split()
            named = bool(space.strip()) and not space[0].isspace()
            name, _, scale = (names.pop(0) if named else "").partition(":")
            features = views[name or "default"]
            n_anonymous = 0
            for feature in names:
                key, _, value = feature.partition(":")
                if key:
                    slot = int(key) if key.isdigit() else abs(murmur(key.encode()))
                else:
                    slot, n_anonymous = n_anonymous, n_anonymous + 1
                features[slot % 2**hash_bits] += float(value or 1) * float(scale or 1)
        rows.append((label, weight, tag, {view: dict(found) for view, found in views.items()}))
    return rows


def murmur(key):
    """A. Appleby, MurmurHash3_x86_32 with seed 0, as a signed number."""

    def scramble(k):
        k = k * 0xCC9E2D51 & 0xFFFFFFFF
        return (k << 15 | k >> 17) * 0x1B873593 & 0xFFFFFFFF

    h, n = 0, len(key) // 4 * 4
    for (k,) in struct.iter_unpack("<I", key[:n]):
        h ^= scramble(k)
        h = ((h << 13 | h >> 19) & 0xFFFFFFFF) * 5 + 0xE6546B64 & 0xFFFFFFFF
    h ^= scramble(int.from_bytes(key[n:], "little"))
    h ^= len(key)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h = (h ^ h >> shift) * factor & 0xFFFFFFFF
    return h - 2**32 if h >> 31 else h
