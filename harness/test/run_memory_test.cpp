// What kernels do to memory that is not theirs, or do not do to memory that is.
#include "run_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;

class RunMemory : public RunTest {};

TEST_F(RunMemory, CorrectKernelIsOkInEveryLayout) {
  const Layout step2{Layout::Kind::step2, {}};
  const Layout offset{Layout::Kind::offset, {3}};
  const Layout permuted{Layout::Kind::permuted, {2, 0, 1}};
  const Layout expanded{Layout::Kind::expanded, {1}};
  for (const Shape& shape : {Shape{2, 3, 5}, Shape{1, 1, 1}, Shape{4, 16, 64}, Shape{3, 0, 2}})
    for (const Layout& in : {Layout{}, step2, offset, permuted, expanded})
      for (const Layout& out : {Layout{}, step2, offset, permuted}) {
        const Call call = twice_call(shape, in, out);
        expect_twice(run("twice", call), call);
      }
}

TEST_F(RunMemory, EverySizeAroundWindowAndCanaryLimits) {
  std::vector<Call> calls;
  for (const std::int64_t n :
       {1, 7, 64, 959, 960, 961, 1023, 1024, 1025, 16383, 16384, 16385, 262143, 262144, 262145})
    calls.push_back(twice_call({n}));
  std::vector<Task> tasks;
  for (const Call& call : calls) tasks.push_back({&kernel("twice"), &call});
  const std::vector<Outcome> outcomes = lane().run(tasks);
  for (std::size_t i = 0; i < calls.size(); ++i) expect_twice(outcomes[i], calls[i]);
}

TEST_F(RunMemory, ScalarAndEmptyTensors) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{2, 0, 3}}) {
    const Call call = twice_call(shape);
    expect_twice(run("twice", call), call);
  }
}

TEST_F(RunMemory, ReadsOutsideAnInput) {
  const Call call = twice_call({2, 3});
  const std::string self = "its input `self` (f32[2x3], 24 bytes)";
  expect_memory(run("read 1 past", call), "read 1 byte past the end of " + self);
  expect_memory(run("read 64 past", call), "read 64 bytes past the end of " + self);
  expect_memory(run("read 5000 past", call), "read 5,000 bytes past the end of " + self);
  expect_memory(run("read 1 before", call), "read 1 byte before the start of " + self);
  expect_memory(run("read 64 before", call), "read 64 bytes before the start of " + self);
}

TEST_F(RunMemory, ReadsOutsideAnEmptyInput) {
  expect_memory(run("read 1 past", twice_call({0})),
                "read 1 byte past the end of its input `self` (f32[0], 0 bytes)");
  expect_memory(run("read 1 before", twice_call({0})), "read 1 byte before the start of its input `self`");
}

