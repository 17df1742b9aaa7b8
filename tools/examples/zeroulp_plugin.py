"""Holds kernels written in Python against the oracle: NumPy, PyTorch, Triton.

    import zeroulp_plugin

    @zeroulp_plugin.claim("quantize", "vllm", "from=bf16,to=e4m3,scale=fp32,"
                          "group=1x128,place=dense")
    def quantize(r):
        r.codes[:], r.scales[:] = my_kernel(r.x)

    zeroulp_plugin.serve("mine")

    zeroulp conform --plugin python:mine.py

zeroulp finds this file by itself, wherever mine.py lies, and seals the process
unless it is told --trust. Operations, settings, the seal and what each request
asks: zeroulp/plugin.h. The members of `r` have its names
(`from` is from_): texts are str (None: NULL), whole numbers int, matrices
arrays of the memory itself, to be written in place. They are NumPy's, of
unsigned integers (float32 where elements have 4 bytes; slots, experts: int32); with
serve(..., device="cuda") PyTorch's on the GPU, of the types that PyTorch has
for these names. Return zeroulp_plugin.REFUSED for what you do not serve (of a
claim of which that is more than half, nothing is said to hold); what is raised
is reported.
"""

import ctypes
import mmap
import os
import platform
import signal
import socket
import sys
import types
import urllib.parse

import numpy as np

PROTOCOL = 1
SOCKET_FD, MEMORY_FD = 3, 4
# As conformance/plugin/process/protocol.hpp has them.
GUARD_BYTES, PAGE_BYTES = 1 << 10, mmap.PAGESIZE
DONE, REFUSED = 0, 1
# Fields that are texts; the others are whole numbers.
TEXTS = frozenset(
    "from to scale convention rule a_format b_format output recipe gradient "
    "moment rounding score group_score".split()
)
# Members that a request may lack.
OPTIONAL = "convention recipe c weights copy residual bias".split()
# The format of a matrix, or the field that names it; FP32 if there is none.
FORMATS = {
    ("quantize", "x"): "from",
    ("quantize", "codes"): "to",
    ("dequantize", "codes"): "from",
    ("retile", "codes"): "from",
    ("retile", "out_codes"): "to",
    ("gemm", "a"): "a_format",
    ("gemm", "b"): "b_format",
    ("gemm", "d"): "output",
    ("swiglu", "g"): "from",
    ("swiglu", "u"): "from",
    ("swiglu", "h"): "to",
    ("adamw", "g"): "gradient",
    ("adamw", "m"): "moment",
    ("adamw", "v"): "moment",
    ("adamw", "copy"): "bf16",
    ("combine", "x"): "bf16",
    ("combine", "out"): "bf16",
    ("combine", "slots"): "int32",
    ("route", "experts"): "int32",
    ("route_backward", "experts"): "int32",
    **{("rms_norm_backward", name): "bf16" for name in "dy x residual dx".split()},
    **{("attention_forward", name): "bf16" for name in "qkvo"},
    **{("attention_backward", name): "bf16"
       for name in "q k v d_o dq dk dv".split()},
}

_claims = []
_functions = {}


def claim(operation, as_=None, settings=None, multiple=(0, 0, 0)):
    """Claims an operation, as zeroulp_plugin_claim does; for a function."""

    def add(function):
        if _functions.setdefault(operation, function) is not function:
            raise ValueError(f"two functions for {operation}")
        _claims.append((operation, as_, settings, multiple))
        return function

    return add


def _word(text):
    return "-" if not text else urllib.parse.quote(text, safe="-._:=,/")


class _State:
    """What a call has to leave in this process as it found it."""

    # Of fenv_t: where a word lies, its bytes, the flags that are no mode.
    WORDS = {
        "x86_64": {"MXCSR": (28, 4, 0x3F), "the x87 control word": (0, 2, 0)},
        "aarch64": {"FPCR": (0, 4, 0)},
    }.get(platform.machine(), {})

    def __init__(self):
        self.libc, self.libm = ctypes.CDLL(None), ctypes.CDLL("libm.so.6")
        self.modes = self._modes()
        self.before = None

    def _modes(self):
        env = ctypes.create_string_buffer(64)
        self.libm.fegetenv(env)
        return {
            name: int.from_bytes(env.raw[at : at + size], "little") & ~flags
            for name, (at, size, flags) in self.WORDS.items()
        }

    def _handlers(self):
        handlers = {}
        for number in (signal.SIGSEGV, signal.SIGBUS):
            action = ctypes.create_string_buffer(256)
            self.libc.sigaction(int(number), None, action)
            handlers[number.name] = action.raw[:8]
        return handlers

    @staticmethod
    def _children():
        try:  # cheap where there is none
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return 0
        count = 0
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            count += int(parent) == os.getpid() and state != "Z"
        return count

    def keep(self):
        """Calls have to leave what is here now, and modes as they began."""
        self.before = self._handlers(), self._children()

    def change(self):
        """Says what is not as it was; None: nothing."""
        for name, now in self._modes().items():
            if now != self.modes[name]:
                return f"changed {name}: {self.modes[name]:04x} became {now:04x}"
        handlers, children = self.before
        for name, now in self._handlers().items():
            if now != handlers[name]:
                return f"replaced the handler of {name}, which tells wild writes"
        left = self._children() - children
        if left > 0:
            return f"left {left} process{'es' * (left > 1)} running"


_state = _State()


