// What may be wrong with a kernel: the variants that the self-test plants, as far as they show in results, and others that
// people get wrong, which it does not.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "../variants/variant.h"

namespace assay::diagnose {

// Of two that explain the same, the one that stands first is named first.
std::vector<Variant> suspects_of(const Operator& op);
// More of the kinds that have many members: they are tried where none of those explains everything.
std::vector<Variant> further_suspects_of(const Operator& op);

// Each element becomes change(its row-major number, what it was). Whether any is another then.
bool change_each(TensorData& t, const std::function<double(std::int64_t, double)>& change);

// Whether the variant can show in results: not if it changes memory or the check of arguments alone, nor if what it gives depends on other
// calls or on what memory held.
bool shows(const Variant& v);

// Windows whose padding before an image is another one than after it. Where a variant of the argument `padding` explains the same results,
// these are named, because they stand first.
void add_paddings(const Operator& op, std::vector<Variant>& all);
// Tensors read in another order, or as other numbers; arguments misread.
void add_readings(const Operator& op, std::vector<Variant>& all);
// Results stored in another order, or changed by what was meant to follow.
void add_stores(const Operator& op, std::vector<Variant>& all);
// Results that a mask has made infinite.
void add_masks(std::vector<Variant>& all);

}  // namespace assay::diagnose
