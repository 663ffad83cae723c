// Kernels that find what earlier ones left in their library, and those that leave it there. Each computes the right result, the heirs where
// nobody has.
#include <assay/kernel.h>
#include <sys/random.h>

#include <cmath>
#include <cstdint>
#include <cstdio>

namespace {

const assay_tensor& input(const assay_call* call) { return *call->arguments[0].as.tensor; }

int refuses(const assay_call* call) {
  const assay_dtype dtype = input(call).dtype;
  if (dtype.code == ASSAY_FLOAT && dtype.bits == 32) return ASSAY_OK;
  std::snprintf(call->message, call->message_capacity, "only f32");
  return ASSAY_REFUSED;
}

template <class Function>
void walk(const assay_tensor& x, assay_tensor& y, int dim, std::int64_t from, std::int64_t to, Function f) {
  if (dim == x.ndim) {
    static_cast<float*>(y.data)[to] = f(static_cast<const float*>(x.data)[from]);
    return;
  }
  for (std::int64_t i = 0; i < x.shape[dim]; ++i)
    walk(x, y, dim + 1, from + i * x.strides[dim], to + i * y.strides[dim], f);
}

int with(const assay_call* call, float (*f)(float)) {
  if (refuses(call) != ASSAY_OK) return ASSAY_REFUSED;
  walk(input(call), *call->outputs[0], 0, 0, 0, f);
  return ASSAY_OK;
}

float relu(float x) { return x < 0 ? 0 : x; }
float root(float x) { return std::sqrt(x); }
float wrong(float x) { return relu(x) + 1; }

// What libraries keep: a number of threads, a mode, a table.
bool spoilt = false, spoilt_otherwise = false;

int right(const assay_call* call) { return with(call, relu); }
int right_root(const assay_call* call) { return with(call, root); }
int spoils(const assay_call* call) {
  spoilt = true;
  return right(call);
}
int spoils_matrices(const assay_call* call) {
  if (input(call).ndim == 2) spoilt = true;
  return right(call);
}
template <int Calls>
int spoils_after(const assay_call* call) {
  static int calls = 0;
  if (++calls > Calls) spoilt = true;
  return right(call);
}
int spoils_roots(const assay_call* call) {
  spoilt = true;
  return right_root(call);
}
int spoils_otherwise(const assay_call* call) {
  spoilt_otherwise = true;
  return right(call);
}
int diverges(const assay_call* call) { return with(call, spoilt ? wrong : relu); }
int diverges_otherwise(const assay_call* call) { return with(call, spoilt_otherwise ? wrong : relu); }
int crashes(const assay_call* call) {
  if (spoilt) *reinterpret_cast<volatile int*>(16) = 1;
  return right(call);
}
int returns(const assay_call* call) { return spoilt ? 3 : right(call); }

// Uses much stack, as it may.
int uses_the_stack(const assay_call* call) {
  volatile unsigned char room[48 << 10];
  for (volatile unsigned char& byte : room) byte = 0xff;
  return right(call);
}
// What lies deep in the stack, which it has not written.
[[gnu::noinline]] bool is_clear() {
  volatile unsigned char room[32 << 10];
  unsigned char seen = 0;
  __asm__ volatile("movb (%1), %0" : "=r"(seen) : "r"(&room[0]) : "memory");
  return seen != 0xff;
}
int reads_the_stack(const assay_call* call) { return with(call, is_clear() ? relu : wrong); }
// Its own calls before this one.
int counts(const assay_call* call) {
  static int calls = 0;
  return with(call, ++calls > 40 ? wrong : relu);
}

// Wrong in six processes of ten, whoever ran before.
int decides_by_chance(const assay_call* call) {
  static const bool is_wrong = [] {
    unsigned char byte = 0;
    return getrandom(&byte, 1, 0) == 1 && byte < 154;
  }();
  return with(call, is_wrong ? wrong : relu);
}

constexpr const char* kRelu = "relu(Tensor self) -> Tensor";
constexpr const char* kSqrt = "sqrt(Tensor self) -> Tensor";

struct Named {
  const char* name;
  int (*run)(const assay_call*);
  const char* schema = kRelu;
};
const Named kAll[] = {
    {"right.0", right},
    {"right.1", right},
    {"right.2", right},
    {"culprit.always", spoils},
    {"culprit.matrices", spoils_matrices},
    {"culprit.slowly", spoils_after<40>},
    {"culprit.late", spoils_after<300>},
    {"culprit.otherwise", spoils_otherwise},
    {"culprit.roots", spoils_roots, kSqrt},
    {"heir.diverges", diverges},
    {"heir.otherwise", diverges_otherwise},
    {"heir.crashes", crashes},
    {"heir.returns", returns},
    {"own.stack", reads_the_stack},
    {"own.counts", counts},
    {"own.chance", decides_by_chance},
    {"right.3", right},
    {"right.stack", uses_the_stack},
    {"right.roots", right_root, kSqrt},
};
constexpr std::size_t kCount = sizeof kAll / sizeof kAll[0];

}  // namespace

extern "C" const assay_plugin* assay_plugin_v1() {
  static assay_kernel kernels[kCount];
  for (std::size_t i = 0; i < kCount; ++i) {
    kernels[i].size = sizeof kernels[i];
    kernels[i].schema = kAll[i].schema;
    kernels[i].name = kAll[i].name;
    kernels[i].run = kAll[i].run;
    kernels[i].refuses = refuses;
  }
  static assay_plugin plugin{};
  plugin.abi_version = ASSAY_ABI_VERSION;
  plugin.kernel_size = sizeof(assay_kernel);
  plugin.kernel_count = kCount;
  plugin.kernels = kernels;
  plugin.name = "heirs";
  plugin.version = "1";
  return &plugin;
}
