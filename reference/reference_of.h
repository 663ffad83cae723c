// Writing a reference: the formula as a functor over the scalar type, bound to its operator's schema.
//
//   struct Prelu {
//     template <class S>
//     S operator()(const Tensor<S>& self, const Tensor<S>& weight, const Index& i) const {
//       return select(self[i] > S(0), self[i], weight(i[1]) * self[i]);
//     }
//   };
//   const EnrolledReference prelu_reference{reference<ops::prelu, Prelu>()};
//
// An element-wise formula is shorter as a lambda of its elements (pointwise.h).
// One functor for each result, in order. It takes the schema's arguments in order, then what it computes:
//   Tensor: const Tensor<S>&    Tensor?: const Tensor<S>*    Tensor[]: std::span<const Tensor<S>>
//   every other type as in kernel.h; a Scalar becomes a number of the formula by param<S>(alpha)
//   const Index& i               the result's element i, which the functor returns
//   Row<S>& row                  a row of results that share work, which the functor fills; the functor says which
//                                elements are a row: the int argument that is its dimension,
//                                  static constexpr std::string_view row = "dim";
//                                or static RowShape rows(const Inputs& in, std::span<const std::int64_t> shape)
// What elements, rows or results have in common, a mean say, once<S>(row, [&] { return ...; }) computes for the first that asks
// (once.h); sums of products of two tensors' elements are faster by sum_of_products (products.h).
// A result that is found on the way to the first one (a layer norm's mean) says so, and is not counted as work of its own:
//   static constexpr bool on_the_way = true;
// A wrong formula (wrong_formula.h) is written like a right one, and enrolled after it:
//   const EnrolledWrong prelu_wrong{wrong_formula<ops::prelu, MaximumOfProducts>("name", "what it does")};
// A functor with other parameters does not compile: the error names the argument, its position and both types.
#pragma once

#include <string_view>
#include <tuple>
#include <utility>

#include "evaluation.h"
#include "kernel.h"
#include "reading.h"
#include "wrong_formula.h"

namespace assay {

// A Scalar of the call as a number of the formula; integers beyond 2^53, too.
template <class S>
S param(Scalar x) {
  if constexpr (std::is_same_v<S, Integer>)
    return S(x.integer);
  else
    return param<S>(x.real);
}

// These are the compile errors of a mismatch.
template <bool ok, std::size_t schema_has, std::size_t reference_has>
struct reference_has_another_number_of_parameters_than_its_schema {
  static_assert(ok, "a reference takes its schema's arguments in order, then const Index& or Row<S>&");
};
template <bool ok, std::size_t position, detail::Text<32> argument, class schema_says, class reference_has>
struct reference_argument_does_not_match_schema {
  static_assert(ok, "this parameter of the reference has another type than its schema says");
};

namespace detail {

template <class S, const Operator& op, std::size_t i>
consteval auto reference_parameter() {
  constexpr Argument a = op.schema.argument_storage[i];
  if constexpr (a.type != Type::tensor)
    return std::type_identity<typename Parameter<a.type, a.optional, a.list>::type_>{};
  else if constexpr (a.list)
    return std::type_identity<std::span<const Tensor<S>>>{};
  else if constexpr (a.optional)
    return std::type_identity<const Tensor<S>*>{};
  else
    return std::type_identity<const Tensor<S>&>{};
}
template <class S, const Operator& op, std::size_t i>
using ReferenceParameter = typename decltype(reference_parameter<S, op, i>())::type;

template <class S, const Operator& op, std::size_t i>
ReferenceParameter<S, op, i> reference_argument(const Arguments<S>& a) {
  using P = ReferenceParameter<S, op, i>;
  if constexpr (std::is_same_v<P, const Tensor<S>&>)
    return a.tensors[i][0];
  else if constexpr (std::is_same_v<P, const Tensor<S>*>)
    return a.tensors[i].empty() ? nullptr : &a.tensors[i][0];
  else if constexpr (std::is_same_v<P, std::span<const Tensor<S>>>)
    return a.tensors[i];
  else
    return unpack<P>(a.inputs->value(i));
}

template <const Operator& op, class F, class Member>
struct FunctorMatcher;

template <const Operator& op, class F, class R, class... P>
struct FunctorMatcher<op, F, R (F::*)(P...) const> {
  static constexpr std::size_t expected = op.schema.argument_count + 1;
  using Parameters = std::tuple<P...>;
  using Last = std::tuple_element_t<sizeof...(P) - 1, Parameters>;
  static constexpr bool is_row = std::is_same_v<Last, Row<double>&>;

