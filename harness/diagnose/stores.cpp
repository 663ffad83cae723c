// Results stored in another order, or changed by what was meant to follow.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "memory_order.h"
#include "suspects.h"

namespace assay::diagnose {
namespace {

void plant(std::vector<Variant>& all, std::string_view what, std::string says,
           std::function<void(VariantResult&)> change) {
  all.push_back({.name = fmt::format("results.{}", what),
                 .says = std::move(says),
                 .results = [change = std::move(change)](std::vector<VariantResult>& results, const Call&) {
                   for (VariantResult& r : results) change(r);
                 }});
}

void plant_move(std::vector<Variant>& all, std::string_view what, std::string says,
                std::function<MovedFrom(const Shape& shape, std::size_t size)> from) {
  all.push_back(moving(fmt::format("results.{}", what), std::move(says), std::move(from)));
}

MovedFrom where_it_was() {
  return [](std::size_t i) { return std::optional(i); };
}

void plant_each(std::vector<Variant>& all, std::string_view what, std::string says,
                double (*change)(double)) {
  plant(all, what, std::move(says), [change](VariantResult& r) {
    if (!is_float(r.dtype)) return;
    for (double& x : r.values) x = change(x);
  });
}

// The dimensions lie in memory in another order than everybody thinks.
void add_orders(std::vector<Variant>& all) {
  for (const std::size_t rank : {2, 3, 4}) {
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), std::size_t{0});
    while (std::ranges::next_permutation(order).found)
      plant_move(
          all, fmt::format("order_{}", fmt::join(order, "")),
          fmt::format("stores the result with its dimensions in the order ({})", fmt::join(order, ", ")),
          [order](const Shape& shape, std::size_t) -> MovedFrom {
            if (shape.size() != order.size()) return where_it_was();
            return [memory = MemoryOrder(shape, order)](std::size_t i) {
              return std::optional(static_cast<std::size_t>(memory.element_at(static_cast<std::int64_t>(i))));
            };
          });
  }
}

void add_moves(std::vector<Variant>& all) {
  using From = std::optional<std::size_t>;
  for (const std::int64_t by : {-1, 2, -2, 3, -3, 4, -4, 8, -8, 16, -16})
    plant_move(all, fmt::format("shifted_by_{}", by),
               fmt::format("stores each result {} elements too {}", std::abs(by), by > 0 ? "early" : "late"),
               [by](const Shape&, std::size_t size) -> MovedFrom {
                 const auto n = static_cast<std::int64_t>(size);
                 if (std::abs(by) >= n) return where_it_was();
                 return [by, n](std::size_t i) -> From {
                   return static_cast<std::size_t>(((static_cast<std::int64_t>(i) + by) % n + n) % n);
                 };
               });
  plant_move(all, "tail_of_128", "stores zero after the last full vector of 128",
             [](const Shape&, std::size_t size) -> MovedFrom {
               return [end = size - size % 128](std::size_t i) { return i < end ? From(i) : std::nullopt; };
             });
  for (const std::size_t lanes : {4, 8, 16, 32, 64})
    plant_move(all, fmt::format("row_tail_of_{}", lanes),
               fmt::format("stores zero after the last full vector of {} of each row", lanes),
               [lanes](const Shape& shape, std::size_t) -> MovedFrom {
                 const std::size_t n = shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
                 return
                     [n, end = n - n % lanes](std::size_t i) { return i % n < end ? From(i) : std::nullopt; };
               });
}

// Whether an element lies right of the diagonal of the last two dimensions, or left of it.
bool is_beside_diagonal(const Shape& shape, std::int64_t at, bool right) {
  if (shape.size() < 2) return false;
  const std::int64_t columns = shape.back(), rows = shape[shape.size() - 2], column = at % columns,
                     row = at / columns % rows;
  return right ? column > row : column < row;
}

