#!/bin/sh
# Prints I/8: the eighth that a run takes of what would take it too long, each
# commit another.
set -eu
commit=$(git -C "$(dirname "$0")" rev-parse --short=4 HEAD 2>/dev/null) || commit=0
printf '%d/8\n' "$((0x$commit % 8))"
