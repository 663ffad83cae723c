#include "admitting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kMostHeld = 2048;    // elements of one result
constexpr std::size_t kEnoughHeld = 8;     // that show how a function errs
constexpr double kEvenlyWrong = 1.0 / 16;  // of the bound, that the middle one of them uses at least

struct Widened {
  std::string name;  // of the field
  std::string unit;  // after its number
  std::function<double(const Contract&)> stated;
  std::function<void(Contract&, double)> set;
  double first, most;  // powers of two, of which the least is looked for that admits
};

// Beyond it, an absolute error is no approximation's.
constexpr double kLeastAbsolute = 0x1p-27, kMostAbsolute = 0x1p-14;

std::vector<Widened> fields_that_widen() {
  std::vector<Widened> all;
  for (std::size_t f = 0; f < kFunctions; ++f)
    all.push_back({std::string(kFunctionNames[f]), "ulp",
                   [f](const Contract& c) { return c.accuracy[f].ulp; },
                   [f](Contract& c, double ulp) { c.accuracy[f].ulp = ulp; }, 1, kMostUlp});
  // After those: what is off by so many ulp everywhere is not said to be off by a number.
  for (std::size_t f = 0; f < kFunctions; ++f)
    all.push_back({std::string(kFunctionNames[f]), "abs",
                   [f](const Contract& c) { return c.accuracy[f].absolute; },
                   [f](Contract& c, double x) { c.accuracy[f].absolute = x; }, kLeastAbsolute, kMostAbsolute});
  all.push_back({"div", "", [](const Contract& c) { return c.div_extra; },
                 [](Contract& c, double n) { c.div_extra = n; }, 1, kMostUlp});
  all.push_back({"sqrt", "", [](const Contract& c) { return c.sqrt_extra; },
                 [](Contract& c, double n) { c.sqrt_extra = n; }, 1, kMostUlp});
  return all;
}

struct Held {
  std::size_t call;
  int output;
  std::int64_t at;
  double off;  // from the reference, beside its size
};

// Elements of a result that diverge: those that are farthest, and others that are spread. Farthest first.
void hold(const std::span<Evidence* const> calls, std::size_t call, int output, std::vector<Held>& all) {
  Evidence& e = *calls[call];
  const diff::Mask& mask = e.mask(output);
  const std::vector<double>& values = e.expectation().values(output);
  std::vector<Held> of_output;
  for (std::uint64_t i = 0; i < mask.size(); ++i) {
    stop_point_at(static_cast<std::int64_t>(i));
    if (!mask[i]) continue;
    const double right = values[i], came = e.actual(output, static_cast<std::int64_t>(i));
    const double off =
        std::fabs(came - right) / std::max(std::fabs(right), std::numeric_limits<double>::min());
    of_output.push_back({call, output, static_cast<std::int64_t>(i),
                         std::isnan(off) ? std::numeric_limits<double>::infinity() : off});
  }
  std::ranges::stable_sort(of_output, std::greater<>(), &Held::off);
  const std::size_t n = of_output.size(), far = std::min(n, kMostHeld / 2);
  for (std::size_t k = 0; k < far; ++k) all.push_back(of_output[k]);
  const std::size_t rest = n - far, more = std::min(rest, kMostHeld - far);
  for (std::size_t k = 0; k < more; ++k) all.push_back(of_output[far + k * rest / more]);
}

class Admission {
 public:
  explicit Admission(std::span<Evidence* const> calls) : calls_(calls) {
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const Call& call = calls[c]->call();
      for (std::size_t o = 0; o < call.outputs.size(); ++o) {
        const int output = static_cast<int>(o);
        if (!calls[c]->has(output) || calls[c]->mask(output).count() == 0) continue;
        possible_ = possible_ && is_float(call.outputs[o].dtype) &&
                    calls[c]->expectation().integers(output) == nullptr;
        if (possible_) hold(calls, c, output, held_);
      }
      arguments_.push_back(std::make_unique<Arguments>(call));
      evaluations_.push_back(
          find_reference(call.op->schema.name)->evaluate(arguments_.back()->values(), call.outputs));
    }
  }

  std::optional<Admitting> find() {
    if (!possible_ || held_.empty()) return std::nullopt;
    struct Found {
      const Widened* field;
      double least;
    };
    std::vector<Found> found;
    const std::vector<Widened> fields = fields_that_widen();
    for (const Widened& field : fields)
      if (const std::optional<double> least = least_that_admits(field)) found.push_back({&field, *least});
    if (found.empty()) return std::nullopt;
    const auto is_absolute = [](const Found& f) { return f.field->most == kMostAbsolute; };
    std::ranges::stable_sort(found, {},
                             [&](const Found& f) { return std::pair(is_absolute(f), f.least); });
    // Of an absolute error, many ulp are needed by a few results near zero alone.
    const auto likely = [&](const Found& f) {
      return held_.size() >= kEnoughHeld && middle_use(*f.field, f.least) >= kEvenlyWrong;
    };
    const auto best = std::ranges::find_if(found, likely);
    const bool is_likely = best != found.end();
    if (is_likely) std::rotate(found.begin(), best, best + 1);
    const auto clause = [](const Found& f) {
      return fmt::format("{}={:g}{}", f.field->name, f.least, f.field->unit);
    };
    Admitting a{.clause = clause(found[0]),
                .what = found[0].field->name,
                .least = found[0].least,
                .looked_at = held_.size()};
    for (std::size_t k = 1; k < found.size(); ++k) a.or_else.push_back(clause(found[k]));
    a.likely = is_likely;
    return a;
  }

 private:
  Contract widened(const Held& h, const Widened& field, double by) const {
    Contract contract = calls_[h.call]->contract();
    field.set(contract, by);
    return contract;
  }
  Interval interval(const Held& h, const Widened& field, double by) {
    return calls_[h.call]->rounding().widened(
        evaluations_[h.call]->interval(h.output, h.at, widened(h, field, by)), h.output, h.at);
  }
  double came(const Held& h) const { return calls_[h.call]->actual(h.output, h.at); }
  // A bound that any result is inside of admits nothing.
  bool admits(const Held& h, const Widened& field, double by) {
    const Interval i = interval(h, field, by);
    return !i.undecidable() && i.contains(came(h));
  }

  // The least power of two above what is stated. Intervals of more contain those of less: what was admitted stays so.
  std::optional<double> least_that_admits(const Widened& field) {
    if (!admits(held_[0], field, field.most)) return std::nullopt;
    double by = field.first;
    while (by <= field.stated(calls_[0]->contract())) by *= 2;
    for (const Held& h : held_) {
      stop_point();
      while (by <= field.most && !admits(h, field, by)) by *= 2;
      if (by > field.most) return std::nullopt;
    }
    return by;
  }

  double middle_use(const Widened& field, double by) {
    std::vector<double> used;
    for (const Held& h : held_) {
      stop_point();
      used.push_back(interval(h, field, by).error_over_bound(came(h)));
    }
    std::ranges::nth_element(used, used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2));
    return used[used.size() / 2];
  }

  std::span<Evidence* const> calls_;
  std::vector<std::unique_ptr<Arguments>> arguments_;
  std::vector<std::unique_ptr<Evaluation>> evaluations_;
  std::vector<Held> held_;
  bool possible_ = true;
};

}  // namespace

std::optional<Admitting> admitting(std::span<Evidence* const> calls) { return Admission(calls).find(); }

}  // namespace assay::diagnose
