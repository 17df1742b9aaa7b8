"""pack.hpp of the core, operation by operation: of one group of codes each."""

from bits import constant


def pack_bytes(codes):
    """pack.hpp, a pair: three bytes."""
    low, high = (c.as_uint(32) & 0xfff for c in codes)
    together = low | high << 12
    return [together >> 8 * byte & 0xff for byte in range(3)]


def unpack_bytes(packed):
    """pack.hpp: two codes of three bytes."""
    together = constant(0, 32)
    for byte in range(3):
        together = together | packed[byte].as_uint(32) << 8 * byte
    return [together >> j * 12 & 0xfff for j in range(2)]


def word_bit(i, bit):
    """pack.hpp."""
    from_the_end = 12 * (7 - i) + bit
    return 32 * (2 - from_the_end // 32) + from_the_end % 32


def pack_words(codes):
    """pack.hpp, eight codes: twelve bytes."""
    out = [constant(0, 32)] * 12
    for j, code in enumerate(codes):
        for bit in range(12):
            at = word_bit(j, bit)
            one = code.as_uint(32) >> bit & 1
            out[at // 8] = out[at // 8] | one << at % 8
    return out


def unpack_words(packed):
    """pack.hpp: eight codes of twelve bytes."""
    codes = []
    for j in range(8):
        code = constant(0, 32)
        for bit in range(12):
            at = word_bit(j, bit)
            code = code | (packed[at // 8].as_uint(32) >> at % 8 & 1) << bit
        codes.append(code)
    return codes
