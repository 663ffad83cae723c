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

// Results of a formula whose arguments are tensors' elements and numbers, n of them. One loop for all such formulas, each of
// which is then one small function for the compiler.
template <class S>
void pointwise_elements(const Arguments<S>& arguments, Index& i, std::int64_t count, S* results,
                        S (*formula)(const S*), std::size_t n) {
  constexpr std::size_t kMost = 4;
  const Tensor<S>* tensor[kMost] = {};
  S x[kMost];
  for (std::size_t j = 0; j < n; ++j) {
    if (arguments.tensors[j].empty())
      x[j] = param<S>(unpack<Scalar>(arguments.inputs->value(j)));
    else
      tensor[j] = &arguments.tensors[j][0];
  }
  for (std::int64_t k = 0; k < count; ++k, i.step()) {
    for (std::size_t j = 0; j < n; ++j)
      if (tensor[j] != nullptr) x[j] = (*tensor[j])[i];
    results[k] = formula(x);
  }
}

consteval bool is_of_elements_and_numbers(const Operator& op) {
  for (std::size_t j = 0; j < op.schema.argument_count; ++j) {
    const Argument& a = op.schema.argument_storage[j];
    if (a.optional || a.list || (a.type != Type::tensor && a.type != Type::scalar)) return false;
  }
  return op.schema.argument_count <= 4;
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

  template <class S>
  static S of_elements(const S* x) {
    return Formula{}(x[n]...);
  }
  template <class S>
  requires(is_of_elements_and_numbers(op)) static void elements(const Arguments<S>& arguments, Index& i,
                                                                std::int64_t count, S* results) {
    pointwise_elements<S>(arguments, i, count, results, &of_elements<S>, sizeof...(n));
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
