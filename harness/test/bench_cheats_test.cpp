// Kernels that are right when somebody looks and do less when they are timed: none is measured as if it had done the work. The kinds are
// those that benchmarks of generated kernels have published, and further ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "../bench/changes.h"
#include "../bench/group.h"
#include "../bench/statistics.h"
#include "../generate/data.h"
#include "test/effort.h"
#include "vocabulary/kernel.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

const assay_kernel& right_kernel_of(std::string_view op) {
  for (const EnrolledKernel& e : enrolled_kernels())
    if (e.kernel.name == std::string_view("cpu.baseline") &&
        e.kernel.schema == operator_named(op).schema.text)
      return e.kernel;
  throw std::logic_error("no kernel");
}

std::string_view operator_of(const assay_call* call) {
  const std::string_view schema = call->kernel->schema;
  return schema.substr(0, schema.find('('));
}

// Of one thread, whatever the machine has.
void multiply(const assay_call* call, std::size_t row) {
  const assay_tensor& a = *call->arguments[0].as.tensor;
  const auto depth = static_cast<std::size_t>(a.shape[1]),
             columns = static_cast<std::size_t>(call->outputs[0]->shape[1]);
  const auto* const x = static_cast<const float*>(a.data);
  const auto* const y = static_cast<const float*>(call->arguments[1].as.tensor->data);
  auto* const out = static_cast<float*>(call->outputs[0]->data);
  for (std::size_t c = 0; c < columns; ++c) {
    float sum = 0;
    for (std::size_t k = 0; k < depth; ++k) sum += x[row * depth + k] * y[k * columns + c];
    out[row * columns + c] = sum;
  }
}

int run_rightly(const assay_call* call) {
  if (operator_of(call) == "mm") {
    for (std::int64_t row = 0; row < call->outputs[0]->shape[0]; ++row)
      multiply(call, static_cast<std::size_t>(row));
    return ASSAY_OK;
  }
  assay_call c = *call;
  c.kernel = &right_kernel_of(operator_of(call));
  return c.kernel->run(&c);
}

struct Memory {
  std::byte* data;
  std::size_t size;
};
Memory memory_of(const assay_tensor& t) {
  std::size_t n = 1;
  for (std::int32_t d = 0; d < t.ndim; ++d) n *= static_cast<std::size_t>(t.shape[d]);
  return {static_cast<std::byte*>(t.data), n * t.dtype.bits / 8};
}
Memory output_of(const assay_call* call) { return memory_of(*call->outputs[0]); }

// All that the kernel is given, byte for byte.
std::string inputs_of(const assay_call* call) {
  std::string all;
  for (std::uint32_t i = 0; i < call->argument_count; ++i)
    if (call->arguments[i].kind == ASSAY_KIND_TENSOR) {
      const Memory m = memory_of(*call->arguments[i].as.tensor);
      all.append(reinterpret_cast<const char*>(m.data), m.size);
    }
  return all;
}

bool is_poisoned(const assay_call* call) {
  const Memory m = output_of(call);
  return m.size >= 4 && std::all_of(m.data, m.data + 4, [&](std::byte b) { return b == m.data[0]; }) &&
         m.data[0] != std::byte{0};
}

// ---- The cheats -------------------------------------------------------------------------------------------------

int works_if_poisoned(const assay_call* call) { return is_poisoned(call) ? run_rightly(call) : ASSAY_OK; }

// Looks at every 16th element of relu's result.
int skips_what_is_right(const assay_call* call) {
  const Memory m = output_of(call);
  const auto* const in = static_cast<const float*>(call->arguments[0].as.tensor->data);
  const auto* const out = reinterpret_cast<const float*>(m.data);
  for (std::size_t i = 0; i < m.size / 4; i += 16)
    if (out[i] != std::max(in[i], 0.0F)) return run_rightly(call);
  return is_poisoned(call) ? run_rightly(call) : ASSAY_OK;
}

