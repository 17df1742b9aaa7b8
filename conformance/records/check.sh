#!/bin/sh
# Says which records still hold: `fresh NAME`, or `stale NAME: what changed`.
#
#   check.sh [RECORD...]    these records; without any, all that stand here
#   check.sh --hash SET     the hash of each source of a set, as records have it
#   check.sh --cpp FILE     the same of all sets, as C++ for the program, which
#                           writes them into the records that it makes
#
# A record depends on the sources that its results follow from, comments
# included; a hash is the first 16 digits of SHA-256. Exit status: 0, stale
# records or not; 2 for bad requests.
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)

# sources_of SET: their patterns.
sources_of() {
  echo 'include/zeroulp/core/*.hpp include/zeroulp/random.hpp'
  case $1 in
    cpu) echo 'conformance/cases/* conformance/checks/* conformance/oracles/*
               conformance/vectors/* fuzz/*.?pp fuzz/targets/*' ;;
    gpu) echo 'include/zeroulp/cuda*.hpp conformance/device/*
               conformance/peers/* cuda/*.cu* cuda/*.hpp
               conformance/cases/* conformance/checks/implementation.*
               conformance/checks/registry.hpp conformance/checks/training*
               fuzz/*.?pp fuzz/targets/*' ;;
    *) echo "check.sh: there is no set '$1': use one of: $sets" >&2 && exit 2 ;;
  esac
}
sets='cpu gpu'

# hashes SET: `hash path` lines, in the order of the paths.
hashes() (
  patterns=$(sources_of "$1")
  cd "$here/../.."
  # shellcheck disable=SC2012,SC2086
  ls -d $patterns 2>/dev/null | sort | xargs sha256sum |
    sed 's/^\([0-9a-f]\{16\}\)[0-9a-f]* [ *]/\1 /'
)

cpp() {
  echo '// Made by conformance/records/check.sh.'
  echo '#include "tools/zeroulp/conform_report.hpp"'
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
}

# changed RECORD: the paths that were other, absent or are new.
changed() {
  set=$(sed -n 's/^ *"depends_on": "\(.*\)",$/\1/p' "$1")
  current=$(hashes "$set")
  {
    sed -n 's/^ *"\([^"]*\)": "\([0-9a-f]\{16\}\)",\{0,1\}$/\2 \1/p' "$1"
    echo "$current"
  } | sort | uniq -u | cut -d ' ' -f 2 | sort -u | tr '\n' ' '
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
  [ -f "$record" ] || continue
  names=$(changed "$record")
  if [ -z "$names" ]; then
    echo "fresh $(basename "$record" .json)"
  else
    echo "stale $(basename "$record" .json): ${names% }"
  fi
done
