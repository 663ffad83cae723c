// An evaluation of any formula: of one operator, or of a graph.
//
//   struct OperatorFormula {
//     const Inputs& inputs() const;                       // of the call
//     template <class S> using ReaderOf = Reader<S>;      // constructed from the formula by reader<S>()
//     ...
//   };
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "reading.h"
#include "reference.h"
#include "scalars/float_state.h"

namespace assay {

// What either admits.
Interval united(const Interval& a, const Interval& b);

// Formula:
//   inputs()                          of the call, whose elements Counted marks
//   template ReaderOf<S>              what reads it with a scalar, constructed by ReaderOf<S>(formula)
//   has_rows(output)                  whether elements share work by rows
//   is_on_the_way(output)             whether its work is another output's
//   narrows(), wide()                 whether inputs are converted to f16 or bf16; the same formula without
//   kInIntegers                       whether it may be computed in integers, for which there is a ReaderOf<Integer>
//   kDeep                             whether errors pass through so many operations that it is worth to know which are the same
template <class Formula>
class EvaluationBy final : public Evaluation {
 public:
  EvaluationBy(Formula formula, bool in_integers) : formula_(std::move(formula)), in_integers_(in_integers) {
    if (formula_.narrows()) unconverted_ = std::make_unique<Unconverted>(formula_.wide());
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
    if (Formula::kDeep && a.double_suffices()) return sharpened(output, by_rows(output, elements), take);
    const auto read = [&](auto& narrow, auto& wide, std::int64_t element) {
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
    const Dtype dtype = formula_.inputs().outputs()[static_cast<std::size_t>(output)].dtype;
    return interval.contains(round_to(truth_.read(output, element), format(dtype)));
  }

  Work work() override {
    const StandardFloatState state;
    for (std::size_t i = 0; i < formula_.inputs().count(); ++i)
      for (const Decoded& d : formula_.inputs().tensors(i)) d.touched.assign(d.values.size(), 0);
    Work w;
    operations() = {};
    typename Formula::template ReaderOf<Counted> reader(formula_);
    for (std::size_t k = 0; k < formula_.inputs().outputs().size(); ++k) {
      const Operations before = operations();
      std::vector<Counted> results(elements(static_cast<int>(k)));
      reader.read_all(static_cast<int>(k), results);
      w.bytes_written +=
          static_cast<std::int64_t>(results.size()) * bytes(formula_.inputs().outputs()[k].dtype);
      if (formula_.is_on_the_way(k)) operations() = before;
    }
    w.operations = operations();
    for (std::size_t i = 0; i < formula_.inputs().count(); ++i) {
      std::int64_t& read = w.bytes_of_argument.emplace_back(0);
      for (const Decoded& d : formula_.inputs().tensors(i)) {
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
  // With errors that numbers share counted once, while that is not too much work.
  void sharpened(int output, const std::vector<std::int64_t>& elements, const TakeInterval& take) {
    const TapeScope scope(&tape_);
    struct Result {
      Tracked<double> x;
      bool nonfinite;
      std::vector<std::int64_t> places;
    };
    for (std::size_t k = 0; k < elements.size(); k += Tape::kLanes) {
      const auto some = std::span(elements).subspan(k, std::min(Tape::kLanes, elements.size() - k));
      std::vector<Result> results;
      for (const std::int64_t element : some) {
        const Tracked<double> x = tracked_.read(output, element);
        results.push_back({x, read_nonfinite(), places()});
        tape_.protect_last();
      }
      std::vector<Tracked<double>*> numbers;
      for (Result& r : results) numbers.push_back(&r.x);
      if (tape_.work() < kMostWork) tape_.sharpen(numbers);
      for (std::size_t l = 0; l < some.size(); ++l) {
        read_nonfinite() = results[l].nonfinite;
        places() = results[l].places;
        take(some[l], finish(results[l].x));
      }
    }
  }

  // Those of a row one after the other: few rows are kept, and each may be long.
  std::vector<std::int64_t> by_rows(int output, std::span<const std::int64_t> elements) const {
    std::vector<std::int64_t> ordered(elements.begin(), elements.end());
    if (!formula_.has_rows(static_cast<std::size_t>(output))) return ordered;
    std::vector<std::pair<std::int64_t, std::int64_t>> places;
    for (const std::int64_t e : elements) places.emplace_back(value_.row(output, e), e);
    std::ranges::stable_sort(places, {}, &std::pair<std::int64_t, std::int64_t>::first);
    std::ranges::transform(places, ordered.begin(), &std::pair<std::int64_t, std::int64_t>::second);
    return ordered;
  }
  std::size_t elements(int output) const {
    return static_cast<std::size_t>(
        numel(formula_.inputs().outputs()[static_cast<std::size_t>(output)].shape));
  }

  // As memory holds them.
  std::int64_t low_bits(Integer x, int output) const {
    std::int64_t memory = 0;
    const Dtype dtype = formula_.inputs().outputs()[static_cast<std::size_t>(output)].dtype;
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
      for (const Checked::Output& o : formula_.inputs().outputs())
        arithmetic_.emplace_back(contract, o.computed_in, o.dtype);
      forget();
    }
    const Arithmetic& a = arithmetic_[static_cast<std::size_t>(output)];
    // What lies on the way to one result has been rounded in its formats, which may not be those of another.
    if (Formula::kDeep && read_for_ >= 0 &&
        !same_formats(a, arithmetic_[static_cast<std::size_t>(read_for_)]))
      forget();
    read_for_ = output;
    return a;
  }
  static bool same_formats(const Arithmetic& a, const Arithmetic& b) {
    return a.compute == b.compute && a.accumulate == b.accumulate && a.multiply == b.multiply &&
           a.result == b.result;
  }
  // What readings under one arithmetic keep.
  void forget() {
    tracked_.forget();
    tracked_wide_.forget();
    tape_.clear();
    if (unconverted_) {
      unconverted_->tracked.forget();
      unconverted_->tracked_wide.forget();
    }
    adversary_.forget();
    adversary_wide_.forget();
    read_for_ = -1;
  }

  template <class S>
  using ReaderOf = typename Formula::template ReaderOf<S>;
  // What is not there for formulas that are not computed in integers.
  struct NoIntegers {
    explicit NoIntegers(const Formula&) {}
    Integer read(int, std::int64_t) { return Integer(0); }
    void read_all(int, std::span<Integer>) {}
  };
  template <bool in_integers, class = void>
  struct IntegerReader {
    using type = NoIntegers;
  };
  template <class None>
  struct IntegerReader<true, None> {
    using type = ReaderOf<Integer>;
  };

  // Inputs that were not converted to f16 or bf16, and who reads them.
  struct Unconverted {
    Formula formula;
    ReaderOf<Tracked<double>> tracked{formula};
    ReaderOf<Tracked<Real>> tracked_wide{formula};

    explicit Unconverted(Formula wide) : formula(std::move(wide)) {}
    Unconverted(const Unconverted&) = delete;
    Unconverted& operator=(const Unconverted&) = delete;
  };

  // Terms of the tape that are looked at under one contract, a few nanoseconds each.
  static constexpr std::uint64_t kMostWork = std::uint64_t{1} << 29;

  Formula formula_;
  Tape tape_;  // of tracked_
  ReaderOf<double> value_{formula_};
  ReaderOf<Real> truth_{formula_};
  ReaderOf<Tracked<double>> tracked_{formula_};
  ReaderOf<Tracked<Real>> tracked_wide_{formula_};
  ReaderOf<Dual> dual_{formula_};
  ReaderOf<Adversary<double>> adversary_{formula_};
  ReaderOf<Adversary<Real>> adversary_wide_{formula_};
  typename IntegerReader<Formula::kInIntegers>::type integer_{formula_};
  bool in_integers_;
  std::unique_ptr<Unconverted> unconverted_;  // only where there is something to convert
  std::optional<Contract> contract_;          // of what the readers keep
  std::vector<Arithmetic> arithmetic_;
  int read_for_ = -1;  // the result that they were last read for
  std::optional<Attack> attack_;
  std::vector<std::vector<double>> direction_;
};

}  // namespace assay