// Which elements of matrices a mask takes, and what that is called.
struct Triangle {
  bool right, with_diagonal;
  std::string name() const {
    return fmt::format("{}_of_the_diagonal{}", right ? "right" : "left", with_diagonal ? "_and_on_it" : "");
  }
  std::string says() const {
    return fmt::format("{}{} of the diagonal of the last two dimensions", with_diagonal ? "on and " : "",
                       right ? "right" : "left");
  }
  bool contains(const Shape& shape, std::int64_t at) const {
    return is_beside_diagonal(shape, at, right) ||
           (with_diagonal && shape.size() > 1 && !is_beside_diagonal(shape, at, !right));
  }
};
constexpr Triangle kTriangles[] = {{true, false}, {false, false}, {true, true}, {false, true}};

// What a mask leaves of matrices.
void add_triangles(std::vector<Variant>& all) {
  for (const Triangle& triangle : kTriangles)
    plant_move(all, triangle.name() + "_lost", fmt::format("stores 0 {}", triangle.says()),
               [triangle](const Shape& shape, std::size_t) -> MovedFrom {
                 if (shape.size() < 2) return where_it_was();
                 return [triangle, shape](std::size_t i) -> std::optional<std::size_t> {
                   if (triangle.contains(shape, static_cast<std::int64_t>(i))) return std::nullopt;
                   return i;
                 };
               });
}

constexpr double kFunctionsErr = 0x1p-21;  // 8 units of f32

void add_numbers(std::vector<Variant>& all) {
  plant_each(all, "doubled", "gives twice the result", [](double x) { return 2 * x; });
  plant_each(all, "halved", "gives half the result", [](double x) { return x / 2; });
  plant_each(all, "negated", "gives the result with the opposite sign", [](double x) { return -x; });
  plant_each(all, "relu", "applies ReLU to the result", [](double x) { return x < 0 ? 0 : x; });
  plant_each(all, "relu6", "applies ReLU6 to the result", [](double x) { return x < 0 ? 0 : x > 6 ? 6 : x; });
  plant_each(all, "sigmoid", "applies a sigmoid to the result",
             [](double x) { return 1 / (1 + std::exp(-x)); });
  all.back().change_errs = kFunctionsErr;
  plant_each(all, "plus_one", "adds 1 to the result", [](double x) { return x + 1; });
  plant_each(all, "over_255", "divides the result by 255", [](double x) { return x / 255; });
  plant_each(all, "times_255", "multiplies the result by 255", [](double x) { return x * 255; });
  plant_each(all, "logarithm", "gives the logarithm of the result", [](double x) { return std::log(x); });
  all.back().change_errs = kFunctionsErr;
  plant_each(all, "exponential", "gives e to the power of the result", [](double x) { return std::exp(x); });
  all.back().change_errs = kFunctionsErr;
  plant_each(all, "square_root", "gives the square root of the result",
             [](double x) { return std::sqrt(x); });
  plant_each(all, "squared", "gives the square of the result", [](double x) { return x * x; });
  plant_each(all, "reciprocal", "gives 1 / the result", [](double x) { return 1 / x; });
  plant_each(all, "cut_to_bf16", "cuts results off to bf16 instead of rounding", [](double x) {
    return std::isnan(x) ? x : x < 0 ? round_up(x, format(Dtype::bf16)) : round_down(x, format(Dtype::bf16));
  });
  plant_each(all, "cut_to_f16", "cuts results off to f16 instead of rounding", [](double x) {
    return std::isnan(x) ? x : x < 0 ? round_up(x, format(Dtype::f16)) : round_down(x, format(Dtype::f16));
  });
}

}  // namespace

void add_masks(std::vector<Variant>& all) {
  for (const Triangle& triangle : kTriangles) {
    Variant v;
    v.name = fmt::format("results.{}_masked", triangle.name());
    v.says = fmt::format("stores -infinity {}", triangle.says());
    v.dtypes = kFloatingPoint;
    v.looks_at_others = false;
    v.of_place = [triangle](std::span<const double>, const Call& call) -> Variant::OfPlace {
      return [triangle, &shape = call.outputs[0].shape](double x, std::int64_t at) {
        return triangle.contains(shape, at) ? -HUGE_VAL : x;
      };
    };
    all.push_back(std::move(v));
  }
}

void add_stores(const Operator& op, std::vector<Variant>& all) {
  add_orders(all);
  add_moves(all);
  add_triangles(all);
  if ((op.positions | op.truths) != (1u << op.schema.result_count) - 1) add_numbers(all);
}

}  // namespace assay::diagnose
