#include "exchanged.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "vocabulary/reference.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

// Each pair of indices is tried, of which a long dimension has thousands.
#ifdef ASSAY_SANITIZED
constexpr std::chrono::seconds kMostForPairs{20};
#else
constexpr std::chrono::seconds kMostForPairs{1};
#endif
constexpr std::int64_t kLongestExchanged = 64, kMostExchanged = 1 << 20;
constexpr std::size_t kDecisive = 6;

// Exchanges two indices of a dimension. Whether any element is another then.
bool exchange_indices(TensorData& t, std::size_t dimension, std::int64_t a, std::int64_t b) {
  std::int64_t inner = 1, outer = 1;
  for (std::size_t d = 0; d < dimension; ++d) outer *= t.shape[d];
  for (std::size_t d = dimension + 1; d < t.shape.size(); ++d) inner *= t.shape[d];
  const auto size = static_cast<std::size_t>(bytes(t.dtype));
  bool changed = false;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      std::byte* const x = t.element((o * t.shape[dimension] + a) * inner + i);
      std::byte* const y = t.element((o * t.shape[dimension] + b) * inner + i);
      changed = changed || !std::equal(x, x + size, y);
      std::swap_ranges(x, x + size, y);
    }
  return changed;
}

class Exchanges {
 public:
  explicit Exchanges(Evidence& evidence) : evidence_(evidence), call_(evidence.call()) {}

  std::vector<Variant> find() {
    for (std::size_t a = 0; a < call_.arguments.size(); ++a) {
      auto* const t = std::get_if<TensorData>(&call_.arguments[a]);
      if (t == nullptr || t->numel() > kMostExchanged) continue;
      for (std::size_t d = 0; d < t->shape.size(); ++d)
        if (t->shape[d] > 1 && t->shape[d] <= kLongestExchanged) in_dimension(a, *t, d);
    }
    return std::move(found_);
  }

 private:
  void in_dimension(std::size_t argument, TensorData& t, std::size_t dimension) {
    for (std::int64_t i = 0; i < t.shape[dimension]; ++i)
      for (std::int64_t j = i + 1; j < t.shape[dimension]; ++j) {
        stop_now();
        const bool changed = exchange_indices(t, dimension, i, j);
        const bool fits = changed && gives_what_came();
        exchange_indices(t, dimension, i, j);
        if (!fits) continue;
        const std::string_view name = call_.op->schema.argument_storage[argument].name;
        found_.push_back({.name = fmt::format("{}.exchanged_in_dimension_{}", name, dimension),
                          .says = fmt::format("reads indices {} and {} of dimension {} of {} in exchange", i,
                                              j, dimension, name),
                          .arguments =
                              [argument, dimension, i, j](Call& call) {
                                auto* const read = std::get_if<TensorData>(&call.arguments[argument]);
                                return read != nullptr && read->shape.size() > dimension &&
                                       read->shape[dimension] > j && exchange_indices(*read, dimension, i, j);
                              },
                          .argument = static_cast<int>(argument)});
        found_.back().moves = true;
      }
  }

  // Of some of those that diverge.
  bool gives_what_came() {
    const Arguments arguments(call_);
    const auto evaluation =
        find_reference(call_.op->schema.name)->evaluate(arguments.values(), call_.outputs);
    const std::size_t step = std::max<std::size_t>(1, evidence_.tried_diverging() / kDecisive);
    for (std::size_t i = 0; i < evidence_.tried_diverging(); i += step) {
      const Element& e = evidence_.tried()[i];
      Interval admitted = evaluation->interval(e.output, e.at, evidence_.contract());
      if (!evidence_.rounding().stored.empty())
        admitted = evidence_.rounding().widened(std::move(admitted), e.output, e.at);
      if (!admitted.contains(e.actual)) return false;
    }
    return true;
  }

  Evidence& evidence_;
  Call call_;  // with indices in exchange, while one is tried
  std::vector<Variant> found_;
};

}  // namespace

std::vector<Variant> exchanged_of(Evidence& evidence) {
  // A few elements would be given by much.
  if (evidence.tried_diverging() < kDecisive || find_reference(evidence.call().op->schema.name) == nullptr ||
      evidence.expectation().integers(0) != nullptr)
    return {};
  const auto until = std::chrono::steady_clock::now() + kMostForPairs;
  try {
    const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
    return Exchanges(evidence).find();
  } catch (const Stopped&) {
    stop_now();  // if somebody else's time is over, and not this search's alone
  }
  return {};
}

}  // namespace assay::diagnose
