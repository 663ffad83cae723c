// Operators for the tests of generation: those of the tree, and toys for what none of them has.
#pragma once

#include <array>
#include <vector>

#include "harness/generate/data.h"
#include "ops/activation.h"
#include "ops/binary.h"
#include "ops/mm.h"
#include "ops/prelu.h"
#include "ops/softmax.h"
#include "test/effort.h"
#include "vocabulary/operators.h"

namespace assay::toys {

inline constexpr Operator norm{
    .schema = parse_schema(
        "assay::toy_norm(Tensor input, Tensor? weight=None, float eps=1e-05, bool centred=False, "
        "int[2] pad=0, Scalar? scale=None) -> Tensor"),
    .formula = "",
    .shapes = "input=[N,C,*] weight=[C] -> [N,C,*]",
    .domains = "eps: real; scale: real",
};

inline constexpr Operator whole_numbers{
    .schema = parse_schema("assay::toy_integers(Tensor self, Tensor other, Scalar factor) -> Tensor"),
    .formula = "",
    .dtypes = only(Dtype::i64) | only(Dtype::i8) | only(Dtype::u8) | only(Dtype::boolean),
    .shapes = "self=[*] other=[*] -> [*]",
    .domains = "factor: real",
    .kinks = "5",
};

inline constexpr Operator choice{
    .schema = parse_schema(
        "assay::toy_choice(Tensor mask, Tensor self, Tensor other, str mode=\"none\", str? way=None, "
        "Scalar? least=None, Scalar? most=None) -> Tensor"),
    .formula = "",
    .dtype_rule = DtypeRule::promote,
    .shapes = "mask=[*]~ self=[*]~ other=[*]~ -> [*]",
    .domains =
        "mask: boolean; mode: one_of(none, up); way: one_of(left, right); least: real; "
        "most: real unless least",
    .ranges = "self: 1..2, -30..-10",
};

inline constexpr Operator table{
    .schema = parse_schema("assay::toy_table(Tensor weight, Tensor indices, int unused=-1) -> Tensor"),
    .formula = "",
    .shapes = "weight=[N,D] indices=[*] -> [*,D]",
    .domains = "indices: index(weight); unused: integer",
};

inline constexpr Operator planes{
    .schema = parse_schema("assay::toy_planes(Tensor self, Tensor places) -> Tensor"),
    .formula = "",
    .shapes = "self=[*,H,W] places=[*,H,W] -> [*,H,W]",
    .domains = "places: place(self)",
};

inline constexpr Operator copy{
    .schema = parse_schema("assay::toy_copy(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"),
    .formula = "",
    .dtypes = kFloatingPoint | kIntegers,
    .shapes = "self=[*] -> [*]",
    .domains = "memory_format: format(self)",
};

inline constexpr Operator steps{
    .schema = parse_schema(
        "assay::toy_steps(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor"),
    .formula = "",
    .dtypes = only(Dtype::u8) | only(Dtype::i8),
    .dtype_rule = DtypeRule::dtype_argument,
    .shapes = "self=[*] -> [*]",
    .domains = "self: dtypes(f32); scale: scale; zero_point: zero_point(dtype); dtype: dtype",
};

inline constexpr Operator without_pattern{
    .schema = parse_schema("assay::toy_unruled(Tensor self, Tensor other) -> Tensor"),
    .formula = "",
    .shapes = "self=[*] -> [*]",
};

inline constexpr Operator layers{
    .schema = parse_schema(
        "assay::toy_layers(Tensor input, int[] normalized_shape, Tensor? weight, float eps) -> (Tensor, Tensor)"),
    .formula = "",
    .shapes = "normalized_shape=[+M] input=[*,*M] weight=[*M] -> [*,*M], [*,1*M]",
    .domains = "eps: epsilon",
};

inline constexpr Operator groups{
    .schema = parse_schema(
        "assay::toy_groups(Tensor input, Tensor? weight, int N, int C, int HxW, int group) -> (Tensor, Tensor)"),
    .formula = "",
    .shapes = "input=[N,C,*] weight=[C] N=N C=C HxW=|*| -> [N,C,*], [N]",
    .domains = "weight: given; group: divisor(C)",
};

inline constexpr Operator modes{
    .schema = parse_schema("assay::toy_modes(Tensor input, bool training, bool[2] mask) -> (Tensor, Tensor)"),
    .formula = "",
    .shapes = "training=true input=[N,C,*] -> [N,C,*], [C]; training=false input=[N,C,*] -> [N,C,*], [0]",
    .domains = "mask: mask",
};

inline constexpr Operator place{
    .schema = parse_schema("assay::toy_place(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor"),
    .formula = "",
    .positions = 1,
    .shapes = "self=[*] -> [reduced(*,dim,keepdim)]",
    .domains = "dim: filled_axes(self)",
};

inline const std::array<const Operator*, 17>& all() {
  static const std::array<const Operator*, 17> operators{&ops::relu,
                                                         &ops::prelu,
                                                         &ops::prelu_backward,
                                                         &ops::add_tensor,
                                                         &ops::mm,
                                                         &ops::softmax_int,
                                                         &norm,
                                                         &whole_numbers,
                                                         &choice,
                                                         &table,
                                                         &planes,
                                                         &copy,
                                                         &steps,
                                                         &layers,
                                                         &groups,
                                                         &modes,
                                                         &place};
  static const bool enrolled = [] {
    for (const Operator* op : operators) enrol_operator(*op);
    return true;
  }();
  (void)enrolled;
  return operators;
}

// Calls visit(operator, dtype) for every dtype of every operator.
template <class Visit>
void each_row(const Visit& visit) {
  for (const Operator* op : all())
    for (int d = 0; d < kDtypes; ++d)
      if (op->dtypes.contains(static_cast<Dtype>(d))) visit(*op, static_cast<Dtype>(d));
}

// With the toys enrolled.
inline Call call_of(const std::string& case_text) {
  all();
  return materialise(parse_case(case_text));
}

inline std::vector<double> values(const Call& call, std::size_t argument) {
  const auto& t = std::get<TensorData>(call.arguments[argument]);
  std::vector<double> all;
  for (std::int64_t i = 0; i < t.numel(); ++i) all.push_back(t.get(i));
  return all;
}

}  // namespace assay::toys
