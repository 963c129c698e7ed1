"""Decimal numbers in text to float64, correct to the last bit.

Clinger, "How to Read Floating Point Numbers Accurately", PLDI 1990: a product or a quotient of two
numbers that float64 holds exactly is rounded once.  Lemire, "Number Parsing at a Gigabyte per
Second", Software: Practice and Experience 51(8), 2021: 128 bits of a power of five decide all else
up to 19 digits.  More digits are compared as whole numbers where they matter.

Text is an array of bytes that ends in a newline, so no loop asks where it ends.
"""

import numpy as np

from crossview._jit import borrowing, inlined_borrowing, njit
from crossview.kernels.rows import ONE, TWO, ZERO

PLUS, MINUS, POINT = ord("+"), ord("-"), ord(".")
ZERO_DIGIT, NINE_DIGIT = ord("0"), ord("9")
TEN = np.uint64(10)
# the digits that 64 bits always hold, and a number beyond all of float64
EXACT_DIGITS, HUGE_EXPONENT = np.uint64(19), 100_000
MANTISSA_BITS = 52
TOP_BIT = np.uint64(63)
LOW_HALF, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
LEAST_POWER, MOST_POWER = -342, 308
EXACT_POWERS = np.array([10.0**k for k in range(23)])
# more digits than any point halfway between two numbers has
MOST_DIGITS = 800


def _powers_of_five() -> np.ndarray:
    """The upper 128 bits of 5^q, rounded down, and up for negative q: two words each."""
    words = []
    for q in range(LEAST_POWER, MOST_POWER + 1):
        power = 5 ** abs(q)
        if q < 0:
            bits = power.bit_length()
            shift = 2 * bits + 128
            power = (1 << shift) // power + 1
        excess = power.bit_length() - 128
        power = power >> excess if excess > 0 else power << -excess
        words += [power >> 64, power & (2**64 - 1)]
    return np.array(words, dtype=np.uint64)


POWERS_OF_FIVE = _powers_of_five()


@inlined_borrowing
def is_digit(c):
    """Return whether a byte is a digit."""
    return ZERO_DIGIT <= c <= NINE_DIGIT


@borrowing
def read_number(text, p):
    """Return the number that begins at p, and where it ends: at p if there is none."""
    start = p
    negative = text[p] == MINUS
    if negative or text[p] == PLUS:
        p += ONE
    mantissa, first = ZERO, p
    while is_digit(text[p]):
        mantissa = mantissa * TEN + np.uint64(text[p] - ZERO_DIGIT)
        p += ONE
    n_digits, exponent = p - first, 0
    if text[p] == POINT:
        p += ONE
        point = p
        while is_digit(text[p]):
            mantissa = mantissa * TEN + np.uint64(text[p] - ZERO_DIGIT)
            p += ONE
        n_digits += p - point
        exponent = -np.int64(p - point)
    if n_digits == ZERO:
        return 0.0, start
    end = p
    if text[p] | 32 == 101:  # e or E
        written, p = _read_exponent(text, p)
        exponent += written
    if n_digits > EXACT_DIGITS:
        value = _long_number(text, first, end, exponent)
    elif mantissa >> np.uint64(MANTISSA_BITS + 1) == ZERO and -22 <= exponent <= 22:
        if exponent < 0:
            value = np.float64(mantissa) / EXACT_POWERS[-exponent]
        else:
            value = np.float64(mantissa) * EXACT_POWERS[exponent]
    else:
        value = _nearest(mantissa, exponent)
    return -value if negative else value, p


@borrowing
def _read_exponent(text, p):
    """The exponent that is written at p, and where it ends: 0 and p if no digit follows the e."""
    q = p + ONE
    negative = text[q] == MINUS
    if negative or text[q] == PLUS:
        q += ONE
    if not is_digit(text[q]):
        return 0, p
    exponent = 0
    while is_digit(text[q]):
        exponent = min(exponent * 10 + np.int64(text[q]) - ZERO_DIGIT, HUGE_EXPONENT)
        q += ONE
    return -exponent if negative else exponent, q


@borrowing
def _product(a, b):
    """The 128 bits of a b, as two words."""
    a1, a0, b1, b0 = a >> HALF, a & LOW_HALF, b >> HALF, b & LOW_HALF
    low, middle = a0 * b0, a1 * b0
    middle += low >> HALF  # cannot overflow
    other = a0 * b1 + (middle & LOW_HALF)
    high = a1 * b1 + (middle >> HALF) + (other >> HALF)
    return high, (other << HALF) | (low & LOW_HALF)


@borrowing
def _float_bits(mantissa, power):
    """The bits of a float64: infinity beyond the largest."""
    if power >= 0x7FF:
        mantissa, power = ZERO, 0x7FF
    bits = (np.uint64(power) << np.uint64(MANTISSA_BITS)) | (
        mantissa & ((ONE << np.uint64(MANTISSA_BITS)) - ONE)
    )
    return bits


