# Stages of ci/test: tests under the sanitizers.

stage_asan-ubsan() { configure_and_build asan-ubsan && ctest_counted asan-ubsan; }

# What has threads: the harness, and the kernels.
stage_tsan() { configure_and_build tsan harness_test optimized_test && ctest_counted tsan; }
