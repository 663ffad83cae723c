// What a kernel with a fault would give for a call: an interval for each element, as the reference has.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../variants/variant.h"
#include "evidence.h"

namespace assay::diagnose {

// A cause that is tried: one variant, or several after another.
struct Hypothesis {
  std::vector<const Variant*> faults;  // must outlive it
  std::string name() const;            // "weight.dropped + results.through_bf16"
  std::string says() const;
};

class Prediction {
 public:
  // Nothing, if the fault changes nothing in this call. The call, `rounding` and `right`, the reference's evaluation of this call, must
  // outlive it. With `right` a fault that leaves arguments and formula alone reads no tensor again.
  static std::optional<Prediction> of(const Hypothesis& hypothesis, const Call& call,
                                      const Contract& contract, const Rounding* rounding = nullptr,
                                      Evaluation* right = nullptr);
  // Of the call itself, with other arguments than the evidence has.
  Prediction(const Call& call, const Contract& contract) : Prediction(call, contract, {}, nullptr) {}

  Prediction(Prediction&&) = default;
  Prediction& operator=(Prediction&&) = default;

  bool admits(const Element& e);
  // Whether there is no result that both it and the reference admit: the element tells them apart.
  bool differs(const Element& e);
  bool differs(const Element& e, Prediction& other);
  // Whether it admits results that the reference does not.
  bool allows_more(const Element& e);
  // log2 of the interval's relative width: the smaller, the more it says.
  double width(const Element& e);
  // Whether a kernel that computes as it says, rounding to nearest and adding in order, gives what the reference does not
  // admit; of a wrong formula, whether its plain value does. Only of what changes no result on its way out.
  bool typically_diverges(const Element& e);
  // How far from what it foretells, computed exactly, such a kernel typically is; nothing where that is not known: of wrong
  // formulas, of integers, and of what changes results' numbers on their way out.
  std::optional<double> typical_error(const Element& e);
  // What it gives then; or with sums in another order.
  std::optional<double> typical(const Element& e);
  std::optional<double> typical(const Element& e, const Chain& chain);
  const Interval& interval(int output, std::int64_t at);
  double value(int output, std::int64_t at) { return interval(output, at).value; }
  bool in_integers(int output) const { return is_exact(output); }
  // What it makes of every element, before that is rounded to the result's dtype; not of an output in integers. `reference`: what is right,
  // where that is known, and need not be computed for a fault of results.
  std::vector<double> values(int output, const std::vector<double>* reference = nullptr);
  // Of one, which an interval's value may not be where its set is cut off: a variance is not negative.
  double exact(const Element& e);
  // The formats that it computes in, and what it does to factors.
  const Contract& contract() const { return contract_; }

 private:
  Prediction(const Call& call, const Contract& contract, std::vector<const Variant*> faults,
             Evaluation* right);
  // Where the fault is not, the call is as it was.
  void reach(const Variant& fault, const Call& call, const Contract& contract, Evaluation* right);
  // A call of its own is needed no more where nothing that is asked for reads its tensors.
  void own(std::unique_ptr<Call> changed);

  struct Output {
    // Where each element comes from, -1 for none: zero is stored then. Both empty: from where it belongs.
    std::vector<std::int64_t> from;
    std::vector<MovedFrom>
        moved;  // by these in turn, the last of which stored it; one by one, for few are asked for

    bool moves() const { return !from.empty() || !moved.empty(); }
    std::int64_t source(std::int64_t at) const;
    std::vector<std::int64_t> integers;  // the results, if the operator is computed in integers
    std::unordered_map<std::int64_t, Interval> known;
    std::vector<double> values;  // of every element, once somebody has asked for one
  };
  std::int64_t integer(int output, std::int64_t at) {
    return outputs_[static_cast<std::size_t>(output)].integers[static_cast<std::size_t>(at)];
  }
  bool is_exact(int output) const { return !outputs_[static_cast<std::size_t>(output)].integers.empty(); }
  void look_up(std::size_t output);
  void look_up_moves(Output& o, const Checked::Output& shape);
  Interval stored(Interval computed, int output, std::int64_t at);
  // What becomes of a number by its place.
  double of_place(std::size_t value, double x, std::int64_t at);
  // The reference, for results that the fault does not reach; nullptr for those that it does.
  Prediction* beside(int output, std::int64_t at) {
    return within_ != nullptr && !within_->within(output, at) ? elsewhere_.get() : nullptr;
  }

  const Call* call_;  // which has no tensors' numbers where `own_` has none
  std::unique_ptr<Call> own_;
  Evaluation* evaluation_ = nullptr;
  std::unique_ptr<Evaluation> own_evaluation_;
  bool wrong_formula_ = false;
  Attack attack_{.rounding = Attack::Rounding::nearest, .shuffle = false};  // as the fault's kernel computes
  Contract contract_;
  const Rounding* rounding_ = nullptr;
  std::vector<const Variant*> results_;   // those that change how results are stored
  std::vector<const Variant*> values_;    // of these, those that change numbers and move none
  std::vector<Variant::OfPlace> places_;  // of `values_`, once somebody has asked
  const Variant* within_ = nullptr;       // the one that does not reach all results
  std::unique_ptr<Prediction> elsewhere_;
  std::vector<Output> outputs_;
};

// log2 of an interval's relative width: the smaller, the more it says.
double width_of(const Interval& i);

// Whether two intervals share no result.
bool disjoint(const Interval& a, const Interval& b);

}  // namespace assay::diagnose
