#!/bin/sh
# Says which records still hold: `fresh NAME`, or `stale NAME: what changed`.
#
#   check.sh [RECORD...]    these records; without any, all that stand here
#   check.sh --hash SET     the digest of each source of a set, as records have
#                           it; a record may depend on several: "gpu peers"
#   check.sh --cpp FILE     the same of all sets, as C++ for the program, which
#                           writes them into the records that it makes
#
# A record depends on the tokens of the sources that its results follow from:
# neither on comments and layout nor on what files are called or include
# (token_digest.cpp), nor on a folder's README.md. TOKEN_DIGEST names that
# program where it is built already.
# Exit status: 0, stale records or not; 2 for bad requests.
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

digest() {
  if [ -z "${TOKEN_DIGEST-}" ]; then
    TOKEN_DIGEST=$scratch/token_digest
    "${CXX:-g++}" -std=c++20 -O1 -DFMT_HEADER_ONLY -I"$here/../.." \
      -o "$TOKEN_DIGEST" "$here/token_digest.cpp" "$here/../../src/base/sha256.cpp"
  fi
  xargs "$TOKEN_DIGEST"
}

core='include/zeroulp/core/*.hpp'
model='include/zeroulp/core/model/*.hpp include/zeroulp/model.hpp
       include/zeroulp/model_more.hpp'
kernels='include/zeroulp/cuda.hpp include/zeroulp/cuda_[!m]*.hpp
         cuda/[!m]*/*.cu* cuda/[!m]*/*.hpp cuda/gemm/*.cpp cuda/common/*.cpp'
cases='include/zeroulp/random.hpp conformance/cases/*
       conformance/contract/implementation.*
       conformance/contract/output_sums.hpp conformance/contract/registry.hpp
       fuzz/cases/* fuzz/engine/* fuzz/identify/*.?pp fuzz/targets/*.?pp
       fuzz/targets/step/*'

# sources_of SET: their patterns. gpu has all of device/ but model/ and peers/.
sources_of() {
  case $1 in
    kernels) echo "$core $kernels" ;;
    library) echo "$core include/zeroulp/[!m]*.hpp include/zeroulp/metrics.hpp
                   src/[!m]*/*.?pp" ;;
    cpu) echo "$core $model $cases conformance/contract/* conformance/checks/*.hpp
               conformance/checks/*/* conformance/oracles/*.?pp
               conformance/oracles/model/* conformance/oracles/blocks/* conformance/vectors/*
               fuzz/targets/model/*" ;;
    gpu) echo "$core $cases $kernels conformance/checks/training/*
               conformance/device/*.* conformance/device/[!mp]*/*.*
               conformance/device/[!mp]*/*/* conformance/peers/outputs.*" ;;
    gpu_model) echo "$core $model include/zeroulp/random.hpp
                     include/zeroulp/cuda.hpp include/zeroulp/cuda_model.hpp
                     cuda/model/* cuda/common/* cuda/ptx/* conformance/cases/*
                     conformance/checks/model/* conformance/oracles/model_*
                     conformance/oracles/model/*
                     conformance/device/model/*
                     conformance/device/support/test.hpp" ;;
    peers) echo "$core cuda/emulator/* conformance/device/peers/*
                 conformance/device/support/* conformance/peers/*.*" ;;
    routers) echo "include/zeroulp/core/model/router.hpp
                   include/zeroulp/core/model/row_sums.hpp
                   include/zeroulp/core/elementary.hpp
                   include/zeroulp/core/training.hpp
                   conformance/peers/python/routers.py
                   conformance/peers/python/peer_modules.py" ;;
    *) echo "check.sh: there is no set '$1': use one of: $sets" >&2 && exit 2 ;;
  esac
}
sets='cpu gpu gpu_model kernels library peers routers'

# hashes SET: `digest path` lines, in the order of the paths.
hashes() (
  patterns=$(sources_of "$1")
  cd "$here/../.."
  # shellcheck disable=SC2010,SC2012,SC2086
  ls -d $patterns 2>/dev/null | grep -v '/README\.md$' | sort -u | digest
)

# Not the commit of a repository that these sources merely lie in.
commit() {
  GIT_CEILING_DIRECTORIES=$(cd "$here/../../.." && pwd) git -C "$here" describe --always --abbrev=40 --exclude='*' --dirty \
    2>/dev/null || echo unknown
}

cpp() {
  echo '// Made by conformance/records/check.sh.'
  echo '#include "tools/zeroulp/record.hpp"'
  echo 'const char* zeroulp::program::sources_of(std::string_view set) {'
  for set in $sets; do
    echo "  if (set == \"$set\") {"
    echo '    return ""'
    hashes "$set" | sed 's/.*/           "&\\n"/'
    echo '           ;'
    echo '  }'
  done
  echo '  return "";'
  echo '}'
  echo 'const char* zeroulp::program::commit_of_sources() {'
  echo "  return \"$(commit)\";"
  echo '}'
}

# changed RECORD: the paths of the digests that are its alone, or new.
changed() {
  : >"$scratch/set"
  for set in $(sed -n 's/^ *"depends_on": "\(.*\)",$/\1/p' "$1"); do
    [ -s "$scratch/$set" ] || hashes "$set" >"$scratch/$set"
    cat "$scratch/$set" >>"$scratch/set"
  done
  sort -u -o "$scratch/set" "$scratch/set"
  sed -n 's/^ *"\([^"]*\)": "\([0-9a-f]\{16\}\)",\{0,1\}$/\2 \1/p' "$1" |
    sort >"$scratch/record"
  cut -d ' ' -f 1 "$scratch/set" >"$scratch/now"
  cut -d ' ' -f 1 "$scratch/record" >"$scratch/then"
  comm -3 "$scratch/now" "$scratch/then" | tr -d '\t' >"$scratch/other"
  cat "$scratch/set" "$scratch/record" | grep -F -f "$scratch/other" |
    cut -d ' ' -f 2 | sort -u | tr '\n' ' '
}

case ${1-} in
  --hash)
    hashes "${2:?--hash SET}"
    exit
    ;;
  --cpp)
    made=$(cpp)
    [ "$made" = "$(cat "${2:?--cpp FILE}" 2>/dev/null)" ] ||
      printf '%s\n' "$made" >"$2"
    exit
    ;;
esac
[ $# -gt 0 ] || set -- "$here"/*.json
for record; do
  # What packages gave (peers.json) depends on them.
  grep -q '"depends_on"' "$record" 2>/dev/null || continue
  names=$(changed "$record")
  if [ -z "$names" ]; then
    echo "fresh $(basename "$record" .json)"
  else
    echo "stale $(basename "$record" .json): ${names% }"
  fi
done
