"""A slow crossing of rows with their users, from the formulas of fingerprint and slot."""

import struct
from collections import defaultdict

MASK = (1 << 64) - 1
GOLDEN, FACTOR = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9


def fingerprint(name):
    """64 bits of a name, eight bytes at a time."""
    text = name.encode()
    h = (len(text) * GOLDEN) & MASK
    for at in range(0, len(text), 8):
        (word,) = struct.unpack("<Q", text[at : at + 8].ljust(8, b"\0"))
        h = ((h ^ word) * FACTOR) & MASK
        h ^= h >> 29
    h = ((h ^ (h >> 29)) * GOLDEN) & MASK
    return h ^ (h >> 29) or 1


def pair(user, feature):
    """64 bits of a user's fingerprint and a feature."""
    h = ((user ^ ((feature + 1) * GOLDEN & MASK)) * FACTOR) & MASK
    h = ((h ^ (h >> 29)) * GOLDEN) & MASK
    return h ^ (h >> 32)


def cross(entries, user, bits, variance):
    """A row {column: value} as {slot: value} for a user: column c is feature c + 1."""
    slots = defaultdict(float)
    own = fingerprint(user)
    slots[pair(own, 0) >> (64 - bits)] = 1.0
    for column, value in sorted(entries.items()):
        slots[pair(own, column + 1) >> (64 - bits)] += variance**0.5 * value
    return dict(slots)
