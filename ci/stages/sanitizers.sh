# Stages of ci/test: tests under the sanitizers, of what AssaySanitized.cmake says. A nightly run builds all kernels and runs them, too.

# sanitized PRESET
sanitized() {
  attempt cmake --preset "$1" ${nightly:+-DASSAY_KERNELS= -DASSAY_OPERATORS= -DASSAY_SANITIZE_WITHOUT=} &&
    attempt cmake --build --preset "$1" -j "$jobs"
}

stage_asan-ubsan() {
  sanitized asan-ubsan || return
  # Its tests take a quarter of an hour, and stage dev has run them all: here they have half of the time; a run of verify takes half a
  # minute to begin.
  local assay=build/asan-ubsan/bin/assay operators emulated
  build_ended 40 80
  if [ -n "$nightly" ]; then ctest_counted asan-ubsan; else ctest_in_turn asan-ubsan "$(time_left 50)"; fi
  # Our kernels that are there, and what checks them; of the slow ones some, in turn.
  local options=(--cases 20 --timeout 60 --seed "$rotation" --out "$logs/verify-asan.out")
  mapfile -t operators < <(operators_of '' cpu.baseline)
  attempt_verify asan 25 "${operators[@]}" --impl 'cpu.*' "${options[@]}"
  # Sizes and layouts that drawn cases rarely have, as many as there is time for.
  case_lines ci/cpu_cases.txt | rotated > "$logs/cpu_cases-asan.txt"
  attempt_verify asan-cases 12 "${operators[@]}" --impl 'cpu.*' --timeout 60 --out "$logs/verify-asan.out" \
    --cases-from "$logs/cpu_cases-asan.txt"
  mapfile -t emulated < <(operators_of '' cuda.emulated | rotated | head -n "$([ -n "$nightly" ] && echo 1000 || echo 6)")
  attempt_verify asan-cuda 12 "${emulated[@]}" --impl cuda.emulated "${options[@]}"
}

stage_tsan() { sanitized tsan && ctest_counted tsan; }
