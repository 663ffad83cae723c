#include "harness/generate/properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "generate_fixture.h"
#include "harness/generate/cases.h"
#include "harness/generate/data.h"
#include "harness/generate/tensor_copy.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using Outputs = PackedOutputs;
using FakeKernel = std::function<Outputs(const Call&)>;

const TensorData& tensor(const Call& call, std::size_t i) { return std::get<TensorData>(call.arguments[i]); }

// The toys: one output, element by element from a function of the call and the row-major index.
FakeKernel toy(const std::function<double(const Call&, std::int64_t)>& element) {
  return [element](const Call& call) {
    TensorData out(call.outputs[0].dtype, call.outputs[0].shape);
    for (std::int64_t i = 0; i < out.numel(); ++i) out.set(i, element(call, i));
    return Outputs{out.packed()};
  };
}

double relu(const Call& call, std::int64_t i) {
  const double x = tensor(call, 0).get(i);
  return x > 0 || std::isnan(x) ? x : 0.0;
}

double mm(const Call& call, std::int64_t i) {
  const TensorData& a = tensor(call, 0);
  const TensorData& b = tensor(call, 1);
  const std::int64_t columns = b.shape[1], terms = a.shape[1];
  float sum = 0;
  for (std::int64_t k = 0; k < terms; ++k)
    sum += static_cast<float>(a.get(i / columns * terms + k) * b.get(k * columns + i % columns));
  return static_cast<double>(sum);
}

double add(const Call& call, std::int64_t i) {
  const Shape& shape = call.outputs[0].shape;
  const auto at = [&](const TensorData& t) {
    std::int64_t left = i, index = 0, step = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t place = left % shape[shape.size() - 1 - d];
      left /= shape[shape.size() - 1 - d];
      if (d >= t.shape.size()) continue;
      const std::int64_t size = t.shape[t.shape.size() - 1 - d];
      index += (size == 1 ? 0 : place) * step;
      step *= size;
    }
    return t.get(index);
  };
  return at(tensor(call, 0)) + at(tensor(call, 1));
}

// The sum along the axis, for every element of its row: row-wise like softmax.
double row_sum(const Call& call, std::int64_t i) {
  const TensorData& x = tensor(call, 0);
  if (x.shape.empty()) return x.get(0);
  auto axis = std::get<std::int64_t>(call.arguments[1]);
  if (axis < 0) axis += static_cast<std::int64_t>(x.shape.size());
  std::int64_t step = 1;
  for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < x.shape.size(); ++d) step *= x.shape[d];
  const std::int64_t size = x.shape[static_cast<std::size_t>(axis)];
  const std::int64_t first = i - i / step % size * step;
  double sum = 0;
  for (std::int64_t k = 0; k < size; ++k) sum += x.get(first + k * step);
  return sum;
}

struct Verdicts {
  std::map<std::string, int> held;
  std::map<std::string, int> broken;
  std::string said;  // the last complaint
};

Verdicts verify(const Operator& op, const FakeKernel& kernel, const Contract& contract,
                std::uint64_t cases = 560) {
  toys::all();
  Verdicts v;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Call call = materialise(generate(op, Dtype::f32, 5, i));
    if (!call.outputs.empty() && numel(call.outputs[0].shape) > 3000) continue;  // toys are slow, and layers large
    const std::optional<Derived> d = derive(call, contract, i);
    if (!d) continue;
    EXPECT_TRUE(check_arguments(op, Arguments(d->call).values()).ok());
    EXPECT_EQ(d->call.outputs.size(), d->call.output_layouts.size());
    const std::string complaint = d->compare(kernel(call), kernel(d->call));
    ++(complaint.empty() ? v.held : v.broken)[d->property];
    if (!complaint.empty()) v.said = complaint;
  }
  return v;
}

Contract in_place_contract() {
  Contract c;
  c.in_place = true;
  return c;
}

