/* A function that calls another, reads a constant, a table and a table of functions; CMake builds it once for each CASE: as it
 * is, moved to other addresses, and with one of these changed. */
#define SAME 0
#define MOVED 1
#define BODY 2
#define CALLEE 3
#define CONSTANT 4
#define TABLE 5
#define POINTED 6

#if CASE == MOVED
extern double unrelated(double);
double unrelated(double x) { return x * 31.25 - 4.5 / x; }
const int unrelated_numbers[] = {9, 8, 7, 6, 5, 4, 3};
#endif

static const int table[] = {1, 2, 3, 5, 8, 13, 21, CASE == TABLE ? 35 : 34};

__attribute__((noinline)) static double callee(double x) { return CASE == CALLEE ? x * x * x : x * x; }
__attribute__((noinline)) static double pointed(double x) { return CASE == POINTED ? x + 2 : x + 1; }
__attribute__((noinline)) static double other(double x) { return x - 1; }
static double (*const functions[])(double) = {pointed, other};

extern double entry(double x, int i);
double entry(double x, int i) {
  double y = callee(x) + table[i & 7] + functions[i & 1](x);
  if (CASE == BODY) y -= x;
  return y * (CASE == CONSTANT ? 0.75 : 0.7);
}
