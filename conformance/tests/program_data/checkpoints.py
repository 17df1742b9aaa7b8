"""Synthetic checkpoints for checkpoint.sh, and what they are to become, by
definitions that share nothing with the program:

    checkpoints.py make KIND FOLDER      a small checkpoint of a family
    checkpoints.py damage HOW FOLDER     damages one that `make` wrote
    checkpoints.py expect FOLDER OUT BF16|F16|F32 [via]  holds OUT, dequantized
                                         by the program, against FOLDER
    checkpoints.py sparse FOLDER BYTES   one weight of zeros, of a sparse file
    checkpoints.py bf16 FOLDER           the BF16 weights of deepseek_v3
    checkpoints.py spread FOLDER         MXFP4 with a block that FP8 has not
    checkpoints.py expect_quantized, expect_rescaled, with_packages, nudge: below
    checkpoints.py same A B              the same tensors, byte for byte
    checkpoints.py headers FOLDER        headers for a corpus of a fuzzer

Needs nothing but Python. Products are exact in FP64: at most 2 + 4 + 24 bits.
"""

import json
import math
import os
import random
import struct
import sys

SIZES = {"F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "U8": 1, "I8": 1, "BF16": 2,
         "F16": 2, "F32": 4}
FORMATS = {"F8_E4M3": (4, 3, 7), "F8_E5M2": (5, 2, 15), "E2M1": (2, 1, 1),
           "BF16": (8, 7, 127), "F16": (5, 10, 15), "F32": (8, 23, 127)}


class Random:
    """Numbers of a seed, the same everywhere."""

    def __init__(self, seed):
        self.state = seed * 2654435761 + 12345

    def below(self, n):
        self.state = (self.state * 6364136223846793005 +
                      1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def normal(self):
        return sum(self.below(2**20) for _ in range(6)) / 2**20 - 3


def decode(kind, code):
    """The value of a code, exact; NaN codes are NaN."""
    if kind in ("F8_E8M0", "U8"):
        return math.nan if code == 255 else 2.0**(code - 127)
    if kind == "F32":
        return struct.unpack("<f", struct.pack("<I", code))[0]
    exp_bits, man_bits, bias = FORMATS[kind]
    sign = -1.0 if code >> (exp_bits + man_bits) & 1 else 1.0
    e = code >> man_bits & (1 << exp_bits) - 1
    m = code & (1 << man_bits) - 1
    if kind == "F8_E4M3" and code & 0x7f == 0x7f:
        return math.nan
    if kind not in ("F8_E4M3", "E2M1") and e == (1 << exp_bits) - 1:
        return math.nan if m else sign * math.inf
    return sign * (2.0**(e - bias) * (1 + m / 2**man_bits) if e else
                   2.0**(1 - bias) * m / 2**man_bits)


def encode(kind, x):
    """x, exact, rounded once: nearest-even; too large becomes Inf."""
    exp_bits, man_bits, bias = FORMATS[kind]
    sign = 1 if math.copysign(1, x) < 0 else 0
    top = (1 << exp_bits) - 1
    if math.isnan(x):
        return (1 << exp_bits + man_bits) - 1
    if math.isinf(x):
        return sign << exp_bits + man_bits | top << man_bits
    if x == 0:
        return sign << exp_bits + man_bits
    least = 1 - bias
    e = max(math.frexp(abs(x))[1] - 1, least)
    n = math.ldexp(abs(x), man_bits - e)  # exact: a power of two
    q = int(n)
    rest = n - q
    if rest > 0.5 or rest == 0.5 and q & 1:
        q += 1
    code = q + (e - least << man_bits)  # the carry makes the next exponent
    most = 0x7e if kind == "F8_E4M3" else top << man_bits
    return sign << exp_bits + man_bits | min(code, most)


class File:
    """Tensors (type, shape, bytes) of one .safetensors file."""

    def __init__(self):
        self.tensors = {}
        self.metadata = {}

    def add(self, name, kind, shape, codes):
        letter = {1: "B", 2: "H", 4: "I"}[SIZES[kind]]
        data = struct.pack(f"<{len(codes)}{letter}", *codes)
        assert math.prod(shape) * SIZES[kind] == len(data), name
        self.tensors[name] = (kind, list(shape), data)

    def header(self):
        h, at = {}, 0
        if self.metadata:
            h["__metadata__"] = self.metadata
        for name, (kind, shape, data) in self.tensors.items():
            h[name] = {"dtype": kind, "shape": shape,
                       "data_offsets": [at, at + len(data)]}
            at += len(data)
        return h

    def write(self, path, header=None):
        text = json.dumps(header or self.header()).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text +
                    b"".join(t[2] for t in self.tensors.values()))


