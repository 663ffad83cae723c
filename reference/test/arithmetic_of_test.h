// Scalars in tests stand in the arithmetic of a contract, as they do in an evaluation.
#pragma once

#include <limits>
#include <string_view>

#include "../scalars/adversary.h"
#include "../scalars/tracked.h"

namespace assay::testing {

// The arithmetic of this contract while the object lives.
struct Under {
  explicit Under(Dtype result, std::string_view contract = {})
      : Under(Arithmetic(parse(contract, result), result)) {}
  explicit Under(const Arithmetic& a) : arithmetic(a), scope(arithmetic) { read_nonfinite() = false; }

  static Contract parse(std::string_view contract, Dtype result) {
    return contract.empty() ? Contract{} : parse_contract(std::string(contract) + " -- test", result);
  }

  Arithmetic arithmetic;
  ArithmeticScope scope;
};

using T = Tracked<double>;

inline constexpr double kMax = std::numeric_limits<float>::max();

inline T input(double x) { return ScalarOps<T>::input(x); }
// A closed number with this error.
inline T around(double value, double error) {
  T t = T::exact(value);
  t.error = error;
  t.grid = error == 0 ? t.grid : kNoGrid;
  return t;
}
inline T sum_of(const std::vector<T>& terms) {
  return sum<T>(static_cast<std::int64_t>(terms.size()),
                [&](std::int64_t k) { return terms[static_cast<std::size_t>(k)]; });
}
inline float f(double x) { return static_cast<float>(x); }

}  // namespace assay::testing