TEST(Properties, HoldForKernelsThatKeepThem) {
  const Verdicts r = verify(ops::relu, toy(relu), in_place_contract());
  EXPECT_TRUE(r.broken.empty()) << r.said;
  for (const char* property : {"position", "layout", "expanded", "in place", "idempotence"})
    EXPECT_GE(r.held.count(property) > 0 ? r.held.at(property) : 0, 20) << property;

  const Verdicts m = verify(ops::mm, toy(mm), {}, 640);
  EXPECT_TRUE(m.broken.empty()) << m.said;
  EXPECT_GE(m.held.at("rows"), 50);
  EXPECT_GE(m.held.at("layout"), 50);
  EXPECT_EQ(m.held.count("position"), 0u);

  const Verdicts a = verify(ops::add_tensor, toy(add), {});
  EXPECT_TRUE(a.broken.empty()) << a.said;
  EXPECT_GE(a.held.at("position"), 50);

  const Verdicts s = verify(ops::softmax_int, toy(row_sum), {}, 700);
  EXPECT_TRUE(s.broken.empty()) << s.said;
  EXPECT_GE(s.held.at("rows"), 50);
}

TEST(Properties, CatchAFaultThatDependsOnPosition) {
  const Verdicts v =
      verify(ops::relu, toy([](const Call& call, std::int64_t i) {
               const std::int64_t n = tensor(call, 0).numel();
               return relu(call, i) * (i >= n - n % 8 ? 1 + 0x1p-22 : 1);  // a tail with another last bit
             }),
             {});
  EXPECT_GE(v.broken.at("position"), 10);
  EXPECT_THAT(v.said, HasSubstr("elements differ"));
}

TEST(Properties, CatchAFaultThatDependsOnTheNumberOfRows) {
  const Verdicts v = verify(ops::mm, toy([](const Call& call, std::int64_t i) {
                              return mm(call, i) * (tensor(call, 0).shape[0] >= 4 ? 1 + 0x1p-22 : 1);
                            }),
                            {});
  EXPECT_GE(v.broken.at("rows"), 10);
  const Verdicts rowwise =
      verify(ops::softmax_int,
             toy([](const Call& call, std::int64_t i) { return row_sum(call, i) + (i > 16 ? 1 : 0); }), {});
  EXPECT_GE(rowwise.broken.at("rows"), 10);
}

TEST(Properties, CatchAFaultThatDependsOnTheLayout) {
  const Verdicts v =
      verify(ops::relu, toy([](const Call& call, std::int64_t i) {
               const TensorData& x = tensor(call, 0);  // reads as if contiguous
               const double value =
                   load(x.memory.data() +
                            std::min<std::int64_t>(i, static_cast<std::int64_t>(x.memory.size()) / 4 - 1) * 4,
                        x.dtype);
               return value > 0 || std::isnan(value) ? value : 0.0;
             }),
             {});
  EXPECT_GE(v.broken.at("layout"), 10);
  EXPECT_GE(v.broken.at("expanded"), 1);
}

TEST(Properties, CatchAFaultInPlaceAndOneOfRepetition) {
  const Verdicts in_place = verify(ops::relu, toy([](const Call& call, std::int64_t i) {
                                     return call.in_place >= 0 && i > 0 ? 0.0 : relu(call, i);
                                   }),
                                   in_place_contract());
  EXPECT_GE(in_place.broken.at("in place"), 10);
  EXPECT_EQ(in_place.broken.size(), 1u);

  // Right on numbers of both signs, wrong where nothing is negative: only the second application shows it.
  const Verdicts repeated =
      verify(ops::relu,
             [](const Call& call) {
               const TensorData& x = tensor(call, 0);
               double factor = 2;
               for (std::int64_t k = 0; k < x.numel(); ++k)
                 if (!(x.get(k) >= 0)) factor = 1;
               return toy([factor](const Call& c, std::int64_t i) { return factor * relu(c, i); })(call);
             },
             {});
  EXPECT_GE(repeated.broken.at("idempotence"), 10);
}

