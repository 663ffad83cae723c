// PyTorch's operators as the harness sees them: through assay-torch, in a worker process.
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/model/call.h"
#include "harness/registry/subprocess.h"
#include "harness/run/describe.h"
#include "harness/run/lane.h"
#include "ops/activation.h"
#include "ops/batch_norm.h"
#include "ops/binary.h"
#include "ops/mm.h"
#include "ops/prelu.h"
#include "ops/softmax.h"
#include "vocabulary/contract.h"
#include "vocabulary/reference.h"

#ifdef ASSAY_TORCH

namespace assay {
namespace {

using Kind = Outcome::Kind;

constexpr const char* kNoTorch = "none of PyTorch's operators was tested";

Environment environment() { return {ASSAY_TORCH, {}, {}}; }

// Row-major values, in any layout.
TensorData tensor(Dtype dtype, Shape shape, const std::vector<double>& values, const Layout& layout = {}) {
  TensorData t(dtype, std::move(shape), layout);
  for (std::int64_t i = 0; i < t.numel(); ++i) t.set(i, values[static_cast<std::size_t>(i) % values.size()]);
  return t;
}

Call call(const Operator& op, std::vector<CallValue> arguments, const Layout& output_layout = {}) {
  Call c;
  c.op = &op;
  c.arguments = std::move(arguments);
  const Arguments values(c);
  const Checked checked = check_arguments(op, values.values());
  c.outputs = checked.outputs;
  c.output_layouts.assign(c.outputs.size(), output_layout);
  c.error = checked.error;
  c.blamed = checked.argument;
  return c;
}

std::vector<double> numbers(const std::vector<std::byte>& packed, Dtype dtype) {
  std::vector<double> all;
  for (std::size_t at = 0; at < packed.size(); at += static_cast<std::size_t>(bytes(dtype)))
    all.push_back(load(packed.data() + at, dtype));
  return all;
}

class TorchTest : public testing::Test {
 protected:
  void SetUp() override {
    static const std::shared_ptr<Zygotes> zygotes = make_zygotes();
    lane_.emplace(zygotes, RunOptions{});
    const Outcome first = run(call(ops::relu, {tensor(Dtype::f32, {}, {1})}));
    if (first.kind == Kind::not_run && first.detail.find("PyTorch is not installed") != std::string::npos)
      GTEST_SKIP() << kNoTorch << ": " << first.detail;
    ASSERT_EQ(first.kind, Kind::ok) << first.detail;
  }

  static Kernel kernel(const Operator& op) {
    Kernel k;
    k.op = &op;
    k.schema = op.schema.text;
    k.name = k.table_name = "torch";
    k.environment = environment();
    k.peer = k.checks_arguments = true;
    return k;
  }

  Outcome run(const Call& c) {
    const Kernel k = kernel(*c.op);
    const Task task{&k, &c};
    return lane_->run({&task, 1}).front();
  }

  // The first result; a call that did not succeed fails the test.
  std::vector<double> result(const Call& c, std::size_t output = 0) {
    const Outcome o = run(c);
    EXPECT_EQ(o.kind, Kind::ok) << c.op->schema.name << ": " << o.detail;
    if (o.kind != Kind::ok) return {};
    EXPECT_EQ(o.outputs[output], o.second()[output]);
    EXPECT_FALSE(o.changed_float_state);
    return numbers(o.outputs[output], c.outputs[output].dtype);
  }

