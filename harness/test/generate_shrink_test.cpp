#include "harness/generate/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "generate_fixture.h"
#include "harness/generate/cases.h"
#include "harness/generate/check_case.h"
#include "harness/generate/errors.h"
#include "harness/generate/tensor_copy.h"
#include "test/effort.h"

namespace assay {
namespace {

using Predicate = std::function<bool(const Case&)>;

const Shape& first_shape(const Case& c) { return tensors_of(c)[0]->shape; }

// Shrinks every generated case of the operator that fails; all come down to `minimum`, in few tries.
void expect_minimum(const Operator& op, const Predicate& fails, const std::string& minimum,
                    int most_tries = 100) {
  toys::all();
  int shrunk = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Case c = generate(op, Dtype::f32, 3, i);
    if (!fails(c)) continue;
    const Shrunk s = shrink(c, fails, 1000);
    ++shrunk;
    EXPECT_EQ(text(s.smallest), minimum) << "from " << text(c);
    EXPECT_LE(s.tries, most_tries) << text(c);
  }
  EXPECT_GE(shrunk, 5);
}

TEST(Shrink, FindsTheSmallestSize) {
  const Predicate long_rows = [](const Case& c) {
    return !first_shape(c).empty() && first_shape(c).back() >= 9;
  };
  expect_minimum(ops::relu, long_rows, "relu:f32:self=9:data=ones:seed=0");
  expect_minimum(ops::softmax_int, long_rows, "softmax.int:f32:self=9,dim=0:data=ones:seed=0");
  expect_minimum(ops::mm, long_rows, "mm:f32:self=1x9,mat2=9x1:data=ones:seed=0");
  expect_minimum(ops::add_tensor, long_rows, "add.Tensor:f32:self=9,other=9:data=ones:seed=0");
}

// Sizes halfway to 1 are odd, or soon will be.
TEST(Shrink, FindsTheSmallestOfWholeVectors) {
  const Predicate whole_vectors = [](const Case& c) {
    return !first_shape(c).empty() && first_shape(c).back() >= 16 && first_shape(c).back() % 8 == 0;
  };
  for (const char* from : {"relu:f32:self=[3072]@step2:data=ones:seed=0", "relu:f32:self=2000:data=normal:seed=3",
                           "relu:f32:self=8x1048:data=normal:seed=3", "relu:f32:self=24:data=normal:seed=3"}) {
    const Shrunk s = shrink(parse_case(from), whole_vectors, 60);
    EXPECT_EQ(text(s.smallest), "relu:f32:self=16:data=ones:seed=0") << from;
  }
}

TEST(Shrink, FindsTheSmallestRankAndDimension) {
  expect_minimum(
      ops::relu, [](const Case& c) { return first_shape(c).size() >= 3 && first_shape(c)[1] >= 3; },
      "relu:f32:self=1x3x1:data=ones:seed=0");
}

TEST(Shrink, SizesThatMustBeEqualShrinkTogether) {
  expect_minimum(
      ops::mm, [](const Case& c) { return first_shape(c)[0] == first_shape(c)[1] && first_shape(c)[0] >= 3; },
      "mm:f32:self=3x3,mat2=3x1:data=ones:seed=0");
}

TEST(Shrink, TensorsFollowTheSymbols) {
  expect_minimum(
      ops::prelu, [](const Case& c) { return tensors_of(c)[1]->shape[0] >= 5; },
      "prelu:f32:self=1x5,weight=5:data=ones:seed=0");
}

TEST(Shrink, KeepsWhatTheFailureNeeds) {
  expect_minimum(
      ops::relu, [](const Case& c) { return c.data == "edge"; }, "relu:f32:self=[]:data=edge:seed=0");
  expect_minimum(
      ops::relu, [](const Case& c) { return tensors_of(c)[0]->layout.kind == Layout::Kind::channels_last; },
      "relu:f32:self=[1x1x1x1]@channels_last:data=ones:seed=0");
  expect_minimum(
      ops::relu, [](const Case& c) { return c.seed >= 5; }, "relu:f32:self=[]:data=ones:seed=5");
  expect_minimum(
      ops::add_tensor, [](const Case& c) { return c.arguments[2] != CaseValue{std::int64_t{1}}; },
      "add.Tensor:f32:self=[],other=[],alpha=0:data=ones:seed=0");
  expect_minimum(
      ops::softmax_int, [](const Case& c) { return std::get<std::int64_t>(c.arguments[1]) > 0; },
      "softmax.int:f32:self=1x1,dim=1:data=ones:seed=0");
}

// Data that only some seeds have at a small size, as one special value beside another.
TEST(Shrink, LooksForSmallSizesAmongOtherSeeds) {
  const Predicate fails = [](const Case& c) {
    const std::int64_t n = numel(first_shape(c));
    return n >= 9 || (n >= 3 && c.seed == 6);
  };
  toys::all();
  const Case c = parse_case("relu:f32:self=7x9:data=edge:seed=0");
  ASSERT_TRUE(fails(c));
  EXPECT_EQ(text(shrink(c, fails, 300).smallest), "relu:f32:self=3:data=ones:seed=6");
}

TEST(Shrink, KeepsBroadcastingOnlyWhereItIsNeeded) {
  toys::all();
  const Case c = parse_case("add.Tensor:f32:self=7x1x5,other=[31x5]@step2,alpha=2.5:data=wide:seed=77");
  const Shrunk free = shrink(
      c, [](const Case& s) { return check_case(s).outputs[0].shape.size() == 3; }, 500);
  EXPECT_EQ(text(free.smallest), "add.Tensor:f32:self=1x1x1,other=1x1x1:data=ones:seed=0");
  const Shrunk kept = shrink(
      c, [](const Case& s) { return tensors_of(s)[0]->shape != tensors_of(s)[1]->shape; }, 500);
  EXPECT_EQ(text(kept.smallest), "add.Tensor:f32:self=1,other=[]:data=ones:seed=0");
}

TEST(Shrink, KeepsTheDtypeOfTheResults) {
  toys::all();
  const Case c = parse_case("softmax.int:f16:self=4x33,dim=1,dtype=f32:data=normal:seed=40");
  EXPECT_EQ(text(shrink(
                     c, [](const Case&) { return true; }, 500)
                     .smallest),
            "softmax.int:f32:self=[],dim=0:data=ones:seed=0");
}

TEST(Shrink, CandidatesAreAllowedAndNeverAskedTwice) {
  toys::each_row([](const Operator& op, Dtype dtype) {
    for (std::uint64_t i = 40; i < effort(60u, 45u); ++i) {
      const Case c = generate(op, dtype, 8, i);
      std::set<std::string> asked{text(c)};
      std::uint64_t answer = 1;
      const Shrunk s = shrink(
          c,
          [&](const Case& candidate) {
            EXPECT_TRUE(check_case(candidate).ok()) << text(candidate);
            EXPECT_TRUE(asked.insert(text(candidate)).second) << text(candidate);
            EXPECT_EQ(parse_case(text(candidate)), candidate);
            answer = answer * 6364136223846793005u + 1442695040888963407u;
            return answer >> 62 != 0;  // any answers at all must come to an end
          },
          100'000);
      EXPECT_EQ(asked.size(), static_cast<std::size_t>(s.tries) + 1);
      EXPECT_LT(s.tries, 2000);
    }
  });
}

TEST(Shrink, ErrorCasesStayErrors) {
  toys::all();
  const InvalidCase e = generate_error(ops::mm, Dtype::f32, 0, 77);
  const Shrunk s = shrink(
      e.invalid, [&](const Case& c) { return check_case(c).argument == e.argument; }, 500);
  EXPECT_FALSE(check_case(s.smallest).ok());
  EXPECT_LT(text(s.smallest).size(), text(e.invalid).size());
}

TEST(Shrink, StopsAtItsBudgetAndIsDeterministic) {
  const Case c = generate(ops::prelu, Dtype::f32, 1, 90);
  int asked = 0;
  const Shrunk s = shrink(
      c, [&](const Case&) { return ++asked > 3; }, 7);
  EXPECT_EQ(asked, 7);
  EXPECT_EQ(s.tries, 7);
  const Shrunk none = shrink(
      c, [](const Case&) { return true; }, 0);
  EXPECT_EQ(none.smallest, c);
  const Predicate some = [](const Case& x) { return !first_shape(x).empty(); };
  ASSERT_TRUE(some(c)) << text(c);
  EXPECT_EQ(shrink(c, some, 500).smallest, shrink(c, some, 500).smallest);
}

TEST(Shrink, WorksOnManyThreads) {
  toys::all();
  const Case c = parse_case("relu:f32:self=[7x31x5x9]@channels_last:data=wide:seed=400");
  const Predicate fails = [](const Case& x) { return !first_shape(x).empty() && first_shape(x).back() >= 9; };
  std::vector<Case> results(4);
  std::vector<std::thread> threads;
  for (Case& result : results) threads.emplace_back([&] { result = shrink(c, fails, 500).smallest; });
  for (std::thread& t : threads) t.join();
  for (const Case& result : results) EXPECT_EQ(text(result), "relu:f32:self=9:data=ones:seed=0");
}

}  // namespace
}  // namespace assay
