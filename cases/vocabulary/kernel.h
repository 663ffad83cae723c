// Binds a C++ function to an operator's schema, and enters it into the table of kernels.
//
//   void relu(const View& self, View& out);
//   constexpr assay_kernel kernels[] = {kernel<ops::relu, relu>("cpu.avx2", {.contract = "..."})};
//   const Enrolled enrolled{kernels};
//
// The function takes the schema's arguments in order, then one View& for each result:
//   Tensor: const View&      Tensor?: const View*    Scalar: Scalar       int: std::int64_t     float: double
//   bool: bool               str: std::string_view   ScalarType: Dtype    int[]: std::span<const std::int64_t>
//   MemoryFormat: MemoryFormat            X?: std::optional<X>
// A function with other parameters does not compile: the error names the argument, its position and both types.
// It says "not supported" by throwing Refused.
#pragma once

#include <assay/kernel.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "memory_format.h"
#include "operator.h"
#include "view.h"

namespace assay {

// A number as the caller wrote it. ATen's Scalar.
struct Scalar {
  double real = 0;
  std::int64_t integer = 0;
  bool is_integer = false;
};

// Thrown by a kernel that does not support a call; the message is the reason.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Thrown by a kernel that cannot go on and whose device says why: the message of a fault that would else be a crash.
struct Crashed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct KernelOptions {
  const char* contract = nullptr;
  int (*refuses)(const assay_call*) = nullptr;
  const char* (*unavailable)() = nullptr;
  const char* source = nullptr;
  const char* environment = nullptr;
  std::uint32_t flags = ASSAY_CHECKS_ARGUMENTS;
};

// Writes the message and returns ASSAY_REFUSED.
int refuse(const assay_call* call, const char* message);

// Called by a kernel: which code runs, when that is not plain from its name ("brg:avx512_core"). It stands in the
// results. The text is kept until the thunk below hands it to the caller.
void say_information(std::string_view text);
void deliver_information(const assay_call* call);

// The check of the operator whose schema text this is, on a call; ASSAY_OK or ASSAY_REFUSED with the message.
int check_call(const Operator& op, const assay_call* call);

namespace detail {

template <std::size_t n>
struct Text {
  char characters[n]{};
  constexpr Text() = default;
  constexpr Text(std::string_view s) {
    for (std::size_t i = 0; i < s.size() && i + 1 < n; ++i) characters[i] = s[i];
  }
};

template <Type type>
struct Plain;
template <>
struct Plain<Type::tensor> {
  using type = const View&;
};
template <>
struct Plain<Type::scalar> {
  using type = Scalar;
};
template <>
struct Plain<Type::integer> {
  using type = std::int64_t;
};
template <>
struct Plain<Type::real> {
  using type = double;
};
template <>
struct Plain<Type::boolean> {
  using type = bool;
};
template <>
struct Plain<Type::string> {
  using type = std::string_view;
};
template <>
struct Plain<Type::memory_format> {
  using type = MemoryFormat;
};
template <>
struct Plain<Type::dtype> {
  using type = Dtype;
};

template <Type type, bool optional, bool list>
struct Parameter {
  using type_ = typename Plain<type>::type;
};
template <Type type>
struct Parameter<type, true, false> {
  using type_ = std::optional<typename Plain<type>::type>;
};
template <>
struct Parameter<Type::tensor, true, false> {
  using type_ = const View*;
};
template <Type type>
struct Parameter<type, false, true> {
  using type_ = std::span<const std::conditional_t<type == Type::real, double, std::int64_t>>;
};
template <>
struct Parameter<Type::tensor, false, true> {
  using type_ = std::span<const View* const>;
};
template <Type type>
struct Parameter<type, true, true> {
  using type_ = std::optional<typename Parameter<type, false, true>::type_>;
};

// The C++ type that a schema asks of the kernel's parameter i: arguments first, then results.
template <const Operator& op, std::size_t i>
consteval auto schema_says() {
  if constexpr (i < op.schema.argument_count) {
    constexpr Argument a = op.schema.argument_storage[i];
    return std::type_identity<typename Parameter<a.type, a.optional, a.list>::type_>{};
  } else {
    return std::type_identity<View&>{};
  }
}
template <const Operator& op, std::size_t i>
using SchemaSays = typename decltype(schema_says<op, i>())::type;

template <class P>
P unpack(const assay_value& v) {
  if constexpr (std::is_same_v<P, const View&>) {
    return *static_cast<const View*>(v.as.tensor);
  } else if constexpr (std::is_same_v<P, const View*>) {
    return v.kind == ASSAY_KIND_NONE ? nullptr : static_cast<const View*>(v.as.tensor);
  } else if constexpr (std::is_same_v<P, Scalar>) {
    if (v.kind == ASSAY_KIND_DOUBLE) return {v.as.real, 0, false};
    return {static_cast<double>(v.as.integer), v.as.integer, true};
  } else if constexpr (std::is_same_v<P, std::int64_t>) {
    return v.as.integer;
  } else if constexpr (std::is_same_v<P, double>) {
    return v.kind == ASSAY_KIND_DOUBLE ? v.as.real : static_cast<double>(v.as.integer);
  } else if constexpr (std::is_same_v<P, bool>) {
    return v.as.integer != 0;
  } else if constexpr (std::is_same_v<P, std::string_view>) {
    return v.as.string;
  } else if constexpr (std::is_same_v<P, Dtype>) {
    return *dtype_of(v.as.dtype);
  } else if constexpr (std::is_same_v<P, MemoryFormat>) {
    return static_cast<MemoryFormat>(v.as.integer);
  } else if constexpr (std::is_same_v<P, std::span<const std::int64_t>>) {
    return {v.as.integers, v.count};
  } else if constexpr (std::is_same_v<P, std::span<const double>>) {
    return {v.as.reals, v.count};
  } else if constexpr (std::is_same_v<P, std::span<const View* const>>) {
    return {reinterpret_cast<const View* const*>(v.as.tensors), v.count};
  } else {  // std::optional
    if (v.kind == ASSAY_KIND_NONE) return std::nullopt;
    return unpack<typename P::value_type>(v);
  }
}

}  // namespace detail

// These two are the compile errors of a mismatch.
template <bool ok, std::size_t schema_has, std::size_t kernel_has>
struct kernel_has_another_number_of_parameters_than_its_schema {
  static_assert(ok, "a kernel takes its schema's arguments in order, then one View& for each result");
};
template <bool ok, std::size_t position, detail::Text<32> argument, class schema_says, class kernel_has>
struct kernel_argument_does_not_match_schema {
  static_assert(ok, "this parameter of the kernel has another type than its schema says");
};

namespace detail {

template <const Operator& op, class F>
struct Matcher;

template <const Operator& op, class... P>
struct Matcher<op, void (*)(P...)> {
  static constexpr std::size_t arguments = op.schema.argument_count;
  static constexpr std::size_t expected = arguments + op.schema.result_count;

