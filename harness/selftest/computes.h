// Which variants an operator can have at all.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "../variants/variant.h"

namespace assay {

// What an operator computes in some of the cases of a self-test, what it reads, and which of its arguments can be wrong.
class Computes {
 public:
  Computes(const Operator& op, Dtype dtype, std::uint64_t seed, std::uint64_t cases);

  // Whether there is such a variant of the operator.
  bool has(const Variant& v) const;

 private:
  bool has(Concerns c) const;

  std::vector<bool> reads_;          // by argument
  std::set<std::string> breakable_;  // arguments
  bool rounds_ = false, arithmetic_ = false, products_ = false, sums_ = false, functions_ = false,
       moments_ = false;
};

}  // namespace assay
