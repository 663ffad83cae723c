// Operators with every kind of argument, for texts that speak of one.
#pragma once

#include "vocabulary/operator.h"

namespace assay::fuzz {

inline constexpr Operator kToy{
    .schema =
        parse_schema("assay::toy(Tensor self, Tensor? other=None, *, Scalar alpha=1, int[2] stride=[1, 2], "
                     "int n=3, float eps=1e-5, bool flag=False, str mode=\"mean\", ScalarType? dtype=None, "
                     "MemoryFormat? memory_format=None, float[] scales=[], bool[3] mask=[True, False, True]) "
                     "-> Tensor"),
    .shapes = "self=[N,C,*] other=[C] -> [N,C,*]",
};
inline constexpr Operator kList{
    .schema = parse_schema("assay::toy_list(Tensor[] tensors, Tensor?[] more=[], int dim=0) -> Tensor")};
inline constexpr Operator kIndexed{
    .schema = parse_schema("assay::toy_indexed(Tensor weight, Tensor indices) -> Tensor"),
    .domains = "indices: index(weight)"};

}  // namespace assay::fuzz
