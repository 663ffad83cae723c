#include "fused.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "linear.h"
#include "relation.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

using OfNumber = std::function<double(double)>;

struct Fused {
  std::string name, says;
  OfNumber change;
  double errs = 0;  // in units of f32: what libraries make of it
  bool errs_as_input = false;
};

double log1p_exp(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

const std::vector<Fused>& of_one_number() {
  static const std::vector<Fused> all{
      {"leaky_relu", "leaky_relu with a slope of 0.01", [](double x) { return x < 0 ? 0.01 * x : x; }, 2},
      {"clamped_to_1", "min(max(x, -1), 1)",
       [](double x) { return std::isnan(x) ? x : std::clamp(x, -1.0, 1.0); }},
      {"tanh", "tanh", [](double x) { return std::tanh(x); }, 16},
      {"silu", "silu", [](double x) { return x / (1 + std::exp(-x)); }, 16},
      // 1 + erf cancels below 0.
      {"gelu", "gelu", [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }, 16, true},
      {"gelu_by_tanh", "gelu by tanh",
       [](double x) { return x / 2 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }, 16,
       true},
      {"hardswish", "hardswish",
       [](double x) { return std::isnan(x) ? x : x * std::clamp(x + 3, 0.0, 6.0) / 6; }, 8, true},
      {"elu", "elu", [](double x) { return x < 0 ? std::expm1(x) : x; }, 16, true},
      {"selu", "selu",
       [](double x) { return 1.0507009873554805 * (x < 0 ? 1.6732632423543772 * std::expm1(x) : x); }, 16,
       true},
      {"softplus", "softplus", [](double x) { return std::isnan(x) ? x : log1p_exp(x); }, 16},
      {"mish", "mish", [](double x) { return std::isnan(x) ? x : x * std::tanh(log1p_exp(x)); }, 16, true},
      {"hardsigmoid", "hardsigmoid",
       [](double x) { return std::isnan(x) ? x : std::clamp(x + 3, 0.0, 6.0) / 6; }, 8},
      {"quick_gelu", "x sigmoid(1.702 x)", [](double x) { return x / (1 + std::exp(-1.702 * x)); }, 16},
      {"softsign", "x / (1 + |x|)", [](double x) { return x / (1 + std::fabs(x)); }, 4}};
  return all;
}

// What stands among a diagnosis's other suspects already, where it comes last and of the result as it is.
const std::vector<Fused>& known_without_bias() {
  static const std::vector<Fused> all{
      {"relu", "ReLU", [](double x) { return x < 0 ? 0 : x; }},
      {"relu6", "ReLU6", [](double x) { return std::isnan(x) ? x : std::clamp(x, 0.0, 6.0); }},
      {"sigmoid", "a sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 16},
      {"exp", "exp", [](double x) { return std::exp(x); }, 16}};
  return all;
}

constexpr double kUnit = 0x1p-24;
constexpr std::size_t kMostOfEither = 24, kLeastOfThem = 6, kLeastAtEnd = 2;
constexpr double kUnsureOfRow = 3;  // of a softmax: as many times as unsure as by its own number alone

Variant after(const Fused& f) {
  return {.name = fmt::format("results.then_{}", f.name),
          .says = fmt::format("stores {} of what is right", f.says),
          .dtypes = kFloatingPoint,
          .results =
              [change = f.change](std::vector<VariantResult>& results, const Call&) {
                if (results.empty()) return;
                for (double& x : results[0].values) x = change(x);
              },
          .change_errs = f.errs * kUnit,
          .errs_as_input = f.errs_as_input};
}

// One of the elements that are looked at.
struct Shown {
  const Element* element;
  double added = 0;  // the bias
  double product() const { return element->right.value - added; }
};

class OfEvidence {
 public:
  explicit OfEvidence(Evidence& evidence) : evidence_(evidence) {
    const std::vector<double> bias = bias_of(evidence.call());
    const std::vector<Element>& tried = evidence.tried();
    const auto take = [&](std::size_t begin, std::size_t end) {
      const std::size_t step = std::max<std::size_t>(1, (end - begin) / kMostOfEither);
      for (std::size_t i = begin; i < end; i += step) {
        const Element& e = tried[i];
        if (e.output != 0 || e.right.undecidable() || !std::isfinite(e.right.value) ||
            !std::isfinite(e.actual))
          continue;
        const double added = bias.empty() ? 0 : bias[index_of_bias(evidence.call(), e.at)];
        shown_.push_back({&e, added});
        diverging_ += e.diverges ? 1 : 0;
      }
    };
    take(0, evidence.tried_diverging());
    take(evidence.tried_diverging(), tried.size());
    bias_ = bias;
  }

  std::vector<Variant> find() {
    if (diverging_ < kLeastOfThem) return {};
    for (const Fused& f : with_numbers(false))
      if (fits(f.change, f, false)) found_.push_back(after(f));
    if (found_.empty() && !bias_.empty()) before_bias();
    if (found_.empty()) rounded();
    if (found_.empty()) of_rows();
    return std::move(found_);
  }

 private:
  // Linear operators add one number for each index of a dimension.
  static std::vector<double> bias_of(const Call& call) {
    std::vector<double> all;
    const std::string_view op = call.op->schema.name;
    if (op != "linear" && op != "convolution") return all;
    const auto* bias =
        std::get_if<TensorData>(&call.arguments[static_cast<std::size_t>(call.op->schema.find("bias"))]);
    if (bias == nullptr) return all;
    for (std::int64_t i = 0; i < bias->numel(); ++i) all.push_back(bias->get(i));
    return all;
  }
  static std::size_t index_of_bias(const Call& call, std::int64_t at) {
    const Shape& out = call.outputs[0].shape;
    if (call.op->schema.name == "linear") return static_cast<std::size_t>(at % out.back());
    std::int64_t inner = 1;
    for (std::size_t d = 2; d < out.size(); ++d) inner *= out[d];
    return static_cast<std::size_t>(at / inner % out[1]);
  }

  // Whether all elements are what `change` makes of those that may be right.
  bool fits(const OfNumber& change, const Fused& f, bool before_bias) const {
    const double unit = format(evidence_.stored(0)).unit;
    const bool narrow = bytes(evidence_.stored(0)) == 2;
    for (const Shown& s : shown_) {
      const Interval& right = s.element->right;
      const double added = before_bias ? s.added : 0;
      double least = HUGE_VAL, most = -HUGE_VAL, size = 0;
      for (const double x : {right.lower, right.value, right.upper}) {
        const double y = change(x - added) + added;
        least = std::min(least, y);
        most = std::max(most, y);
        size = std::max({size, std::fabs(y), f.errs_as_input ? std::min(std::fabs(x), 8.0) : 0});
      }
      const double slack = f.errs * kUnit * size +
                           (narrow ? 8 : 2) * unit * std::max(size, std::fabs(added)) +
                           format(evidence_.stored(0)).min_subnormal;
      if (!(s.element->actual >= least - slack && s.element->actual <= most + slack)) return false;
    }
    return true;
  }

  // The element that says most about what happens below zero: where the number is lowest; nothing if none is.
  std::optional<std::pair<double, double>> lowest(bool before_bias, double not_below) const {
    const Shown* best = nullptr;
    for (const Shown& s : shown_) {
      const double x = before_bias ? s.product() : s.element->right.value;
      if (s.element->diverges && x < 0 && x >= not_below &&
          (best == nullptr || x < (before_bias ? best->product() : best->element->right.value)))
        best = &s;
    }
    if (best == nullptr) return std::nullopt;
    const double added = before_bias ? best->added : 0;
    return std::pair(best->element->right.value - added, best->element->actual - added);
  }

  // The fewest digits that this element allows.
  double short_number(double x) const {
    const double within = 64 * format(evidence_.stored(0)).unit;
    return std::strtod(few_digits(x, within * std::fabs(x)).c_str(), nullptr);
  }

  std::vector<Fused> with_numbers(bool before_bias) const {
    std::vector<Fused> all;
    // Functions of this kind have such numbers themselves, which are recovered.
    for (const std::string_view op : {"prelu", "leaky_relu", "elu", "clamp"})
      if (evidence_.call().op->schema.name == op) return all;
    if (const auto at = lowest(before_bias, -HUGE_VAL)) {
      const double slope = short_number(at->second / at->first);
      if (slope != 0 && slope != 1 && std::isfinite(slope))
        all.push_back({fmt::format("leaky_relu_of_slope_{:.6g}", slope),
                       fmt::format("leaky_relu with a slope of {:.6g}", slope),
                       [slope](double x) { return x < 0 ? slope * x : x; }, 2});
    }
    if (const auto at = lowest(before_bias, -4)) {
      const double alpha = short_number(at->second / std::expm1(at->first));
      if (alpha != 0 && std::isfinite(alpha))
        all.push_back({fmt::format("elu_of_alpha_{:.6g}", alpha), fmt::format("elu with alpha {:.6g}", alpha),
                       [alpha](double x) { return x < 0 ? alpha * std::expm1(x) : x; }, 16, true});
      const double share = at->second / at->first,
                   beta = short_number(std::log(share / (1 - share)) / at->first);
      if (beta > 0 && std::isfinite(beta))
        all.push_back({fmt::format("swish_of_beta_{:.6g}", beta), fmt::format("x sigmoid({:.6g} x)", beta),
                       [beta](double x) { return x / (1 + std::exp(-beta * x)); }, 32, true});
    }
    if (const auto at = lowest(before_bias, -HUGE_VAL)) {
      // tanh(u) / u of u = x / cap falls from 1 to 0.
      const double share = at->second / at->first;
      double low = 1e-3, high = 1e3;
      for (int step = 0; step < 100 && share > 0 && share < 1; ++step) {
        const double u = (low + high) / 2;
        (std::tanh(u) / u > share ? low : high) = u;
      }
      // The least digits of it that explain all elements: near 0 a cap changes little, and is known by few.
      const double cap = std::fabs(at->first) / low;
      for (const double within : {0.02, 1e-3, 1e-5}) {
        const double few = std::strtod(few_digits(cap, within * cap).c_str(), nullptr);
        if (!(share > 0 && share < 1 && few > 0 && std::isfinite(few))) continue;
        const Fused capped{fmt::format("softcapped_at_{:.6g}", few),
                           fmt::format("{0:.6g} tanh(x / {0:.6g})", few),
                           [few](double x) { return few * std::tanh(x / few); }, 16};
        if (!fits(capped.change, capped, before_bias)) continue;
        all.push_back(capped);
        break;
      }
    }
    if (!before_bias)
      if (auto clamped = between()) all.push_back(std::move(*clamped));
    return all;
  }

  // min(max(x, a), b), as several elements that are the least, or the greatest, show.
  std::optional<Fused> between() const {
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (const Shown& s : shown_) {
      least = std::min(least, s.element->actual);
      most = std::max(most, s.element->actual);
    }
    const auto at_end = [&](double end) {
      return static_cast<std::size_t>(std::ranges::count_if(
          shown_, [&](const Shown& s) { return s.element->diverges && s.element->actual == end; }));
    };
    const bool below = at_end(least) >= kLeastAtEnd, above = at_end(most) >= kLeastAtEnd;
    if (!below && !above) return std::nullopt;
    const double a = below ? least : -HUGE_VAL, b = above ? most : HUGE_VAL;
    return Fused{"clamped",
                 below && above ? fmt::format("min(max(x, {:.6g}), {:.6g})", a, b)
                 : below        ? fmt::format("max(x, {:.6g})", a)
                                : fmt::format("min(x, {:.6g})", b),
                 [a, b](double x) { return std::isnan(x) ? x : std::clamp(x, a, b); }};
  }

  void before_bias() {
    std::vector<Fused> all = known_without_bias();
    all.insert(all.end(), of_one_number().begin(), of_one_number().end());
    const double largest = *std::ranges::max_element(bias_, {}, [](double x) { return std::fabs(x); });
    for (const std::vector<Fused>& some : {all, with_numbers(true)})
      for (const Fused& f : some)
        if (found_.empty() && fits(f.change, f, true))
          found_.push_back(before_bias_of(f, std::fabs(largest)));
  }

  static Variant before_bias_of(const Fused& f, double largest) {
    return {.name = fmt::format("results.{}_before_bias", f.name),
            .says = fmt::format("stores {} of the sum, and adds bias after that", f.says),
            .dtypes = kFloatingPoint,
            .change_errs = f.errs * kUnit,
            .errs_as_input = f.errs_as_input,
            .of_place = [change = f.change](std::span<const double>, const Call& call) -> Variant::OfPlace {
              return [change, bias = bias_of(call), &call](double x, std::int64_t at) {
                if (bias.empty()) return change(x);
                const double added = bias[index_of_bias(call, at)];
                return change(x - added) + added;
              };
            },
            .looks_at_others = false,
            .errs_at_least = largest};
  }

  void rounded() {
    std::vector<Fused> all = known_without_bias();
    all.insert(all.end(), of_one_number().begin(), of_one_number().end());
    for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
      const Dtype stored = evidence_.stored(0);
      if (bytes(stored) <= bytes(dtype) && stored != dtype) continue;
      for (const bool twice : {false, true})
        for (const Fused& f : all) {
          if (!found_.empty()) return;
          if (twice && stored == dtype) continue;  // as it is stored anyway
          const OfNumber change = [f, dtype, twice](double x) {
            const double y = f.change(round_to(x, format(dtype)));
            return twice ? round_to(y, format(dtype)) : y;
          };
          if (!fits(change, f, false)) continue;
          Variant v = after({fmt::format("{}_of_{}{}", f.name, name(dtype), twice ? "_twice" : ""), f.says,
                             change, f.errs, f.errs_as_input});
          v.says = fmt::format("rounds results to {}, and stores {} of that{}", name(dtype), f.says,
                               twice ? ", rounded once more" : "");
          if (twice) v.rounded_to = dtype;
          found_.push_back(std::move(v));
        }
    }
  }

  // Of all numbers along the last dimension, or along that of channels.
  void of_rows() {
    const Shape& out = evidence_.call().outputs[0].shape;
    std::set<std::size_t> dimensions;
    if (!out.empty()) dimensions.insert(out.size() - 1);
    if (out.size() > 1) dimensions.insert(1);
    for (const std::size_t d : dimensions) {
      if (out[d] < 2) continue;
      for (const bool logarithm : {false, true}) {
        Variant v{.name = fmt::format("results.then_{}softmax_over_dimension_{}", logarithm ? "log_" : "", d),
                  .says = fmt::format("stores {}softmax of what is right, over dimension {}",
                                      logarithm ? "log_" : "", d),
                  .dtypes = kFloatingPoint,
                  .change_errs = 32 * kUnit,
                  .errs_as_input = logarithm,
                  .of_place = softmax(d, logarithm),
                  .beside_errs = kUnsureOfRow};
        const Variant::OfPlace change = v.of_place(evidence_.expectation().values(0), evidence_.call());
        const bool like_it = std::ranges::all_of(shown_, [&](const Shown& s) {
          const double y = change(s.element->right.value, s.element->at);
          return std::fabs(y - s.element->actual) <= 1e-2 * std::fabs(y) + 1e-6;
        });
        if (like_it) found_.push_back(std::move(v));
      }
    }
  }

  static decltype(Variant::of_place) softmax(std::size_t d, bool logarithm) {
    return [d, logarithm](std::span<const double> all, const Call& call) -> Variant::OfPlace {
      const Shape& out = call.outputs[0].shape;
      std::int64_t inner = 1;
      for (std::size_t k = d + 1; k < out.size(); ++k) inner *= out[k];
      const std::int64_t n = d < out.size() ? out[d] : 1;
      const auto row = [inner, n](std::int64_t at) {
        return static_cast<std::size_t>(at / (inner * n) * inner + at % inner);
      };
      // The logarithm of each row's sum of exponentials.
      const std::size_t rows = all.size() / static_cast<std::size_t>(n);
      std::vector<double> most(rows, -HUGE_VAL), sum(rows);
      for (std::size_t i = 0; i < all.size(); ++i)
        most[row(static_cast<std::int64_t>(i))] = std::max(most[row(static_cast<std::int64_t>(i))], all[i]);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t r = row(static_cast<std::int64_t>(i));
        sum[r] += std::exp(all[i] - most[r]);
      }
      for (std::size_t r = 0; r < rows; ++r) sum[r] = most[r] + std::log(sum[r]);
      return [sum, row, logarithm](double x, std::int64_t at) {
        const double y = x - sum[row(at)];
        return logarithm ? y : std::exp(y);
      };
    };
  }

  Evidence& evidence_;
  std::vector<Shown> shown_;
  std::size_t diverging_ = 0;
  std::vector<double> bias_;
  std::vector<Variant> found_;
};

}  // namespace

void add_fused(const Operator& op, std::vector<Variant>& all) {
  // exp, and then x / (1 + |x|), is a sigmoid, which says more.
  const bool is_function = op.schema.argument_count > 0 && op.shapes == "self=[*] -> [*]";
  for (const Fused& f : of_one_number())
    if (!is_function || f.name != "softsign") all.push_back(after(f));
}

std::vector<Variant> fused_of(Evidence& evidence) {
  if (first_wrong_output(evidence) != 0 || evidence.call().outputs.size() != 1) return {};
  return OfEvidence(evidence).find();
}

}  // namespace assay::diagnose
