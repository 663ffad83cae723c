/* A function that reaches others, constants, tables, variables and texts in each of the ways that there are; CMake builds it
 * once for each CASE: as it is, moved to other addresses, and with one of these changed. */
#define SAME 0
#define MOVED 1
#define BODY 2
#define CALLEE 3
#define CONSTANT 4
#define TABLE 5
#define POINTED 6
#define EXPORTED_CALLEE 7
#define EXPORTED_DATA 8
#define MIXED 9
#define POINTED_DATA 10
#define POINTED_TEXT 11
#define BEGINS_OTHERWISE 12
#define FILLED_OTHERWISE 13
#define THREAD_DATA 14
#define READ_FROM_BEFORE 15
#define VERSION 16
#define SHARED 17

#if CASE == SHARED /* as C++ compilers make of variables in templates and inline functions */
__asm__(
    ".pushsection .data\n.globl shared_variable\n.type shared_variable, @gnu_unique_object\n"
    ".size shared_variable, 4\nshared_variable: .long 1\n.popsection");
#endif

#define EXPORTED __attribute__((visibility("default")))
#define APART __attribute__((noinline))

#if CASE == MOVED
EXPORTED extern double unrelated(double);
double unrelated(double x) { return x * 31.25 - 4.5 / x; }
EXPORTED extern const int unrelated_numbers[];
const int unrelated_numbers[] = {9, 8, 7, 6, 5, 4, 3};
EXPORTED extern int unrelated_variable;
int unrelated_variable = 3;
EXPORTED extern double (*const unrelated_pointers[])(double);
double (*const unrelated_pointers[])(double) = {unrelated, unrelated};
#endif

static const int table[] = {1, 2, 3, 5, 8, 13, 21, CASE == TABLE ? 35 : 34};

APART static double callee(double x) { return CASE == CALLEE ? x * x * x : x * x; }
APART static double pointed(double x) { return CASE == POINTED ? x + 2 : x + 1; }
APART static double other(double x) { return x - 1; }
static double (*const functions[])(double) = {pointed, other};

/* Called through the procedure linkage table, read through the global offset table. */
EXPORTED extern double exported(double);
APART double exported(double x) { return CASE == EXPORTED_CALLEE ? x / 5 : x / 3; }
EXPORTED extern int exported_number;
int exported_number = CASE == EXPORTED_DATA ? 8 : 64;

static const struct {
  double (*function)(double);
  int number;
} plans[] = {{other, CASE == MIXED ? 1 : 8}, {other, 16}};

static const double numbers[] = {0.5, CASE == POINTED_DATA ? 0.125 : 0.25}, more_numbers[] = {1.5, 1.25};
static const double* const tables[] = {numbers, more_numbers};
static const char* const texts[] = {CASE == POINTED_TEXT ? "seven" : "eight", "nine"};

static int begins = CASE == BEGINS_OTHERWISE ? 3 : 0; /* if so, in the file */
static __thread int of_thread = CASE == THREAD_DATA ? 5 : 4;

/* Only what runs when the library is loaded changes. */
static double filled[4];
__attribute__((constructor)) static void fill(void) {
  for (int i = 0; i < 4; ++i) filled[i] = CASE == FILLED_OTHERWISE ? 2 * i : i;
}

/* Some compilers take the address of the element before the first. */
static const double backwards[] = {2,  3,  5,  7,  11, 13, 17, CASE == READ_FROM_BEFORE ? 20 : 19, 23, 29, 31, 37,
                                   41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97};
APART static double read_from_before(int n) {
  double sum = 0;
  for (int i = n; i > 0; --i) sum += backwards[i - 1] * i;
  return sum;
}

/* Of another library, in two versions. */
#if CASE == VERSION
__asm__(".symver sched_getaffinity, sched_getaffinity@GLIBC_2.3.3");
#endif
extern int sched_getaffinity(int, __SIZE_TYPE__, void*);

EXPORTED extern double entry(double x, int i);
double entry(double x, int i) {
  double y = callee(x) + table[i & 7] + functions[i & 1](x);
  if (CASE == BODY) y -= x;
  y += exported(x) + exported_number + plans[i & 1].function(x) * plans[i & 1].number;
  y += tables[i & 1][i & 1] + texts[i & 1][0] + read_from_before(i & 15) + filled[i & 3];
  y += ++begins + ++of_thread + sched_getaffinity(0, 0, 0);
  return y * (CASE == CONSTANT ? 0.75 : 0.7);
}
