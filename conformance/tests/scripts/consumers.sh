#!/usr/bin/env bash
# The installed package, as a user's project finds it: consumers.sh BUILD FOLDER
# installs BUILD into FOLDER/prefix and builds the projects of tools/consumers.
set -euo pipefail
build=$1 folder=$2
export logs=$2
# shellcheck source=conformance/tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"
prefix=$folder/prefix

consumer() {
  local name=$1
  shift
  cmake -S "$root/tools/consumers/$name" -B "$folder/$name" "$@" &&
    cmake --build "$folder/$name" -j "$(nproc)" && "$folder/$name/consumer"
}

without_nvcc() {
  env -u CUDACXX cmake -S "$root" -B "$folder/no-nvcc" -DZEROULP_NVCC=OFF |
    tee "$folder/no-nvcc.txt" && grep -q 'zeroulp: no nvcc' "$folder/no-nvcc.txt"
}

# What python:FILE.py imports is the one installed beside the program.
finds_python_module() {
  local said
  echo 'import zeroulp_plugin as z; raise ValueError(z.__file__)' \
    >"$folder/where.py"
  said=$(ZEROULP_PYTHON=$1 "$prefix/bin/zeroulp" identify plugin \
    "python:$folder/where.py" 2>&1) || true
  echo "$said"
  [[ $said == *"$prefix/share/zeroulp/zeroulp_plugin.py"* ]]
}

# Where man, bash, zsh and fish look.
manuals_are_installed() {
  local share=$prefix/share
  grep -q '^\.TH ZEROULP-QUANTIZE 1' "$share/man/man1/zeroulp-quantize.1" &&
    grep -q '^complete .* zeroulp$' \
      "$share/bash-completion/completions/zeroulp" &&
    grep -q '^#compdef zeroulp' "$share/zsh/site-functions/_zeroulp" &&
    grep -q '^complete -c zeroulp' \
      "$share/fish/vendor_completions.d/zeroulp.fish"
}

# Follows the page "install" as a C++ user does: its program, compiled by
# pkg-config and by CMake, prints what the page shows both times.
install_page_holds() {
  local page=$folder/page
  mkdir -p "$page" "$folder/home"
  ln -sfn "$prefix" "$folder/home/zeroulp"
  python3 -B - "$root/tools/docs" "$page" <<'END'
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import markdown
folder, steps = pathlib.Path(sys.argv[2]), []
for block in markdown.blocks_of((markdown.PAGES / "install.md").read_text()):
    text = "\n".join(block.code) + "\n"
    if block.settings.get("file") == "first.cpp":
        (folder / "first.cpp").write_text(text)
        (folder / "shown").write_text("\n".join(block.output.code))
    elif block.language == "cmake":
        (folder / "CMakeLists.txt").write_text(text)
    elif "consumers" in block.tags:
        steps.append(text)
assert len(steps) == 2, steps
(folder / "steps.sh").write_text("".join(steps))
END
  (cd "$page" && HOME=$folder/home bash -eu steps.sh) | tee "$page/printed" &&
    [[ $(grep -cFx "$(cat "$page/shown")" "$page/printed") -eq 2 ]]
}

needs_only_the_c_library() {
  ! ldd "$1" | grep -vE 'linux-vdso|ld-linux|/lib(c|m|dl|pthread|rt)\.so'
}

rm -rf "$folder" && mkdir -p "$folder"
if check "install" cmake --install "$build" --prefix "$prefix"; then
  check "installed program" "$prefix/bin/zeroulp" --help || true
  check "installed man pages and completion" manuals_are_installed || true
  check "the program needs the C library only" needs_only_the_c_library \
    "$prefix/bin/zeroulp" || true
  python=$(python_with_numpy)
  if [[ -n $python ]]; then
    check "installed program: zeroulp_plugin.py" finds_python_module "$python" ||
      true
  else
    skip "installed program: zeroulp_plugin.py" "no python3 with NumPy here"
  fi
  check "consumer: the page on how to install" install_page_holds || true
  check "consumer: find_package" consumer find_package \
    -DCMAKE_PREFIX_PATH="$prefix" || true
  if grep -q '^ZEROULP_NVCC:[^=]*=/' "$build/CMakeCache.txt"; then
    check "consumer: find_package, kernels" consumer find_package_cuda \
      -DCMAKE_PREFIX_PATH="$prefix" || true
  else
    skip "consumer: find_package, kernels" "no nvcc here"
  fi
  check "consumer: add_subdirectory" consumer add_subdirectory \
    -DCMAKE_BUILD_TYPE=Debug -DZEROULP_BATCHES=ON || true
  check "configures without nvcc" without_nvcc || true
fi
finish
