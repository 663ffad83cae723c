// An image with its padding around it gives, without padding, the same results; and these depend linearly on what stands there.
#include "outside.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "linear.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kMostSeen = 24, kLeastSeen = 4;
constexpr std::int64_t kMostPadded = 1 << 22;  // elements

struct PaddedImage {
  Call call;
  std::vector<std::int64_t> outside;  // elements of the input that are padding
};

std::size_t place_of(const Call& call, std::string_view name) {
  return static_cast<std::size_t>(call.op->schema.find(name));
}

// The same call with `number` around its image in place of padding, or nothing of another operator.
std::optional<PaddedImage> padded(const Call& call, double number) {
  if (call.op->schema.name != "convolution") return std::nullopt;
  const auto* input = std::get_if<TensorData>(&call.arguments[place_of(call, "input")]);
  const auto* padding = std::get_if<std::vector<std::int64_t>>(&call.arguments[place_of(call, "padding")]);
  const auto* transposed = std::get_if<bool>(&call.arguments[place_of(call, "transposed")]);
  if (input == nullptr || padding == nullptr || padding->empty() || transposed == nullptr || *transposed)
    return std::nullopt;
  const std::size_t images = input->shape.size() - std::min(input->shape.size(), std::size_t{2});
  std::vector<std::int64_t> around(input->shape.size());
  bool any = false;
  for (std::size_t d = 0; d < images; ++d) {
    around[2 + d] = (*padding)[padding->size() == 1 ? 0 : std::min(d, padding->size() - 1)];
    any = any || around[2 + d] > 0;
  }
  if (!any) return std::nullopt;
  Shape shape = input->shape;
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] += 2 * around[d];
  PaddedImage all{call, {}};
  TensorData larger(input->dtype, shape);
  if (larger.numel() > kMostPadded) return std::nullopt;
  for (std::int64_t at = 0; at < larger.numel(); ++at) {
    stop_point_at(at);
    std::int64_t rest = at, from = 0, inner = 1;
    bool is_inside = true;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      const std::int64_t i = rest % shape[d] - around[d];
      is_inside = is_inside && i >= 0 && i < input->shape[d];
      from += i * inner;
      inner *= input->shape[d];
    }
    larger.set(at, is_inside ? input->get(from) : number);
    if (!is_inside) all.outside.push_back(at);
  }
  all.call.arguments[place_of(call, "input")] = std::move(larger);
  for (std::int64_t& p : std::get<std::vector<std::int64_t>>(all.call.arguments[place_of(call, "padding")]))
    p = 0;
  return all;
}

// With which number, as one element says, and how far off that may be.
struct Said {
  double number, within;
};

// The shortest decimal number that all of them allow.
std::optional<double> agreed(const std::vector<Said>& said) {
  double low = -std::numeric_limits<double>::infinity(), high = -low;
  for (const Said& s : said) {
    low = std::max(low, s.number - s.within);
    high = std::min(high, s.number + s.within);
  }
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  const double middle = low + (high - low) / 2;
  for (int digits = 1; digits < 17; ++digits)
    if (const double x = std::stod(fmt::format("{:.{}g}", middle, digits)); x >= low && x <= high) return x;
  return middle;
}

}  // namespace

std::vector<Variant> outside_of(Evidence& evidence) {
  const std::optional<int> output = first_wrong_output(evidence);
  if (!output) return {};
  const auto until = std::chrono::steady_clock::now() + kMostForLinear;
  try {
    const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
    const std::optional<PaddedImage> image = padded(evidence.call(), 0);
    if (!image) return {};
    Contributions c(image->call, place_of(image->call, "input"), *output);
    for (const std::int64_t at : image->outside) c.direction()[static_cast<std::size_t>(at)] = 1;
    std::vector<Said> said;
    for (const Element& e : evidence.tried()) {
      if (said.size() == kMostSeen) break;
      if (e.output != *output || !e.diverges) continue;
      stop_now();
      const auto s = surplus(evidence, *output, e.at);
      if (!s) continue;
      const double slope = c.along(e.at);
      if (slope == 0) return {};  // it sees nothing of what is outside, and diverges
      said.push_back({s->more / slope, 2 * s->within / std::fabs(slope)});
    }
    if (said.size() < kLeastSeen) return {};
    const std::optional<double> number = agreed(said);
    if (!number || *number == 0) return {};
    Variant v{.name = "input.padded_with_another_number",
              .says = fmt::format("pads with {:.9g} in place of 0", *number)};
    v.arguments = [number = *number](Call& call) {
      std::optional<PaddedImage> changed = padded(call, number);
      if (!changed) return false;
      call = std::move(changed->call);
      return true;
    };
    v.argument = static_cast<int>(place_of(evidence.call(), "input"));
    return {std::move(v)};
  } catch (const Stopped&) {
    stop_now();  // if somebody else's time is over, and not this search's alone
  }
  return {};
}

}  // namespace assay::diagnose
