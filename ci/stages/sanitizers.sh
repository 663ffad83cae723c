# Stages of ci/test: tests under the sanitizers, of what AssaySanitized.cmake says. A nightly run builds all kernels and runs them, too.

# sanitized PRESET: builds and runs its tests.
sanitized() {
  attempt cmake --preset "$1" ${nightly:+-DASSAY_KERNELS= -DASSAY_OPERATORS=} &&
    attempt cmake --build --preset "$1" -j "$jobs" && ctest_counted "$1"
}

stage_asan-ubsan() {
  sanitized asan-ubsan || return
  # Our kernels and what checks them: few cases at night, where all kernels are there, and as many as there is time for otherwise.
  assay=build/asan-ubsan/bin/assay begun=$SECONDS \
    attempt_verify asan 20 --impl 'cpu.*,cuda.emulated' --cases 20 --seed "$rotation" --out "$logs/verify-asan.out"
}

stage_tsan() { sanitized tsan; }