  template <std::size_t i>
  static constexpr std::string_view parameter_name() {
    if constexpr (i < arguments) return op.schema.argument_storage[i].name;
    return "(result)";
  }

  template <std::size_t... i>
  static consteval bool check(std::index_sequence<i...>) {
    (void)sizeof(kernel_has_another_number_of_parameters_than_its_schema<sizeof...(P) == expected, expected,
                                                                         sizeof...(P)>);
    if constexpr (sizeof...(P) == expected)
      ((void)sizeof(
           kernel_argument_does_not_match_schema<std::is_same_v<P, SchemaSays<op, i>>, i,
                                                 Text<32>(parameter_name<i>()), SchemaSays<op, i>, P>),
       ...);
    return true;
  }

  template <auto fn, std::size_t... i>
  static void call(const assay_call* c, std::index_sequence<i...>) {
    fn(get<i, P>(c)...);
  }
  template <std::size_t i, class T>
  static T get(const assay_call* c) {
    if constexpr (i < arguments)
      return unpack<T>(c->arguments[i]);
    else
      return *static_cast<View*>(c->outputs[i - arguments]);
  }
};

}  // namespace detail

template <const Operator& op, auto fn>
consteval assay_kernel kernel(const char* name, KernelOptions options = {}) {
  using Match = detail::Matcher<op, decltype(+fn)>;
  static_assert(Match::check(std::make_index_sequence<Match::expected>{}));
  assay_kernel k{};
  k.size = sizeof(assay_kernel);
  k.flags = options.flags;
  k.schema = op.schema.text.data();
  k.name = name;
  k.run = [](const assay_call* call) -> int {
    if (check_call(op, call) != ASSAY_OK) return ASSAY_REFUSED;
    try {
      Match::template call<fn>(call, std::make_index_sequence<Match::expected>{});
      deliver_information(call);
    } catch (const Refused& refused) {
      return refuse(call, refused.what());
    } catch (const Crashed&) {
      throw;
    } catch (const std::exception& error) {
      refuse(call, error.what());
      return 1;
    }
    return ASSAY_OK;
  };
  k.refuses = options.refuses;
  k.unavailable = options.unavailable;
  k.contract = options.contract;
  k.source = options.source;
  k.environment = options.environment;
  return k;
}

// Enters a table when the program starts. The file is for the audit that every kernel file enrolled something.
class Enrolled {
 public:
  template <std::size_t n>
  explicit Enrolled(const assay_kernel (&kernels)[n], const char* file = __builtin_FILE()) {
    enrol(kernels, n, file);
  }
  Enrolled(const assay_kernel* kernels, std::size_t n, const char* file = __builtin_FILE()) {
    enrol(kernels, n, file);
  }

 private:
  static void enrol(const assay_kernel* kernels, std::size_t n, const char* file);
};

struct EnrolledKernel {
  assay_kernel kernel;
  std::string_view file;
};
std::span<const EnrolledKernel> enrolled_kernels();

}  // namespace assay