  template <std::size_t... i>
  static consteval bool check(std::index_sequence<i...>) {
    (void)sizeof(reference_has_another_number_of_parameters_than_its_schema<sizeof...(P) == expected,
                                                                            expected, sizeof...(P)>);
    if constexpr (sizeof...(P) == expected) {
      ((void)sizeof(reference_argument_does_not_match_schema<
                    std::is_same_v<std::tuple_element_t<i, Parameters>, ReferenceParameter<double, op, i>>, i,
                    Text<32>(op.schema.argument_storage[i].name), ReferenceParameter<double, op, i>,
                    std::tuple_element_t<i, Parameters>>),
       ...);
      static_assert(is_row || std::is_same_v<Last, const Index&>,
                    "the last parameter of a reference is const Index& or Row<S>&");
      static_assert(std::is_same_v<R, std::conditional_t<is_row, void, double>>,
                    "a reference returns S for an Index and void for a Row");
    }
    return true;
  }
};

template <const Operator& op, class F>
struct Binding {
  using Match = FunctorMatcher<op, F, decltype(&F::template operator()<double>)>;
  using Arguments_ = std::make_index_sequence<op.schema.argument_count>;
  static_assert(Match::check(Arguments_{}));

  template <class S, std::size_t... i>
  static std::tuple<ReferenceParameter<S, op, i>...> tuple_of(const Arguments<S>& a,
                                                              std::index_sequence<i...>) {
    return {reference_argument<S, op, i>(a)...};
  }

  template <class S>
  static void elements(const Arguments<S>& arguments, Index& i, std::int64_t count, S* results) {
    if constexpr (requires { &F::template elements<S>; }) {
      F::template elements<S>(arguments, i, count, results);
    } else {
      const auto values = tuple_of<S>(arguments, Arguments_{});
      for (std::int64_t k = 0; k < count; ++k, i.step())
        results[k] = std::apply(
            [&](const auto&... a) { return F{}.template operator()<S>(a..., std::as_const(i)); }, values);
    }
  }
  template <class S>
  static void row(const Arguments<S>& arguments, Row<S>& r) {
    std::apply([&](const auto&... a) { F{}.template operator()<S>(a..., r); },
               tuple_of<S>(arguments, Arguments_{}));
  }

  template <class S>
  static constexpr Body<S> body() {
    if constexpr (std::is_same_v<S, Integer> && !op.in_integers)
      return {};
    else if constexpr (Match::is_row)
      return {nullptr, &row<S>};
    else
      return {&elements<S>, nullptr};
  }
  template <class... S>
  static constexpr std::tuple<Body<S>...> bodies(std::type_identity<std::tuple<Body<S>...>>) {
    return {body<S>()...};
  }

  static RowShape rows(const Inputs& in, std::span<const std::int64_t> shape) {
    if constexpr (requires { F::rows(in, shape); }) {
      return F::rows(in, shape);
    } else {
      constexpr int argument = op.schema.find(F::row);
      static_assert(
          argument >= 0 && op.schema.argument_storage[argument < 0 ? 0 : argument].type == Type::integer,
          "F::row names the int argument that is the dimension of a row");
      return RowShape::along(shape, in.value(argument).as.integer);
    }
  }

  static ResultFunctions functions() {
    ResultFunctions f = functions_of_results();
    f.bodies = bodies(std::type_identity<ForScalars<Body>>{});
    f.on_the_way = requires { F::on_the_way; };
    return f;
  }
  // Without what proofs ask of a formula: what is compiled is its reading in double and in integers, and its bound.
  static ResultFunctions functions_of_results() {
    ResultFunctions f;
    std::get<Body<double>>(f.bodies) = body<double>();
    std::get<Body<Integer>>(f.bodies) = body<Integer>();
    std::get<Body<Tracked<double>>>(f.bodies) = body<Tracked<double>>();
    std::get<Body<Tracked<Real>>>(f.bodies) = body<Tracked<Real>>();
    if constexpr (Match::is_row) f.rows = &rows;
    return f;
  }
};

}  // namespace detail

namespace detail {

// "reference/mm.cpp" from "../../reference/mm.cpp": the compiler's path depends on the build.
constexpr std::string_view from_reference(std::string_view path) {
  const std::size_t at = path.rfind("reference/");
  return at == std::string_view::npos ? path : path.substr(at);
}

}  // namespace detail

// The reference of `op` whose result k is computed by the k-th functor; one object for the whole program.
template <const Operator& op, class... F>
const Reference* reference(std::string_view file = __builtin_FILE(), int line = __builtin_LINE()) {
  static_assert(sizeof...(F) == op.schema.result_count, "one functor for each result of the schema");
  static const ReferenceOf object(op, {detail::Binding<op, F>::functions()...}, detail::from_reference(file),
                                  line);
  return &object;
}

// The same of formulas that are wrong on purpose.
template <const Operator& op, class... F>
WrongFormula wrong_formula(std::string_view name, std::string_view says, DtypeSet dtypes = op.dtypes,
                           std::string_view file = __builtin_FILE(), int line = __builtin_LINE()) {
  static_assert(sizeof...(F) == op.schema.result_count, "one functor for each result of the schema");
  static const ReferenceOf object(op, {detail::Binding<op, F>::functions_of_results()...},
                                  detail::from_reference(file), line);
  return {name, says, &object, dtypes};
}

}  // namespace assay