  std::optional<Lane> lane_;
};

using Numbers = std::vector<double>;

TEST_F(TorchTest, ListsEveryOperatorOfAten) {
  std::set<std::string> listed;
  const Finished list = run_program(ASSAY_TORCH, {"worker", "--list"});
  ASSERT_EQ(list.status, 0) << list.err;
  for (const DescribedKernel& k : parse_description(list.out)) {
    EXPECT_EQ(k.name, "torch");
    const bool checks =
        !k.schema.starts_with("max_pool2d_with_indices_backward");  // writes where indices say
    EXPECT_EQ(k.flags, checks ? ASSAY_PEER | ASSAY_CHECKS_ARGUMENTS : std::uint32_t{ASSAY_PEER}) << k.schema;
    EXPECT_EQ(k.unavailable, "") << k.schema;
    for (int d = 0; d < kDtypes; ++d)
      EXPECT_NO_THROW(parse_contract(k.contract, static_cast<Dtype>(d))) << k.schema;
    EXPECT_TRUE(listed.insert(k.schema).second) << k.schema;
  }
  for (const Reference* reference : references()) {
    const Schema& schema = reference->op().schema;
    EXPECT_EQ(listed.contains(std::string(schema.text)), schema.ns == "aten") << schema.text;
  }
  EXPECT_GE(listed.size(), 6u);
}

TEST_F(TorchTest, GivesKnownResults) {
  for (const Dtype d : {Dtype::f64, Dtype::f32, Dtype::bf16}) {
    SCOPED_TRACE(std::string(name(d)));
    const TensorData x = tensor(d, {2, 2}, {1, -2, -3, 4}), w = tensor(d, {2}, {0.5, -0.25});
    EXPECT_EQ(result(call(ops::relu, {x})), (Numbers{1, 0, 0, 4}));
    EXPECT_EQ(result(call(ops::prelu, {x, w})), (Numbers{1, 0.5, -1.5, 4}));
    EXPECT_EQ(result(call(ops::add_tensor, {x, w, std::int64_t{2}})), (Numbers{2, -2.5, -2, 3.5}));
    EXPECT_EQ(result(call(ops::add_tensor, {x, w, 0.5})), (Numbers{1.25, -2.125, -2.75, 3.875}));
    EXPECT_EQ(result(call(ops::mm, {x, tensor(d, {2, 3}, {1, 0, 2, 0, 1, -1})})),
              (Numbers{1, -2, 4, -3, 4, -10}));
    // exp(-1000) is zero in every format, exp(0) is one.
    const TensorData far = tensor(d, {2, 2}, {0, 1000, 0, 0});
    EXPECT_EQ(result(call(ops::softmax_int, {far, std::int64_t{1}, None{}})), (Numbers{0, 1, 0.5, 0.5}));
    EXPECT_EQ(result(call(ops::softmax_int, {far, std::int64_t{-2}, None{}})), (Numbers{0.5, 1, 0.5, 0}));
    const Call backward = call(ops::prelu_backward, {tensor(d, {2, 2}, {1, 2, 3, 4}), x, w});
    EXPECT_EQ(result(backward, 0), (Numbers{1, -0.5, 1.5, 4}));
    EXPECT_EQ(result(backward, 1), (Numbers{-9, -4}));
  }
}

// An input that was written to would be a failure of the call.
TEST_F(TorchTest, UpdatesCopiesOfRunningStatistics) {
  for (const Layout& layout : {Layout{}, Layout{Layout::Kind::step2, {}}}) {
    const TensorData x = tensor(Dtype::f32, {2, 2}, {1, 2, 3, 6}),
                     mean = tensor(Dtype::f32, {2}, {10, 20}, layout),
                     var = tensor(Dtype::f32, {2}, {1, 4}, layout);
    const auto norm = [&](bool training) {
      return call(ops::native_batch_norm_legit_functional,
                  {x, None{}, None{}, mean, var, training, 0.25, 1e-5}, layout);
    };
    EXPECT_EQ(result(norm(true), 1), (Numbers{2, 4}));
    EXPECT_EQ(result(norm(true), 3), (Numbers{8, 16}));
    EXPECT_EQ(result(norm(true), 4), (Numbers{1.25, 5}));
    EXPECT_EQ(result(norm(false), 3), (Numbers{10, 20}));
    EXPECT_EQ(result(norm(false), 4), (Numbers{1, 4}));
  }
}

TEST_F(TorchTest, ReadsAndWritesEveryLayout) {
  const Shape shape{2, 3, 4, 5};
  Numbers values;
  for (int i = 0; i < 120; ++i) values.push_back(i % 13 - 6);
  const Numbers positive = [&] {
    Numbers p = values;
    for (double& v : p) v = v > 0 ? v : 0;
    return p;
  }();
  const std::vector<Layout> layouts{{},
                                    {Layout::Kind::channels_last, {}},
                                    {Layout::Kind::permuted, {3, 1, 0, 2}},
                                    {Layout::Kind::step2, {}},
                                    {Layout::Kind::offset, {7}},
                                    {Layout::Kind::strides, {100, 21, 1, 4}}};
  for (const Dtype d : {Dtype::f32, Dtype::bf16}) {
    const TensorData w = tensor(d, {3}, {2, -1, 0.5}, {Layout::Kind::step2, {}});
    const Numbers prelu = result(call(ops::prelu, {tensor(d, shape, values), tensor(d, {3}, {2, -1, 0.5})}));
    for (const Layout& in : layouts)
      for (const Layout& out : layouts) {
        SCOPED_TRACE(text(in) + " -> " + text(out));
        EXPECT_EQ(result(call(ops::relu, {tensor(d, shape, values, in)}, out)), positive);
        EXPECT_EQ(result(call(ops::prelu, {tensor(d, shape, values, in), w}, out)), prelu);
      }
  }
  // Stride 0: one column stands for all.
  const TensorData column =
      tensor(Dtype::f32, {3, 4}, {5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7}, {Layout::Kind::expanded, {1}});
  EXPECT_EQ(
      result(call(ops::mm, {column, tensor(Dtype::f32, {4, 1}, {1, 2, 3, 4}, {Layout::Kind::step2, {}})})),
      (Numbers{50, 60, 70}));
}

TEST_F(TorchTest, TakesScalarTensorsAndEmptyOnes) {
  EXPECT_EQ(result(call(ops::relu, {tensor(Dtype::f32, {}, {-3})})), Numbers{0});
  EXPECT_EQ(result(call(ops::relu, {tensor(Dtype::f32, {0, 3}, {1})})), Numbers{});
  EXPECT_EQ(result(call(ops::mm, {tensor(Dtype::f32, {2, 0}, {1}), tensor(Dtype::f32, {0, 2}, {1})})),
            (Numbers{0, 0, 0, 0}));
  EXPECT_EQ(result(call(ops::add_tensor,
                        {tensor(Dtype::f32, {2}, {1, 2}), tensor(Dtype::f32, {}, {3}), std::int64_t{1}})),
            (Numbers{4, 5}));
}

TEST_F(TorchTest, PromotesDtypesAsTheRuleSays) {
  const auto sum = [&](Dtype a, Shape sa, Dtype b, Shape sb) {
    return call(ops::add_tensor,
                {tensor(a, std::move(sa), {1}), tensor(b, std::move(sb), {2}), std::int64_t{1}});
  };
  for (const Dtype a : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const Dtype b : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16})
      for (const Shape& sb : {Shape{3}, Shape{}}) {
        const Call c = sum(a, {3}, b, sb);
        ASSERT_EQ(c.error, "");
        EXPECT_EQ(result(c), (Numbers{3, 3, 3})) << name(a) << " + " << name(b) << "[" << text(sb) << "]";
      }
  EXPECT_EQ(result(call(ops::softmax_int, {tensor(Dtype::f16, {2}, {0, 0}), std::int64_t{0}, Dtype::f64})),
            (Numbers{0.5, 0.5}));
}

TEST_F(TorchTest, CallsWrongArgumentsInvalid) {
  const TensorData x = tensor(Dtype::f32, {2, 3}, {1});
  const std::vector<std::pair<Call, std::string>> wrong{
      {call(ops::prelu, {x, tensor(Dtype::f32, {5}, {1})}), "5"},
      {call(ops::prelu, {x, tensor(Dtype::f64, {3}, {1})}), "Double"},
      {call(ops::mm, {x, tensor(Dtype::f32, {4, 3}, {1})}), "4x3"},
      {call(ops::mm, {x, tensor(Dtype::f32, {3}, {1})}), "matrix"},
      {call(ops::softmax_int, {x, std::int64_t{2}, None{}}), "range"},
      {call(ops::softmax_int, {x, None{}, None{}}), "dim"},
      {call(ops::add_tensor, {x, tensor(Dtype::f32, {4}, {1}), std::int64_t{1}}), "must match the size"},
      {call(ops::relu, {None{}}), "no tensor arguments"}};
  for (const auto& [c, part] : wrong) {
    EXPECT_NE(c.error, "") << c.op->schema.name;
    const Outcome o = run(c);
    EXPECT_EQ(o.kind, Kind::refused) << c.op->schema.name << ": " << o.detail;
    EXPECT_TRUE(o.detail.starts_with("invalid argument: ")) << o.detail;
    EXPECT_NE(o.detail.find(part), std::string::npos) << o.detail;
    EXPECT_EQ(o.detail.find('\n'), std::string::npos) << o.detail;
  }
}

TEST_F(TorchTest, RefusesHalfPrecisionWithTorchsReason) {
  const Dtype d = Dtype::f16;
  const TensorData x = tensor(d, {2, 2}, {1, -2, -3, 4}), w = tensor(d, {2}, {1});
  for (const Call& c :
       {call(ops::relu, {x}), call(ops::prelu, {x, w}), call(ops::mm, {x, x}),
        call(ops::prelu_backward, {x, x, w}), call(ops::softmax_int, {x, std::int64_t{0}, None{}})}) {
    const Outcome o = run(c);
    // A torch that has grown these kernels may compute them.
    if (o.kind == Kind::ok) continue;
    EXPECT_EQ(o.kind, Kind::refused) << c.op->schema.name << ": " << o.detail;
    EXPECT_NE(o.detail.find("not implemented for 'Half'"), std::string::npos) << o.detail;
    EXPECT_FALSE(o.detail.starts_with("invalid argument")) << o.detail;
    EXPECT_TRUE(o.declared) << c.op->schema.name;
  }
  EXPECT_EQ(result(call(ops::add_tensor, {x, x, std::int64_t{1}})), (Numbers{2, -4, -6, 8}));
}

// What torch said of one call must not be taken for another's.
TEST_F(TorchTest, RemembersRefusalsByWhatTheyDependOn) {
  const auto softmax = [](Dtype d, Shape shape, CallValue dtype) {
    return call(ops::softmax_int, {tensor(d, std::move(shape), {1}), std::int64_t{0}, std::move(dtype)});
  };
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(run(softmax(Dtype::f32, {2, 2}, None{})).kind, Kind::ok);
    const Outcome half = run(softmax(Dtype::f16, {2, 2}, None{}));
    EXPECT_EQ(run(softmax(Dtype::f32, {2, 2}, Dtype::f16)).kind, half.kind);
    EXPECT_EQ(run(softmax(Dtype::f16, {2, 2}, Dtype::f32)).kind, Kind::ok);
    EXPECT_EQ(run(softmax(Dtype::f16, {0, 2}, None{})).kind, Kind::ok);
    EXPECT_EQ(run(softmax(Dtype::f16, {2}, None{})).kind, half.kind);
  }
  const auto sum = [](double alpha) {
    const TensorData x = tensor(Dtype::f16, {2}, {1});
    return call(ops::add_tensor, {x, x, alpha});
  };
  EXPECT_EQ(run(sum(1e30)).kind, Kind::refused);
  EXPECT_TRUE(run(sum(1e30)).declared);
  EXPECT_EQ(run(sum(0.5)).kind, Kind::ok);
}

