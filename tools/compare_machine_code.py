#!/usr/bin/env python3
"""Says whether two builds have the same kernels: compare_machine_code.py A B

A and B are programs or libraries with device code. A kernel is what a GPU gets:
its instructions, its constant bank, its registers, shared memory and barriers,
its parameters and limits of a launch (.nv.info), and of a module what lies
initialised in memory and in constant memory. Names do not count: of files, of
kernels, of namespaces. It needs cuobjdump (on the PATH, or --cuobjdump) and
pyelftools.

Launches are host code, and are not compared: how many threads, which kernel.

Exit status: 0 the same; 1 a kernel that only one has; 2 nothing to compare.
"""

import argparse
import collections
import hashlib
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

from elftools.elf.elffile import ELFFile

# .nv.info: the form of an attribute with a size, and the attributes that hold
# numbers of symbols.
SIZED, PARAM_CBANK, EXTERNS = 0x04, 0x0A, 0x0F

# Of a module, not of a kernel.
MODULE = (".nv.constant", ".nv.global", ".nv.shared")


def cubins(program, cuobjdump):
    """The device modules of a program, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [cuobjdump, "-xelf", "all", program.resolve()],
            cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for path in sorted(pathlib.Path(folder).iterdir()):
            with path.open("rb") as file:
                yield ELFFile(file)


def relocations(data):
    """Without the symbols, whose numbers follow their names."""
    return b"".join(
        struct.pack("<QIq", offset, info & 0xFFFFFFFF, addend)
        for offset, info, addend in struct.iter_unpack("<QQq", data))


def launch_information(data):
    """.nv.info without the numbers of symbols, which follow their names."""
    data = bytearray(data)
    at = 0
    while at < len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form != SIZED:
            continue
        if attribute == PARAM_CBANK:
            data[at:at + 4] = bytes(4)
        elif attribute == EXTERNS:
            data[at:at + size] = bytes(size)
        at += size
    return bytes(data)


def properties(section):
    """What a section is without its name: content, size, registers, barriers."""
    head = section.header
    content = b"" if head.sh_type == "SHT_NOBITS" else section.data()
    if head.sh_type == "SHT_RELA":
        content = relocations(content)
    if section.name.startswith(".nv.info."):
        content = launch_information(content)
    # The low bits of sh_info are the number of a symbol, the high ones registers.
    return (head.sh_type, head.sh_flags, head.sh_size, head.sh_addralign,
            head.sh_info >> 24, hashlib.sha256(content).hexdigest())


def parts_of(elf):
    """{kernel: {kind of section: its properties}}; "": those of the module."""
    kernels = {s.name.removeprefix(".text.") for s in elf.iter_sections()
               if s.name.startswith(".text.")}
    parts = collections.defaultdict(dict)
    for section in elf.iter_sections():
        owner = next((k for k in kernels if section.name.endswith("." + k)), "")
        if owner or section.name.startswith(MODULE):
            kind = section.name.removesuffix("." + owner)
            parts[owner][kind] = properties(section)
    return parts


def digest_of(kernel, module):
    text = repr((sorted(kernel.items()), sorted(module.items())))
    return hashlib.sha256(text.encode()).hexdigest()


def kernels_of(program, cuobjdump):
    """{digest: [name]} of all kernels."""
    found = collections.defaultdict(list)
    for elf in cubins(program, cuobjdump):
        parts = parts_of(elf)
        module = parts.pop("", {})
        for name, kernel in parts.items():
            found[digest_of(kernel, module)].append(name)
    return found


def main():
    parser = argparse.ArgumentParser(
        description="Says whether two builds have the same kernels.")
    parser.add_argument("a", type=pathlib.Path)
    parser.add_argument("b", type=pathlib.Path)
    parser.add_argument("--cuobjdump", default=shutil.which("cuobjdump"))
    given = parser.parse_args()
    if given.cuobjdump is None:
        sys.exit("compare_machine_code.py: no cuobjdump: give --cuobjdump PATH")
    a, b = (kernels_of(p, given.cuobjdump) for p in (given.a, given.b))
    if not a or not b:
        print("compare_machine_code.py: no device code in "
              f"{given.b if a else given.a}", file=sys.stderr)
        sys.exit(2)
    alone = 0
    for digest in sorted(a.keys() | b.keys()):
        more = len(a.get(digest, [])) - len(b.get(digest, []))
        names = a.get(digest) or b.get(digest)
        if more:
            alone += abs(more)
            print(f"{abs(more)} more in {given.a if more > 0 else given.b}: "
                  f"{', '.join(names)}")
    count = [sum(len(names) for names in of.values()) for of in (a, b)]
    print(f"{count[0]} and {count[1]} kernels, {alone} of them in one alone")
    sys.exit(1 if alone else 0)


main()
