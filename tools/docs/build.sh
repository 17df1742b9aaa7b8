#!/usr/bin/env bash
# Builds the site: build.sh [FOLDER], by default build/site. Open index.html in
# it; no server and no network are needed to read and search it.
#
# Packages are installed once, into build/docs-venv, in the versions of
# requirements.txt. Without a network, either copy that folder's packages:
#   pip download -d wheels -r tools/docs/requirements.txt     # where there is one
#   PIP_NO_INDEX=1 PIP_FIND_LINKS=$PWD/wheels tools/docs/build.sh
# or name a Python that has them: ZEROULP_DOCS_PYTHON=python3 tools/docs/build.sh
set -euo pipefail
case ${1-} in
  -h | --help)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
esac
site=$(realpath -m "${1:-$(dirname "$0")/../../build/site}")
cd "$(dirname "$0")/../.."
venv=build/docs-venv pages=build/docs-pages
requirements=tools/docs/requirements.txt
mkdir -p build

if [[ -n ${ZEROULP_DOCS_PYTHON-} ]]; then
  python=$ZEROULP_DOCS_PYTHON
else
  python=$venv/bin/python
  # A venv that was not finished, or is of other versions, is made anew.
  if ! cmp -s "$requirements" "$venv/installed.txt"; then
    echo "build.sh: installs Sphinx into $venv (log: build/docs-venv.log)"
    if ! { rm -rf "$venv" && python3 -m venv "$venv" &&
           "$python" -m pip install -q --disable-pip-version-check \
             -r "$requirements" && cp "$requirements" "$venv/installed.txt"
         } >build/docs-venv.log 2>&1; then
      tail -n 5 build/docs-venv.log >&2
      echo "build.sh: cannot install $requirements. Without a network, see" \
        "tools/docs/build.sh --help" >&2
      exit 2
    fi
  fi
fi
if ! "$python" -c 'import sphinx, myst_parser, furo, sphinx_copybutton'; then
  echo "build.sh: $python lacks packages of $requirements" >&2
  exit 2
fi

rm -rf "$pages" "$site"
"$python" tools/docs/stage.py "$pages"
# -W: a warning is an error. -q: silent else.
"$python" -m sphinx -q -W --keep-going -j auto -b html -c tools/docs \
  -d build/docs-doctrees "$pages" "$site"
"$python" tools/docs/is_self_contained.py "$site"
echo "build.sh: $site/index.html"