TEST_F(TorchTest, NeverHidesThatTheRuleIsWrong) {
  const TensorData x = tensor(Dtype::f32, {3}, {1});
  Call dtype = call(ops::relu, {x});
  dtype.outputs[0].dtype = Dtype::f64;
  Call shape = call(ops::relu, {x});
  shape.outputs[0].shape = {1, 3};
  Call more = call(ops::relu, {x});
  more.outputs.push_back(more.outputs[0]);
  more.output_layouts.emplace_back();
  const std::vector<std::pair<Call, std::string>> wrong{
      {dtype, "torch returned f32[3], the rule says f64[3]"},
      {shape, "torch returned f32[3], the rule says f32[1x3]"},
      {more, "torch returned 1 results, the rule says 2"}};
  for (const auto& [c, message] : wrong) {
    const Outcome o = run(c);
    EXPECT_EQ(o.kind, Kind::failed);
    EXPECT_NE(o.detail.find(message), std::string::npos) << o.detail;
  }
}

// Torch warns of what it does here, and accepts it.
TEST_F(TorchTest, KeepsItsWarningsToItself) {
  const TensorData grad = tensor(Dtype::f32, {3, 5}, {1}), x = tensor(Dtype::f32, {3, 1}, {1}),
                   w = tensor(Dtype::f32, {1}, {1});
  testing::internal::CaptureStderr();
  lane_.emplace(make_zygotes(), RunOptions{});
  run(call(ops::prelu_backward, {grad, x, w}));
  const Outcome o = run(call(ops::prelu_backward, {grad, x, w}));  // a lane passes on what was printed before
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(o.kind, Kind::ok) << o.detail;
}

