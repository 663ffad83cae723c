// A worker program whose kernels misbehave in one way each. Most of them are `twice(Tensor self) -> Tensor` for f32:
// out = 2 self, honouring strides, before or after the bad deed.
#include <immintrin.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness/plugin/load.h"
#include "harness/run/lane.h"
#include "run_test_kernels.h"
#include "run_test_processes.h"
#include "run_test_strays.h"

namespace {

using namespace assay::test;

int null_pointer(const assay_call*) {
  peek(nullptr);
  return ASSAY_OK;
}
int wild_pointer(const assay_call*) {
  peek(reinterpret_cast<void*>(0x8000'0000'0000'0000));
  return ASSAY_OK;
}
int divide_by_zero(const assay_call* call) {
  int zero = static_cast<int>(call->argument_count) - 1;
  int one = 1;
  __asm__ volatile("cltd; idivl %1" : "+a"(one) : "r"(zero) : "edx");
  return one == 5;
}
int illegal_instruction(const assay_call*) {
  __asm__ volatile("ud2");
  return ASSAY_OK;
}
int abort_now(const assay_call*) {
  std::fputs("the sky is falling\n", stderr);
  std::abort();
}
// Calls that never return, without a sanitizer's own calls between them: a fault inside its runtime would be another.
int overflow_stack(const assay_call*) {
  __asm__ volatile("1: subq $4096, %%rsp\n\tmovb $0, (%%rsp)\n\tjmp 1b" ::: "memory");
  return ASSAY_OK;
}
int sleeps(const assay_call* call) {
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return twice(call);
}
int hang_if_negative(const assay_call* call) { return in(call)[0] < 0 ? hang(call) : twice(call); }
int misaligned(const assay_call* call) {
  __m128 x = _mm_setzero_ps();
  __asm__ volatile("movaps 4(%1), %0" : "=x"(x) : "r"(reinterpret_cast<std::uintptr_t>(in(call)) & ~15ull));
  return twice(call);
}
int aligned_64(const assay_call* call) {
  for (const void* p : {static_cast<void*>(in(call)), static_cast<void*>(out(call))})
    if (reinterpret_cast<std::uintptr_t>(p) % 64 != 0) return 7;
  return twice(call);
}
int flush_to_zero(const assay_call* call) {
  _mm_setcsr(_mm_getcsr() | 0x8040);
  return twice(call);
}
int throws(const assay_call*) { throw std::runtime_error("no such thing"); }
int throws_number(const assay_call*) { throw 7; }
int refuses(const assay_call* call) {
  std::strncpy(call->message, "only on Sundays", call->message_capacity);
  return ASSAY_REFUSED;
}
int returns_3(const assay_call*) { return 3; }
int counts_calls(const assay_call* call) {
  static float calls = 0;
  calls += 1;
  for (std::int64_t i = 0; i < numel(input(call)); ++i) out(call)[i] = calls;
  return ASSAY_OK;
}
int crash_if_negative(const assay_call* call) { return in(call)[0] < 0 ? null_pointer(call) : twice(call); }
// Writes where the output of its previous call was: memory that is not its own any more.
int writes_to_the_past(const assay_call* call) {
  static float* before = nullptr;
  twice(call);
  if (before != nullptr && in(call)[0] < 0) poke(before - 1, 0);
  before = out(call);
  return ASSAY_OK;
}
int crashes_at_500(const assay_call* call) {
  static int calls = 0;
  return ++calls == 500 ? null_pointer(call) : twice(call);
}
bool damaged = false;
int damages_process(const assay_call* call) {
  damaged = true;
  return twice(call);
}
// Reads what lies deep in the stack, where others have written.
[[gnu::noinline]] char* deep_in_the_stack() {
  volatile char room[32 << 10];
  char* at = const_cast<char*>(&room[64]);
  __asm__ volatile("" : "+r"(at) : : "memory");
  return at;
}
int uses_the_stack(const assay_call* call) {
  poke(deep_in_the_stack(), -1);
  return twice(call);
}
// Where later calls find theirs.
int unmaps_its_output(const assay_call* call) {
  twice(call);
  const auto page = reinterpret_cast<std::uintptr_t>(out(call)) & ~std::uintptr_t{4095};
  return munmap(reinterpret_cast<void*>(page), 4096);
}
int crashes_if_damaged(const assay_call* call) { return damaged ? null_pointer(call) : twice(call); }
int crashes_on_a_used_stack(const assay_call* call) {
  return peek(deep_in_the_stack()) == -1 ? null_pointer(call) : twice(call);
}
// Leaves the process without room for another mapping.
int exhausts_mappings(const assay_call* call) {
  for (bool readable = false;; readable = !readable)
    if (mmap(nullptr, 4096, readable ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED)
      break;
  return twice(call);
}
int exhausts_mappings_later(const assay_call* call) {
  return is_run_b(call) ? exhausts_mappings(call) : twice(call);
}
int reports_environment(const assay_call* call) {
  const char* value = std::getenv("RUN_TEST_VALUE");
  for (std::int64_t i = 0; i < numel(input(call)); ++i)
    out(call)[i] = value == nullptr ? -1 : static_cast<float>(std::atof(value));
  if (call->information_capacity > 0)
    std::snprintf(call->information, call->information_capacity, "threads %s, waiting %s",
                  std::getenv("OMP_NUM_THREADS"), std::getenv("OMP_WAIT_POLICY"));
  return ASSAY_OK;
}
int prints(const assay_call* call) {
  std::puts("a kernel speaks");
  std::fflush(stdout);
  return twice(call);
}
int nothing(const assay_call*) { return ASSAY_OK; }

// sum(Tensor[] tensors, *, Scalar scale, int[] shift, bool negate, str mode, ScalarType? dtype, float[] weights)
int sum(const assay_call* call) {
  const assay_value* a = call->arguments;
  const bool fine =
      call->argument_count == 7 && a[0].kind == ASSAY_KIND_TENSORS && a[1].kind == ASSAY_KIND_DOUBLE &&
      a[2].kind == ASSAY_KIND_INTS && a[3].kind == ASSAY_KIND_BOOL && a[4].kind == ASSAY_KIND_STRING &&
      a[5].kind == ASSAY_KIND_DTYPE && a[6].kind == ASSAY_KIND_DOUBLES && call->output_count == 2;
  if (!fine) return 9;
  if (a[5].as.dtype.code != ASSAY_BFLOAT || a[5].as.dtype.bits != 16) return 10;
  if (std::strcmp(a[4].as.string, "fast") != 0) return 11;
  double total = 0;
  for (std::uint32_t i = 0; i < a[0].count; ++i)
    total += static_cast<const float*>(a[0].as.tensors[i]->data)[0] * a[6].as.reals[i];
  for (std::uint32_t i = 0; i < a[2].count; ++i) total += static_cast<double>(a[2].as.integers[i]);
  total *= a[1].as.real;
  *static_cast<float*>(call->outputs[0]->data) = static_cast<float>(a[3].as.integer != 0 ? -total : total);
  *static_cast<std::int64_t*>(call->outputs[1]->data) = call->outputs[1]->ndim;
  return ASSAY_OK;
}

int prelu(const assay_call* call) {
  const assay_tensor& w = *call->arguments[1].as.tensor;
  const std::int64_t n = numel(input(call));
  const float* slope = static_cast<const float*>(w.data);
  for (std::int64_t i = 0; i < n; ++i) {
    const float x = in(call)[i];
    out(call)[i] = x > 0 ? x : slope[0] * x;
  }
  return ASSAY_OK;
}

int refuses_beforehand(const assay_call* call) {
  std::strncpy(call->message, "never", call->message_capacity);
  return ASSAY_REFUSED;
}

// Refuses the numbers that it would get wrong.
int refuses_negative(const assay_call* call) {
  const assay_tensor& self = *call->arguments[0].as.tensor;
  return *static_cast<const float*>(self.data) < 0 ? refuses_beforehand(call) : ASSAY_OK;
}

int refuses_after_writing(const assay_call* call) {
  *static_cast<float*>(call->outputs[0]->data) = 1;
  return ASSAY_OK;
}

assay::WorkerTable table(std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--plugin") return assay::load_plugin_table(arguments[i + 1]);
    if (arguments[i] == "--fail") throw std::runtime_error("no kernels today");
    if (arguments[i] == "--crash") null_pointer(nullptr);
    if (arguments[i] == "--exit") std::exit(0);
    if (arguments[i] == "--hang") hang(nullptr);
    if (arguments[i] == "--flush") _mm_setcsr(_mm_getcsr() | 0x8040);
  }
  assay::WorkerTable t;
  const auto add = [&](const char* name, int (*run)(const assay_call*), const char* schema) {
    assay_kernel k{};
    k.size = sizeof(k);
    k.schema = schema;
    k.name = name;
    k.run = run;
    t.kernels.push_back(k);
  };
  const auto one = [&](const char* name, int (*run)(const assay_call*)) {
    add(name, run, "twice(Tensor self) -> Tensor");
  };
  one("twice", twice);
  one("read 1 past", read_outside<1>);
  one("read 64 past", read_outside<64>);
  one("read 5000 past", read_outside<5000>);
  one("read 1 before", read_outside<-1>);
  one("read 64 before", read_outside<-64>);
  one("write 1 past", write_outside<1>);
  one("write 64 past", write_outside<64>);
  one("write 1 before", write_outside<-1>);
  one("write 64 before", write_outside<-64>);
  one("write 2 before in A", write_before_in_a);
  one("write 2 past in B", write_past_in_b);
  one("write gap", write_gap);
  one("write input", write_input);
  one("write input same", write_input_same);
  one("write shape", write_shape);
  one("forget last", forget_last);
  one("null pointer", null_pointer);
  one("wild pointer", wild_pointer);
  one("divide by zero", divide_by_zero);
  one("illegal instruction", illegal_instruction);
  one("abort", abort_now);
  one("overflow stack", overflow_stack);
  one("exit", exit_now);
  one("_exit", quick_exit_now);
  one("hang", hang);
  one("rings for ever", rings_for_ever);
  one("overwrites the count", overwrites_the_count);
  one("sleeps", sleeps);
  one("hang if negative", hang_if_negative);
  one("misaligned", misaligned);
  one("aligned 64", aligned_64);
  one("flush to zero", flush_to_zero);
  one("throws", throws);
  one("throws number", throws_number);
  one("refuses", refuses);
  one("refuses beforehand", twice);
  t.kernels.back().refuses = refuses_beforehand;
  one("refuses negative", twice);
  t.kernels.back().refuses = refuses_negative;
  one("refuses after writing", twice);
  t.kernels.back().refuses = refuses_after_writing;
  one("returns 3", returns_3);
  one("counts calls", counts_calls);
  one("keeps results", keeps_results);
  one("wrong from 1000", wrong_from_1000);
  one("writes once", writes_once);
  one("remembers shapes", remembers_shapes);
  one("crashes at 500", crashes_at_500);
  one("reads beside row", reads_beside_row);
  one("crash if negative", crash_if_negative);
  one("writes to the past", writes_to_the_past);
  one("damages process", damages_process);
  one("damages process, too", damages_process);
  one("crashes if damaged", crashes_if_damaged);
  one("uses the stack", uses_the_stack);
  one("uses the stack, too", uses_the_stack);
  one("crashes on a used stack", crashes_on_a_used_stack);
  one("unmaps its output", unmaps_its_output);
  one("killed by itself", killed_by_itself);
  one("killed once", killed_once);
  one("shrinks files", shrinks_files);
  one("scribbles", scribbles);
  one("exhausts mappings", exhausts_mappings);
  one("exhausts mappings later", exhausts_mappings_later);
  one("reports environment", reports_environment);
  one("prints", prints);
  one("forks", forks);
  one("starts a daemon", starts_a_daemon);
  one("starts a daemon and hangs", starts_a_daemon_and_hangs);
  one("stops its parent", stops_its_parent);
  one("stops its parent and hangs", stops_its_parent_and_hangs);
  one("forks and returns", forks_and_returns);
  one("forks and returns late", forks_and_returns_late);
  one("forks and exits", forks_and_exits);
  one("nothing", nothing);
  add("sum", sum,
      "sum(Tensor[] tensors, *, Scalar scale, int[] shift, bool negate, str mode, ScalarType? dtype, float[] weights) "
      "-> (Tensor total, Tensor rank)");
  add("prelu", prelu, "prelu(Tensor self, Tensor weight) -> Tensor");
  return t;
}

// A harness of its own, for tests that end it: runs a kernel that leaves its group, starts a daemon and hangs. The arguments
// are those of its workers.
int harness(const std::string& program, const std::vector<std::string>& arguments) {
  static constexpr assay::Operator twice_op{.schema = assay::parse_schema("twice(Tensor self) -> Tensor")};
  assay::Kernel kernel;
  kernel.op = &twice_op;
  kernel.schema = twice_op.schema.text;
  kernel.name = kernel.table_name = "starts a daemon and hangs";
  kernel.environment = {program, arguments, {}};
  assay::Call call;
  call.op = &twice_op;
  call.arguments.emplace_back(assay::TensorData(assay::Dtype::f32, {3}));
  call.outputs.push_back({assay::Dtype::f32, {3}});
  call.output_layouts.resize(1);
  const assay::Task task{&kernel, &call};
  assay::Lane lane(assay::make_zygotes(), {std::chrono::minutes(1)});
  lane.run({&task, 1});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "harness") == 0) return harness(argv[0], {argv + 2, argv + argc});
  if (argc > 1 && std::strcmp(argv[1], "worker") == 0) return assay::worker_main(argc, argv, table);
  std::fputs("run_test_worker is started by the tests\n", stderr);
  return 2;
}