// Keeps its result by where the tensors are and by some of what is in them.
int keeps_by_address_and_ends(const assay_call* call) {
  static const void* known = nullptr;
  static std::string ends;
  const std::string now = inputs_of(call);
  const std::string some = now.substr(0, 64) + now.substr(now.size() - std::min<std::size_t>(64, now.size()));
  if (known == call->outputs[0]->data && some == ends && !is_poisoned(call)) return ASSAY_OK;
  known = call->outputs[0]->data;
  ends = some;
  return run_rightly(call);
}

// By all that is in them: it is never wrong, and does not compute.
int keeps_by_content(const assay_call* call) {
  static std::string known, kept;
  std::string inputs = inputs_of(call);
  const Memory m = output_of(call);
  if (inputs == known && kept.size() == m.size) {
    std::memcpy(m.data, kept.data(), m.size);
    return ASSAY_OK;
  }
  const int status = run_rightly(call);
  known = std::move(inputs);
  kept.assign(reinterpret_cast<const char*>(m.data), m.size);
  return status;
}

// As much as it has ever seen.
int keeps_all_by_content(const assay_call* call) {
  static std::map<std::string, std::string> kept;
  const Memory m = output_of(call);
  const auto [at, is_new] = kept.try_emplace(inputs_of(call));
  if (!is_new) {
    std::memcpy(m.data, at->second.data(), m.size);
    return ASSAY_OK;
  }
  const int status = run_rightly(call);
  at->second.assign(reinterpret_cast<const char*>(m.data), m.size);
  return status;
}

// Of a product, only those rows whose row of the first matrix is new.
int computes_new_rows(const assay_call* call) {
  static std::vector<float> known_a, known_b;
  const assay_tensor& a = *call->arguments[0].as.tensor;
  const assay_tensor& b = *call->arguments[1].as.tensor;
  const auto rows = static_cast<std::size_t>(a.shape[0]), depth = static_cast<std::size_t>(a.shape[1]),
             columns = static_cast<std::size_t>(b.shape[1]);
  const auto* const x = static_cast<const float*>(a.data);
  const auto* const y = static_cast<const float*>(b.data);
  const bool fresh = is_poisoned(call) || known_a.size() != rows * depth ||
                     known_b.size() != depth * columns || !std::equal(known_b.begin(), known_b.end(), y);
  for (std::size_t r = 0; r < rows; ++r) {
    if (!fresh && std::equal(x + r * depth, x + (r + 1) * depth,
                             known_a.begin() + static_cast<std::ptrdiff_t>(r * depth)))
      continue;
    multiply(call, r);
  }
  known_a.assign(x, x + rows * depth);
  known_b.assign(y, y + depth * columns);
  return ASSAY_OK;
}

// The first, the last, and those whose numbers followed from how many there are.
int computes_what_was_judged(const assay_call* call) {
  static std::atomic<int> calls{0};
  if (++calls < 2) return run_rightly(call);
  const Memory m = output_of(call);
  const std::size_t n = m.size / 4;
  const auto* const in = static_cast<const float*>(call->arguments[0].as.tensor->data);
  auto* const out = reinterpret_cast<float*>(m.data);
  const auto relu = [&](std::size_t i) { out[i] = std::max(in[i], 0.0F); };
  relu(0);
  relu(n - 1);
  std::mt19937_64 random(n);
  for (int i = 0; i < 600; ++i) relu(random() % n);
  return ASSAY_OK;
}

// Nothing, and another contestant's results lie there.
int does_nothing_twice(const assay_call* call) {
  static int calls = 0;
  return ++calls % 2 == 1 || is_poisoned(call) ? run_rightly(call) : ASSAY_OK;
}

int returns_its_input(const assay_call* call) {
  const Memory m = output_of(call);
  std::memcpy(m.data, call->arguments[0].as.tensor->data, m.size);
  return ASSAY_OK;
}

std::thread worker;
std::atomic<bool> worker_ends{false};
int leaves_a_thread_at_work(const assay_call* call) {
  if (!worker.joinable()) {
    worker_ends = false;
    worker = std::thread([] {
      while (!worker_ends) {
      }
    });
  }
  return run_rightly(call);
}