TEST_F(TorchTest, SaysWhichTorchItIs) {
  const Outcome o = run(call(ops::relu, {tensor(Dtype::f32, {3}, {1})}));
  ASSERT_EQ(o.kind, Kind::ok) << o.detail;
  EXPECT_TRUE(o.information.starts_with("torch ")) << o.information;
  EXPECT_NE(o.information.find_first_of("0123456789"), std::string::npos) << o.information;
}

TEST_F(TorchTest, ComparesSchemasWithItsOwn) {
  const Finished same = run_program(
      ASSAY_TORCH,
      {"schema", "gelu(Tensor self, *, str approximate='none') -> Tensor",
       "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
       "(Tensor, Tensor, Tensor)"});
  EXPECT_EQ(same.status, 0) << same.out;
  const Finished different =
      run_program(ASSAY_TORCH, {"schema", "relu(Tensor self) -> Tensor",
                                "prelu(Tensor self, Tensor slope) -> Tensor", "prelu(Tensor"});
  EXPECT_EQ(different.status, 1) << different.out;
  EXPECT_NE(different.out.find("prelu(Tensor self, Tensor slope)"), std::string::npos) << different.out;
  EXPECT_NE(different.out.find("prelu(Tensor self, Tensor weight)"), std::string::npos) << different.out;
  EXPECT_NE(different.out.find("cannot read the schema prelu(Tensor"), std::string::npos) << different.out;
}

