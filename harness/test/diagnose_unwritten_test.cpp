// `assay diagnose` of results that nobody has written, or that are as if they were not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <utility>

#include "diagnose_experiment.h"

namespace assay::diagnose {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

// Rows from the fourth on are not what they should be, but what memory holds.
TEST(Diagnose, SaysWhatNobodyHasWritten) {
  const auto unwritten_from = [](const std::string& text, double filled) {
    Experiment e(text);
    Expectation right(e.call);
    const std::int64_t row = e.call.outputs[0].shape.back();
    return e.fill(
        [&](std::int64_t i) { return i / row < 3 ? right.values(0)[static_cast<std::size_t>(i)] : filled; });
  };
  const std::string mm = "mm:f32:self=9x17,mat2=17x11:data=normal:seed=5";
  const Diagnosis zeros = unwritten_from(mm, 0).diagnosis();
  EXPECT_EQ(zeros.kind, Diagnosis::Kind::named);
  EXPECT_EQ(first_cause(zeros), "results.unwritten");
  EXPECT_THAT(zeros.causes[0].says, HasSubstr("or stores zeros there"));
  const Diagnosis debugger = unwritten_from(mm, std::bit_cast<float>(0xcdcdcdcdu)).diagnosis();
  EXPECT_EQ(first_cause(debugger), "results.unwritten");
  EXPECT_THAT(debugger.causes[0].says, HasSubstr("cd cd cd cd"));
  EXPECT_THAT(to_text(debugger, Style(false)), HasSubstr("mm leaves elements of the result unwritten"));
  EXPECT_NE(first_cause(unwritten_from(mm, -0.0).diagnosis()),
            "results.unwritten");  // as 0 times what is right is
  EXPECT_NE(first_cause(unwritten_from(mm, 1.5).diagnosis()), "results.unwritten");
  EXPECT_NE(first_cause(unwritten_from("mm:i64:self=9x17,mat2=17x11:data=normal:seed=5", 0).diagnosis()),
            "results.unwritten");

  // A wrong formula gives zeros by the numbers that go in.
  Experiment e("relu:f32:self=9x17:data=normal:seed=5");
  e.fill([&](std::int64_t i) { return e.tensor(0).get(i) > 0.75 ? e.tensor(0).get(i) : 0; });
  EXPECT_NE(first_cause(e.diagnosis()), "results.unwritten");
}

// Rows of an input that are zeros, as those of padding are, may be skipped: what is there then is what memory held.
TEST(Diagnose, SaysWhatIsSkippedBecauseItIsZero) {
  const auto diagnosed =
      [](const std::function<double(std::int64_t row, std::int64_t column, double right)>& gives) {
        Experiment e("linear:f32:input=9x20,weight=15x20,bias=15:data=normal:seed=6");
        auto& input = std::get<TensorData>(e.call.arguments[0]);
        for (const std::int64_t row : {2, 5, 6})
          for (std::int64_t k = 0; k < 20; ++k) input.set(row * 20 + k, 0);
        Expectation right(e.call);
        e.fill([&](std::int64_t i) {
          return gives(i / 15, i % 15, right.values(0)[static_cast<std::size_t>(i)]);
        });
        return e.diagnosis();
      };
  const auto is_zero = [](std::int64_t row) { return row == 2 || row == 5 || row == 6; };
  const Diagnosis skipped =
      diagnosed([&](std::int64_t row, std::int64_t, double right) { return is_zero(row) ? 0 : right; });
  EXPECT_EQ(skipped.kind, Diagnosis::Kind::named);
  EXPECT_EQ(first_cause(skipped), "results.unwritten_where_zero");
  EXPECT_THAT(skipped.causes[0].says,
              HasSubstr("where input has nothing but zeros at indices 2, 5, 6 of its dimension 0"));
  // With something in a row, or a zero elsewhere, it is not the rows that are zero.
  const Diagnosis columns = diagnosed([&](std::int64_t row, std::int64_t column, double right) {
    return is_zero(row) && column < 9 ? 0 : right;
  });
  EXPECT_NE(first_cause(columns), "results.unwritten_where_zero");
  const Diagnosis one_more = diagnosed(
      [&](std::int64_t row, std::int64_t, double right) { return is_zero(row) || row == 7 ? 0 : right; });
  EXPECT_NE(first_cause(one_more), "results.unwritten_where_zero");
  const Diagnosis one_less = diagnosed(
      [&](std::int64_t row, std::int64_t, double right) { return row == 2 || row == 5 ? 0 : right; });
  EXPECT_NE(first_cause(one_less), "results.unwritten_where_zero");
}

// Where rows of an input are zeros, a formula that is wrong for such rows gives zeros at coordinates that say nothing.
TEST(Diagnose, RowsOfZerosAreNotTakenForUnwritten) {
  const auto is_zero = [](std::int64_t row) { return row >= 4 && row < 9; };
  const auto clear = [&](CallValue& value) {
    auto& t = std::get<TensorData>(value);
    for (std::int64_t i = 0; i < t.numel(); ++i)
      if (is_zero(i / t.shape.back())) t.set(i, 0);
  };
  for (const auto& [text, argument] :
       {std::pair{"sigmoid:f32:self=12x16:data=normal:seed=3", 0},
        std::pair{"addmm:f32:self=12x9,mat1=12x16,mat2=16x9,beta=1,alpha=1:data=normal:seed=3", 1}}) {
    Experiment e(text);
    clear(e.call.arguments[static_cast<std::size_t>(argument)]);
    Expectation right(e.call);
    e.fill([&](std::int64_t i) {
      return is_zero(i / e.result.shape.back()) ? 0.0 : right.values(0)[static_cast<std::size_t>(i)];
    });
    const Diagnosis d = e.diagnosis();
    EXPECT_GT(d.diverging, 40u);
    EXPECT_NE(first_cause(d), "results.unwritten") << to_text(d, Style(false));
  }
  // With zeros as right results there is no fault at all.
  Experiment mm("mm:f32:self=12x16,mat2=16x9:data=normal:seed=3");
  clear(mm.call.arguments[0]);
  Expectation product(mm.call);
  mm.fill([&](std::int64_t i) { return product.values(0)[static_cast<std::size_t>(i)]; });
  EXPECT_EQ(mm.diagnosis().kind, Diagnosis::Kind::no_fault);
}

// Rows that were read as zeros, and rows that nobody wrote, are the same on this data.
TEST(Diagnose, ZerosMayBeThoseOfAnInput) {
  Experiment e("mm:f32:self=9x17,mat2=17x11:data=normal:seed=5");
  Expectation right(e.call);
  e.fill([&](std::int64_t i) { return i < 3 * 11 ? right.values(0)[static_cast<std::size_t>(i)] : 0.0; });
  const Diagnosis d = e.diagnosis();
  EXPECT_EQ(first_cause(d), "results.unwritten");
  EXPECT_THAT(d.same, Contains(Field(&Named::name, "self.zeros_in_dimension_0")));
  EXPECT_THAT(to_text(d, Style(false)),
              HasSubstr("reads zeros for self at indices 3 to 8 of its dimension 0"));
}

}  // namespace
}  // namespace assay::diagnose