@borrowing
def _nearest_bits(w, q):
    """The bits of the float64 nearest to w 10^q (Lemire 2021, algorithm 1)."""
    if w == ZERO or q < LEAST_POWER:
        return ZERO
    if q > MOST_POWER:
        return _float_bits(ZERO, 0x7FF)
    n_zeros = 0
    while w >> TOP_BIT == ZERO:
        w <<= ONE
        n_zeros += 1
    at = 2 * (q - LEAST_POWER)
    high, low = _product(w, POWERS_OF_FIVE[at])
    if high & (ALL_BITS >> np.uint64(MANTISSA_BITS + 3)) == ALL_BITS >> np.uint64(
        MANTISSA_BITS + 3
    ):
        carry = _product(w, POWERS_OF_FIVE[at + 1])[0]
        low += carry
        if carry > low:
            high += ONE
    upper = high >> TOP_BIT
    shift = upper + np.uint64(64 - MANTISSA_BITS - 3)
    mantissa = high >> shift
    power = (((152170 + 65536) * q) >> 16) + 63 + np.int64(upper) - n_zeros + 1023
    if power <= 0:  # subnormal
        if -power + 1 >= 64:
            return ZERO
        mantissa >>= np.uint64(-power + 1)
        mantissa = (mantissa + (mantissa & ONE)) >> ONE
        return _float_bits(mantissa, 0 if mantissa >> np.uint64(MANTISSA_BITS) == ZERO else 1)
    is_odd = low <= ONE and -4 <= q <= 23 and mantissa & np.uint64(3) == ONE
    if is_odd and mantissa << shift == high:  # halfway: to the even one
        mantissa &= ~ONE
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    if mantissa >> np.uint64(MANTISSA_BITS + 1) != ZERO:
        mantissa >>= ONE
        power += 1
    return _float_bits(mantissa, power)


@njit
def _nearest(w, q):
    """The float64 nearest to w 10^q."""
    bits = np.empty(1, dtype=np.uint64)
    bits[0] = _nearest_bits(w, q)
    return bits.view(np.float64)[0]


@njit
def _long_number(text, start, end, exponent):
    """The float64 nearest to more than 19 digits, from start to end, times 10^exponent."""
    w, n_digits, n_left = ZERO, ZERO, 0
    for p in range(start, end):
        if text[p] == POINT or (n_digits == ZERO and text[p] == ZERO_DIGIT):
            continue
        if n_digits < EXACT_DIGITS:
            w = w * TEN + np.uint64(text[p] - ZERO_DIGIT)
            n_digits += ONE
        else:
            n_left += 1
    bits = np.empty(1, dtype=np.uint64)
    bits[0] = _nearest_bits(w, exponent + n_left)
    # all further digits together are less than one in the last of these
    between_two = n_left > 0 and _nearest_bits(w + ONE, exponent + n_left) != bits[0]
    if between_two and _exceeds_half(text, start, end, exponent, bits[0]):
        bits[0] += ONE
    return bits.view(np.float64)[0]


@njit
def _exceeds_half(text, start, end, exponent, bits):
    """Return whether a number, at least the float64 of these bits, rounds to the next one."""
    power = np.int64(bits >> np.uint64(MANTISSA_BITS))
    mantissa = bits & ((ONE << np.uint64(MANTISSA_BITS)) - ONE)
    if power > 0:
        mantissa |= ONE << np.uint64(MANTISSA_BITS)
    # the point halfway is (2 m + 1) 2^(e - 1)
    two = max(power, 1) - 1023 - MANTISSA_BITS - 1
    ours, theirs = np.zeros(512, dtype=np.uint64), np.zeros(512, dtype=np.uint64)
    n_digits = 0
    for p in range(start, end):
        if text[p] == POINT:
            continue
        digit = np.uint64(text[p] - ZERO_DIGIT)
        if n_digits < MOST_DIGITS:
            _multiply(ours, TEN, digit)
            n_digits += 1 if n_digits or digit else 0
        else:
            exponent += 1
            ours[0] |= np.uint64(digit != ZERO)  # beyond the last that can matter
    _multiply(theirs, ZERO, TWO * mantissa + ONE)
    for _ in range(abs(exponent)):
        _multiply(ours if exponent > 0 else theirs, TEN, ZERO)
    for _ in range(abs(two)):
        _multiply(theirs if two > 0 else ours, TWO, ZERO)
    for k in range(len(ours) - 1, -1, -1):
        if ours[k] != theirs[k]:
            return ours[k] > theirs[k]
    return mantissa & ONE == ONE  # halfway: to the even one


@njit
def _multiply(number, factor, term):
    """Multiply a whole number of 32 bits per word by a small factor, and add a term."""
    carry = term
    for k in range(len(number)):
        carry += number[k] * factor
        number[k] = carry & LOW_HALF
        carry >>= HALF
