#!/usr/bin/env python3
"""The corpus that campaigns train on: Python sources of permissively licensed
packages, from wheels that are pinned by their SHA-256.

    corpus.py build MANIFEST OUT         downloads the wheels, writes the corpus
    corpus.py pin WHEELS MANIFEST        a manifest of the wheels in a folder

A file enters if its name ends in .py, its SHA-256 is that in its wheel's RECORD
and it has no NUL. Files are in the order of package and path, and end in a NUL
each; a file whose bytes were there before is left out. Nothing of the corpus is
committed: the manifest has versions, licences and hashes, and the SHA-256 of
the whole."""

import argparse
import base64
import csv
import email.parser
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# What a licence's text or classifier must say, in this order of names.
PERMITTED = {"Apache-2.0": r"apache", "BSD": r"\bBSD\b", "ISC": r"\bISC\b",
             "MIT": r"\bMIT\b", "PSF": r"\bPSF\b|python software foundation"}
REFUSED = r"GPL|general public|mozilla|MPL|proprietary|commercial|CC-BY"


def fail(why):
    sys.exit(f"corpus.py: {why}")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def licence_of(metadata):
    """The name of a permissive licence; "" if the wheel does not say one."""
    said = [metadata.get("License-Expression") or ""]
    said += [c for c in metadata.get_all("Classifier") or []
             if c.startswith("License ::")]
    said.append((metadata.get("License") or "")[:200])
    text = "\n".join(said)
    if re.search(REFUSED, text, re.I):
        return ""
    return next((name for name, pattern in PERMITTED.items()
                 if re.search(pattern, text, re.I)), "")


class Wheel:
    """A wheel and the files of it that RECORD vouches for."""

    def __init__(self, path):
        self.path = path
        self.sha256 = sha256(path.read_bytes())
        self.archive = zipfile.ZipFile(path)
        folder = next((name.split("/")[0] for name in self.archive.namelist()
                       if name.split("/")[0].endswith(".dist-info")), None)
        if folder is None:
            fail(f"{path}: no wheel: it has no .dist-info")
        metadata = email.parser.Parser().parsestr(
            self.archive.read(f"{folder}/METADATA").decode(errors="replace"))
        self.name = re.sub(r"[-_.]+", "-", metadata["Name"]).lower()
        self.version = metadata["Version"]
        self.licence = licence_of(metadata)
        self.record = self.archive.read(f"{folder}/RECORD").decode()

    def sources(self):
        """(path, bytes) in the order of paths."""
        for row in sorted(csv.reader(io.StringIO(self.record))):
            if not row or not row[0].endswith(".py") or \
                    not row[1].startswith("sha256="):
                continue
            data = self.archive.read(row[0])
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
            if digest.rstrip(b"=").decode() != row[1][7:]:
                fail(f"{self.path}: {row[0]} is not what RECORD says")
            if b"\0" not in data:
                yield row[0], data


def assemble(wheels):
    """The corpus, and a manifest without its head."""
    corpus, packages, seen = bytearray(), [], set()
    for wheel in sorted(wheels, key=lambda w: w.name):
        files, before = 0, len(corpus)
        for _, data in wheel.sources():
            digest = hashlib.sha256(data).digest()
            if data and digest not in seen:
                seen.add(digest)
                corpus += data + b"\0"
                files += 1
        packages.append({
            "name": wheel.name, "version": wheel.version,
            "licence": wheel.licence, "wheel": wheel.path.name,
            "sha256": wheel.sha256, "files": files,
            "bytes": len(corpus) - before})
    return bytes(corpus), packages


def pin(folder, manifest):
    wheels = [Wheel(p) for p in sorted(folder.glob("*.whl"))]
    if not wheels:
        fail(f"{folder}: there is no wheel")
    kept = [w for w in wheels if w.licence]
    for w in wheels:
        if not w.licence:
            print(f"left out: {w.name} {w.version}: no permissive licence")
    corpus, packages = assemble(kept)
    manifest.write_text(json.dumps(
        {"bytes": len(corpus), "sha256": sha256(corpus),
         "packages": packages}, indent=1) + "\n")
    print(f"{len(packages)} packages, {len(corpus)} bytes, {sha256(corpus)}")


def download(package, folder):
    """A wheel of the manifest, by pip, which holds its hash."""
    tags = package["wheel"][:-4].split("-")[-3:]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
               "--only-binary=:all:", "--require-hashes", "--dest", str(folder)]
    if tags != ["py3", "none", "any"]:
        command += ["--python-version", "3.11", "--implementation", "cp"]
        for platform in tags[2].split("."):
            command += ["--platform", platform]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pinned:
        pinned.write(f"{package['name']}=={package['version']} "
                     f"--hash=sha256:{package['sha256']}\n")
        pinned.flush()
        done = subprocess.run([*command, "-r", pinned.name], text=True,
                              stderr=subprocess.PIPE)
    if done.returncode != 0:
        fail(f"{package['name']} {package['version']}: "
             f"{done.stderr.strip().splitlines()[-1]}")


def build(manifest, out):
    wanted = json.loads(manifest.read_text())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for i, package in enumerate(wanted["packages"]):
            print(f"{i + 1} of {len(wanted['packages'])}: {package['wheel']}",
                  file=sys.stderr)
            if not (folder / package["wheel"]).exists():
                download(package, folder)
        wheels = [Wheel(folder / p["wheel"]) for p in wanted["packages"]]
        corpus, packages = assemble(wheels)
    for want, got in zip(wanted["packages"], packages):
        if want != got:
            fail(f"{want['name']}: {got}, the manifest has {want}")
    if sha256(corpus) != wanted["sha256"]:
        fail(f"SHA-256 {sha256(corpus)}, the manifest has {wanted['sha256']}")
    out.write_bytes(corpus)
    print(f"{out}: {len(corpus)} bytes, {wanted['sha256']}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, call, names in (("build", build, ("manifest", "out")),
                              ("pin", pin, ("wheels", "manifest"))):
        command = commands.add_parser(name)
        for argument in names:
            command.add_argument(argument, type=pathlib.Path)
        command.set_defaults(call=call, names=names)
    given = parser.parse_args()
    given.call(*(getattr(given, name) for name in given.names))


if __name__ == "__main__":
    main()
