#!/usr/bin/env bash
# The library under ThreadSanitizer, which learns from Archer what OpenMP's
# threads wait for: threads.sh FOLDER CLANG++
set -euo pipefail
folder=$1 clang=$2
export logs=$1
# shellcheck source=conformance/tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"

build() {
  CXX=$clang cmake -S "$root" -B "$folder" -DZEROULP_TOOLS=OFF \
    -DZEROULP_TESTS=OFF -DZEROULP_CUDA=OFF -DZEROULP_BATCHES=ON \
    -DZEROULP_WERROR=ON \
    -DCMAKE_BUILD_TYPE=Sanitize \
    -DCMAKE_CXX_FLAGS_SANITIZE="-O1 -g1 -fsanitize=thread" &&
    cmake --build "$folder" -j "$(nproc)" --target zeroulp &&
    "$clang" -std=c++20 -O1 -g1 -fsanitize=thread -fopenmp \
      -I"$root/include" -I"$root" -isystem /usr/include/eigen3 \
      -o "$folder/watched" "$root/conformance/compile/threads.cpp" \
      "$folder/src/libzeroulp.a" -lz
}

watch() {
  local archer
  archer=$(find /usr/lib/llvm-*/lib -name libarcher.so | head -1)
  OMP_NUM_THREADS=4 OMP_TOOL_LIBRARIES=$archer \
    TSAN_OPTIONS=ignore_noninstrumented_modules=1 "$folder/watched" "$@"
}
reports_a_race() { ! watch race; }

if check "ThreadSanitizer: builds" build; then
  check "ThreadSanitizer: no race in the library" watch || true
  check "ThreadSanitizer: reports a race" reports_a_race || true
fi
finish
