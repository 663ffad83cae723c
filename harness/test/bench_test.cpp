// The parts of `assay bench`: shapes, work, memory, judging by samples, rounds, and comparing code.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "../bench/cache_state.h"
#include "../bench/canary.h"
#include "../bench/dot_canary.h"
#include "../bench/group.h"
#include "../bench/operands.h"
#include "../bench/same_code.h"
#include "../bench/sampled.h"
#include "../bench/shapes.h"
#include "../bench/statistics.h"
#include "../bench/work_of.h"
#include "../generate/data.h"
#include "../plugin/load.h"
#include "../registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// ---- Shapes -------------------------------------------------------------------------------------------------

// Each operator that there was when they were written; a new one needs no shape.
TEST(BenchShapes, OfTheRepositoryNameSixtyOperators) {
  std::set<std::string_view> named;
  for (const BenchCase& b : read_shapes(default_shapes())) {
    named.insert(b.c.op->schema.name);
    EXPECT_FALSE(b.reason.empty()) << text(b.c);
  }
  EXPECT_GE(named.size(), 60u);
}

TEST(BenchShapes, ErrorsNameFileAndLine) {
  TemporaryFolder folder;
  const std::string file = folder.file("a.txt");
  write_file(file, "# a comment\n\n  relu:f32:self=3  # why\nrelu:f32:self=4\n");
  EXPECT_THAT(message([&] { read_shapes(file); }), HasSubstr("a.txt:4: relu:f32:self=4 has no reason"));
  write_file(file, "relu:f32:self=3x  # why\n");
  EXPECT_THAT(message([&] { read_shapes(file); }), HasSubstr("a.txt:1: "));
  write_file(file, "# nothing\n");
  EXPECT_THAT(message([&] { read_shapes(file); }), HasSubstr("there is no case in it"));
  EXPECT_THAT(message([&] { read_shapes(folder.file("none.txt")); }), HasSubstr("none.txt"));
  write_file(file, "relu:f32:self=3  # why\r\n");
  ASSERT_EQ(read_shapes(folder.path().string()).size(), 1u);
  EXPECT_EQ(read_shapes(file)[0].reason, "why");
}

// ---- Work ---------------------------------------------------------------------------------------------------

Work counted(const Case& c) {
  const Call call = materialise(c);
  const Arguments arguments(call);
  return find_reference(call.op->schema.name)->evaluate(arguments.values(), call.outputs)->work();
}

// What two rows say of all of them is what counting says.
TEST(BenchWork, OfManyRowsIsThatOfEach) {
  for (
      const char* text : {
          "mm:f32:self=2000x100,mat2=100x101",
          "add.Tensor:f32:self=3000x2000,other=3000x2000",
          "prelu:f32:self=600x64x9x9,weight=64",
          "sum.dim_IntList:f32:self=5000x1000,dim=[1]",
          "sum.dim_IntList:f32:self=5000x1000,dim=[0]",
          "softmax.int:f32:self=1000x3000,dim=-1",
          "native_layer_norm:f32:input=2000x768,normalized_shape=[768],weight=768,bias=768,eps=1e-5",
          "embedding:f32:weight=30522x64,indices=i64[512]",
          "convolution:f32:input=16x8x14x14,weight=16x8x3x3,bias=16,stride=[1,1],padding=[1,1],dilation=[1,1],"
          "transposed=false,output_padding=[0,0],groups=1",
      }) {
    const Case c = parse_case(text);
    const Work quick = work_of(c), slow = counted(c);
    EXPECT_EQ(quick.operations, slow.operations) << text;
    EXPECT_EQ(quick.bytes_read, slow.bytes_read) << text;
    EXPECT_EQ(quick.bytes_written, slow.bytes_written) << text;
    EXPECT_EQ(quick.bytes_of_argument, slow.bytes_of_argument) << text;
  }
}

// ---- Memory -------------------------------------------------------------------------------------------------

TEST(BenchOperands, HoldTheCallAndBeginAtLines) {
  std::mt19937_64 random(1);
  for (const char* text : {"prelu:f32:self=[2x3x4x5]@channels_last,weight=3", "relu:f32:self=700x1000",
                           "add.Tensor:f64:self=[4x5]@permuted(1,0),other=[5]@step2"}) {
    const Call call = materialise(parse_case(text));
    Operands set(call, random);
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const auto* t = std::get_if<TensorData>(&call.arguments[i]);
      if (t == nullptr) continue;
      const assay_tensor& placed = *set.values()[i].as.tensor;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(placed.data) % 64, 0u) << text;
      EXPECT_EQ(std::memcmp(placed.data, t->memory.data(), t->memory.size()), 0) << text;
    }
    ASSERT_EQ(set.outputs().size(), 1u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(set.outputs()[0]->data) % 64, 0u) << text;
    set.poison();
    for (const std::byte b : set.packed(0)) EXPECT_EQ(b, std::byte{0xcb});
  }
}

