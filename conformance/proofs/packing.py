"""Lemmas: the two layouts of 12-bit codes, E5M6 (P1, P2), for all codes."""

import numpy as np

import library
import pack
from bits import both, constant, variable
from lemma import Fault, Lemma, Tie

BYTES, WORDS = 0, 1  # as zeroulp_pack numbers them
CODES = [variable(f"c{i}", 16) for i in range(8)]


def number(parts, bits):
    """The number that parts of `bits` bits make, the first lowest."""
    whole = constant(0, 128)
    for i, part in enumerate(parts):
        whole = whole + (part.as_uint(128) << i * bits)
    return whole


def code(c):
    return c.as_uint(32) & 0xfff


def bytes_are_defined():
    """P1: three bytes, little end first, are c0 + c1 * 2^12."""
    packed = pack.pack_bytes(CODES[:2])
    whole = code(CODES[0]).as_uint(128) + code(CODES[1]).as_uint(128) * 4096
    return both(number(packed, 8) == whole, *(b <= 255 for b in packed))


def words_are_defined():
    """P2: of each word the bytes stand little end first; the three words, the
    first highest, are the codes, the first highest."""
    packed = pack.pack_words(CODES)
    words = [number(packed[4 * w:4 * w + 4], 8) for w in range(3)]
    whole = number([code(c) for c in CODES][::-1], 12)
    return both(number(words[::-1], 32) == whole, *(b <= 255 for b in packed))


def returns(kind, count):
    again = unpacked(kind, packed(kind, CODES[:count]))
    return both(*(a == code(c) for a, c in zip(again, CODES)))


def packed(kind, codes):
    return pack.pack_words(codes) if kind == WORDS else pack.pack_bytes(codes)


def unpacked(kind, parts):
    return (pack.unpack_words if kind == WORDS else pack.unpack_bytes)(parts)


def inputs(random):
    edges = np.array([0, 1, 0x7ff, 0x800, 0xffe, 0xfff, 0x1000, 0xffff])
    x = random.integers(0, 1 << 16, (125_000, 8))
    x[:8] = edges[(np.arange(8)[:, None] + np.arange(8)) % 8]
    return {f"c{i}": x[:, i].astype(np.uint64) for i in range(8)}


def tie(kind, codes, width):
    def results():
        out = packed(kind, CODES[:codes])
        return out + unpacked(kind, out)

    def give(given):
        rows = np.stack([given[f"c{i}"] for i in range(codes)], 1)
        out = library.pack(kind, rows, width)
        return list(out.T) + list(library.unpack(kind, out, codes).T)
    return Tie(f"{codes} codes of 12 bits", results, give, inputs)


PAIR, EIGHT = tie(BYTES, 2, 3), tie(WORDS, 8, 12)
TIES = [PAIR, EIGHT]
P1 = Lemma("12-bit codes as bytes", "P1", bytes_are_defined)
P2 = Lemma("12-bit codes as words", "P2", words_are_defined)
LEMMAS = [P1, P2,
          Lemma("12-bit codes as bytes and back", "P1", lambda: returns(BYTES, 2)),
          Lemma("12-bit codes as words and back", "P2", lambda: returns(WORDS, 8))]


def from_the_first(i, bit):
    """The codes from the lowest bit on."""
    return 12 * i + bit


def eleven_bits(codes):
    low, high = (c.as_uint(32) & 0xfff for c in codes)
    return [(low | high << 11) >> 8 * byte & 0xff for byte in range(3)]


FAULTS = [Fault("the second code one bit too low", P1, PAIR, pack, "pack_bytes",
                eleven_bits),
          Fault("words from the lowest bit", P2, EIGHT, pack, "word_bit",
                from_the_first)]