TEST(Properties, ContractsSayWhichRelationsAreAsked) {
  Contract c = in_place_contract();
  c.deterministic = false;
  EXPECT_TRUE(verify(ops::relu, toy(relu), c, 100).held.empty());

  c = in_place_contract();
  c.layout_invariant = false;
  const Verdicts fixed = verify(ops::relu, toy(relu), c);
  EXPECT_EQ(fixed.held.count("layout") + fixed.held.count("expanded"), 0u);
  EXPECT_GE(fixed.held.at("position"), 5);  // where the call itself is contiguous

  c = in_place_contract();
  c.position_invariant = false;
  EXPECT_EQ(verify(ops::relu, toy(relu), c, 100).held.count("position"), 0u);

  c = {};
  c.row_invariant = false;
  EXPECT_EQ(verify(ops::mm, toy(mm), c).held.count("rows"), 0u);

  c = {};
  EXPECT_EQ(verify(ops::relu, toy(relu), c).held.count("in place"), 0u);

  c.nonfinite = false;
  toys::all();
  const Call with_nan = materialise(parse_case("relu:f32:self=4x4:data=edge:seed=20"));
  const Call finite = materialise(parse_case("relu:f32:self=4x4:data=normal:seed=20"));
  bool has_nan = false;
  for (std::int64_t i = 0; i < 16; ++i) has_nan |= !std::isfinite(tensor(with_nan, 0).get(i));
  ASSERT_TRUE(has_nan);
  EXPECT_FALSE(derive(with_nan, c, 1));
  EXPECT_TRUE(derive(finite, c, 1));
}

TEST(Properties, ComparisonKnowsWhatTheContractIgnores) {
  toys::all();
  const Call call = materialise(parse_case("relu:f32:self=2:data=normal:seed=20"));
  const auto outputs = [](float a, float b) {
    Outputs o{std::vector<std::byte>(8)};
    store(o[0].data(), Dtype::f32, static_cast<double>(a));
    store(o[0].data() + 4, Dtype::f32, static_cast<double>(b));
    return o;
  };
  const auto compare = [&](const Contract& c, const Outputs& a, const Outputs& b) {
    for (std::uint64_t choice = 0;; ++choice)
      if (const auto d = derive(call, c, choice); d && d->property == "layout") return d->compare(a, b);
  };
  Contract strict, loose;
  loose.signed_zero = false;
  loose.ftz = true;
  EXPECT_NE(compare(strict, outputs(0, 1), outputs(-0.0f, 1)), "");
  EXPECT_EQ(compare(loose, outputs(0, 1), outputs(-0.0f, 1)), "");
  EXPECT_NE(compare(strict, outputs(1e-40f, 1), outputs(0, 1)), "");
  EXPECT_EQ(compare(loose, outputs(1e-40f, 1), outputs(0, 1)), "");
  EXPECT_EQ(compare(strict, outputs(NAN, 1), outputs(-NAN, 1)), "");
  EXPECT_EQ(compare(strict, outputs(1, 2), outputs(1, 3)),
            "output 0 at [1] is 2 in the call, but 3 in the derived one (1 of 2 elements differ)");
}

TEST(Properties, AChoiceIsAFunctionOfTheCall) {
  toys::all();
  const Call call = materialise(parse_case("add.Tensor:f32:self=5x7,other=7:data=normal:seed=20"));
  std::set<std::string> properties;
  for (std::uint64_t choice = 0; choice < 50; ++choice) {
    const auto a = derive(call, {}, choice);
    const auto b = derive(call, {}, choice);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->property, b->property);
    EXPECT_EQ(tensor(a->call, 0).memory, tensor(b->call, 0).memory);
    properties.insert(a->property);
  }
  EXPECT_GE(properties.size(), 2u);
}

// A vector without elements by a matrix without columns: there is a result, but no row to choose.
TEST(Properties, AnEmptyOperandHasNoRows) {
  const Call call = materialise(parse_case("linear:i16:input=0,weight=3x0,bias=3:data=normal:seed=20"));
  ASSERT_EQ(call.error, "");
  for (std::uint64_t choice = 0; choice < 100; ++choice) {
    const std::optional<Derived> derived = derive(call, {}, choice);
    EXPECT_TRUE(!derived || derived->property != "rows") << choice;
  }
}

TEST(Properties, EmptyAndRefusedCallsHaveNone) {
  toys::all();
  EXPECT_FALSE(derive(materialise(parse_case("relu:f32:self=3x0:data=normal:seed=20")), {}, 1));
  EXPECT_FALSE(derive(materialise(parse_case("mm:f32:self=3x2,mat2=3x2:data=normal:seed=20")), {}, 1));
}

}  // namespace
}  // namespace assay
