#include "evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "scalars/float_state.h"

namespace assay {
namespace {

// What either admits.
Interval united(const Interval& a, const Interval& b) {
  Interval u = a;
  if (a.lower > a.upper) {
    u.lower = b.lower;
    u.upper = b.upper;
  } else if (b.lower <= b.upper) {
    u.lower = std::min(a.lower, b.lower);
    u.upper = std::max(a.upper, b.upper);
  }
  u.nan = a.nan || b.nan;
  u.positive_infinity = a.positive_infinity || b.positive_infinity;
  u.negative_infinity = a.negative_infinity || b.negative_infinity;
  u.exact_zero_sign =
      a.exact_zero_sign && b.exact_zero_sign && std::signbit(a.value) == std::signbit(b.value);
  if (a.places.empty() || b.places.empty())
    u.places.clear();
  else
    u.places.insert(u.places.end(), b.places.begin(), b.places.end());
  return u;
}

// Inputs that were not converted to f16 or bf16, and who reads them.
struct Unconverted {
  Inputs inputs;
  Reader<Tracked<double>> tracked;
  Reader<Tracked<Real>> tracked_wide;

  Unconverted(const Operator& op, std::span<const assay_value> arguments,
              std::span<const Checked::Output> outputs, std::span<const ResultFunctions> functions)
      : inputs(op, arguments, outputs, true), tracked(inputs, functions), tracked_wide(inputs, functions) {}
};

class EvaluationOf final : public Evaluation {
 public:
  EvaluationOf(const Operator& op, std::span<const ResultFunctions> functions,
               std::span<const assay_value> arguments, std::span<const Checked::Output> outputs)
      : inputs_(op, arguments, outputs),
        functions_(functions),
        value_(inputs_, functions),
        truth_(inputs_, functions),
        tracked_(inputs_, functions),
        tracked_wide_(inputs_, functions),
        dual_(inputs_, functions),
        adversary_(inputs_, functions),
        adversary_wide_(inputs_, functions),
        integer_(inputs_, functions),
        in_integers_(op.in_integers && !outputs.empty() && !is_float(outputs[0].computed_in)) {
    if (inputs_.narrows()) unconverted_ = std::make_unique<Unconverted>(op, arguments, outputs, functions);
  }

  void values(int output, std::span<double> out) override {
    if (in_integers_) {
      const std::vector<std::int64_t> exact = all_integers(output);
      std::ranges::transform(exact, out.begin(), [](std::int64_t x) { return static_cast<double>(x); });
      return;
    }
    const StandardFloatState state;
    value_.read_all(output, out);
  }

  bool integers(int output, std::span<std::int64_t> out) override {
    if (in_integers_) std::ranges::copy(all_integers(output), out.begin());
    return in_integers_;
  }

  void intervals(int output, std::span<const std::int64_t> elements, const Contract& contract,
                 const TakeInterval& take) override {
    if (in_integers_) {
      for (const std::int64_t element : elements) {
        const double x = integer(output, element);
        take(element, {.value = x, .lower = x, .upper = x});
      }
      return;
    }
    const StandardFloatState state;
    const Arithmetic& a = arithmetic_of(contract, output);
    const ArithmeticScope scope(a);
    const auto read = [&](Reader<Tracked<double>>& narrow, Reader<Tracked<Real>>& wide,
                          std::int64_t element) {
      return a.double_suffices() ? finish(narrow.read(output, element)) : finish(wide.read(output, element));
    };
    for (const std::int64_t element : by_rows(output, elements)) {
      Interval found = read(tracked_, tracked_wide_, element);
      if (contract.wide_operands && unconverted_)
        found = united(found, read(unconverted_->tracked, unconverted_->tracked_wide, element));
      take(element, std::move(found));
    }
  }

  std::int64_t row(int output, std::int64_t element) override { return value_.row(output, element); }

  double truth(int output, std::int64_t element) override {
    if (in_integers_) return integer(output, element);
    const StandardFloatState state;
    return static_cast<double>(truth_.read(output, element));
  }

  bool truth_inside(int output, std::int64_t element, const Interval& interval) override {
    if (in_integers_) return interval.contains(integer(output, element));
    const StandardFloatState state;
    const Dtype dtype = inputs_.outputs()[static_cast<std::size_t>(output)].dtype;
    return interval.contains(round_to(truth_.read(output, element), format(dtype)));
  }

  Work work() override {
    const StandardFloatState state;
    for (std::size_t i = 0; i < inputs_.count(); ++i)
      for (const Decoded& d : inputs_.tensors(i)) d.touched.assign(d.values.size(), 0);
    Work w;
    operations() = {};
    Reader<Counted> reader(inputs_, functions_);
    for (std::size_t k = 0; k < functions_.size(); ++k) {
      const Operations before = operations();
      std::vector<Counted> results(elements(static_cast<int>(k)));
      reader.read_all(static_cast<int>(k), results);
      w.bytes_written += static_cast<std::int64_t>(results.size()) * bytes(inputs_.outputs()[k].dtype);
      if (functions_[k].on_the_way) operations() = before;
    }
    w.operations = operations();
    for (std::size_t i = 0; i < inputs_.count(); ++i) {
      std::int64_t& read = w.bytes_of_argument.emplace_back(0);
      for (const Decoded& d : inputs_.tensors(i)) {
        read += std::ranges::count(d.touched, std::uint8_t{1}) * d.element_bytes;
        d.touched.clear();
      }
      w.bytes_read += read;
    }
    return w;
  }

