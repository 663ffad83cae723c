// Batch norms that an engine has folded into the convolution before them: their scale is in its weight, their shift in its bias.
//
//   s = weight of the norm * rsqrt(running variance + eps)
//   weight * s,  (bias - running mean) * s + bias of the norm
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "../files/case_file.h"
#include "../model/call.h"
#include "dump.h"
#include "readers.h"

namespace assay {

// What a convolution and its batch norm are in a graph's text, each a name or an expression.
struct FoldedTerms {
  std::string weight, bias;  // of the convolution; the bias may be "none"
  std::string gamma, beta;   // of the norm; either may be "none"
  std::string mean, variance, eps;
  std::size_t dimensions = 4;  // of the weight
  std::string wrong_scale{};   // in place of gamma * rsqrt(variance + eps)
};
std::string folded_weight(const FoldedTerms& t);
std::string folded_bias(const FoldedTerms& t);

class Foldings {
 public:
  // All must outlive this object.
  Foldings(const CaseFile& trace, const Readers& readers, Dump& dump);

  struct Folding {
    std::size_t norm = 0;                    // the call of the batch norm
    std::optional<TensorData> weight, bias;  // the engine's, where the dump has them folded
    std::string weight_name, bias_name;      // in the dump
    std::string fault;                       // what is wrong with them, or empty
  };
  // Of a convolution whose result a batch norm reads, and nothing else. nullptr if it is none.
  const Folding* of(std::size_t convolution) const;
  // The convolution whose batch norm this call is.
  std::optional<std::size_t> convolution_of(std::size_t norm) const;

 private:
  void find(std::size_t convolution);
  void look_at_parameters(std::size_t convolution, Folding& f);
  // What is wrong with a parameter that was folded.
  std::string fault_of(const RecordedCall& own, const RecordedCall& norm, std::size_t convolution,
                       const Folding& f, bool is_weight, const TensorData& dumped,
                       const std::string& name) const;

  const CaseFile& trace_;
  const Readers& readers_;
  Dump& dump_;
  std::map<std::size_t, Folding> all_;
  std::map<std::size_t, std::size_t> convolutions_;  // by norm
};

}  // namespace assay
