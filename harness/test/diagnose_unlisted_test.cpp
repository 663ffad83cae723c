// Faults that no list of causes has: wrong arithmetic at odd places. Where they are must show, or what was used instead.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "harness/diagnose/diagnosis.h"
#include "harness/generate/data.h"
#include "vocabulary/case.h"

namespace assay::diagnose {
namespace {

// What a wrong kernel knows of one element.
struct At {
  const Call& call;
  const std::vector<double>& right;  // of the first result
  std::int64_t i;                    // row-major
  Shape index;

  double is() const { return right[static_cast<std::size_t>(i)]; }
  const TensorData& tensor(int k) const {
    return std::get<TensorData>(call.arguments[static_cast<std::size_t>(k)]);
  }
  double input(int k) const { return tensor(k).get(i); }  // of as many elements as the result
  double of(int k, std::int64_t j) const { return tensor(k).get(j); }
};

struct Unlisted {
  const char* what;
  const char* on;
  double (*wrong)(const At&);
};

constexpr const char* kPrelu = "prelu:f32:self=4x6x5x7,weight=6:data=normal:seed=1";
constexpr const char* kRelu = "relu:f32:self=8x70:data=normal:seed=2";
constexpr const char* kAdd = "add.Tensor:f32:self=12x37,other=12x37,alpha=2:data=normal:seed=3";
constexpr const char* kMul = "mul.Tensor:f32:self=12x37,other=12x37:data=normal:seed=4";
constexpr const char* kMm = "mm:f32:self=17x33,mat2=33x29:data=normal:seed=5";
constexpr const char* kLinear = "linear:f32:input=9x20,weight=15x20,bias=15:data=normal:seed=6";
constexpr const char* kConvolution =
    "convolution:f32:input=2x4x9x9,weight=6x4x3x3,bias=6,stride=[1,1],padding=[1,1],dilation=[1,1],transposed=false,"
    "output_padding=[0,0],groups=1:data=normal:seed=7";
constexpr const char* kSoftmax = "softmax.int:f32:self=14x24,dim=1:data=normal:seed=8";
constexpr const char* kLayerNorm =
    "native_layer_norm:f32:input=20x16,normalized_shape=[16],weight=16,bias=16,eps=1e-05:data=normal:seed=9";
constexpr const char* kBatchNorm =
    "native_batch_norm:f32:input=5x6x11,weight=6,bias=6,running_mean=6,running_var=6,training=false,momentum=0.1,"
    "eps=1e-05:data=uniform:seed=10";
constexpr const char* kGelu = "gelu:f32:self=9x41:data=normal:seed=11";
constexpr const char* kElu = "elu:f32:self=9x41,alpha=1.0,scale=1.0,input_scale=1.0:data=normal:seed=12";
constexpr const char* kPool =
    "avg_pool2d:f32:self=2x3x9x9,kernel_size=[3,3],stride=[1,1],padding=[1,1]:data=normal:seed=13";
constexpr const char* kMean = "mean.dim:f32:self=60x21,dim=[1],keepdim=false:data=offset:seed=14";
constexpr const char* kNearest =
    "upsample_nearest2d:f32:self=1x2x5x6,output_size=[10,18]:data=normal:seed=15";
constexpr const char* kTanh = "tanh:f32:self=9x41:data=normal:seed=16";
constexpr const char* kCumsum = "cumsum:f32:self=6x90,dim=1:data=uniform:seed=17";

double slope(const At& a) { return a.of(1, a.index[1]); }
double prelu(const At& a, double s) { return a.input(0) > 0 ? a.input(0) : s * a.input(0); }

const Unlisted kUnlisted[] = {
    {"slopes 7% too large", kPrelu, [](const At& a) { return prelu(a, 1.07 * slope(a)); }},
    {"slopes 0.01 too large", kPrelu, [](const At& a) { return prelu(a, slope(a) + 0.01); }},
    {"0 below -1", kPrelu, [](const At& a) { return a.input(0) < -1 ? 0 : a.is(); }},
    {"one slope doubled", kPrelu,
     [](const At& a) { return a.index[1] == 3 ? prelu(a, 2 * slope(a)) : a.is(); }},
    {"odd columns passed on", kPrelu, [](const At& a) { return a.index[3] % 2 == 1 ? a.input(0) : a.is(); }},
    {"last rows without sign", kPrelu,
     [](const At& a) { return a.index[2] >= 3 ? std::fabs(a.is()) : a.is(); }},
    {"slopes squared from channel 3 on", kPrelu,
     [](const At& a) { return a.index[1] > 2 ? prelu(a, slope(a) * slope(a)) : a.is(); }},
    {"channel 0 moved up", kPrelu, [](const At& a) { return a.index[1] == 0 ? a.is() + 1e-3 : a.is(); }},
    {"slopes of two channels exchanged", kPrelu,
     [](const At& a) {
       return prelu(a, a.of(1, a.index[1] == 1 ? 4 : a.index[1] == 4 ? 1 : a.index[1]));
     }},
    {"sine of the slopes", kPrelu, [](const At& a) { return prelu(a, std::sin(slope(a))); }},
    {"another threshold", kRelu, [](const At& a) { return a.input(0) < 0.5 ? 0 : a.is(); }},
    {"ends at 1.5", kRelu, [](const At& a) { return std::min(a.is(), 1.5); }},
    {"leaks in row 5", kRelu,
     [](const At& a) {
       return a.index[0] == 5 ? std::max(a.is(), 0.0) + 0.03 * std::min(a.input(0), 0.0) : a.is();
     }},
    {"every sixteenth halved", kRelu, [](const At& a) { return a.i % 16 == 15 ? a.is() / 2 : a.is(); }},
    {"alpha 10% larger", kAdd, [](const At& a) { return a.input(0) + 2.2 * a.input(1); }},
    {"columns from 32 on not added", kAdd,
     [](const At& a) { return a.index[1] >= 32 ? a.input(0) : a.is(); }},
    {"self 0.2% larger", kAdd, [](const At& a) { return 1.002 * a.input(0) + 2 * a.input(1); }},
    {"rows 4 to 7 subtract", kAdd,
     [](const At& a) { return a.index[0] / 4 == 1 ? a.input(0) - 2 * a.input(1) : a.is(); }},
    {"no sign where both are negative", kMul,
     [](const At& a) { return a.input(0) < 0 && a.input(1) < 0 ? -a.is() : a.is(); }},
    {"large factors cut off", kMul, [](const At& a) { return std::min(a.input(0), 1.0) * a.input(1); }},
    {"column 7 is 0", kMm, [](const At& a) { return a.index[1] == 7 ? 0 : a.is(); }},
    {"0.4% too large", kMm, [](const At& a) { return a.is() * (1 + 0x1p-8); }},
    {"each eighth row moved up", kMm,
     [](const At& a) { return a.index[0] % 8 == 7 ? a.is() + 0.5 : a.is(); }},
    {"a block with the other sign", kMm,
     [](const At& a) { return a.index[0] >= 8 && a.index[1] >= 16 ? -a.is() : a.is(); }},
    {"half the bias", kLinear, [](const At& a) { return a.is() - 0.5 * a.of(2, a.index[1]); }},
    {"bias of the next but two", kLinear,
     [](const At& a) { return a.is() - a.of(2, a.index[1]) + a.of(2, (a.index[1] + 3) % 15); }},
    {"bias twice from 8 on", kLinear,
     [](const At& a) { return a.index[1] >= 8 ? a.is() + a.of(2, a.index[1]) : a.is(); }},
    {"left border too small", kConvolution,
     [](const At& a) { return a.index[3] == 0 ? 0.9 * a.is() : a.is(); }},
    {"bottom row too large", kConvolution,
     [](const At& a) { return a.index[2] == 8 ? 1.2 * a.is() : a.is(); }},
    {"channel 5 too small", kConvolution,
     [](const At& a) { return a.index[1] == 5 ? 0.97 * a.is() : a.is(); }},
    {"everything moved up", kConvolution, [](const At& a) { return a.is() + 0.1; }},
    {"bias 1.5 times", kConvolution, [](const At& a) { return a.is() + 0.5 * a.of(2, a.index[1]); }},
    {"rows from 7 on not normalised", kSoftmax,
     [](const At& a) { return a.index[0] >= 7 ? 3 * a.is() : a.is(); }},
    {"small shares lost", kSoftmax, [](const At& a) { return a.is() < 0.02 ? 0 : a.is(); }},
    {"weight 0.9 times", kLayerNorm,
     [](const At& a) { return 0.9 * (a.is() - a.of(3, a.index[1])) + a.of(3, a.index[1]); }},
    {"no bias at odd places", kLayerNorm,
     [](const At& a) { return a.index[1] % 2 == 1 ? a.is() - a.of(3, a.index[1]) : a.is(); }},
    {"bias 0.25 too large", kLayerNorm, [](const At& a) { return a.is() + 0.25; }},
    {"weights in an order of their own", kBatchNorm,
     [](const At& a) {
       constexpr int kOrder[] = {2, 0, 1, 5, 3, 4};
       const double bias = a.of(2, a.index[1]);
       return (a.is() - bias) / a.of(1, a.index[1]) * a.of(1, kOrder[a.index[1]]) + bias;
     }},
    {"bias 1.5 times", kBatchNorm, [](const At& a) { return a.is() + 0.5 * a.of(2, a.index[1]); }},
    {"the identity above 2", kGelu, [](const At& a) { return a.input(0) > 1.5 ? a.input(0) : a.is(); }},
    {"0 below -1", kGelu, [](const At& a) { return a.input(0) < -1 ? 0 : a.is(); }},
    {"alpha 1.2", kElu, [](const At& a) { return a.input(0) > 0 ? a.is() : 1.2 * a.is(); }},
    {"input scaled by 1.1", kElu,
     [](const At& a) { return a.input(0) > 0 ? a.is() : std::expm1(1.1 * a.input(0)); }},
    {"right border divided by 6", kPool,
     [](const At& a) { return a.index[3] == 8 ? a.is() * 9 / 6 : a.is(); }},
    {"one number too many", kMean, [](const At& a) { return a.is() * 21 / 22; }},
    {"odd rows one column on", kNearest,
     [](const At& a) {
       return a.index[2] % 2 == 1 && a.index[3] < 17 ? a.right[static_cast<std::size_t>(a.i) + 1] : a.is();
     }},
    {"x - x^3 / 3 for small ones", kTanh,
     [](const At& a) {
       const double x = a.input(0);
       return std::fabs(x) < 0.5 ? x - x * x * x / 3 : a.is();
     }},
    {"begins again at 64", kCumsum,
     [](const At& a) {
       return a.index[1] >= 64 ? a.is() - a.right[static_cast<std::size_t>(a.i - a.index[1] + 63)] : a.is();
     }},
};

Diagnosis diagnosis_of(const Unlisted& u) {
  const Call call = materialise(parse_case(u.on));
  EXPECT_EQ(call.error, "") << u.on;
  Expectation right(call);
  ExpectedOutputs outputs;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    TensorData t(call.outputs[o].dtype, call.outputs[o].shape);
    const std::vector<double>& values = right.values(static_cast<int>(o));
    for (std::int64_t i = 0; i < t.numel(); ++i) {
      At at{call, values, i, Shape(t.shape.size())};
      std::int64_t rest = i;
      for (std::size_t d = t.shape.size(); d-- > 0; rest /= t.shape[d]) at.index[d] = rest % t.shape[d];
      t.set(i, o == 0 ? u.wrong(at) : at.is());
    }
    outputs.emplace_back(t.packed());
  }
  Evidence evidence(call, parse_contract("", call.outputs[0].computed_in), std::move(outputs));
  return diagnose(evidence, {.patience = {.pairs = {}}});
}

TEST(DiagnoseUnlisted, WhereTheyAreOrWhatWasUsedShows) {
  std::size_t shown = 0;
  std::string others;
  for (const Unlisted& u : kUnlisted) {
    const Diagnosis d = diagnosis_of(u);
    ASSERT_NE(d.kind, Diagnosis::Kind::no_fault) << u.what << " on " << u.on;
    bool found = d.kind == Diagnosis::Kind::named;
    for (const Inverted& i : d.inverted) found = found || i.reproduced >= 0.99;
    // That it is wrong everywhere says nothing of where.
    const auto& rule = d.where[0].rule;
    found = found || (rule && rule->text != "everywhere" && rule->precision >= 0.95 && rule->recall >= 0.95);
    shown += found ? 1 : 0;
    if (!found) others += std::string(u.what) + " on " + u.on + ":\n" + to_text(d, Style(false));
  }
  ASSERT_GE(std::size(kUnlisted), 40u);
  EXPECT_GE(shown * 100, std::size(kUnlisted) * 80) << others;
  RecordProperty("shown", static_cast<int>(shown));
  std::printf("%zu of %zu shown\n%s", shown, std::size(kUnlisted), others.c_str());
}

}  // namespace
}  // namespace assay::diagnose