class _Host:
    """Matrices as NumPy's arrays of the shared memory."""

    TYPES = {1: np.uint8, 2: np.uint16, 4: np.float32}

    def __init__(self, memory):
        self.memory = np.frombuffer(memory, np.uint8)
        self.protect = ctypes.CDLL(None).mprotect
        self.open = None

    def _protect(self, begin, end, how):
        at = ctypes.c_void_p(self.memory.ctypes.data + begin)
        if self.protect(at, ctypes.c_size_t(end - begin), how) != 0:
            raise MemoryError("the matrices' memory cannot be guarded")

    def enter(self, size, places):
        """Takes away the pages on which none of these matrices lies."""
        pages = []
        for offset, rows, cols, by_row, by_col, element in places:
            length = ((rows - 1) * by_row + (cols - 1) * by_col + 1) * element
            begin = (offset - GUARD_BYTES) // PAGE_BYTES
            end = -(-(offset + length + GUARD_BYTES) // PAGE_BYTES)
            pages.append((begin * PAGE_BYTES, end * PAGE_BYTES))
        if pages != self.open:
            self._protect(0, len(self.memory), 0)
            for begin, end in pages:
                self._protect(begin, end, mmap.PROT_READ | mmap.PROT_WRITE)
            self.open = pages

    def matrix(self, name, call, offset, rows, cols, by_row, by_col, size):
        """Returns the matrix that lies there."""
        indices = FORMATS.get((call["operation"], name)) == "int32"
        type_ = np.int32 if indices else self.TYPES[size]
        start = self.memory[offset:].view(np.uint8)
        start = start[: len(start) // size * size].view(type_)
        strides = by_row * size, by_col * size
        return np.lib.stride_tricks.as_strided(start, (rows, cols), strides)

    def leave(self):
        """Results are there already; nobody may touch them any more."""
        self._protect(0, len(self.memory), 0)
        self.open = None


class _Device(_Host):
    """Matrices as PyTorch's tensors: a copy of the memory, guards included."""

    def __init__(self, memory, device):
        import torch

        super().__init__(memory)
        self.torch, self.device, self.copy = torch, device, None
        self.types = {
            "e4m3": torch.float8_e4m3fn,
            "e5m2": torch.float8_e5m2,
            "bf16": torch.bfloat16,
            "fp16": torch.float16,
            "fp32": torch.float32,
            "int32": torch.int32,
        }
        torch.empty(1, device=device)  # says now what it lacks

    def enter(self, size, places):
        host = self.torch.from_numpy(self.memory[:size])
        self.copy = host.to(self.device, copy=True)

    def matrix(self, name, call, offset, rows, cols, by_row, by_col, size):
        field = FORMATS.get((call["operation"], name), "fp32")
        format_ = call.get(field, field)
        plain = {1: "uint8", 2: "int16", 4: "int32"}[size]
        type_ = self.types.get(format_, getattr(self.torch, plain))
        length = (rows - 1) * by_row + (cols - 1) * by_col + 1
        flat = self.copy[offset : offset + length * size].view(type_)
        return flat.as_strided((rows, cols), (by_row, by_col))

    def leave(self):
        if self.copy.is_cuda:
            self.torch.cuda.synchronize()
        size = self.copy.numel()
        self.torch.from_numpy(self.memory[:size]).copy_(self.copy)


def _answer(line, place):
    """Serves one call; returns the line to send."""
    _, operation, *words = line.split(" ")
    call = dict(word.split("=", 1) for word in words)
    request = types.SimpleNamespace(**dict.fromkeys(OPTIONAL))
    size = int(call.pop("bytes"))
    places = {
        name: [int(n) for n in text.split(":")]
        for name, text in call.items()
        if name not in TEXTS and ":" in text
    }
    place.enter(size, places.values())
    call["operation"] = operation
    for name, text in call.items():
        if name == "operation":
            continue
        if name in TEXTS:
            value = urllib.parse.unquote(text)
        elif name in places:
            value = place.matrix(name, call, *places[name])
        else:
            value = int(text)
        # `from` is a word of Python's.
        setattr(request, "from_" if name == "from" else name, value)
    status = _functions[operation](request)
    place.leave()
    change = _state.change()
    if change is not None:
        return "changed " + _word(change)
    return f"done {DONE if status is None else int(status)}"


def serve(name, device=None):
    """Answers zeroulp until it has no more calls. `device`: PyTorch's."""
    try:
        connection = socket.socket(fileno=SOCKET_FD)
        memory = mmap.mmap(MEMORY_FD, 0)
    except (OSError, ValueError):
        file = os.path.basename(sys.argv[0])
        sys.exit(f"zeroulp starts this: zeroulp conform --plugin python:{file}")
    lines = connection.makefile("rw", encoding="ascii", newline="\n")

    def say(line):
        lines.write(line + "\n")
        lines.flush()

    try:
        place = _Host(memory) if device is None else _Device(memory, device)
    except Exception as error:
        say("bad " + _word(f"{type(error).__name__}: {error}"))
        return
    # Copies are made here; zeroulp starts no second process for a device.
    where = "host" if device is None else "device"
    say(f"plugin {PROTOCOL} {_word(name)} {where}")
    for operation, as_, settings, multiple in _claims:
        say(
            f"claim {operation} {_word(as_)} {_word(settings)} "
            + " ".join(str(m) for m in multiple)
        )
    _state.keep()
    say("ready")
    for line in lines:
        try:
            answer = _answer(line.rstrip("\n"), place)
        except Exception as error:
            answer = "bad " + _word(f"{type(error).__name__}: {error}")
        say(answer)
