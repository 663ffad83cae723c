// References of element-wise operators: the formula of one element as a lambda over the scalar type.
//
//   const EnrolledReference leaky_relu_reference{pointwise<ops::leaky_relu>(
//       []<class S>(S x, S slope) { return select(x > S(0), x, x * slope); })};
//   const EnrolledWrong leaky_relu_wrong{pointwise_wrong<ops::leaky_relu>(
//       "larger_product", "max(x, a x), which is the same for slopes up to 1",
//       []<class S>(S x, S slope) { return maximum(x, x * slope); })};
//
// The lambda captures nothing. It takes the schema's arguments in order: of a Tensor its element, of a Scalar a number of the
// formula, every other type as in kernel.h. Another number or order of parameters does not compile.
#pragma once

#include "reference_of.h"

namespace assay {
namespace detail {

template <class S>
S of_element(const Tensor<S>& tensor, const Index& i) {
  return tensor[i];
}
template <class S>
S of_element(Scalar x, const Index&) {
  return param<S>(x);
}
template <class S, class Other>
const Other& of_element(const Other& other, const Index&) {
  return other;
}

template <const Operator& op, class Formula,
          class Arguments_ = std::make_index_sequence<op.schema.argument_count>>
struct Pointwise;

template <const Operator& op, class Formula, std::size_t... n>
struct Pointwise<op, Formula, std::index_sequence<n...>> {
  template <class S>
  S operator()(ReferenceParameter<S, op, n>... arguments, const Index& i) const {
    return Formula{}(of_element<S>(arguments, i)...);
  }
};

}  // namespace detail

template <const Operator& op, class Formula>
const Reference* pointwise(Formula, std::string_view file = __builtin_FILE(), int line = __builtin_LINE()) {
  return reference<op, detail::Pointwise<op, Formula>>(file, line);
}

template <const Operator& op, class Formula>
WrongFormula pointwise_wrong(std::string_view name, std::string_view says, Formula,
                             DtypeSet dtypes = op.dtypes, std::string_view file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
  return wrong_formula<op, detail::Pointwise<op, Formula>>(name, says, dtypes, file, line);
}

}  // namespace assay
