// Data families: what the numbers in a case's tensors look like. Each finds faults that the others cannot show.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "random.h"
#include "vocabulary/check.h"
#include "vocabulary/operator.h"
#include "vocabulary/shape_rule.h"

namespace assay {

// What a family knows of the tensor that it fills.
struct Target {
  Dtype dtype = Dtype::f32;
  Shape shape;
  int ordinal = 0;                 // among the call's tensors
  int tensors = 1;                 // how many there are
  int twin = -1;                   // ordinal of the first other tensor of the same shape, or -1
  bool parameter = false;          // one number for each channel, a slope for example
  std::int64_t terms = 1;          // no sum in the call has more terms
  int precision = 24;              // significand bits of the format that a strict kernel computes in
  std::string kinks;               // Operator::kinks, and the numbers that a tensor is compared with
  std::vector<Range> ranges;       // this tensor's of Operator::ranges
  std::vector<std::size_t> axes;   // reduced along these dimensions, see masked.h
  std::int64_t rows = -1;          // of an index tensor: how many rows, or places, it may name
  bool scales = false;             // of quantised weights
  double step = 0;                 // above 0: its numbers are divided by this one, and rounded
  std::optional<Dtype> nonzero{};  // no number is 0 when it is converted to this dtype of integers
  std::optional<IntegerRange> zero_points{};  // the range of what they are zero points of
  Stream own{0};                              // this tensor's numbers
  Stream shared{0};                           // the same for every tensor of the call
};

struct Family {
  std::string_view name;
  std::string_view meaning;
  int weight;                                             // how often random cases take it; see weight_for
  void (*fill)(const Target&, std::span<double> values);  // row-major, before rounding to the dtype
};

// Simplest first: the order in which shrinking tries them.
std::span<const Family> families();
// Numbers from 2^-10 to 2^-4, the range of scales in networks, sometimes from 2^-20 to 2^20; powers of two half of the
// time.
void fill_scales(const Target& target, std::span<double> values);
// All zero half of the time, as for symmetric weights; else anything in the range, often its ends.
void fill_zero_points(const Target& target, std::span<double> values);
// What an index tensor holds in place of the family's numbers: rows as they come, and in `edge` mostly the first and the
// last. Two families hold one index that is no row: cases that a kernel has to refuse. Precondition: target.rows > 0.
void fill_index(const Target& target, std::string_view family, std::span<double> values);
inline constexpr std::string_view kPastEnd = "past_end", kNegativeIndex = "negative_index";
inline constexpr std::string_view kMasked = "masked";  // its tensors know their axes
// 1 in place of what would be 0 as target.nonzero says, but for one element of a family of cases that a kernel has to refuse.
void keep_from_zero(const Target& target, std::string_view family, std::span<double> values);
inline constexpr std::string_view kZeroDivisor = "zero_divisor";
// Whether check_arguments must look at a family's data.
bool may_be_refused(std::string_view family);
// nullptr if there is none of this name.
const Family* find_family(std::string_view name);
// The family's weight, or 0 if it has nothing of its own for this operator.
int weight_for(const Operator& op, const Family& family);

}  // namespace assay