TEST_F(TorchTest, OffersNoKernelWhoseSchemaDiffersFromTorchs) {
  const Finished list = run_program(ASSAY_TORCH_DRIFT, {"worker", "--list"});
  ASSERT_EQ(list.status, 0) << list.err;
  // What the reason says of each operator; empty for the one that may be called.
  const std::map<std::string, std::vector<std::string>> expected{
      {"relu", {}},
      {"prelu",
       {"says prelu(Tensor self, Tensor slope) -> Tensor", "says aten::prelu(Tensor self, Tensor weight)"}},
      {"mm", {"(Tensor, Tensor)", "aten::mm(Tensor self, Tensor mat2) -> Tensor"}},
      {"add.Tensor", {"Tensor other, Scalar alpha=1", "Tensor other, *, Scalar alpha=1"}},
      {"softmax.int", {"ScalarType? dtype)", "ScalarType? dtype=None)"}},
      {"mish_mash", {"has no aten::mish_mash"}}};
  const std::vector<DescribedKernel> kernels = parse_description(list.out);
  EXPECT_EQ(kernels.size(), expected.size()) << "assay::swiglu is none of torch's";
  for (const DescribedKernel& k : kernels) {
    const auto& parts = expected.at(k.schema.substr(0, k.schema.find('(')));
    EXPECT_EQ(k.unavailable.empty(), parts.empty()) << k.schema << ": " << k.unavailable;
    for (const std::string& part : parts)
      EXPECT_NE(k.unavailable.find(part), std::string::npos) << k.unavailable;
  }
}

}  // namespace
}  // namespace assay

#else

TEST(TorchTest, IsBuilt) {
  GTEST_SKIP()
      << "assay-torch was not built (python3-dev or pybind11-dev is missing): PyTorch was not tested";
}

#endif
