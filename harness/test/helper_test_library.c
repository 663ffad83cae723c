/* What helper_test_plugin.c is linked with: relu, REPEATS times over. */
#include <stdint.h>

void helper_relu(const float* x, float* y, int64_t n);
void helper_relu(const float* x, float* y, int64_t n) {
  for (int r = 0; r < REPEATS; ++r) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];
    __asm__ volatile("" ::: "memory");
  }
}