  double derivative(int output, std::int64_t element,
                    std::span<const std::vector<double>> direction) override {
    if (in_integers_) return 0;
    const StandardFloatState state;
    if (!std::ranges::equal(direction, direction_)) {
      direction_.assign(direction.begin(), direction.end());
      dual_.set_direction(direction_);
    }
    return static_cast<double>(dual_.read(output, element).tangent);
  }

  double attacked(int output, std::int64_t element, const Contract& contract, const Attack& attack) override {
    if (in_integers_) return integer(output, element);
    const StandardFloatState state;
    const Arithmetic& a = arithmetic_of(contract, output);
    const ArithmeticScope scope(a);
    if (!attack_ || attack_->rounding != attack.rounding || attack_->shuffle != attack.shuffle ||
        attack_->fuse != attack.fuse || attack_->seed != attack.seed) {
      attack_ = attack;
      adversary_.forget();
      adversary_wide_.forget();
    }
    attack_state().attack = attack;
    if (a.double_suffices()) return finished(adversary_.read(output, element), element);
    return finished(adversary_wide_.read(output, element), element);
  }

 private:
  // Those of a row one after the other: few rows are kept, and each may be long.
  std::vector<std::int64_t> by_rows(int output, std::span<const std::int64_t> elements) const {
    std::vector<std::int64_t> ordered(elements.begin(), elements.end());
    if (functions_[static_cast<std::size_t>(output)].rows == nullptr) return ordered;
    std::vector<std::pair<std::int64_t, std::int64_t>> places;
    for (const std::int64_t e : elements) places.emplace_back(value_.row(output, e), e);
    std::ranges::stable_sort(places, {}, &std::pair<std::int64_t, std::int64_t>::first);
    std::ranges::transform(places, ordered.begin(), &std::pair<std::int64_t, std::int64_t>::second);
    return ordered;
  }
  std::size_t elements(int output) const {
    return static_cast<std::size_t>(numel(inputs_.outputs()[static_cast<std::size_t>(output)].shape));
  }

  // As memory holds them.
  std::int64_t low_bits(Integer x, int output) const {
    std::int64_t memory = 0;
    const Dtype dtype = inputs_.outputs()[static_cast<std::size_t>(output)].dtype;
    store_integer(&memory, dtype, x.value);
    return load_integer(&memory, dtype);
  }
  double integer(int output, std::int64_t element) {
    return static_cast<double>(low_bits(integer_.read(output, element), output));
  }
  std::vector<std::int64_t> all_integers(int output) {
    std::vector<Integer> wide(elements(output));
    integer_.read_all(output, wide);
    std::vector<std::int64_t> exact;
    exact.reserve(wide.size());
    for (const Integer x : wide) exact.push_back(low_bits(x, output));
    return exact;
  }

  template <class V>
  static double finished(const Adversary<V>& x, std::int64_t element) {
    ScalarOps<Adversary<V>>::begin(-1, element);  // whatever element of the row was asked for before
    return stored(x);
  }

  const Arithmetic& arithmetic_of(const Contract& contract, int output) {
    if (!contract_ || !same_arithmetic(*contract_, contract)) {
      contract_ = contract;
      arithmetic_.clear();
      for (const Checked::Output& o : inputs_.outputs())
        arithmetic_.emplace_back(contract, o.computed_in, o.dtype);
      tracked_.forget();
      tracked_wide_.forget();
      if (unconverted_) {
        unconverted_->tracked.forget();
        unconverted_->tracked_wide.forget();
      }
      adversary_.forget();
      adversary_wide_.forget();
    }
    return arithmetic_[static_cast<std::size_t>(output)];
  }

  Inputs inputs_;
  std::span<const ResultFunctions> functions_;
  Reader<double> value_;
  Reader<Real> truth_;
  Reader<Tracked<double>> tracked_;
  Reader<Tracked<Real>> tracked_wide_;
  Reader<Dual> dual_;
  Reader<Adversary<double>> adversary_;
  Reader<Adversary<Real>> adversary_wide_;
  Reader<Integer> integer_;
  bool in_integers_;
  std::unique_ptr<Unconverted> unconverted_;  // only where there is something to convert
  std::optional<Contract> contract_;          // of what the readers keep
  std::vector<Arithmetic> arithmetic_;
  std::optional<Attack> attack_;
  std::vector<std::vector<double>> direction_;
};

}  // namespace

std::unique_ptr<Evaluation> ReferenceOf::evaluate(std::span<const assay_value> arguments,
                                                  std::span<const Checked::Output> outputs) const {
  const StandardFloatState state;
  return std::make_unique<EvaluationOf>(op_, results_, arguments, outputs);
}

}  // namespace assay
