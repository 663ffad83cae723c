# ci/test --self-test: whether what failed and what was not run is counted, and whether samples move with the rotation.

self_test() {
  local folder wrong=0
  folder=$(mktemp -d)
  logs=$folder log=$folder/log stage=verify begun=$SECONDS jobs=2 allowed=${budget[verify]}
  # expect WHAT GOT WANTED
  expect() {
    [ "$2" = "$3" ] && return
    echo "ci/test --self-test: $1: '$2' instead of '$3'" >&2
    wrong=1
  }
  counts() { echo "$passed $failed $skipped"; }

  attempt true
  attempt false > /dev/null
  expect 'one that passes and one that fails' "$(counts)" '1 1 0'
  passed=0 failed=0
  begun=$((SECONDS - budget[verify]))
  expect 'and none is left' "$(time_left)" 0
  attempt_verify late 10 > /dev/null
  expect 'verify without time' "$(counts)" '0 0 1'
  skipped=0
  begun=$SECONDS
  expect 'a part of a budget' "$(time_left 10)" $((budget[verify] / 10))
  begun=$((SECONDS - budget[verify] + 5))
  expect 'a part that is more than what is left' "$(time_left 50)" 5
  begun=$SECONDS

  # A run of verify that --time cut short, one that was not, and one that found a fault.
  cat > "$folder/assay" <<'END'
#!/bin/bash
while [ $# -gt 0 ]; do
  case $1 in
    --json) echo "{\"complete\": false,  \"cases_not_run\": ${LEFT:-0}, \"x\": 1}" > "$2" ;;
  esac
  shift
done
exit "${CODE:-0}"
END
  chmod +x "$folder/assay"
  assay=$folder/assay
  LEFT=12 attempt_verify cut 10 > /dev/null
  expect 'verify that was cut short' "$(counts)" '1 0 1'
  passed=0 skipped=0
  attempt_verify whole 10
  expect 'verify that was not' "$(counts)" '1 0 0'
  passed=0
  CODE=1 LEFT=3 attempt_verify fault 10 > /dev/null
  expect 'verify that found a fault' "$(counts)" '0 1 1'
  passed=0 failed=0 skipped=0

  rotation=7
  expect 'lines in turn' "$(seq 5 | rotated | sort | tr '\n' ' ')" '1 2 3 4 5 '
  local one
  one=$(seq 5 | rotated | head -n 1)
  rotation=8
  expect 'another line begins' "$([ "$(seq 5 | rotated | head -n 1)" = "$one" ] && echo same)" ''
  expect 'a rotation that is asked for' "$(ASSAY_ROTATION=12 rotation_of)" 12
  expect 'a rotation that is not' "$(ASSAY_ROTATION='' rotation_of | grep -cx '[0-9][0-9]*')" 1
  # Builds that took next to nothing, all of the time, and half of it.
  local taken
  for taken in 0:67 100:40 50:50; do
    allowed=600 begun=$((SECONDS - 6 * ${taken%:*}))
    build_ended 40 67
    expect "time after a build of ${taken%:*}%" "$(time_left)" $((6 * ${taken#*:}))
  done
  # Stages that took longer than they should.
  local sum=0 each
  stages=(faults verify selftest)
  nightly='' begin=$((SECONDS - budget[faults]))
  expect 'a stage after one that kept to its budget' "$(allowed_seconds)" "${budget[verify]}"
  begin=$((SECONDS - budget[faults] - (budget[verify] + budget[selftest]) / 4))
  expect 'a stage after one that took too long' "$(allowed_seconds)" $((budget[verify] - budget[verify] / 4))
  begin=$((SECONDS - 9 * budget[faults]))
  expect 'a stage after one that took all of the time' "$(allowed_seconds)" $((budget[verify] - budget[verify] / 2))
  stage=faults
  expect 'the first stage' "$(allowed_seconds)" $((budget[faults] - budget[faults] / 2))
  begin=$SECONDS
  expect 'the first stage' "$(allowed_seconds)" "${budget[faults]}"
  for each in "${all[@]}"; do sum=$((sum + budget[$each])); done
  expect 'budgets of more than 45 minutes' "$([ "$sum" -le 2700 ] || echo "$sum s")" ''
  rm -rf "$folder"
  [ "$wrong" = 0 ] && echo 'ci/test: what fails and what is not run is counted'
}