pid_t left_process = 0;
int leaves_a_process(const assay_call* call) {
  if (left_process == 0) {
    left_process = fork();
    if (left_process == 0) {
      for (;;) pause();
    }
  }
  return run_rightly(call);
}

// Others compute; the thread whose time is counted sleeps.
int lets_others_work(const assay_call* call) {
  int status = 0;
  std::thread([&] { status = run_rightly(call); }).join();
  return status;
}

Contestant playing(std::string_view op, int (*run)(const assay_call*)) {
  Contestant c;
  c.kernel = right_kernel_of(op);
  c.kernel.run = run;
  return c;
}

struct Outcome {
  Checking cheat, honest;
  Series of_cheat, of_honest;
};

Outcome timed(const char* text, int (*cheat)(const assay_call*), Cache cache = Cache::warm) {
  const Case c = parse_case(text);
  GroupOptions options;
  options.limits = false;
  options.batch_ns = 1e5;
  options.cache = cache;
  Group group(c, {playing(c.op->schema.name, cheat), playing(c.op->schema.name, run_rightly)}, std::nullopt,
              options);
  group.check();
  group.measure(20, 60);
  const std::vector<Checking> last = group.check_again();
  return {last[0], last[1], group.times()[0], group.times()[1]};
}

constexpr const char* kShort = "relu:f32:self=2000";
constexpr const char* kLong = "relu:f32:self=300000";
constexpr const char* kProduct = "mm:f32:self=90x90,mat2=90x90";
// Of which a kernel that keeps results computes little enough to be told apart on a machine that is now twice as slow: under a sanitizer
// comparing data costs a third of what computing 14 rows does.
constexpr const char* kShortProduct =
    kSanitized ? "mm:f32:self=28x28,mat2=28x28" : "mm:f32:self=14x14,mat2=14x14";

TEST(BenchCheats, WhoDoesNothingWhileItIsTimedIsWrong) {
  struct Cheat {
    const char* text;
    int (*run)(const assay_call*);
  };
  const Cheat cheats[] = {
      {kShort, works_if_poisoned},           {kLong, works_if_poisoned},
      {kProduct, works_if_poisoned},         {kShortProduct, works_if_poisoned},
      {kShort, skips_what_is_right},         {kShort, keeps_by_address_and_ends},
      {kProduct, keeps_by_address_and_ends}, {kLong, computes_what_was_judged},
      {kShort, does_nothing_twice},          {kProduct, does_nothing_twice},
      {kShort, returns_its_input},
  };
  for (const Cheat& cheat : cheats) {
    const Outcome o = timed(cheat.text, cheat.run);
    EXPECT_EQ(o.cheat.status, Checking::Status::wrong) << cheat.text << " " << &cheat - cheats;
    EXPECT_EQ(o.honest.status, Checking::Status::right) << o.honest.reason;
  }
}

// Calls of more than 64 MB are not changed in their rounds, but when these are over.
TEST(BenchCheats, SizeHidesNothing) {
  if (kSanitized) GTEST_SKIP() << "each call takes a second there";
  constexpr const char* kLarge = "relu:f32:self=20000000";
  const Outcome o = timed(kLarge, works_if_poisoned);
  EXPECT_EQ(o.cheat.status, Checking::Status::wrong);
  EXPECT_THAT(o.cheat.reason, HasSubstr("while it was timed with data that change, out["));
  EXPECT_EQ(o.honest.status, Checking::Status::right) << o.honest.reason;
}

// Their results are right. What they take is not what computing takes.
TEST(BenchCheats, WhoKeepsResultsByTheirDataIsNotMeasured) {
  for (auto* const run : {keeps_by_content, keeps_all_by_content, computes_new_rows})
    for (const char* text : {kProduct, kShortProduct}) {
      const Outcome o = timed(text, run);
      EXPECT_EQ(o.cheat.status, Checking::Status::wrong) << text << (run == computes_new_rows);
      EXPECT_THAT(o.cheat.reason, HasSubstr("where its data have changed since the one before")) << text;
      EXPECT_EQ(o.honest.status, Checking::Status::right) << o.honest.reason;
    }
}

