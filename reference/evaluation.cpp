#include "evaluation.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "evaluation_by.h"

namespace assay {

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

namespace {

class OperatorFormula {
 public:
  static constexpr bool kInIntegers = true;
  static constexpr bool kDeep = false;
  template <class S>
  struct ReaderOf : Reader<S> {
    explicit ReaderOf(const OperatorFormula& f) : Reader<S>(f.inputs(), f.functions_) {}
  };

  OperatorFormula(const Operator& op, std::span<const ResultFunctions> functions,
                  std::span<const assay_value> arguments, std::span<const Checked::Output> outputs,
                  bool is_wide = false)
      : op_(op),
        functions_(functions),
        arguments_(arguments),
        outputs_(outputs),
        inputs_(std::make_unique<Inputs>(op, arguments, outputs, is_wide)) {}

  const Inputs& inputs() const { return *inputs_; }
  bool has_rows(std::size_t output) const { return functions_[output].rows != nullptr; }
  bool is_on_the_way(std::size_t output) const { return functions_[output].on_the_way; }
  bool narrows() const { return inputs_->narrows(); }
  // Precondition: the arguments are still there.
  OperatorFormula wide() const { return {op_, functions_, arguments_, outputs_, true}; }

 private:
  const Operator& op_;
  std::span<const ResultFunctions> functions_;
  std::span<const assay_value> arguments_;
  std::span<const Checked::Output> outputs_;
  std::unique_ptr<Inputs> inputs_;
};

}  // namespace

std::unique_ptr<Evaluation> ReferenceOf::evaluate(std::span<const assay_value> arguments,
                                                  std::span<const Checked::Output> outputs) const {
  const StandardFloatState state;
  const bool in_integers = op_.in_integers && !outputs.empty() && !is_float(outputs[0].computed_in);
  return std::make_unique<EvaluationBy<OperatorFormula>>(OperatorFormula(op_, results_, arguments, outputs),
                                                         in_integers);
}

}  // namespace assay