def read(path):
    f = File()
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    f.metadata = header.pop("__metadata__", {})
    for name, t in header.items():
        begin, end = t["data_offsets"]
        f.tensors[name] = (t["dtype"], t["shape"],
                           data[8 + n + begin:8 + n + end])
    return f


def read_all(folder):
    tensors = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".safetensors"):
            tensors.update(read(os.path.join(folder, name)).tensors)
    return tensors


def words(tensor):
    kind, _, data = tensor
    letter = {1: "B", 2: "H", 4: "I"}[SIZES[kind]]
    return struct.unpack(f"<{len(data) // SIZES[kind]}{letter}", data)


# What checkpoints are made of.

def fp8(r, shape, kind="F8_E4M3"):
    """Codes of normal numbers, none of them NaN."""
    table = bytes(encode("F8_E4M3", max(-448, min(448, r.normal() * 120)))
                  if kind == "F8_E4M3" else r.below(0x7c) | r.below(2) << 7
                  for _ in range(256))
    return list(bytes_of(r, shape).translate(table))


def bytes_of(r, shape):
    return random.Random(r.below(2**30)).randbytes(math.prod(shape))


def nibbles(r, shape):
    return list(bytes_of(r, shape))


def f32(r, count):
    return [encode("F32", 2.0**-12 * (1 + r.below(2**23) / 2**23))
            for _ in range(count)]


def powers(r, count):
    return [encode("F32", 2.0**(r.below(5) - 14)) for _ in range(count)]


def exponents(r, count):
    return [113 + r.below(5) for _ in range(count)]


def bf16(r, shape, size=0.02):
    return [encode("BF16", r.normal() * size) for _ in range(math.prod(shape))]