TEST_F(RunMemory, ReadsOutsideLargerInputs) {
  for (const std::int64_t n : {1024, 5000, 16384, 100'000, 1'000'000}) {
    expect_memory(run("read 1 past", twice_call({n})), "read 1 byte past the end of its input `self`");
    expect_memory(run("read 1 before", twice_call({n})), "read 1 byte before the start of its input `self`");
  }
}

TEST_F(RunMemory, WritesOutsideAnOutput) {
  const Call call = twice_call({2, 3});
  const std::string out = "its output `out` (f32[2x3], 24 bytes)";
  expect_memory(run("write 1 past", call), "wrote 1 byte past the end of " + out);
  expect_memory(run("write 64 past", call), "wrote 64 bytes past the end of " + out);
  expect_memory(run("write 1 before", call), "before the start of " + out);
  expect_memory(run("write 64 before", call), "before the start of " + out);
  expect_memory(run("write 1 before", call), "1 byte");
  expect_memory(run("write 64 before", call), "64 bytes");
}

TEST_F(RunMemory, WritesOutsideAnOutputWhereNoGuardIs) {
  const Call call = twice_call({2, 3});
  expect_memory(run("write 2 before in A", call),
                "wrote before the start of its output `out` (f32[2x3], 24 bytes): 1 byte "
                "changed, the nearest 2 bytes before it (0xfb became 0x00), in run A");
  expect_memory(run("write 2 past in B", call),
                "wrote past the end of its output `out` (f32[2x3], 24 bytes): 1 byte "
                "changed, the first 2 bytes past it (0x7f became 0x00), in run B");
}

TEST_F(RunMemory, WritesBetweenStrides) {
  const Call call = twice_call({3}, {}, {Layout::Kind::step2, {}});
  expect_memory(run("write gap", call), "wrote between the strides of its output `out`");
  // The poison's lowest byte at this address, as f32 run A has it.
  EXPECT_THAT(run("write gap", call).detail, HasSubstr("byte 4 of its memory (0xfb became 0x00)"));
}

TEST_F(RunMemory, WritesItsInput) {
  const Call call = twice_call({2, 3});
  for (const char* name : {"write input", "write input same"})
    expect_memory(run(name, call), "wrote to its input `self` (f32[2x3], 24 bytes) at element 3 ([1,0])");
  // With a step of two, float 3 of the memory belongs to no element.
  expect_memory(run("write input", twice_call({4}, {Layout::Kind::step2, {}})), "between its elements");
}

TEST_F(RunMemory, NamesTheElementOfAPermutedInput) {
  // shape 2x3 in memory order (dimension 1, dimension 0): float 3 is [1,1], element 4.
  expect_memory(run("write input", twice_call({2, 3}, {Layout::Kind::permuted, {1, 0}})),
                "at element 4 ([1,1])");
}

TEST_F(RunMemory, WritesTheDescriptionOfItsArguments) {
  expect_memory(run("write shape", twice_call({3})), "wrote to the description of its arguments");
}

TEST_F(RunMemory, LeavesAnElementUnwritten) {
  expect_memory(run("forget last", twice_call({2, 3})),
                "left element 5 ([1,2]) of its output `out` (f32[2x3], 24 bytes) unwritten");
  expect_memory(run("forget last", twice_call({})), "left element 0 of its output `out`");
  expect_memory(run("nothing", twice_call({4})), "left 4 of 4 elements");
}

TEST_F(RunMemory, InPlace) {
  for (const Layout& layout :
       {Layout{}, Layout{Layout::Kind::step2, {}}, Layout{Layout::Kind::offset, {5}}}) {
    Call call = twice_call({2, 5}, layout);
    call.in_place = 0;
    expect_twice(run("twice", call), call);
    // Writing it is allowed; what lies around it is not.
    EXPECT_EQ(run("write input same", call).kind, Outcome::Kind::ok);
  }
  Call call = twice_call({2, 5});
  call.in_place = 0;
  expect_memory(run("write 1 past", call), "past the end of its in-place argument `self`");
  expect_memory(run("write 1 before", call), "before the start of its in-place argument `self`");
}

TEST_F(RunMemory, MalformedInPlaceIsNotRun) {
  Call call = twice_call({2, 5});
  call.in_place = 0;
  call.outputs[0].shape = {5};
  const Outcome outcome = run("twice", call);
  EXPECT_EQ(outcome.kind, Outcome::Kind::not_run);
  EXPECT_THAT(outcome.detail, HasSubstr("another shape or dtype"));
}

TEST_F(RunMemory, AlignmentFollowsTheContract) {
  const Call call = twice_call({7});
  EXPECT_EQ(run("aligned 64", call).kind, Outcome::Kind::failed);  // 28 bytes before a page's end
  Kernel aligned = kernel("aligned 64");
  aligned.contract = "alignment=64 -- test";
  for (const Layout& layout : {Layout{}, Layout{Layout::Kind::offset, {3}}}) {
    const Call shifted = twice_call({7}, layout, layout);
    expect_twice(run(aligned, shifted), shifted);
  }
  // Slack up to the guard remains; it shows writes.
  Kernel stray = kernel("write 1 past");
  stray.contract = "alignment=64 -- test";
  expect_memory(run(stray, call),
                "wrote past the end of its output `out` (f32[7], 28 bytes): 1 byte changed, the "
                "first 1 byte past it (0xfb became 0x00)");
  Kernel odd = kernel("twice");
  odd.contract = "alignment=24 -- test";
  EXPECT_THAT(run(odd, call).detail, HasSubstr("alignment=24"));
}

TEST_F(RunMemory, SmallDtypes) {
  Call call = twice_call({5});
  self_of(call) = TensorData(Dtype::u8, {20});
  call.outputs[0] = {Dtype::u8, {20}};
  // The kernels here take bytes for floats: 20 of them are five, but they were told 20.
  EXPECT_EQ(run("twice", call).kind, Outcome::Kind::memory);
  expect_memory(run("nothing", call),
                "left 20 of 20 elements of its output `out` (u8[20], 20 bytes) unwritten");
}

TEST_F(RunMemory, TensorListsAndEveryKindOfArgument) {
  static constexpr Operator sum{
      .schema = parse_schema("sum(Tensor[] tensors, *, Scalar scale, int[] shift, bool negate, str mode, "
                             "ScalarType? dtype, float[] weights) -> (Tensor total, Tensor rank)")};
  Kernel k = kernel("sum");
  k.op = &sum;
  k.schema = sum.schema.text;
  Call call;
  call.op = &sum;
  std::vector<TensorData> tensors;
  for (const double x : {1.0, 2.0, 3.0}) tensors.emplace_back(Dtype::f32, Shape{2}).set(0, x);
  call.arguments = {tensors,
                    2.0,
                    std::vector<std::int64_t>{10, 20},
                    true,
                    std::string("fast"),
                    Dtype::bf16,
                    std::vector<double>{1, 10, 100}};
  call.outputs = {{Dtype::f32, {}}, {Dtype::i64, {}}};
  call.output_layouts.resize(2);
  const Outcome outcome = run(k, call);
  ASSERT_EQ(outcome.kind, Outcome::Kind::ok) << outcome.detail;
  EXPECT_EQ(floats(outcome.outputs[0]), std::vector<float>{-2 * (321 + 30)});
  EXPECT_EQ(load_integer(outcome.outputs[1].data(), Dtype::i64), 0);
}

TEST_F(RunMemory, HugeTensor) {
  Call call = twice_call({0});
  const std::int64_t n = kHuge;
  self_of(call) = TensorData(Dtype::f32, {n});
  self_of(call).set(0, 1);
  self_of(call).set(n - 1, 7);
  call.outputs[0].shape = {n};
  const Outcome outcome = run("twice", call);
  ASSERT_EQ(outcome.kind, Outcome::Kind::ok) << outcome.detail;
  for (const auto* outputs : {&outcome.outputs, &outcome.second()}) {
    ASSERT_EQ((*outputs)[0].size(), static_cast<std::size_t>(n) * 4);
    EXPECT_EQ(load((*outputs)[0].data(), Dtype::f32), 2);
    EXPECT_EQ(load((*outputs)[0].data() + (n - 1) * 4, Dtype::f32), 14);
  }
  expect_memory(run("read 1 past", call), "read 1 byte past the end of its input `self`");
  const Call small = twice_call({3});
  expect_twice(run("twice", small), small);
}

TEST_F(RunMemory, AStrayWriteIsBlamedOnItsAuthor) {
  // The second call damages what lies before the first one's output, after that one has finished.
  Call first = twice_call({6});
  Call second = twice_call({6});
  self_of(second).set(0, -1);
  const Call third = twice_call({6});
  const Kernel& bad = kernel("writes to the past");
  const Kernel& good = kernel("twice");
  const Task tasks[] = {{&bad, &first}, {&good, &third}, {&bad, &second}, {&good, &third}};
  const std::vector<Outcome> outcomes = lane().run(tasks);
  EXPECT_EQ(outcomes[2].kind, Outcome::Kind::memory) << outcomes[2].detail;
  for (const std::size_t i : {1u, 3u}) expect_twice(outcomes[i], third);
}

}  // namespace
}  // namespace assay
