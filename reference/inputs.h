// The arguments of a call as references keep them: tensors decoded, lists and texts copied, so that nothing of the
// caller's memory is needed afterwards.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "operator.h"
#include "tensor.h"

namespace assay {

class Inputs {
 public:
  // Precondition: the check of the operator gave `outputs` for these arguments.
  // Tensors are converted to the first result's dtype where the operator's dtype rule says so: that is a rounding of
  // the operator's definition. Throws std::invalid_argument for a tensor of more than kMaxRank dimensions.
  // A tensor without data is one that a graph computes: only its shape and dtype are known.
  // `wide`: but what would be rounded to f16 or bf16 is read in f32 (operands=wide, vocabulary/contract.h).
  Inputs(const Operator& op, std::span<const assay_value> arguments, std::span<const Checked::Output> outputs,
         bool wide = false);
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  // Of argument i; several for a list of tensors, none for one that is absent.
  std::span<const Decoded> tensors(std::size_t i) const { return tensors_[i]; }
  std::size_t count() const { return values_.size(); }
  // Every other argument, pointing into this object.
  const assay_value& value(std::size_t i) const { return values_[i]; }
  const assay_value& value(std::string_view argument) const {
    return values_[static_cast<std::size_t>(op_.schema.find(argument))];
  }
  std::span<const Checked::Output> outputs() const { return outputs_; }
  // Whether a tensor of a wider floating-point dtype is converted to f16 or bf16.
  bool narrows() const { return narrows_; }

 private:
  const Operator& op_;
  std::vector<std::vector<Decoded>> tensors_;
  std::vector<assay_value> values_;
  std::deque<std::vector<std::int64_t>> integers_;
  std::deque<std::vector<double>> reals_;
  std::deque<std::string> texts_;
  std::vector<Checked::Output> outputs_;
  bool narrows_ = false;
};

}  // namespace assay