def blocks(m, n):
    return [-(-m // 128), -(-n // 128)]


FP8_CONFIG = {"quant_method": "fp8", "fmt": "e4m3",
              "activation_scheme": "dynamic", "weight_block_size": [128, 128]}


def deepseek_v3(scale_words=f32, scale_kind="F32", config=FP8_CONFIG):
    """Two shards; a ragged weight whose scale is in the other shard."""
    r = Random(1)
    a, b = File(), File()
    a.metadata["format"] = "pt"
    a.add("model.embed_tokens.weight", "BF16", [64, 256], bf16(r, [64, 256]))
    for layer, f in ((0, a), (1, b), (2, b)):
        for name, m, n in (("q_proj", 256, 384), ("o_proj", 200, 320)):
            w = f"model.layers.{layer}.{name}.weight"
            codes = fp8(r, [m, n])
            g = blocks(m, n)
            scales = scale_words(r, math.prod(g))
            if scale_words is f32:
                # 9/8 times this is just above the middle of two BF16 numbers,
                # and on it once it is rounded to FP32.
                scales[0] = encode("F32", -(-257 * 2**19 // 9) * 2.0**-35)
                codes[0] = 0x39
            f.add(w, "F8_E4M3", [m, n], codes)
            (b if layer == 0 and name == "o_proj" else f).add(
                w + "_scale_inv", scale_kind, g, scales)
        f.add(f"model.layers.{layer}.norm.weight", "BF16", [256],
              bf16(r, [256], 1))
    b.add("lm_head.weight", "BF16", [64, 256], bf16(r, [64, 256]))
    return [a, b], config and {"model_type": "deepseek_v3",
                               "quantization_config": config}


def deepseek_v4():
    """FP8 with scales of E8M0, and experts of packed E2M1."""
    r = Random(2)
    f = File()
    f.add("layers.0.attn.wq.weight", "F8_E4M3", [130, 256], fp8(r, [130, 256]))
    f.add("layers.0.attn.wq.scale", "F8_E8M0", [2, 2], exponents(r, 4))
    for e in range(3):
        w = f"layers.0.ffn.experts.{e}.w1"
        f.add(w + ".weight", "I8", [32, 64], nibbles(r, [32, 64]))
        f.add(w + ".scale", "F8_E8M0", [32, 4], exponents(r, 128))
    return [f], {"expert_dtype": "fp4",
                 "quantization_config": dict(FP8_CONFIG, scale_fmt="ue8m0")}


def compressed_tensors():
    """Per tensor, per channel (BF16 scales), NVFP4 whose scale divides."""
    r = Random(3)
    f = File()
    f.add("a.weight", "F8_E4M3", [32, 48], fp8(r, [32, 48]))
    f.add("a.weight_scale", "F32", [1], f32(r, 1))
    f.add("a.input_scale", "F32", [1], f32(r, 1))
    f.add("b.weight", "F8_E4M3", [32, 48], fp8(r, [32, 48]))
    f.add("b.weight_scale", "BF16", [32, 1],
          [encode("BF16", decode("F32", x)) for x in f32(r, 32)])
    f.add("c.weight_packed", "U8", [16, 32], nibbles(r, [16, 32]))
    f.add("c.weight_scale", "F8_E4M3", [16, 4],
          [0x38 + r.below(32) for _ in range(64)])
    f.add("c.weight_global_scale", "F32", [1], [encode("F32", 1234.567)])
    return [f], {"quantization_config": {"quant_method": "compressed-tensors"}}


def modelopt():
    r = Random(4)
    f = File()
    f.add("c.weight", "U8", [16, 32], nibbles(r, [16, 32]))
    f.add("c.weight_scale", "F8_E4M3", [16, 4],
          [0x38 + r.below(32) for _ in range(64)])
    f.add("c.weight_scale_2", "F32", [], [encode("F32", 0.000321)])
    return [f], {"quantization_config": {"quant_method": "modelopt"}}


def mistral():
    """0-D scales, and the names of ComfyUI; no config."""
    r = Random(5)
    f = File()
    f.add("x.weight", "F8_E4M3", [40, 24], fp8(r, [40, 24]))
    f.add("x.weight_scale_inv", "F32", [], f32(r, 1))
    f.add("y.weight", "F8_E5M2", [40, 24], fp8(r, [40, 24], "F8_E5M2"))
    f.add("y.scale_weight", "F32", [], f32(r, 1))
    return [f], None


def mxfp8():
    r = Random(6)
    f = File()
    f.add("x.weight", "F8_E4M3", [40, 64], fp8(r, [40, 64]))
    f.add("x.weight_scale", "U8", [40, 2], exponents(r, 80))
    return [f], None


def gpt_oss():
    """Three dimensions, blocks of 32 in bytes of two codes."""
    r = Random(7)
    f = File()
    f.add("mlp.experts.down_proj_blocks", "U8", [2, 8, 4, 16],
          nibbles(r, [2, 8, 4, 16]))
    f.add("mlp.experts.down_proj_scales", "U8", [2, 8, 4], exponents(r, 64))
    return [f], {"quantization_config": {"quant_method": "mxfp4"}}


def experts():
    """Three dimensions under blocks of 128 x 128."""
    r = Random(8)
    f = File()
    f.add("experts.gate_up_proj", "F8_E4M3", [2, 130, 136],
          fp8(r, [2, 130, 136]))
    f.add("experts.gate_up_proj_scale_inv", "F32", [2, 2, 2], f32(r, 8))
    return [f], {"quantization_config": FP8_CONFIG}


def expert_scales():
    """Three dimensions, a scale an expert and a scale a row of each."""
    r = Random(11)
    f = File()
    f.add("experts.up", "F8_E4M3", [3, 20, 24], fp8(r, [3, 20, 24]))
    f.add("experts.up_scale", "F32", [3, 1, 1], f32(r, 3))
    f.add("experts.down", "F8_E4M3", [3, 20, 24], fp8(r, [3, 20, 24]))
    f.add("experts.down_scale", "BF16", [3, 20, 1],
          [encode("BF16", decode("F32", x)) for x in f32(r, 60)])
    return [f], None


def row_groups():
    """compressed-tensors in groups of 64 of a row."""
    r = Random(12)
    f = File()
    f.add("a.weight", "F8_E4M3", [6, 192], fp8(r, [6, 192]))
    f.add("a.weight_scale", "F32", [6, 3], f32(r, 18))
    return [f], {"quantization_config": {
        "quant_method": "compressed-tensors", "config_groups": {"group_0": {
            "weights": {"num_bits": 8, "type": "float", "strategy": "group",
                        "group_size": 64}}}}}


KINDS = {
    "deepseek_v3": deepseek_v3,
    "deepseek_v31": lambda: deepseek_v3(
        powers, config=dict(FP8_CONFIG, scale_fmt="ue8m0")),
    "bf16_scales": lambda: deepseek_v3(
        lambda r, n: [encode("BF16", decode("F32", x)) for x in f32(r, n)],
        "BF16"),
    "deepseek_v4": deepseek_v4, "compressed_tensors": compressed_tensors,
    "modelopt": modelopt, "mistral": mistral, "mxfp8": mxfp8,
    "gpt_oss": gpt_oss, "experts": experts, "expert_scales": expert_scales,
    "row_groups": row_groups}


def write(folder, files, config):
    os.makedirs(folder, exist_ok=True)
    if config is not None:
        with open(os.path.join(folder, "config.json"), "w") as f:
            json.dump(config, f, indent=2)
    if len(files) == 1:
        return files[0].write(os.path.join(folder, "model.safetensors"))
    weight_map, total = {}, 0
    for i, file in enumerate(files, 1):
        name = f"model-{i:05}-of-{len(files):05}.safetensors"
        file.write(os.path.join(folder, name))
        weight_map.update(dict.fromkeys(file.tensors, name))
        total += sum(len(t[2]) for t in file.tensors.values())
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {"total_size": total},
                   "weight_map": weight_map}, f, indent=2)


def make(kind, folder):
    write(folder, *KINDS[kind]())


# The damage. Each takes the files and the config of deepseek_v3.

Q = "model.layers.1.q_proj.weight"


def set_tensor(files, name, kind=None, shape=None, data=None):
    for f in files:
        if name in f.tensors:
            old = f.tensors[name]
            f.tensors[name] = (kind or old[0],
                               old[1] if shape is None else shape,
                               old[2] if data is None else data)


def lose(files, name):
    for f in files:
        f.tensors.pop(name, None)


def scale_word(files, value, at=0):
    name = Q + "_scale_inv"
    data = bytearray([f for f in files if name in f.tensors][0].tensors[name][2])
    data[4 * at:4 * at + 4] = struct.pack("<I", value)
    set_tensor(files, name, data=bytes(data))


def code(files, value):
    data = bytearray([f for f in files if Q in f.tensors][0].tensors[Q][2])
    data[777] = value
    set_tensor(files, Q, data=bytes(data))


def times(files, factor):
    name = Q + "_scale_inv"
    t = [f for f in files if name in f.tensors][0].tensors[name]
    set_tensor(files, name, data=b"".join(
        struct.pack("<f", decode("F32", w) * factor) for w in words(t)))


DAMAGE = {
    "scale_lost": lambda f, c: lose(f, Q + "_scale_inv"),
    "weight_lost": lambda f, c: lose(f, Q),
    "weight_unquantized": lambda f, c: set_tensor(
        f, Q, "BF16", data=bytes(2 * 256 * 384)),
    "grid": lambda f, c: set_tensor(f, Q + "_scale_inv", shape=[1, 6]),
    "grid_of_another_block": lambda f, c: c["quantization_config"].update(
        weight_block_size=[64, 128]),
    "scale_type": lambda f, c: set_tensor(
        f, Q + "_scale_inv", "U8", [2, 12]),
    "scale_nan": lambda f, c: scale_word(f, 0x7fc00000),
    "scale_zero": lambda f, c: scale_word(f, 0, 3),
    "scale_negative": lambda f, c: scale_word(f, 0xb9000000, 5),
    "scale_no_power": lambda f, c: c["quantization_config"].update(
        scale_fmt="ue8m0"),
    "code_nan": lambda f, c: code(f, 0x7f),
    "scale_too_large": lambda f, c: times(f, 448),
    "scale_of_one": lambda f, c: times(f, 4096),
    "kept_module": lambda f, c: c["quantization_config"].update(
        modules_to_not_convert=["lm_head", "model.layers.1.q_proj"]),
    "two_scales": lambda f, c: f[1].add(
        Q[:-7] + ".weight_scale", "F32", [2, 3], [0x39800000] * 6),
}


def damage_header(how, path):
    """Those of the file itself."""
    f = read(path)
    h = f.header()
    first = next(iter(k for k in h if k != "__metadata__"))
    t = h[first]
    if how == "overlap":
        names = [k for k in h if k != "__metadata__"]
        t["data_offsets"] = h[names[1]]["data_offsets"]
        t["shape"], t["dtype"] = h[names[1]]["shape"], h[names[1]]["dtype"]
    elif how == "out_of_range":
        t["data_offsets"] = [10**12, 10**12 + 2 * 64 * 256]
    elif how == "lying_shape":
        t["shape"] = [64, 257]
    elif how == "overflow":
        t["shape"] = [2**40, 2**40]
    elif how == "unknown_type":
        t["dtype"] = "F8_E4M4"
    elif how == "hole":
        f.tensors = {"hole": ("U8", [8], bytes(8)), **f.tensors}
        h = f.header()
        del h["hole"]
    elif how == "no_shape":
        del t["shape"]
    f.write(path, h)
    data = bytearray(open(path, "rb").read())
    if how == "truncated":
        del data[-5:]
    elif how == "longer":
        data += b"abc"
    elif how == "huge_header":
        data[:8] = struct.pack("<Q", 2**60)
    elif how == "header_beyond":
        data[:8] = struct.pack("<Q", len(data))
    elif how == "not_json":
        data[8] = ord("[")
    elif how == "empty":
        data = data[:5]
    elif how == "duplicate":
        n = struct.unpack("<Q", data[:8])[0]
        text = bytes(data[8:8 + n]).rstrip()
        again = json.dumps({first: t}).encode()
        text = text[:-1] + b"," + again[1:]
        data = struct.pack("<Q", len(text)) + text + bytes(data[8 + n:])
    elif how == "deep":
        text = b'{"a":' * 100000
        data = struct.pack("<Q", len(text)) + text
    open(path, "wb").write(bytes(data))


def damage_index(how, folder):
    path = os.path.join(folder, "model.safetensors.index.json")
    index = json.load(open(path))
    m = index["weight_map"]
    if how == "index_other_file":
        m[Q] = "model-00001-of-00002.safetensors"
    elif how == "index_lacks":
        del m[Q]
    elif how == "index_has_more":
        m["model.ghost.weight"] = "model-00001-of-00002.safetensors"
    elif how == "index_missing_file":
        m[Q] = "model-00003-of-00003.safetensors"
    elif how == "index_leads_out":
        m[Q] = "../model.safetensors"
    elif how == "index_total":
        index["metadata"]["total_size"] += 1
    json.dump(index, open(path, "w"))


def damage(how, folder):
    if how in DAMAGE:
        files, config = deepseek_v3(config=dict(FP8_CONFIG))
        DAMAGE[how](files, config)
        write(folder, files, config)
    else:
        make("deepseek_v3", folder)
        if how.startswith("index"):
            return damage_index(how, folder)
        damage_header(how, os.path.join(
            folder, "model-00001-of-00002.safetensors"))


# What the program is held against.

def scales_of(tensors, name):
    """(scale of element (row, column), numbers a row, rows, code type)."""
    kind, shape, _ = tensors[name]
    base = name[:-len(".weight")] if name.endswith(".weight") else name
    packed = kind in ("U8", "I8")
    for scale, block in ((name + "_scale_inv", 128), (base + ".scale", 128),
                         (base + ".weight_scale", None),
                         (base + ".scale_weight", None), (name + "_scale", None),
                         (name[:-7] + "_scales", 32),
                         (name[:-7] + "_scale", 16)):
        if scale in tensors and scale != name:
            break
    else:
        return None
    s = [decode(tensors[scale][0], w) for w in words(tensors[scale])]
    sshape = tensors[scale][1]
    numbers = list(shape)
    if name.endswith("_blocks"):
        numbers = shape[:-2] + [shape[-2] * 32]
    elif packed:
        numbers[-1] *= 2
    n = numbers[-1]
    m = numbers[-2]
    second = tensors.get(base + ".weight_scale_2")
    if name.endswith("_packed"):
        second = tensors.get(name[:-7] + "_global_scale")
    g = decode("F32", words(second)[0]) if second else None

    def value(row, col):
        if len(s) == 1:
            x = s[0]
        elif packed or tensors[scale][0] == "U8":
            width = 16 if g is not None else 32
            x = s[row * -(-n // width) + col // width]
        elif sshape[-1] == 1 and len(s) in (m, math.prod(numbers[:-1])):
            x = s[row]
        elif len(s) == numbers[0] and len(numbers) == 3:
            x = s[row // m]
        elif sshape == [m, n // 64]:
            x = s[row * (n // 64) + col // 64]
        else:
            grid = blocks(m, n)  # of a matrix
            x = s[(row // m * grid[0] + row % m // 128) * grid[1] + col // 128]
        if g is not None:
            x = x / g if name.endswith("_packed") else x * g
            x = decode("F32", encode("F32", x))
        return x

    return value, n, math.prod(numbers) // n, "E2M1" if packed else kind, numbers


def expect(folder, out, to, via=None):
    before, after = read_all(folder), read_all(out)
    used, count = set(), 0
    for name, tensor in before.items():
        found = scales_of(before, name)
        if found is None:
            continue
        value, n, rows, kind, numbers = found
        plain = name.replace("_packed", "").replace("_blocks", "")
        got = after[plain]
        assert got[0] == to and got[1] == numbers, (name, got[:2], numbers)
        codes = words(tensor)
        if kind == "E2M1":
            codes = [c for b in codes for c in (b & 15, b >> 4)]
        bits = words(got)
        known = {}
        for i in range(rows):
            for j in range(n):
                key = codes[i * n + j], value(i, j)
                if key not in known:
                    x = decode(kind, key[0]) * key[1]
                    if via:
                        x = decode("F32", encode("F32", x))
                    known[key] = encode(to, x)
                want = known[key]
                assert bits[i * n + j] == want, \
                    f"{name} ({i}, {j}): {bits[i * n + j]:x}, expected {want:x}"
                count += 1
        used.add(name)
    for name, tensor in before.items():
        if name not in used and name in after:
            assert tensor == after[name], f"{name} is another"
    assert count > 0 and not any("scale_inv" in k for k in after)
    print(f"same {count} numbers of {len(used)} weights")


def power_above(x):
    """The least power of two that is not below x."""
    m, e = math.frexp(x)
    return math.ldexp(1.0, e - 1 if m == 0.5 else e)


def expect_quantized(folder, out, scale):
    """The convention zeroulp in blocks of 128 x 128. A quotient of 8 by 24 bits
    that is no tie is further from one than FP64 rounds."""
    before, after = read_all(folder), read_all(out)
    count = 0
    for name, tensor in before.items():
        if name + "_scale_inv" not in after:
            assert after[name] == tensor, name
            continue
        (m, n), x = tensor[1], [decode(tensor[0], w) for w in words(tensor)]
        codes = words(after[name])
        scales = words(after[name + "_scale_inv"])
        grid = blocks(m, n)
        for gi in range(grid[0]):
            for gj in range(grid[1]):
                at = [i * n + j for i in range(gi * 128, min(gi * 128 + 128, m))
                      for j in range(gj * 128, min(gj * 128 + 128, n))]
                amax = max(abs(x[k]) for k in at)
                s = power_above(amax / 448) if scale == "pow2" else \
                    decode("F32", encode("F32", amax / 448))
                assert scales[gi * grid[1] + gj] == encode("F32", s), name
                for k in at:
                    assert codes[k] == encode("F8_E4M3", x[k] / s), (name, k)
                count += len(at)
    assert count > 0
    print(f"same {count} codes")


def expect_rescaled(folder, out):
    before, after = read_all(folder), read_all(out)
    count = 0
    for name, tensor in before.items():
        if name + "_scale_inv" not in before:
            continue
        (m, n), codes, made = tensor[1], words(tensor), words(after[name])
        old = words(before[name + "_scale_inv"])
        new = words(after[name + "_scale_inv"])
        ratio = []
        for a, b in zip(old, new):
            s = decode("F32", a)
            assert decode("F32", b) == power_above(s), name
            ratio.append(s / power_above(s))
        width = blocks(m, n)[1]
        for i in range(m):
            for j in range(n):
                x = decode("F8_E4M3", codes[i * n + j])
                want = encode("F8_E4M3", x * ratio[i // 128 * width + j // 128])
                assert made[i * n + j] == want, (name, i, j)
        count += m * n
    assert count > 0
    print(f"same {count} codes")


def with_packages(folder, out):
    """The numbers of FOLDER as ml_dtypes has them, by two roundings; and what
    the package safetensors says of OUT."""
    import ml_dtypes
    import numpy
    from safetensors import safe_open
    before, after, count = read_all(folder), read_all(out), 0
    for name, (kind, shape, data) in before.items():
        if kind != "F8_E4M3":
            continue
        scale = before[name + "_scale_inv"]
        s = numpy.frombuffer(scale[2], "<f4").reshape(scale[1])
        s = s.repeat(128, 0).repeat(128, 1)[:shape[0], :shape[1]]
        x = numpy.frombuffer(data, ml_dtypes.float8_e4m3fn).reshape(shape)
        y = (x.astype(numpy.float32) * s).astype(ml_dtypes.bfloat16)
        assert y.tobytes() == after[name][2], name
        count += y.size
    for file in os.listdir(out):
        if file.endswith(".safetensors"):
            with safe_open(os.path.join(out, file), "numpy") as f:
                for name in f.keys():
                    s = f.get_slice(name)
                    assert s.get_shape() == after[name][1], name
                    assert s.get_dtype() == after[name][0], name
    print(f"same {count} numbers as ml_dtypes")


def spread(folder):
    """MXFP4 whose second weight has a block with scales too far apart."""
    r = Random(10)
    f = File()
    for name in ("a", "b"):
        scales = exponents(r, 64 * 8)
        f.add(f"{name}.weight", "U8", [64, 128],
              [0x12 + r.below(4) for _ in range(64 * 128)])
        if name == "b":
            scales[33 * 8 + 5] = 90
        f.add(f"{name}.weight_scale", "U8", [64, 8], scales)
    write(folder, [f], None)


def nudge(folder, out):
    """The same checkpoint with another code of the second weight's."""
    f = read(os.path.join(folder, "model.safetensors"))
    kind, shape, data = f.tensors["model.layers.1.q_proj.weight"]
    data = bytearray(data)
    data[4567] ^= 1
    f.tensors["model.layers.1.q_proj.weight"] = kind, shape, bytes(data)
    write(out, [f], None)


def sparse(folder, size):
    """A weight of zeros of about this size, and its scales."""
    rows, cols = max(size // 16384 // 128, 1) * 128, 16384
    os.makedirs(folder, exist_ok=True)
    scales = rows // 128 * cols // 128
    header = {"w.weight_scale_inv": {
        "dtype": "F32", "shape": [rows // 128, cols // 128],
        "data_offsets": [0, 4 * scales]}, "w.weight": {
        "dtype": "F8_E4M3", "shape": [rows, cols],
        "data_offsets": [4 * scales, 4 * scales + rows * cols]}}
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.write(struct.pack("<I", 0x39000000) * scales)
        f.truncate(8 + len(text) + 4 * scales + rows * cols)


def write_bf16(folder):
    """Random BF16 weights of three layers, a head and a norm."""
    r = Random(9)
    f = File()
    for layer in range(3):
        f.add(f"model.layers.{layer}.q_proj.weight", "BF16", [200, 320],
              bf16(r, [200, 320]))
        f.add(f"model.layers.{layer}.norm.weight", "BF16", [320],
              bf16(r, [320], 1))
    f.add("lm_head.weight", "BF16", [64, 320], bf16(r, [64, 320]))
    write(folder, [f], {"model_type": "deepseek_v3"})


def same(a, b):
    x, y = read_all(a), read_all(b)
    assert x.keys() == y.keys(), x.keys() ^ y.keys()
    for name, tensor in x.items():
        assert tensor == y[name], name
    print(f"same {len(x)} tensors")


def headers(folder):
    os.makedirs(folder, exist_ok=True)
    for kind in KINDS:
        for f in KINDS[kind]()[0][:1]:
            for name in list(f.tensors)[2:]:
                del f.tensors[name]
            for name, (k, shape, data) in f.tensors.items():
                f.tensors[name] = (k, [1] * len(shape), data[:SIZES[k]])
            f.write(os.path.join(folder, kind))


def main():
    command, *rest = sys.argv[1:]
    {"make": make, "damage": damage, "expect": expect,
     "sparse": lambda folder, size: sparse(folder, int(size)),
     "bf16": write_bf16, "spread": spread, "nudge": nudge, "with_packages": with_packages,
     "expect_quantized": expect_quantized, "expect_rescaled": expect_rescaled, "same": same, "headers": headers}[command](*rest)


if __name__ == "__main__":
    main()
