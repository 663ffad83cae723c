#include "winograd.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "linear.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kMostErrors = 160, kLeastErrors = 48;
constexpr double kLikeWinograd = 0.6, kLeastSlope = 0.4, kMostSlope = 2.5;

// y = A^T [(G w G^T) * (B^T x B)] A, of m x m results from (m + 2) x (m + 2) inputs.
struct Transforms {
  int m;
  std::vector<std::vector<float>> to_input, to_weight, to_output;  // B^T, G, A^T
};

const Transforms& transforms(int m) {
  static const Transforms two{2,
                              {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                              {{1, 0, 0}, {.5f, .5f, .5f}, {.5f, -.5f, .5f}, {0, 0, 1}},
                              {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  static const Transforms four{
      4,
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}},
      {{1.f / 4, 0, 0},
       {-1.f / 6, -1.f / 6, -1.f / 6},
       {-1.f / 6, 1.f / 6, -1.f / 6},
       {1.f / 24, 1.f / 12, 1.f / 6},
       {1.f / 24, -1.f / 12, 1.f / 6},
       {0, 0, 1}},
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
  return m == 2 ? two : four;
}

using Square = std::vector<std::vector<float>>;

// T x T^T in f32.
Square transformed(const Square& t, const Square& x) {
  const std::size_t n = t.size(), k = x.size();
  Square half(n, std::vector<float>(k)), all(n, std::vector<float>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < k; ++j)
      for (std::size_t l = 0; l < k; ++l) half[i][j] += t[i][l] * x[l][j];
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t l = 0; l < k; ++l) all[i][j] += half[i][l] * t[j][l];
  return all;
}

// A kernel: transformed tensors are kept in one format, and products added in another.
struct WinogradKind {
  int m;
  Dtype kept, added;
};
constexpr WinogradKind kWinograds[] = {{2, Dtype::f32, Dtype::f32},  {4, Dtype::f32, Dtype::f32},
                                       {2, Dtype::f16, Dtype::f32},  {4, Dtype::f16, Dtype::f32},
                                       {2, Dtype::f16, Dtype::f16},  {4, Dtype::f16, Dtype::f16},
                                       {2, Dtype::bf16, Dtype::f32}, {4, Dtype::bf16, Dtype::f32}};

class Convolved {
 public:
  // Nothing of another operator, or of windows that the algorithm is not for.
  static std::optional<Convolved> of(const Call& call) {
    if (call.op->schema.name != "convolution") return std::nullopt;
    Convolved c;
    c.shape_ = call.outputs[0].shape;
    const auto tensor = [&](std::string_view name) { return std::get_if<TensorData>(&value(call, name)); };
    const auto list = [&](std::string_view name) {
      const auto* all = std::get_if<std::vector<std::int64_t>>(&value(call, name));
      return all == nullptr ? std::vector<std::int64_t>{} : *all;
    };
    const auto one = [](std::int64_t n) { return n == 1; };
    c.input_ = tensor("input");
    c.weight_ = tensor("weight");
    c.bias_ = tensor("bias");
    c.padding_ = list("padding");
    const auto* transposed = std::get_if<bool>(&value(call, "transposed"));
    const auto* groups = std::get_if<std::int64_t>(&value(call, "groups"));
    if (c.input_ == nullptr || c.weight_ == nullptr || c.shape_.size() != 4 || transposed == nullptr ||
        *transposed || groups == nullptr || c.weight_->shape[2] != 3 || c.weight_->shape[3] != 3 ||
        c.padding_.empty() || !std::ranges::all_of(list("stride"), one) ||
        !std::ranges::all_of(list("dilation"), one))
      return std::nullopt;
    if (c.padding_.size() == 1) c.padding_.push_back(c.padding_[0]);
    c.of_group_ = c.shape_[1] / *groups;
    return c;
  }

  // Before it is rounded to be stored.
  double element(std::int64_t at, const WinogradKind& kind) const {
    const Transforms& t = transforms(kind.m);
    const std::int64_t w = at % shape_[3], h = at / shape_[3] % shape_[2],
                       k = at / (shape_[2] * shape_[3]) % shape_[1],
                       n = at / (shape_[1] * shape_[2] * shape_[3]);
    const std::int64_t channels = weight_->shape[1], first = k / of_group_ * channels;
    const auto size = static_cast<std::size_t>(kind.m + 2);
    const std::int64_t top = h / kind.m * kind.m - padding_[0], left = w / kind.m * kind.m - padding_[1];
    const Format &kept = format(kind.kept), &added = format(kind.added);
    Square sum(size, std::vector<float>(size)), x = sum, window(3, std::vector<float>(3));
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::size_t i = 0; i < 9; ++i)
        window[i / 3][i % 3] = number(*weight_, (k * channels + c) * 9 + static_cast<std::int64_t>(i));
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j)
          x[i][j] =
              input(n, first + c, top + static_cast<std::int64_t>(i), left + static_cast<std::int64_t>(j));
      const Square u = transformed(t.to_weight, window), v = transformed(t.to_input, x);
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j) {
          const double product = round_to(u[i][j], kept) * round_to(v[i][j], kept);
          sum[i][j] = static_cast<float>(
              round_to(sum[i][j] + static_cast<double>(static_cast<float>(product)), added));
        }
    }
    const Square y = transformed(t.to_output, sum);
    const float result = y[static_cast<std::size_t>(h % kind.m)][static_cast<std::size_t>(w % kind.m)];
    return bias_ == nullptr ? result : static_cast<double>(result + number(*bias_, k));
  }

 private:
  static const CallValue& value(const Call& call, std::string_view name) {
    return call.arguments[static_cast<std::size_t>(call.op->schema.find(name))];
  }
  static float number(const TensorData& t, std::int64_t i) { return static_cast<float>(t.get(i)); }
  float input(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    const Shape& s = input_->shape;
    if (h < 0 || w < 0 || h >= s[2] || w >= s[3]) return 0;
    return number(*input_, ((n * s[1] + c) * s[2] + h) * s[3] + w);
  }

  const TensorData *input_ = nullptr, *weight_ = nullptr, *bias_ = nullptr;
  std::vector<std::int64_t> padding_;
  Shape shape_;
  std::int64_t of_group_ = 1;
};

}  // namespace