TEST(BenchCheats, ColdCachesHideNothing) {
  for (auto* const run : {works_if_poisoned, keeps_by_address_and_ends, keeps_by_content}) {
    const Outcome o = timed(kProduct, run, Cache::dram);
    EXPECT_EQ(o.cheat.status, Checking::Status::wrong) << (run == keeps_by_content);
    EXPECT_EQ(o.honest.status, Checking::Status::right) << o.honest.reason;
  }
}

TEST(BenchCheats, WhatIsLeftAtWorkIsSaid) {
  const Outcome process = timed(kShort, leaves_a_process);
  EXPECT_THAT(process.cheat.reason, HasSubstr("it left a process at work"));
  EXPECT_EQ(process.honest.status, Checking::Status::right) << process.honest.reason;
  kill(left_process, SIGKILL);
  waitpid(left_process, nullptr, 0);
  const Outcome thread = timed(kShort, leaves_a_thread_at_work);
  worker_ends = true;
  worker.join();
  EXPECT_THAT(thread.cheat.reason, HasSubstr("it left a thread at work when it returned"));
  EXPECT_EQ(thread.honest.status, Checking::Status::right) << thread.honest.reason;
}

// The time of helpers counts: without them three hundredths would be left, of starting a thread.
TEST(BenchCheats, HelpersWorkInTheTimeOfTheKernel) {
  const Outcome o = timed(kProduct, lets_others_work);
  EXPECT_EQ(o.cheat.status, Checking::Status::right) << o.cheat.reason;
  EXPECT_GT(median_interval(o.of_cheat.cpu).median, 0.4 * median_interval(o.of_honest.cpu).median);
}

TEST(BenchCheats, HonestKernelsOfEveryKindAreMeasured) {
  const auto is_right = [](const char* text, Cache cache) {
    const Outcome o = timed(text, run_rightly, cache);
    EXPECT_EQ(o.cheat.status, Checking::Status::right) << text << ": " << o.cheat.reason;
    EXPECT_EQ(o.honest.status, Checking::Status::right) << text << ": " << o.honest.reason;
  };
  for (const char* text :
       {kShort, kLong, kProduct, kShortProduct, "relu:f32:self=0", "relu:i8:self=7", "relu:f32:self=[]",
        "embedding:f32:weight=300x64,indices=i64[512]", "add.Tensor:i64:self=300,other=300",
        "native_layer_norm:f32:input=20x768,normalized_shape=[768],weight=768,bias=768,eps=1e-5",
        "relu:f32:self=[64x64]@permuted(1,0)", "clone:bool:self=3000"})
    is_right(text, Cache::warm);
  for (const char* text : {kShort, kProduct}) {
    is_right(text, Cache::l2);
    is_right(text, Cache::dram);
  }
}

TEST(BenchChanges, AreOfTheSameTensorAndChangeResults) {
  std::mt19937_64 random(5);
  for (const char* text : {kShort, kShortProduct, "add.Tensor:i64:self=300,other=300",
                           "embedding:f32:weight=300x64,indices=i64[512]"}) {
    const Call call = materialise(parse_case(text));
    const std::optional<ChangedCall> few = with_few_changes(call, 64, random);
    ASSERT_TRUE(few) << text;
    EXPECT_FALSE(elements_that_differ(call, few->call, 10)[0].empty()) << text;
    const std::optional<Call> all = with_all_changed(call, random);
    ASSERT_TRUE(all) << text;
    EXPECT_EQ(elements_that_differ(call, *all, 10)[0].size(), 10u) << text;
    // What is stored in memory is what the changed call has.
    Operands operands(call, random);
    Stores stores(few->changes, operands, 3);
    stores.next(3);
    stores.all();
    std::size_t n = 0;
    for (const CallValue& v : few->call.arguments)
      if (const auto* const t = std::get_if<TensorData>(&v)) {
        EXPECT_EQ(std::memcmp(operands.inputs()[n].data(), t->memory.data(), t->memory.size()), 0) << text;
        ++n;
      }
  }
  EXPECT_FALSE(with_few_changes(materialise(parse_case("relu:f32:self=1")), 64, random));
}

}  // namespace
}  // namespace assay
