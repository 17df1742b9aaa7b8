"""Writes zeroulp/_abi.py from the headers of the C ABI.

    python3 generate_abi.py INCLUDE >zeroulp/_abi.py

INCLUDE is the folder that has zeroulp/zeroulp.h. What a declaration here may
look like is what those headers have; anything else is an error.
"""

import pathlib
import re
import sys

HEADERS = ["zeroulp_values.h", "zeroulp.h", "zeroulp_training.h",
           "zeroulp_model.h"]
SUITE = "zeroulp_suite.h"  # of a library of its own
CUDA = ["zeroulp_cuda.h", "zeroulp_cuda_model.h"]  # of another
SCALARS = {
    "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64",
    "uint64_t": "c_uint64", "double": "c_double", "size_t": "c_size_t",
}


def text_of(include, headers):
    """The declarations: no comments, no preprocessor, one space between words."""
    all_text = ""
    for name in headers:
        text = (include / "zeroulp" / name).read_text()
        text = re.sub(r"//[^\n]*", "", text)
        text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
        all_text += text
    constants = re.findall(r"^#define (ZEROULP_\w+) \(?(-?\d+)\)?$", all_text, re.M)
    return constants, " ".join(
        line for line in all_text.split("\n") if not line.startswith("#")).split()


def ctype(declared):
    """The ctypes name of a type such as `const zeroulp_format*`."""
    words = declared.replace("const ", "").strip()
    if words in ("void*", "char*"):
        return {"void*": "c_void_p", "char*": "c_char_p"}[words]
    pointed = words.endswith("*")
    base = words.rstrip("*")
    known = SCALARS.get(base) or (base if base.startswith("zeroulp_") else None)
    if known is None or words.count("*") > 1:
        raise SystemExit(f"generate_abi.py: no type for '{declared}'")
    if base == "zeroulp_status":
        known = "c_int32"
    return f"POINTER({known})" if pointed else known


def split_name(declaration):
    """('const char*', 'name', 1) of `const char* name`, and of arrays."""
    match = re.fullmatch(r"(.*?[ *])(\w+)(?:\[(\d+)\])?", declaration.strip())
    if match is None:
        raise SystemExit(f"generate_abi.py: what is '{declaration}'?")
    return match[1].strip().replace(" *", "*"), match[2], int(match[3] or 1)


def struct_lines(text):
    """A class for each struct."""
    lines = []
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text):
        lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        for member in filter(None, (m.strip() for m in body.split(";"))):
            declared, called, count = split_name(member)
            kind = ctype(declared) + (f" * {count}" if count > 1 else "")
            lines.append(f'        ("{called}", {kind}),')
        lines.append("    ]")
    return lines


def arguments_of(text):
    given = [] if text == "void" else text.split(",")
    return ", ".join(ctype(split_name(a)[0]) for a in given)


def function_lines(text, table):
    """A dict of result and arguments of each function."""
    lines = ["", "", f"{table} = {{"]
    for result, name, arguments in re.findall(
            r"ZEROULP_API ([\w ]+?\*?) ?(\w+)\((.*?)\);", text):
        lines.append(
            f'    "{name}": ({ctype(result)}, [{arguments_of(arguments)}]),')
    return lines + ["}"]


def generate(include):
    constants, words = text_of(include, HEADERS)
    text = " ".join(words)
    suite = " ".join(text_of(include, [SUITE])[1])
    cuda = " ".join(text_of(include, CUDA)[1])
    lines = ['"""The C ABI as ctypes. Made by generate_abi.py: do not edit."""', "",
             "# ruff: noqa", "from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double,",
             "                    c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p)", ""]
    lines += [f"{name} = {value}" for name, value in constants]
    for body in re.findall(r"enum \w+ \{(.*?)\}", f"{text} {cuda}"):
        for item in body.split(","):
            if not item.strip():
                continue
            name, value = item.split("=")
            lines.append(f"{name.strip()} = {int(value)}")
    lines += struct_lines(f"{text} {suite} {cuda}") + ["", ""]
    for result, name, arguments in re.findall(
            r"typedef ([\w ]+?\*?) ?\(\*(\w+)\)\((.*?)\);", suite):
        SCALARS[name] = name
        lines.append(
            f"{name} = CFUNCTYPE({ctype(result)}, {arguments_of(arguments)})")
    lines += function_lines(text, "FUNCTIONS")
    lines += function_lines(suite, "SUITE_FUNCTIONS")
    lines += function_lines(cuda, "CUDA_FUNCTIONS")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(generate(pathlib.Path(sys.argv[1])))
