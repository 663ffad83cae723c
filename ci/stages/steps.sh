# What the stages of ci/test are made of: tests that are counted, and time that is left. Read by ci/test.

passed=0 failed=0 skipped=0
# add PASSED FAILED [SKIPPED]
add() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + ${3:-0})); }

# not_run NUMBER WHAT: of what there was no time or no library for.
not_run() {
  echo "  not run: $2"
  add 0 0 "$1"
}

# The number that chooses samples. In a clone that does not have all commits, the day of HEAD's.
rotation_of() {
  local git=(git -c 'safe.directory=*')
  if [ -n "${ASSAY_ROTATION:-}" ]; then
    echo "$ASSAY_ROTATION"
  elif [ -n "$nightly" ]; then
    date -u +%Y%m%d
  elif [ "$("${git[@]}" rev-parse --is-shallow-repository 2> /dev/null)" = false ]; then
    "${git[@]}" rev-list --count HEAD
  else
    echo $(($("${git[@]}" log -1 --format=%ct 2> /dev/null || date +%s) / 86400))
  fi
}

# allowed_seconds: of $stage, one of the $stages that began at $begin: its budget. If those before it have taken longer than their
# budgets, it and those after it have as much less, each by the same part of its own, and none less than half of it.
allowed_seconds() {
  local each planned=0 left=0 loss now=
  for each in "${stages[@]}"; do
    [ "$each" != "$stage" ] || now=yes
    if [ -n "$now" ]; then left=$((left + budget[$each])); else planned=$((planned + budget[$each])); fi
  done
  loss=$((SECONDS - begin - planned))
  [ "$loss" -gt 0 ] || loss=0
  [ "$loss" -le $((left / 2)) ] || loss=$((left / 2))
  echo $((budget[$stage] - budget[$stage] * loss / left))
}

# time_left [PERCENT]: of what the stage is allowed, in seconds and at least 0; or of this part of it, if that is less.
time_left() {
  local left=$((allowed - (SECONDS - begun))) part=$((allowed * ${1:-100} / 100))
  [ -z "$nightly" ] || left=14400 part=14400
  [ "$left" -lt "$part" ] || left=$part
  echo $((left > 0 ? left : 0))
}

# build_ended LEAST MOST: what the stage is allowed from now on is what its build has left of it, but LEAST to MOST percent of it.
build_ended() {
  local least=$((allowed * $1 / 100)) most=$((allowed * $2 / 100)) left
  left=$(time_left)
  [ "$left" -ge "$least" ] || left=$least
  [ "$left" -le "$most" ] || left=$most
  allowed=$left begun=$SECONDS
}

# attempt COMMAND...: one test, which passes when the command does. Its output goes to the stage's log.
attempt() {
  local since=$SECONDS
  echo "+ $*" >> "$log"
  if "$@" >> "$log" 2>&1; then
    add 1 0
    echo "  $((SECONDS - since)) s" >> "$log"
  else
    local status=$?
    add 0 1
    echo "  FAILED (exit $status): $*"
    tail -n 30 "$log" | sed 's/^/    /'
    return 1
  fi
}

# attempt_verify NAME PERCENT OPTION...: `assay verify` for this part of the stage's budget. Cases that it did not come to are not run.
attempt_verify() {
  local name=$1 seconds json=$logs/verify-$1.json cases
  seconds=$(time_left "$2")
  shift 2
  rm -f "$json"
  if [ "$seconds" -lt 10 ]; then  # a run that does not come to its first case fails
    not_run 1 "verify-$name, for which $seconds s are left"
    return
  fi
  attempt "$assay" verify "$@" --time "${seconds}s" --json "$json"
  cases=$(grep -o '"cases_not_run": *[0-9]*' "$json" 2> /dev/null | grep -o '[0-9]*$')
  [ "${cases:-0}" = 0 ] || not_run 1 "$cases cases of verify-$name, whose $seconds s are over"
}
assay=./assay

# release_built: for stages that run it, whose time begins then.
release_built() {
  attempt ./assay --version || return
  begun=$SECONDS
}

# configure_and_build PRESET [TARGET...]
configure_and_build() {
  local preset=$1
  shift
  attempt cmake --preset "$preset" && attempt cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}
}

# ctest_counted PRESET [CTEST OPTION...]: adds its tests.
ctest_counted() {
  local preset=$1 junit=$logs/$stage.xml
  shift
  rm -f "$junit"
  ctest --preset "$preset" -j "$jobs" --output-junit "$junit" "$@" >> "$log" 2>&1
  count_junit $? "$preset" "$junit"
}

# ctest_in_turn PRESET SECONDS: adds its tests, of which those of what a change touches come first; the others are taken in turn until
# the seconds are over, and the rest is not run.
ctest_in_turn() {
  local preset=$1 seconds=$2 junit=$logs/$stage.xml file changed=() left status
  rm -f "$junit"
  for file in $(touched --files); do changed+=(--changed "$file"); done
  ci/in_turn "$preset" --seconds "$seconds" --rotation "$rotation" --jobs "$jobs" --junit "$junit" "${changed[@]}" >> "$log" 2>&1
  status=$?
  count_junit $status "$preset" "$junit"
  left=$(sed -n 's/^in_turn: .* skipped, \([0-9]*\) not run$/\1/p' "$log" | tail -n 1)
  [ "${left:-0}" = 0 ] || not_run "$left" "$left tests, whose turn comes with other commits"
}

# count_junit STATUS PRESET FILE: adds what this run of ctest wrote, and shows what failed.
count_junit() {
  local status=$1 preset=$2 junit=$3 suite
  suite=$(tr '\n\t' '  ' < "$junit" 2> /dev/null | grep -o '<testsuite [^>]*>')
  attribute() { sed -n "s/.* $1=\"\([0-9]*\)\".*/\1/p" <<< "$suite"; }
  local tests failures skips
  tests=$(attribute tests) failures=$(attribute failures) skips=$(attribute skipped)
  if [ -z "$tests" ] || { [ "$status" != 0 ] && [ "$failures" = 0 ]; }; then
    echo "  FAILED: ctest --preset $preset ended with $status"
    tail -n 30 "$log" | sed 's/^/    /'
    add 0 1
    return
  fi
  add $((tests - failures - skips)) "$failures" "$skips"
  if [ "$failures" != 0 ]; then
    echo "  FAILED: $failures of $tests tests (ctest --preset $preset):"
    { grep -A 8 -E ': Failure$|ERROR: |WARNING: ThreadSanitizer|runtime error: ' "$log" | head -n 60
      sed -n '/The following tests FAILED/,/^Errors while/p' "$log"; } | sed 's/^/    /'
  fi
}

no_warning() {
  local found
  found=$(grep 'warning:' "$log")
  echo "$found"
  [ -z "$found" ]
}