TEST(BenchCaches, AreOfThisMachineAndCanBeFlushed) {
  const CacheSizes sizes = cache_sizes();
  EXPECT_GE(sizes.l1, std::size_t{8} << 10);
  EXPECT_GT(sizes.l2, sizes.l1);
  std::vector<std::byte> memory(1000, std::byte{5});
  flush(std::span(memory).subspan(3));
  flush({});
  EXPECT_EQ(memory[999], std::byte{5});
  EXPECT_EQ(cache_named("l2"), Cache::l2);
  EXPECT_FALSE(cache_named("l3"));
}

TEST(BenchCanaries, WriteWhatTheyAreGivenAndNothingElse) {
  std::vector<std::byte> in(10'001, std::byte{7}), out(4'099, std::byte{0x55});
  const std::span<const std::byte> from(in);
  for (const bool streaming : {false, true}) {
    std::ranges::fill(out, std::byte{0x55});
    // Vectors are aligned: so is the middle that is written.
    const auto begin = (64 - reinterpret_cast<std::uintptr_t>(out.data()) % 64) % 64;
    const std::span<std::byte> to = std::span(out).subspan(begin, 2'100);
    stream({&from, 1}, {&to, 1}, streaming);
    for (std::size_t i = 0; i < begin; ++i) EXPECT_EQ(out[i], std::byte{0x55});
    for (std::size_t i = begin + 2'100; i < out.size(); ++i) EXPECT_EQ(out[i], std::byte{0x55});
    for (const std::byte b : to) EXPECT_NE(b, std::byte{0x55}) << streaming;
  }
  EXPECT_GT(multiply_add_f32(1), multiply_add_f64(1));
  EXPECT_EQ(multiply_add_f32(10), 10 * multiply_add_f32(1));
  EXPECT_FALSE(has_dot_products(Dtype::f32) || has_dot_products(Dtype::i64));
  EXPECT_EQ(has_dot_products(Dtype::u8), has_dot_products(Dtype::i8));
  for (const Dtype d : {Dtype::bf16, Dtype::u8})
    if (has_dot_products(d)) {
      EXPECT_GT(dot_products(d, 1), multiply_add_f32(1)) << name(d);
      EXPECT_EQ(dot_products(d, 10), 10 * dot_products(d, 1)) << name(d);
    }
}

// ---- Judging by samples -------------------------------------------------------------------------------------

TEST(BenchSample, FindsWhatIsWrongAndNothingElse) {
  const Call call = materialise(parse_case("sigmoid:f32:self=100x100"));
  SampledJudge judge(call);
  const Contract strict = parse_contract("", Dtype::f32);
  std::vector<std::vector<std::byte>> results(1);
  const Arguments arguments(call);
  std::vector<double> values(10'000);
  find_reference("sigmoid")->evaluate(arguments.values(), call.outputs)->values(0, values);
  TensorData right(Dtype::f32, {100, 100});
  for (std::int64_t i = 0; i < 10'000; ++i) right.set(i, values[static_cast<std::size_t>(i)]);
  results[0] = right.memory;
  EXPECT_EQ(judge.fault(strict, results), "");
  EXPECT_GE(judge.looked_at(), 256u);  // as many as there is time for
  EXPECT_EQ(judge.fault(strict, results, 300), "");
  EXPECT_EQ(judge.looked_at(), 300u);
  TensorData wrong = right;
  for (std::int64_t i = 0; i < 10'000; ++i) wrong.set(i, wrong.get(i) * 1.001);
  results[0] = wrong.memory;
  EXPECT_THAT(judge.fault(strict, results), HasSubstr("out["));
  // First and last are always among them.
  for (const std::int64_t at : {0, 9'999}) {
    wrong = right;
    wrong.set(at, 2);
    results[0] = wrong.memory;
    EXPECT_THAT(judge.fault(strict, results), HasSubstr(at == 0 ? "out[0,0] is 2" : "out[99,99] is 2"));
  }
}

// ---- Rounds -------------------------------------------------------------------------------------------------

Contestant contestant(const std::string& kernel, double slowed = 0) {
  static const WorkerTable table =
      load_plugin_table(std::string(ASSAY_RUN_TEST_PLUGINS) + "/bench_test_plugin.so");
  for (const assay_kernel& k : table.kernels)
    if (k.name == kernel) {
      Contestant c;
      c.kernel = k;
      c.slowed = slowed;
      return c;
    }
  throw std::logic_error(kernel);
}

TEST(BenchGroup, TimesWhatIsRightAndSaysWhyNotOtherwise) {
  Group group(parse_case("relu:f32:self=1000"),
              {contestant("good"), contestant("wrong"), contestant("refuses"), contestant("wrong_later"),
               contestant("refuses_later")},
              std::nullopt, {});
  const std::vector<Checking> first = group.check();
  EXPECT_EQ(first[0].status, Checking::Status::right);
  EXPECT_EQ(first[1].status, Checking::Status::wrong);
  EXPECT_THAT(first[1].reason, HasSubstr("out[0] is -1"));
  EXPECT_EQ(first[2].status, Checking::Status::refused);
  EXPECT_EQ(first[2].reason, "not on Mondays");
  EXPECT_EQ(first[3].status, Checking::Status::right);
  group.measure(5, 10);
  group.measure(4, 10);
  EXPECT_EQ(group.times()[0].cpu.size(), 9u);
  EXPECT_EQ(group.times()[1].cpu.size(), 0u);
  for (const double ns : group.times()[0].cpu) EXPECT_GT(ns, 0);
  EXPECT_EQ(group.limits().stream.cpu.size(), 9u);
  EXPECT_EQ(group.limits().operation.cpu.size(), 9u);
  EXPECT_EQ(group.limits().element.cpu.size(), 0u);
  const std::vector<Checking> last = group.check_again();
  EXPECT_EQ(last[0].status, Checking::Status::right);
  EXPECT_THAT(last[3].reason, HasSubstr("out[0] is -1"));
  EXPECT_THAT(last[4].reason, HasSubstr(fmt::format("it returned {}: not twice on Mondays", ASSAY_REFUSED)));
}

// What is twice as slow by its own clock is found to be, in every state of the caches.
TEST(BenchGroup, AKnownRegressionIsMeasured) {
  for (const Cache cache : {Cache::warm, Cache::l2, Cache::dram}) {
    GroupOptions options;
    options.cache = cache;
    options.same_count = true;
    options.limits = false;
    Group group(parse_case("relu:f32:self=20000"), {contestant("good"), contestant("good", 2.0)},
                std::nullopt, options);
    group.check();
    group.measure(25, 20);
    const Estimate e = ratio_interval(group.times()[0].cpu, group.times()[1].cpu);
    EXPECT_GT(e.median, 2) << name(cache);
    EXPECT_LT(e.median, 5) << name(cache);
  }
}

TEST(BenchGroup, ArgumentsThatAreNotAllowedAreAnError) {
  EXPECT_THAT(message([] { Group(parse_case("prelu:f32:self=2x3,weight=4"), {}, std::nullopt, {}); }),
              HasSubstr("weight"));
}

// ---- The same code ------------------------------------------------------------------------------------------

std::string library(const std::string& variant) {
  return std::string(ASSAY_RUN_TEST_PLUGINS) + "/same_code_" + variant + ".so";
}

std::uint64_t entry_of(const std::string& file) {
  const Finished symbols = run_program("/usr/bin/nm", {"-D", file});
  return std::stoull(symbols.out.substr(symbols.out.rfind('\n', symbols.out.find(" T entry")) + 1), nullptr,
                     16);
}

bool same(const std::string& a, const std::string& b) {
  return CodeComparison(library(a), library(b)).same(entry_of(library(a)), entry_of(library(b)));
}

TEST(SameCode, IsWhatOnlyMoved) {
  EXPECT_TRUE(same("SAME", "SAME"));
  EXPECT_TRUE(same("SAME", "MOVED"));
  EXPECT_NE(entry_of(library("SAME")), entry_of(library("MOVED")));
}

TEST(SameCode, IsNotWhatChangedAnywhere) {
  for (const char* changed : {"BODY", "CALLEE", "CONSTANT", "TABLE", "POINTED", "EXPORTED_CALLEE",
                              "EXPORTED_DATA", "MIXED", "POINTED_DATA", "POINTED_TEXT", "BEGINS_OTHERWISE",
                              "FILLED_OTHERWISE", "THREAD_DATA", "READ_FROM_BEFORE", "VERSION"}) {
    EXPECT_TRUE(same(changed, changed)) << changed;
    EXPECT_FALSE(same("SAME", changed)) << changed;
    EXPECT_FALSE(same(changed, "MOVED")) << changed;
  }
}

TEST(SameCode, IsNotSeenWithoutSymbolsOrWhereVariablesAreShared) {
  const auto unseen = [](const std::string& variant) {
    const std::string other = library("SAME"), file = library(variant);
    const std::uint64_t a = entry_of(file), b = entry_of(other);
    EXPECT_EQ(CodeComparison(file, other).unseen(a, b), CodeComparison(other, file).unseen(b, a));
    return CodeComparison(file, other).unseen(a, b);
  };
  EXPECT_EQ(unseen("MOVED"), "");
  EXPECT_EQ(CodeComparison(library("SAME"), library("SAME")).unseen(1, 1),
            fmt::format("no symbol in {} says where the kernel begins (a stripped library has none)",
                        library("SAME")));
  EXPECT_THAT(unseen("SHARED"), HasSubstr("share shared_variable of " + library("SHARED")));
}

TEST(SameCode, BadFilesAreErrors) {
  TemporaryFolder folder;
  const std::string file = folder.file("a.so");
  const std::string whole = read_file(library("SAME"));
  for (const std::size_t length : {std::size_t{0}, std::size_t{30}, std::size_t{64}, whole.size() / 2}) {
    write_file(file, whole.substr(0, length));
    EXPECT_THAT(message([&] { CodeComparison(file, file); }), HasSubstr("a.so")) << length;
  }
}

}  // namespace
}  // namespace assay
