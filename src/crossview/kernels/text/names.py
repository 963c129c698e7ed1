"""Names of slots as numbers: their hash, and a fingerprint that tells them apart."""

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import EIGHT, FOUR, ONE, ZERO
from crossview.kernels.text.words import load_word

WORD = np.uint64(0xFFFFFFFF)
# SplitMix64's constants (Steele, Lea, Flood 2014)
GOLDEN, FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
SHIFT = np.uint64(29)


@inlined_borrowing
def _rotate(x, n):
    return ((x << n) | (x >> (np.uint64(32) - n))) & WORD


@borrowing
def hash_bytes(text, start, end):
    """The absolute value of MurmurHash3 (x86, 32 bits, signed, seed 0) of some bytes."""
    c1, c2 = np.uint64(0xCC9E2D51), np.uint64(0x1B873593)
    h, p = ZERO, start
    while p + FOUR <= end:
        k = load_word(text, p) & WORD
        h ^= (_rotate((k * c1) & WORD, np.uint64(15)) * c2) & WORD
        h = (_rotate(h, np.uint64(13)) * np.uint64(5) + np.uint64(0xE6546B64)) & WORD
        p += FOUR
    k = load_word(text, p) & ((ONE << (EIGHT * (end - p))) - ONE)
    h ^= (_rotate((k * c1) & WORD, np.uint64(15)) * c2) & WORD
    h ^= end - start
    h ^= h >> np.uint64(16)
    h = (h * np.uint64(0x85EBCA6B)) & WORD
    h ^= h >> np.uint64(13)
    h = (h * np.uint64(0xC2B2AE35)) & WORD
    h ^= h >> np.uint64(16)
    return h if h >> np.uint64(31) == ZERO else (WORD - h) + ONE


@inlined_borrowing
def fingerprint(text, start, end):
    """Return 64 bits of some bytes, not all 0."""
    h, p = (end - start) * GOLDEN, start
    while p < end:
        word = load_word(text, p)
        if end - p < EIGHT:
            word &= (ONE << (EIGHT * (end - p))) - ONE
        h = (h ^ word) * FACTOR
        h ^= h >> SHIFT
        p += EIGHT
    h = (h ^ (h >> SHIFT)) * GOLDEN
    h ^= h >> SHIFT
    return h if h != ZERO else ONE


@borrowing
def hash_names(text, offsets, start, buffer, hashes, prints):
    """hashes[i], prints[i] <- of the name that is ``buffer[:start]`` and value i of the text.

    Value i is between two offsets.  ``buffer`` has room for the longest name, and `PADDING` bytes.
    """
    for i in range(hashes.shape[0]):
        p = start
        for q in range(offsets[i], offsets[i + 1]):
            buffer[p] = text[q]
            p += ONE
        hashes[i] = hash_bytes(buffer, ZERO, p)
        prints[i] = fingerprint(buffer, ZERO, p)
