#include "vocabulary/schema.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

constexpr Schema add = parse_schema("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
static_assert(add.ns == "aten" && add.name == "add.Tensor" && add.base == "add" && add.overload == "Tensor");
static_assert(add.argument_count == 3 && add.result_count == 1);
static_assert(add.argument_storage[2].keyword_only && !add.argument_storage[1].keyword_only);
static_assert(add.argument_storage[2].type == Type::scalar && add.argument_storage[2].default_text == "1");
static_assert(add.find("other") == 1 && add.find("nothing") == -1);

constexpr Schema max_pool = parse_schema(
    "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
    "bool ceil_mode=False) -> (Tensor, Tensor)");
static_assert(max_pool.argument_count == 6 && max_pool.result_count == 2);
static_assert(max_pool.argument_storage[1].list && max_pool.argument_storage[1].list_size == 2);
static_assert(max_pool.argument_storage[2].default_text == "[]");

constexpr Schema index = parse_schema("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor");
static_assert(index.argument_storage[1].list && index.argument_storage[1].optional_items);
static_assert(!index.argument_storage[1].optional);

constexpr Schema inplace = parse_schema("relu_(Tensor(a!) self) -> Tensor(a!)");
static_assert(inplace.argument_storage[0].written && inplace.result_storage[0].written);

constexpr Schema ours =
    parse_schema("assay::swiglu(Tensor x, str approximate='none', float[]? s=None) -> Tensor out");
static_assert(ours.ns == "assay" && ours.name == "swiglu" && ours.result_storage[0].name == "out");
static_assert(ours.argument_storage[1].default_text == "'none'");
static_assert(ours.argument_storage[2].optional && ours.argument_storage[2].list);

constexpr Schema nothing = parse_schema("f() -> ()");
static_assert(nothing.argument_count == 0 && nothing.result_count == 0);

TEST(Schema, KeepsItsText) {
  EXPECT_EQ(add.text, "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  EXPECT_EQ(add.arguments()[1].name, "other");
}

}  // namespace
}  // namespace assay
