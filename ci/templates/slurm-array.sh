#!/bin/bash
# Verifies kernels on a Slurm cluster: an array of tasks, each of which runs a part of the calls, and a job that joins the parts.
#
#   ./slurm-array.sh                 submits both, waits, and exits as `assay verify` of the whole would
#   sbatch --array=3 slurm-array.sh part 8    runs part 3 of 8 again, whose node was lost
#   sbatch slurm-array.sh join 8     joins the parts again
#
# Change what stands between the lines. The folder must be one that all nodes see. Without --cases or --thorough each part is a short run
# of its own: N parts judge up to N times as many calls.
set -u
# --------------------------------------------------------------------------------------------------
parts=${PARTS:-8}
kernels=${KERNELS:---python kernels.py --plugin ./libkernels.so}
cases=${CASES:---thorough}
results=${RESULTS:-assay-out}
options=(--job-name=assay --time=01:00:00)
each=(--cpus-per-task=4)
# --------------------------------------------------------------------------------------------------

part() {  # part I of N
  local folder=$results/part-$1
  rm -rf "$folder"
  mkdir -p "$folder"
  # shellcheck disable=SC2086  # words
  assay verify $kernels --impl 'plugin:*' $cases --shard "$1/$2" --jobs "${SLURM_CPUS_PER_TASK:-0}" --out "$folder"
}

join() {  # of N parts; one that left no file is named as missing
  local files=() i
  for ((i = 1; i <= $1; ++i)); do
    [ ! -e "$results/part-$i/run.json" ] || files+=("$results/part-$i/run.json")
  done
  [ ${#files[@]} != 0 ] || { echo "no part has left a file in $results" >&2; return 3; }
  local status=0
  assay merge "${files[@]}" -o "$results/run.json" || status=$?
  [ ! -e "$results/run.json" ] ||
    assay report "$results/run.json" --html "$results/run.html" --markdown "$results/run.md" --junit "$results/junit.xml"
  return "$status"
}

submit() {
  mkdir -p "$results"
  rm -rf "$results"/part-* "$results/run.json"
  local array
  array=$(sbatch --parsable "${options[@]}" "${each[@]}" --array="1-$parts" --output="$results/part-%a.log" "$0" part "$parts") || return 3
  # A part that finds a fault fails, and is to be joined, too.
  sbatch --wait "${options[@]}" --dependency="afterany:${array%%;*}" --output="$results/run.log" "$0" join "$parts"
  local status=$?
  [ ! -e "$results/run.log" ] || cat "$results/run.log"
  return "$status"
}

case ${1:-submit} in
  submit) submit ;;
  part) part "$SLURM_ARRAY_TASK_ID" "$2" ;;
  join) join "$2" ;;
  *) echo "usage: $0, or sbatch $0 part N, or sbatch $0 join N" >&2; exit 2 ;;
esac
