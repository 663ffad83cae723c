#include "ops/bits.h"

#include "pointwise.h"

namespace assay {
namespace {

// Elements are Integer. Other scalars only count what is done: one multiplication.
template <class S, class Operation>
S by_bits(const S& x, const S& y, const Operation& operation) {
  if constexpr (std::is_same_v<S, Integer>)
    return Integer(operation(x.value, y.value));
  else
    return x * y;
}

struct BitwiseNot {
  template <class S>
  S operator()(const Tensor<S>& self, const Index& i) const {
    const S x = self[i];
    if (self.dtype() == Dtype::boolean) return S(1) - x;
    return by_bits(x, x, [](std::int64_t a, std::int64_t) { return ~a; });
  }
};

const EnrolledReference bits_reference[] = {
    EnrolledReference{pointwise<ops::bitwise_and_tensor>([]<class S>(S x, S y) {
      return by_bits(x, y, [](std::int64_t a, std::int64_t b) { return a & b; });
    })},
    EnrolledReference{pointwise<ops::bitwise_or_tensor>([]<class S>(S x, S y) {
      return by_bits(x, y, [](std::int64_t a, std::int64_t b) { return a | b; });
    })},
    EnrolledReference{pointwise<ops::bitwise_xor_tensor>([]<class S>(S x, S y) {
      return by_bits(x, y, [](std::int64_t a, std::int64_t b) { return a ^ b; });
    })},
    // Of bool the opposite: its one bit.
    EnrolledReference{reference<ops::bitwise_not, BitwiseNot>()},
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

const EnrolledWrong bits_wrong[] = {
    EnrolledWrong{pointwise_wrong<ops::bitwise_and_tensor>(
        "logical", "gives 1 where neither is 0",
        []<class S>(S x, S y) { return select(x != S(0) && y != S(0), S(1), S(0)); }, kArithmeticIntegers)},
    EnrolledWrong{pointwise_wrong<ops::bitwise_or_tensor>(
        "logical", "gives 1 where one of them is not 0",
        []<class S>(S x, S y) { return select(x != S(0) || y != S(0), S(1), S(0)); }, kArithmeticIntegers)},
    EnrolledWrong{pointwise_wrong<ops::bitwise_or_tensor>(
        "sum", "gives x + y, which carries", []<class S>(S x, S y) { return x + y; }, kArithmeticIntegers)},
    EnrolledWrong{pointwise_wrong<ops::bitwise_xor_tensor>(
        "or", "gives x | y",
        []<class S>(S x, S y) {
          return by_bits(x, y, [](std::int64_t a, std::int64_t b) { return a | b; });
        })},
    EnrolledWrong{pointwise_wrong<ops::bitwise_xor_tensor>(
        "power", "gives x^y, the power", []<class S>(S x, S y) { return pow(x, y); }, kArithmeticIntegers)},
    EnrolledWrong{pointwise_wrong<ops::bitwise_not>(
        "negated", "gives -x", []<class S>(S x) { return S(0) - x; }, kArithmeticIntegers)},
    EnrolledWrong{pointwise_wrong<ops::bitwise_not>(
        "logical", "gives x == 0", []<class S>(S x) { return select(x == S(0), S(1), S(0)); },
        kArithmeticIntegers)},
};

}  // namespace
}  // namespace assay
