#!/usr/bin/env bash
# Installs the Debian packages that are missing, and says nothing if none is.
#
#   tools/install.sh         what the program needs
#   tools/install.sh test    what the tests need besides
#   tools/install.sh mpi     what -DZEROULP_MPI=ON needs besides
set -euo pipefail

case ${1-} in
  "" | test | mpi) ;;
  *)
    echo "install.sh: nothing is known as '$1'; use no argument, test or mpi" >&2
    exit 2
    ;;
esac

# The solver of conformance/proofs is no Debian package. It goes where
# conformance/tests/scripts/proofs.sh looks; without it, proofs are skipped.
install_solver() {
  local folder python
  folder=$(cd "$(dirname "$0")/.." && pwd)/build/solver
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
      ! PYTHONPATH=$folder "$python" -c 'import bitwuzla' 2>/dev/null || return 0
      echo "installing bitwuzla" >&2
      "$python" -m pip install -q --upgrade --target "$folder" \
        bitwuzla==0.10.0 >&2 ||
        echo "install.sh: no bitwuzla: the proofs are skipped" >&2
      return 0
    fi
  done
}

packages=(
  g++ cmake make libeigen3-dev libboost-dev libmpfr-dev libgmp-dev libcli11-dev
  nlohmann-json3-dev libfmt-dev zlib1g-dev libhwy-dev gnuplot-nox
)
if [[ ${1-} == test ]]; then
  packages+=(
    clang-14 libclang-rt-14-dev libomp-dev libgtest-dev libgmock-dev
    librapidcheck-dev python3 python3-numpy python3-pytest python3-pip pkg-config
    clang-format-14 shellcheck
  )
fi
[[ ${1-} != mpi ]] || packages+=(libopenmpi-dev openmpi-bin)

if ! command -v apt-get dpkg-query >/dev/null; then
  echo "install.sh: no apt-get here; taking for granted: ${packages[*]}" >&2
  [[ ${1-} != test ]] || install_solver
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  [[ ${1-} != test ]] || install_solver
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "install.sh: as root, run: apt-get install ${missing[*]}" >&2
    exit 2
  fi
  as_root=(sudo)
fi

echo "installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update -q &&
       "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
         apt-get install -yq --no-install-recommends "${missing[@]}"
     } >"$log" 2>&1; then
  cat "$log" >&2
  echo "install.sh: could not install ${missing[*]}" >&2
  exit 2
fi
[[ ${1-} != test ]] || install_solver
