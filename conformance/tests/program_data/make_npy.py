"""Writes and reads .npy files with the standard library alone.

make_npy.py write FILE DESCR SHAPE VALUE...   shape as 2x3; values repeat
make_npy.py normal FILE SHAPE SEED            float32, about normal
make_npy.py header FILE TEXT [HEX]            any header text, then bytes
make_npy.py bits FILE                         descr, shape, elements in hex
"""

import struct
import sys

CODES = {"<f2": "e", "<f4": "f", "<f8": "d", "|u1": "B", "<u2": "H",
         "<u4": "I", "<i4": "i", ">f4": ">f"}


def pack(path, text, data):
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)))
        f.write(text.encode() + data)


def write(path, descr, shape, values):
    dims = [int(d) for d in shape.split("x") if d]
    count = 1
    for d in dims:
        count *= d
    inner = ", ".join(map(str, dims)) + ("," if len(dims) == 1 else "")
    code = CODES[descr]
    code = code if code[0] == ">" else "<" + code
    number = float if code[-1] in "efd" else lambda v: int(v, 0)
    values = [number(v) if isinstance(v, str) else v for v in values or ["0"]]
    data = b"".join(struct.pack(code, values[i % len(values)])
                    for i in range(count))
    pack(path, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }"
         % (descr, inner), data)


def main(kind, path, *rest):
    if kind == "write":
        write(path, rest[0], rest[1], list(rest[2:]))
    elif kind == "normal":
        import random  # half of the start
        source = random.Random(int(rest[1]))
        rows, cols = map(int, rest[0].split("x"))
        write(path, "<f4", rest[0],
              [sum(source.random() for _ in range(4)) - 2
               for _ in range(rows * cols)])
    elif kind == "header":
        pack(path, rest[0], bytes.fromhex(rest[1] if len(rest) > 1 else ""))
    else:
        with open(path, "rb") as f:
            content = f.read()
        start = 10 + struct.unpack("<H", content[8:10])[0]
        fields = eval(content[10:start], {})
        size = int(fields["descr"][-1])
        data = content[start:]
        words = [data[i:i + size][::-1].hex()
                 for i in range(0, len(data), size)]
        shape = "x".join(map(str, fields["shape"]))
        print(" ".join([fields["descr"], shape] + words))


main(*sys.argv[1:])
