#!/usr/bin/env python3
"""Tests of tools/train/corpus.py on wheels made here: corpus.py FOLDER. TAP."""

import base64
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = pathlib.Path(sys.argv[1])
failures = 0


def verdict(name, wrong):
    global failures
    failures += bool(wrong)
    print(f"not ok {name}\n# {wrong}" if wrong else f"ok {name}", flush=True)


def corpus(*arguments):
    return subprocess.run(
        [sys.executable, str(ROOT / "tools/train/corpus.py"),
         *map(str, arguments)], capture_output=True, text=True)


def wheel(folder, name, licence, files, lie=None):
    """A wheel; `lie`: a file that is another than RECORD says."""
    record = ""
    info = f"{name}-1.0.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as z:
        for path, data in files.items():
            digest = hashlib.sha256(data).digest()
            code = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            record += f"{path},sha256={code},{len(data)}\n"
            z.writestr(path, b"other" if path == lie else data)
        z.writestr(f"{info}/METADATA",
                   f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{licence}\n")
        z.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    wheels, manifest = FOLDER / "wheels", FOLDER / "corpus.json"
    wheel(wheels, "b", "License: BSD 3-Clause",
          {"b/z.py": b"last", "b/a.py": b"first", "b/data.txt": b"text",
           "b/nul.py": b"x\0y", "b/empty.py": b"", "b/same.py": b"again"})
    wheel(wheels, "a", "Classifier: License :: OSI Approved :: MIT License",
          {"a/x.py": b"again"})
    wheel(wheels, "copyleft", "License: GPL-3.0 or MIT", {"c/x.py": b"no"})
    wheel(wheels, "silent", "Summary: nothing", {"s/x.py": b"no"})
    got = corpus("pin", wheels, manifest)
    want = b"again\0first\0last\0"
    made = json.loads(manifest.read_text()) if manifest.exists() else {}
    verdict("files in the order of packages and paths, each once",
            "" if made.get("sha256") == hashlib.sha256(want).hexdigest() and
            made["bytes"] == len(want) else f"{got.stderr}{made}")
    verdict("packages have versions, licences and hashes",
            "" if [(p["name"], p["version"], p["licence"], p["files"],
                    p["bytes"], len(p["sha256"])) for p in made["packages"]] ==
            [("a", "1.0", "MIT", 1, 6, 64), ("b", "1.0", "BSD", 2, 11, 64)]
            else made["packages"])
    verdict("who is left out is named",
            "" if "left out: copyleft 1.0" in got.stdout and
            "left out: silent 1.0" in got.stdout else got.stdout)
    wheel(FOLDER / "lying", "b", "License: MIT", {"b/a.py": b"first"}, "b/a.py")
    got = corpus("pin", FOLDER / "lying", FOLDER / "lying.json")
    verdict("a file is what RECORD says",
            "" if got.returncode == 1 and "b/a.py is not what RECORD says" in
            got.stderr and not (FOLDER / "lying.json").exists()
            else got.stderr)
    got = corpus("pin", FOLDER, FOLDER / "none.json")
    verdict("a folder without wheels is named",
            "" if got.returncode == 1 and "there is no wheel" in got.stderr
            else got.stderr)
    pinned = json.loads(
        (ROOT / "conformance/records/train/corpus.json").read_text())
    verdict("the pinned corpus is as long as its packages",
            "" if sum(p["bytes"] for p in pinned["packages"]) == pinned["bytes"]
            and all(p["licence"] for p in pinned["packages"]) else pinned)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
