# Stages of ci/test: what is built, tests of its parts, and what its text must keep to.

stage_dev() {
  # Who works here builds one source again and again; CI builds all of them once, and libraries as the release has them. At night
  # each source stands alone.
  local how=${CI:+-DASSAY_JOIN=ON}
  [ -z "$nightly" ] || how='-DASSAY_JOIN=OFF -DASSAY_PRECOMPILED_HEADERS=OFF'
  # shellcheck disable=SC2086  # words
  attempt cmake --preset dev $how && attempt cmake --build --preset dev -j "$jobs" || return
  attempt no_warning  # those of -Werror, which libraries that are compiled as released do without
  build_ended 40 67
  if [ -n "$nightly$quick" ]; then ctest_counted dev; else ctest_in_turn dev "$(time_left)"; fi
}

stage_checks() {
  local check
  # Of headers, each of which the compiler reads alone, another sixth for each commit.
  [ -n "$nightly" ] || export ASSAY_SHARE=$rotation/6
  [ -e build/dev/build.ninja ] || configure_and_build dev || return
  for check in ci/check/*; do
    [ -x "$check" ] || continue
    attempt "$check" --self-test
    attempt "$check"
  done
  local looked
  looked=$(sed -n 's/^headers: \([0-9]*\) of \([0-9]*\) headers: .*/\1 \2/p' "$log" | tail -n 1)
  if [ -n "$looked" ] && [ "${looked% *}" -lt "${looked#* }" ]; then
    not_run $((${looked#* } - ${looked% *})) "$((${looked#* } - ${looked% *})) of ${looked#* } headers alone, whose turn comes with other commits"
  fi
  local left
  left=$(grep -c '^\(examples\|walk\): not run: \|^pages: not compared: ' "$log")
  [ "$left" = 0 ] || not_run "$left" "$left blocks and pages of documents, for the night or for want of a library: $log names them"
  # What chooses and counts must be able to say no, too.
  for check in ci/test ci/touched ci/in_turn ci/faults/plant; do attempt "$check" --self-test; done
}

# The build that people get, by the way that they get it.
stage_release() {
  # The library is what `assay bench --against` takes.
  rm -f build/release/optimized/libassay_cpu_plugin.so
  attempt ./assay --version && attempt ./assay ops && attempt test -e build/release/optimized/libassay_cpu_plugin.so
  # It needs an index of Python packages.
  [ -z "$nightly" ] || attempt ci/wheel build/dist
}

stage_plugins() {
  release_built || return
  attempt ci/plugin_example/check build/release/bin/assay build/plugins/example
  attempt ci/plugin_broken/check build/release/bin/assay build/plugins/broken
}
