// Results that are lost, misplaced or stored wrongly.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "variant.h"

namespace assay {
namespace {

using ResultChange = std::function<void(VariantResult&)>;

// Elements of a row, of one of the outermost slices, and all of a result.
struct Lines {
  std::size_t row, slice, all;
};

void plant_change(std::vector<Variant>& all, std::string_view what, std::string says, DtypeSet dtypes,
                  ResultChange change) {
  all.push_back({.name = fmt::format("results.{}", what),
                 .says = std::move(says),
                 .dtypes = dtypes,
                 .results = [change = std::move(change)](std::vector<VariantResult>& results, const Call&) {
                   for (VariantResult& r : results) change(r);
                 }});
}

std::size_t innermost(const Shape& shape) {
  return shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
}

std::size_t outermost(const Shape& shape, std::size_t size) {
  return shape.empty() || shape[0] == 0 ? size : size / static_cast<std::size_t>(shape[0]);
}

// `from` says where element i of `size` comes from.
template <class From>
void plant_move(std::vector<Variant>& all, std::string_view what, std::string says, From from) {
  all.push_back(moving(fmt::format("results.{}", what), std::move(says),
                       [from](const Shape& shape, std::size_t size) -> MovedFrom {
                         return [from, row = innermost(shape), slice = outermost(shape, size),
                                 size](std::size_t i) {
                           return from(i, Lines{row, slice, size});
                         };
                       }));
}

void add_moves(std::vector<Variant>& all) {
  using From = std::optional<std::size_t>;
  for (const std::size_t lanes : {2, 4, 8, 16, 32, 64})  // from two f64 to an AVX-512 register of bytes
    plant_move(all, fmt::format("tail_of_{}", lanes),
               fmt::format("stores zero after the last full vector of {}", lanes),
               [lanes](std::size_t i, const Lines& n) -> From {
                 if (i >= n.all - n.all % lanes) return std::nullopt;
                 return i;
               });
  plant_move(all, "tail_overlaps",
             "computes the last vector of 8 of the row before, where a row does not fill it",
             [](std::size_t i, const Lines& n) -> From {
               const std::size_t column = i % n.row;
               return n.row % 8 != 0 && column >= n.row - n.row % 8 && i >= n.row ? i - n.row : i;
             });
  plant_move(all, "last_repeated", "stores the last element but one twice",
             [](std::size_t i, const Lines& n) -> From { return i + 1 == n.all && i > 0 ? i - 1 : i; });
  plant_move(all, "next", "stores each result one element too early",
             [](std::size_t i, const Lines& n) -> From { return (i + 1) % n.all; });
  plant_move(all, "first_row_for_all", "stores the first row in every row",
             [](std::size_t i, const Lines& n) -> From { return i % n.row; });
  plant_move(all, "first_slice_for_all", "stores the first of the outermost slices in every one",
             [](std::size_t i, const Lines& n) -> From { return i % n.slice; });
  plant_move(all, "last_slice_lost", "stores zeros in the last of the outermost slices",
             [](std::size_t i, const Lines& n) -> From {
               if (i + n.slice >= n.all) return std::nullopt;
               return i;
             });
  plant_move(all, "columns_reversed", "stores the innermost elements in the opposite order",
             [](std::size_t i, const Lines& n) -> From { return i - i % n.row + (n.row - 1 - i % n.row); });
  plant_move(all, "behind_256_lost", "counts elements in 8 bits: those after the 256th are zero",
             [](std::size_t i, const Lines&) -> From {
               if (i >= 256) return std::nullopt;
               return i;
             });
}

void plant_each(std::vector<Variant>& all, std::string_view what, std::string says, DtypeSet dtypes,
                double (*change)(double, const Format&)) {
  plant_change(all, what, std::move(says), dtypes, [change](VariantResult& r) {
    if (!is_float(r.dtype)) return;
    for (double& x : r.values) x = change(x, format(r.dtype));
  });
}

// The low bits of an integer, which is what its dtype holds.
double stored(double x, Dtype dtype) {
  std::array<std::byte, 8> bits{};
  store_integer(bits.data(), dtype, static_cast<std::int64_t>(x));
  return static_cast<double>(load_integer(bits.data(), dtype));
}

// `results`: dtypes of operators whose results are integers.
void add_integers(std::vector<Variant>& all, DtypeSet results) {
  plant_change(all, "in_half_the_bits", "keeps half the bits of results", kArithmeticIntegers,
               [](VariantResult& r) {
                 const int lost = 64 - 4 * bytes(r.dtype);
                 const auto low = [&](std::int64_t n) {
                   return static_cast<std::int64_t>(static_cast<std::uint64_t>(n) << lost) >> lost;
                 };
                 for (std::int64_t& n : r.integers) n = low(n);
                 if (is_float(r.dtype)) return;
                 for (double& x : r.values)
                   x = stored(static_cast<double>(low(static_cast<std::int64_t>(x))), r.dtype);
               });
  plant_change(
      all, "one_too_high", "gives integers that are too high by 1 where they are odd", results,
      [](VariantResult& r) {
        for (std::int64_t& n : r.integers)
          n = static_cast<std::int64_t>(static_cast<std::uint64_t>(n) + static_cast<std::uint64_t>(n & 1));
        if (is_float(r.dtype)) return;
        for (double& x : r.values) x = stored(std::fmod(x, 2) != 0 ? x + 1 : x, r.dtype);
      });
}

// Of operators that give places: those of results whose bit is set.
void add_places(std::vector<Variant>& all, std::uint32_t which) {
  all.push_back({.name = "results.place_in_8_bits",
                 .says = "keeps the low 8 bits of a place: 256 becomes 0",
                 .results = [which](std::vector<VariantResult>& results, const Call&) {
                   for (std::size_t k = 0; k < results.size(); ++k) {
                     if ((which >> k & 1) == 0) continue;
                     for (std::int64_t& n : results[k].integers) n &= 0xFF;
                     for (double& x : results[k].values)
                       x = static_cast<double>(static_cast<std::int64_t>(x) & 0xFF);
                   }
                 }});
}

// Of operators that give truth values.
void add_truths(std::vector<Variant>& all) {
  const auto change = [&](std::string_view what, std::string says, std::int64_t (*of)(std::int64_t)) {
    plant_change(all, what, std::move(says), kFloatingPoint | kIntegers, [of](VariantResult& r) {
      for (std::int64_t& n : r.integers) n = of(n);
      for (double& x : r.values) x = static_cast<double>(of(static_cast<std::int64_t>(x)));
    });
  };
  change("true_as_255", "stores the byte 255 for true, as a vector's mask is",
         [](std::int64_t n) -> std::int64_t { return n != 0 ? 255 : 0; });
  change("always_true", "stores true everywhere", [](std::int64_t) -> std::int64_t { return 1; });
}

void add_numbers(std::vector<Variant>& all) {
  const DtypeSet halves = only(Dtype::f16) | only(Dtype::bf16), wide = only(Dtype::f64) | only(Dtype::f32);
  plant_each(all, "truncated", "cuts off bits instead of rounding to nearest", halves,
             [](double x, const Format& f) {
               return std::isnan(x) ? x : x < 0 ? round_up(x, f) : round_down(x, f);
             });
  all.back().concerns = Concerns::rounding;
  plant_each(all, "through_bf16", "stores results through bf16", wide | only(Dtype::f16),
             [](double x, const Format&) { return round_to(x, format(Dtype::bf16)); });
  plant_each(all, "through_f16", "stores results through f16", wide | only(Dtype::bf16),
             [](double x, const Format&) { return round_to(x, format(Dtype::f16)); });
  plant_each(all, "through_f32", "stores results through f32", only(Dtype::f64),
             [](double x, const Format&) { return round_to(x, format(Dtype::f32)); });
  plant_each(all, "off_by_1e-3", "gives results that are too large by 0.1%", wide,
             [](double x, const Format&) { return x * 1.001; });
  plant_each(all, "off_by_1e-5", "gives results that are too large by 0.001%", wide,
             [](double x, const Format&) { return x * 1.00001; });
  plant_each(all, "off_by_1e-8", "gives results that are too large by 0.000001%", only(Dtype::f64),
             [](double x, const Format&) { return x * 1.00000001; });
  plant_each(all, "too_large_by_2_percent", "gives results that are too large by 2%", halves,
             [](double x, const Format&) { return x * 1.02; });
  plant_each(all, "nan_as_zero", "stores 0 instead of NaN", kFloatingPoint,
             [](double x, const Format&) { return std::isnan(x) ? 0 : x; });
  plant_each(all, "infinity_as_largest", "stores the largest number instead of infinity", kFloatingPoint,
             [](double x, const Format& f) {
               const double y = round_to(x, f);
               return std::isinf(y) ? std::copysign(f.max, y) : x;
             });
  plant_each(all, "infinity_as_nan", "stores NaN instead of infinity", kFloatingPoint,
             [](double x, const Format& f) { return std::isinf(round_to(x, f)) ? std::nan("") : x; });
  plant_each(all, "negative_zero_lost", "stores 0 instead of -0", kFloatingPoint,
             [](double x, const Format& f) { return round_to(x, f) == 0 ? 0 : x; });
  plant_each(all, "subnormal_as_zero", "stores 0 instead of subnormal numbers", kFloatingPoint,
             [](double x, const Format& f) {
               return std::fabs(round_to(x, f)) < f.min_normal ? std::copysign(0.0, x) : x;
             });
  plant_each(all, "small_as_zero", "stores 0 instead of numbers below 2^-10", kFloatingPoint,
             [](double x, const Format&) { return std::fabs(x) < 0x1p-10 ? std::copysign(0.0, x) : x; });
  plant_each(all, "sign_lost", "stores results without their sign", kFloatingPoint,
             [](double x, const Format&) { return std::fabs(x); });
  add_integers(all, kArithmeticIntegers);
}

}  // namespace

// They are shown their own numbers, counted from 1.
bool moves_results(const Variant& variant, const Call& call) {
  std::vector<VariantResult> results;
  for (const Checked::Output& o : call.outputs) {
    const auto n = static_cast<std::size_t>(numel(o.shape));
    std::vector<std::int64_t> own(n);
    std::iota(own.begin(), own.end(), std::int64_t{1});
    results.push_back({o.dtype, o.shape, {}, std::move(own), n});
  }
  std::vector<VariantResult> moved = results;
  variant.results(moved, call);
  return !std::ranges::equal(results, moved, {}, &VariantResult::integers, &VariantResult::integers);
}

void add_result_variants(const Operator& op, std::vector<Variant>& all) {
  add_moves(all);
  const bool only_positions = op.positions == (1u << op.schema.result_count) - 1;
  const bool only_truths = op.truths == (1u << op.schema.result_count) - 1;
  if (only_positions)
    add_integers(all, kFloatingPoint | kArithmeticIntegers);
  else if (only_truths)
    add_truths(all);
  else
    add_numbers(all);
  if (op.positions != 0) add_places(all, op.positions);
  for (std::size_t k = 0; k < op.schema.result_count; ++k) {
    const std::string which = op.schema.result_count == 1 ? std::string() : fmt::format("_{}", k);
    const std::string says = op.schema.result_count == 1 ? "the result" : fmt::format("result {}", k);
    all.push_back(
        {.name = fmt::format("results.unwritten{}", which),
         .says = fmt::format("does not write {}", says),
         .results = [k](std::vector<VariantResult>& results, const Call&) { results[k].stored = 0; },
         .garbage = true});
    all.push_back({.name = fmt::format("results.last_unwritten{}", which),
                   .says = fmt::format("does not write the last element of {}", says),
                   .results = [k](std::vector<VariantResult>& results,
                                  const Call&) { results[k].stored -= results[k].stored > 0 ? 1 : 0; },
                   .garbage = true});
    all.push_back({.name = fmt::format("results.zero{}", which),
                   .says = fmt::format("stores zeros in {}", says),
                   .results = [k](std::vector<VariantResult>& results,
                                  const Call&) { results[k].move([](std::size_t) { return std::nullopt; }); },
                   .moves = true});
  }
}

}  // namespace assay