std::optional<ByWinograd> winograd_of(Evidence& evidence) {
  const std::optional<Convolved> convolved = Convolved::of(evidence.call());
  if (!convolved || !evidence.has(0) || !is_float(evidence.call().outputs[0].dtype)) return std::nullopt;
  std::vector<Surplus> errors;
  const std::size_t step = std::max<std::size_t>(1, evidence.tried().size() / kMostErrors);
  for (std::size_t i = 0; i < evidence.tried().size(); i += step)
    if (const auto s = surplus(evidence, 0, evidence.tried()[i].at)) errors.push_back(*s);
  if (errors.size() < kLeastErrors) return std::nullopt;
  std::optional<ByWinograd> best;
  for (const WinogradKind& kind : kWinograds) {
    double both = 0, came = 0, foretold = 0;
    for (const Surplus& e : errors) {
      stop_now();
      const double right = evidence.expectation().values(0)[static_cast<std::size_t>(e.at)];
      const double error = convolved->element(e.at, kind) - right;
      if (!std::isfinite(error)) continue;
      both += e.more * error;
      came += e.more * e.more;
      foretold += error * error;
    }
    if (came == 0 || foretold == 0) continue;
    const double correlation = both / std::sqrt(came * foretold), slope = both / foretold;
    if (correlation < kLikeWinograd || slope < kLeastSlope || slope > kMostSlope ||
        (best && correlation <= best->correlation))
      continue;
    const std::string_view kept = name(kind.kept), added = name(kind.added);
    best = {
        fmt::format("algorithm.winograd_f{}_in_{}", kind.m, kept),
        fmt::format(
            "computes by Winograd's F({0}x{0}, 3x3), with transformed inputs and weights in {1} and sums in {2}",
            kind.m, kept, added),
        correlation};
  }
  return best;
}

}  // namespace assay::diagnose
