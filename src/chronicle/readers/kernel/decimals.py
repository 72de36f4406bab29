"""A decimal number in a buffer of bytes, with exactly the value that `float` gives it.

A mantissa w below 2**53 times or over 10**22 at most is rounded once (Clinger, "How to read floating point
numbers accurately", 1990). Else w * 10**q is read off the upper half of the product of w and a power of ten
of 128 bits (Lemire, "Number parsing at a gigabyte per second", 2021; Mushtak and Lemire, "Fast number
parsing without fallback", 2023). More than 19 digits, and what is not a normal number, are left to `float`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.readers.kernel.words import B1, B2, B7, B8, ONE, SEVEN, THREE, ZERO, eight_bytes

ODD, WHOLE, REAL = 0, 1, 2  # what stood there: nothing that is read here, an integer of 64 bits, a number
LEAST_TENS, MOST_TENS = -342, 308  # beyond, 19 digits are 0 or infinity
MOST_DIGITS = 19

_U = np.uint64
TEN, HUNDRED, THOUSAND = _U(10), _U(100), _U(1000)
LOW, HALF = _U(0xFFFFFFFF), _U(32)
NINE_BITS, HIDDEN, SIGN, MANY = _U(0x1FF), _U(1 << 52), _U(1 << 63), _U(1 << 53)
SHIFT_55, SHIFT_52, TOP = _U(9), _U(52), _U(63)
ZEROS = _U(1086)  # biased exponent of a double with no zeros before its first digit
MOST_INT = _U(2**63 - 1)
NOT_A_NUMBER, INFINITY = _U(0x7FF8 << 48), _U(0x7FF0 << 48)
JSON_NAN, JSON_INFINITY = (78, 97, 78), (73, 110, 102, 105, 110, 105, 116, 121)
NAN, INF, IN_FULL = (110, 97, 110), (105, 110, 102), (105, 110, 102, 105, 110, 105, 116, 121)
EXACT_TENS = 10.0 ** np.arange(23)
SHORT_TENS = 10 ** np.arange(9, dtype=np.uint64)
ZERO_DIGITS, ABOVE_NINE, TOP_BITS = _U(0x3030303030303030), _U(0x7676767676767676), _U(0x8080808080808080)
PAIRS, FOURS, EIGHTS = _U(10 << 8 | 1), _U(100 << 16 | 1), _U(10_000 << 32 | 1)
IN_PAIRS, IN_FOURS, EVERY_BYTE = _U(0x00FF00FF00FF00FF), _U(0x0000FFFF0000FFFF), _U(0x0101010101010101)

Words = NDArray[np.uint64]


def powers() -> tuple[Words, Words]:
    """Upper and lower words of 10**q as 128 bits without leading zeros, for q from LEAST_TENS on.

    They are cut, but the few negative powers that a product with them may meet exactly are rounded up, as the
    proof of the method asks.
    """
    upper, lower = list[int](), list[int]()
    for q in range(LEAST_TENS, MOST_TENS + 1):
        five = 5 ** abs(q)
        if q < 0:
            five = (1 << (five.bit_length() + (127 if q >= -27 else 200))) // five + (q >= -27)
        places = five.bit_length() - 128
        power = five >> places if places > 0 else five << -places
        upper.append(power >> 64)
        lower.append(power & 0xFFFFFFFFFFFFFFFF)
    return np.array(upper, np.uint64), np.array(lower, np.uint64)


UPPER, LOWER = powers()


def product(a: Any, b: Any) -> tuple[Any, Any]:
    """Upper and lower word of the product of two words."""
    a0, a1, b0, b1 = a & LOW, a >> HALF, b & LOW, b >> HALF
    low, left, right = a0 * b0, a0 * b1, a1 * b0
    middle = (low >> HALF) + (left & LOW) + (right & LOW)
    upper = a1 * b1 + (left >> HALF) + (right >> HALF) + (middle >> HALF)
    return upper, (low & LOW) | (middle << HALF)


def bits_of(w: Any, q: int, bits: Any, floats: Any, k: int) -> Any:
    """The bits of the double nearest to w * 10**q, for w > 0 and q within the table; 0 for no normal one.

    Slot ``k`` is scratch: the exponent of a double tells how many zeros stand before its first digit.
    """
    floats[k] = np.float64(
        w & ~(w >> ONE)
    )  # the second digit is 0: never rounded up to the next power of two
    zeros = ZEROS - (bits[k] >> SHIFT_52)
    w <<= zeros
    upper, lower = product(w, UPPER[q - LEAST_TENS])
    if upper & NINE_BITS == NINE_BITS:
        more, _ = product(w, LOWER[q - LEAST_TENS])
        lower += more
        if lower < more:
            upper += ONE
    high = upper >> TOP
    mantissa = upper >> (high + SHIFT_55)
    exponent = ((217706 * q) >> 16) + 63 + np.int64(high) - np.int64(zeros) + 1023
    if lower <= ONE and -4 <= q <= 23 and mantissa & THREE == ONE and mantissa << (high + SHIFT_55) == upper:
        mantissa -= ONE  # halfway between two doubles: to the even one
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    if mantissa >> SHIFT_52 > ONE:
        mantissa, exponent = HIDDEN, exponent + 1
    if exponent <= 0 or exponent >= 2047:
        return ZERO
    return (mantissa & ~HIDDEN) | (np.uint64(exponent) << SHIFT_52)


def spelled(buffer: Any, at: int, letters: tuple[int, ...], case: int) -> bool:
    """Whether these letters stand at ``at``; with ``case`` 32 in any case."""
    i = 0
    while i < len(letters) and buffer[at + i] | case == letters[i]:
        i += 1
    return i == len(letters)


def digits(buffer: Any, at: int, w: Any) -> tuple[Any, int]:
    """Adds the digits at ``at`` to ``w``: it, and the place after them."""
    while True:
        a = buffer[at] - np.uint8(48)
        if a > 9:
            return w, at
        b = buffer[at + 1] - np.uint8(48)
        if b > 9:
            return w * TEN + np.uint64(a), at + 1
        c = buffer[at + 2] - np.uint8(48)
        if c > 9:
            return w * HUNDRED + np.uint64(a) * TEN + np.uint64(b), at + 2
        w = w * THOUSAND + (np.uint64(a) * HUNDRED + np.uint64(b) * TEN + np.uint64(c))
        at += 3


def many_digits(buffer: Any, at: int, w: Any) -> tuple[Any, Any]:
    """As `digits`, for runs of many: eight at a time, as bytes of one word, where so many bytes are left."""
    while at + 8 <= len(buffer):
        word = eight_bytes(buffer, at) ^ ZERO_DIGITS
        others = (word | (word + ABOVE_NINE)) & TOP_BITS
        if others == ZERO:
            w = w * SHORT_TENS[8] + value_of(word)
            at += 8
        else:
            before = (others - ONE) & ~others  # the bits before that of the first byte that is no digit
            n = (((before & TOP_BITS) >> SEVEN) * EVERY_BYTE) >> B7
            if n == ZERO:
                return w, at
            return w * SHORT_TENS[n] + value_of(word << (B8 - (n << THREE))), at + np.int64(n)
    return digits(buffer, at, w)


def value_of(word: Any) -> Any:
    """The number whose eight digits are the bytes of a word: pairs, fours and eights are joined."""
    word = (word * PAIRS) >> B1
    word = ((word & IN_PAIRS) * FOURS) >> B2
    return ((word & IN_FOURS) * EIGHTS) >> HALF


def number(buffer: Any, at: int, strict: bool, bits: Any, floats: Any, k: int) -> tuple[int, int]:
    """Reads the number at ``at`` into slot ``k``: what it is, and the place after it.

    ``bits`` and ``floats`` are one memory. An integer is stored as int64, anything else as double.
    ``strict``: as JSON spells numbers. The buffer must end in a line end.
    """
    negative = buffer[at] == 45
    first = at + 1 if negative or (buffer[at] == 43 and not strict) else at
    nonzero = first
    while buffer[nonzero] == 48:
        nonzero += 1
    w, at = digits(buffer, nonzero, ZERO)
    n_digits = at - nonzero
    if at == first and buffer[at] != 46:
        return named(buffer, at, strict, negative, bits, k)
    spelled_well = at > first and (at - first == 1 or buffer[first] != 48)
    n_cells, tens, integer = at - first, 0, True
    if buffer[at] == 46:
        point = at + 1
        nonzero = point
        while w == ZERO and buffer[nonzero] == 48:
            nonzero += 1
        w, at = many_digits(buffer, nonzero, w)
        n_digits += at - nonzero
        tens, integer, n_cells = point - at, False, n_cells + at - point
        spelled_well = spelled_well and at > point
    if buffer[at] | 32 == 101:
        power, at = exponent(buffer, at + 1)
        tens, integer = tens + power, False
    if n_cells == 0 or n_digits > MOST_DIGITS or (strict and not spelled_well):
        return ODD, first
    if integer:
        bits[k] = ~w + ONE if negative else w
        return (ODD if w > MOST_INT or (negative and w == ZERO) else WHOLE), at
    return (REAL if store(w, tens, negative, bits, floats, k) else ODD), at


def named(buffer: Any, at: int, strict: bool, negative: bool, bits: Any, k: int) -> tuple[int, int]:
    """NaN or infinity at ``at``, behind its sign; as Python writes them in JSON, or in any case."""
    if strict:
        nan = 0 if negative else 3 * spelled(buffer, at, JSON_NAN, 0)
        infinity = 8 * spelled(buffer, at, JSON_INFINITY, 0)
    else:
        nan, infinity = 3 * spelled(buffer, at, NAN, 32), 3 * spelled(buffer, at, INF, 32)
        infinity = 8 if spelled(buffer, at, IN_FULL, 32) else infinity
    if nan + infinity == 0:
        return ODD, at
    word = NOT_A_NUMBER if nan > 0 else INFINITY
    bits[k] = word | SIGN if negative else word
    return REAL, at + nan + infinity


def exponent(buffer: Any, at: int) -> tuple[int, int]:
    """The exponent behind an e, and the place after it; one that is out of range where it is none."""
    below = buffer[at] == 45
    if below or buffer[at] == 43:
        at += 1
    first, power = at, 0
    while buffer[at] - np.uint8(48) <= 9 and at - first < 4:
        power = power * 10 + int(buffer[at] - np.uint8(48))
        at += 1
    if at == first or at - first == 4:
        return -10000, at
    return -power if below else power, at


def store(w: Any, tens: int, negative: bool, bits: Any, floats: Any, k: int) -> bool:
    """Puts w * 10**tens into slot ``k``; False where that is left to `float`."""
    if w < MANY and -22 <= tens <= 22:
        value = np.float64(w)
        value = value / EXACT_TENS[-tens] if tens < 0 else value * EXACT_TENS[tens]
        floats[k] = -value if negative else value
        return True
    word = bits_of(w, tens, bits, floats, k) if w > ZERO and LEAST_TENS <= tens <= MOST_TENS else ZERO
    bits[k] = word | SIGN if negative else word
    return bool(word > ZERO)
