# Stages of ci/test: planted faults, every kernel on drawn cases, and wrong kernels. They take as long as they are given: what a
# change touches comes first and in full, then what the rotation chooses. ci/nightly gives them everything.

# touched [--files]: what ci/touched prints, as words; what it was, or why nothing is known, is in the log, and said. Nothing in a
# nightly run, which has it all.
touched() {
  [ -z "$nightly" ] || return
  ci/touched "$@" 2>> "$log" | tr '\n' ' '
  grep '^touched:' "$log" | tail -n 1 | cut -c1-200 | sed 's/^/  /' >&2
}

# plant_counted ARGUMENT...: adds its faults and controls.
plant_counted() {
  local counts
  counts=$(ci/faults/plant "$@" --jobs "$jobs" 2>&1 | tee -a "$log" |
    sed -n 's/^faults: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) not run.*/\1 \2 \3/p')
  # shellcheck disable=SC2086  # three numbers
  add ${counts:-0 1}
}

stage_faults() {
  release_built || return
  # Of those that are not planted their text is looked for, so that they follow the kernels.
  if [ -n "$nightly" ]; then
    plant_counted
  else
    local file changed=()
    for file in $(touched --files); do changed+=(--changed "$file"); done
    # A fault that has begun may take half a minute more.
    plant_counted --of-file 2 --rotation "$rotation" "${changed[@]}" --time $(($(time_left) - 30))
  fi
  grep -v '^found\|^+' "$log" | grep '^MISSED\|^faults:\|Error' | sed 's/^/  /'
  grep '^not run' "$log" | awk '{ n++; $1 = $2 = ""; last = $0 }
    END { if (n) printf "  not run: %d faults and controls, the last of which is%s\n", n, last }'
}

# From end to end, every kernel and peer on this machine. Kernels that are emulated and interpreted have fewer cases, which
# take up to fifty times as long; over all operators they still have every kind of data.
stage_verify() {
  release_built || return
  local slow=cuda.emulated,cuda.ptx fast='!cuda.emulated,!cuda.ptx' operators seed=(--seed "$rotation")
  if [ -n "$nightly" ]; then
    attempt_verify all 100 --thorough "${seed[@]}" --junit "$logs/verify.xml"
  else
    operators=$(touched)
    local percent=20 of_cuda=10
    # shellcheck disable=SC2086  # one word each
    if most_of $operators; then
      percent=40 of_cuda=20
    elif [ -n "$operators" ]; then
      # The cases that everybody has, with the seed that is nobody's choice.
      # shellcheck disable=SC2086
      attempt_verify touched 20 $operators --impl "$fast" --cases 250
      operators=$(operators_of '' cuda.emulated | grep -Fx "$(tr ' ' '\n' <<< "$operators" | grep .)" | tr '\n' ' ')
      # shellcheck disable=SC2086
      [ -z "$operators" ] || attempt_verify touched-cuda 10 $operators --impl "$slow" --cases 120
    fi
    attempt_verify all "$percent" --impl "$fast" --cases 125 "${seed[@]}" --junit "$logs/verify.xml"
    attempt_verify cuda "$of_cuda" --impl "$slow" --cases 60 "${seed[@]}"
  fi
  # What others have tested: ONNX's own tests, and PyTorch's samples. Without their packages there are none.
  local fixtures package
  for fixtures in onnx:libonnx-testdata opinfo:python3-torch; do
    package=${fixtures#*:} fixtures=${fixtures%:*}
    if dpkg-query -W "$package" > /dev/null 2>&1; then
      attempt_verify "$fixtures" 10 --impl '!cuda.*' --fixtures "$fixtures"
    else
      not_run 1 "verify --fixtures $fixtures: $package is not installed"
    fi
  done
  attempt_verify check 10 --impl cuda.emulated --check --cases "$([ -n "$nightly" ] && echo 60 || echo 20)" "${seed[@]}"
  # A machine without nvcc has nothing to rehearse with.
  [ ! -e build/release/optimized/libassay_cuda_plugin.so ] || attempt ci/gpu --rehearse --output "$logs/gpu"
  attempt ci/cuda_budget --self-test
  attempt ci/cuda_budget --jobs "$jobs"
  if grep '^cuda_budget: not run' "$log" | sed 's/^/  /' | grep .; then add 0 0 1; fi
  # Lines of our kernels that no case runs. It builds them once more, which is too much for each commit.
  attempt ci/coverage --self-test
  [ -z "$nightly" ] || attempt ci/coverage --jobs "$jobs"
  # Lists, each of which begins with another line for another rotation.
  local list
  for list in cpu peer cuda; do case_lines "ci/${list}_cases.txt" | rotated > "$logs/${list}_cases.txt"; done
  attempt_verify cpu-cases 10 --impl 'cpu.*' --cases-from "$logs/cpu_cases.txt"
  for list in onednn openblas; do
    [ ! -e "build/release/optimized/libassay_${list}_plugin.so" ] ||
      attempt_verify "$list-cases" 5 --impl "$list*" --cases-from "$logs/peer_cases.txt"
  done
  attempt_verify cuda-cases 10 --impl 'cuda.*' --cases-from "$logs/cuda_cases.txt"
  attempt_verify cuda-cases-check 100 --impl cuda.emulated --check --cases-from "$logs/cuda_cases.txt"
}

# case_lines FILE: those of a list that have cases.
case_lines() { grep -v '^ *\(#\|$\)' "$1"; }

# most_of OPERATOR...: whether these are more than half of all: then they are no choice.
most_of() { [ $# -gt $(($(operators_of f32 | wc -l) / 2)) ]; }

# rotated: lines, beginning with another one for another rotation.
rotated() { awk -v r="$rotation" '{ line[NR - 1] = $0 } END { for (i = 0; i < NR; i++) print line[(i + r * 7919) % NR] }'; }

# Whether that would find what it looks for: f32 alone, as all dtypes take five times as long, one operator at a time: one that has begun
# ends, and convolution takes minutes.
stage_selftest() {
  release_built || return
  if [ -n "$nightly" ]; then
    attempt ./assay selftest --no-rivals --json "$logs/selftest.json"
    return
  fi
  local operators all late=0 at
  all=$(operators_of f32)
  mapfile -t operators < <({ touched | tr ' ' '\n' | grep -Fx "$all"; rotated <<< "$all"; } | awk '!seen[$0]++')
  for ((at = 0; at < ${#operators[@]}; ++at)); do
    if [ "$(time_left)" -gt $((allowed / 10)) ]; then
      attempt ./assay selftest "${operators[at]}" --dtype f32 --no-rivals --json "$logs/selftest-$at.json"
    else
      late=$((${#operators[@]} - at))
      not_run "$late" "selftest of $late of ${#operators[@]} operators, from ${operators[at]} on"
      break
    fi
  done
}

# operators_of DTYPE|'' [KERNEL]: names of the operators that have this dtype, and a kernel of this name.
operators_of() {
  "$assay" ops --json - | python3 -c 'import json, sys
for o in json.load(sys.stdin):
    if (not sys.argv[1] or sys.argv[1] in o["dtypes"]) and (not sys.argv[2] or any(k["impl"] == sys.argv[2] for k in o["kernels"])):
        print(o["op"])' "$1" "${2:-}"
}
