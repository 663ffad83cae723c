// Faults of kinds that have many members, which are tried where no common one explains the results: operands rounded together,
// sums that lose their first or last terms, channels shuffled, dimensions by their number.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include "fused.h"
#include "quantised.h"
#include "suspects.h"
#include "vocabulary/domain.h"

namespace assay::diagnose {
namespace {

using Number = double (*)(double);

double as_tf32(double x) {
  if (!std::isfinite(x)) return x;
  int exponent = 0;
  const double m = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(m, 11)), exponent - 11);
}

// As the conversion of NVIDIA's processors does (cvt.rna.tf32 of PTX).
double as_tf32_away(double x) {
  if (!std::isfinite(x)) return x;
  int exponent = 0;
  const double m = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(m, 11)), exponent - 11);
}

double cut_to_tf32(double x) {
  if (!std::isfinite(x)) return x;
  int exponent = 0;
  const double m = std::frexp(x, &exponent);
  return std::ldexp(std::trunc(std::ldexp(m, 11)), exponent - 11);
}

double as_bf16(double x) { return round_to(x, format(Dtype::bf16)); }
double as_f16(double x) { return round_to(x, format(Dtype::f16)); }
double cut_to_bf16(double x) {
  return x < 0 ? round_up(x, format(Dtype::bf16)) : round_down(x, format(Dtype::bf16));
}

struct Narrowing {
  std::string_view name, says;
  Number change;
};
constexpr Narrowing kNarrowings[] = {
    {"as_tf32", "rounds {} to tf32 first", as_tf32},
    {"as_tf32_ties_away", "rounds {} to tf32, ties away from zero, first", as_tf32_away},
    {"cut_to_tf32", "cuts {} off to tf32 instead of rounding", cut_to_tf32},
    {"as_bf16", "rounds {} to bf16 first", as_bf16},
    {"cut_to_bf16", "cuts {} off to bf16 instead of rounding", cut_to_bf16},
    {"as_f16", "rounds {} to f16 first", as_f16}};

TensorData* float_tensor(Call& call, std::size_t argument) {
  auto* t = std::get_if<TensorData>(&call.arguments[argument]);
  return t != nullptr && t->numel() > 0 && (t->dtype == Dtype::f32 || t->dtype == Dtype::f64) ? t : nullptr;
}

// Two tensors, or all, as a kernel rounds what goes into its products: each of them alone is common.
void add_operands(const Operator& op, std::vector<Variant>& all) {
  std::vector<std::size_t> tensors;
  for (std::size_t i = 0; i < op.schema.argument_count; ++i) {
    const Argument& a = op.schema.argument_storage[i];
    const Domain::Kind kind = domain(op, a.name).kind;
    if (a.is_tensor() && !a.list && kind != Domain::Kind::index && kind != Domain::Kind::boolean)
      tensors.push_back(i);
  }
  const auto plant = [&](std::vector<std::size_t> which, const std::string& name, const std::string& says) {
    for (const Narrowing& n : kNarrowings)
      all.push_back({.name = fmt::format("{}.{}", name, n.name),
                     .says = fmt::format(fmt::runtime(n.says), says),
                     .arguments = [which, change = n.change](Call& call) {
                       std::size_t changed = 0;
                       for (const std::size_t i : which)
                         if (TensorData* t = float_tensor(call, i))
                           changed +=
                               change_each(*t, [&](std::int64_t, double x) { return change(x); }) ? 1 : 0;
                       return changed > 1;
                     }});
  };
  const auto name = [&](std::size_t i) { return std::string(op.schema.argument_storage[i].name); };
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for (std::size_t j = i + 1; j < tensors.size(); ++j)
      plant({tensors[i], tensors[j]}, fmt::format("{}_and_{}", name(tensors[i]), name(tensors[j])),
            fmt::format("{} and {}", name(tensors[i]), name(tensors[j])));
  if (tensors.size() > 2) plant(tensors, "operands", "all tensors");
}

class OfTensor {
 public:
  OfTensor(const Operator& op, std::size_t argument, std::vector<Variant>& all)
      : at_(argument), name_(op.schema.argument_storage[argument].name), all_(all) {}

  // Bytes without a sign that are taken for such with one, or the other way round.
  void of_another_dtype() {
    for (const auto& [is, taken_for] : {std::pair{Dtype::u8, Dtype::i8}, {Dtype::i8, Dtype::u8}}) {
      const std::string_view as = assay::name(taken_for);
      all_.push_back({.name = fmt::format("{}.bits_as_{}", name_, as),
                      .says = fmt::format("takes the bits of {} for those of {}", name_, as),
                      .arguments =
                          [i = at_, is = is, taken_for = taken_for](Call& call) {
                            auto* t = std::get_if<TensorData>(&call.arguments[i]);
                            if (t == nullptr || t->numel() == 0 || t->dtype != is) return false;
                            TensorData read(taken_for, t->shape);
                            for (std::int64_t e = 0; e < t->numel(); ++e)
                              std::memcpy(read.element(e), t->element(e), 1);
                            *t = std::move(read);
                            return true;
                          },
                      .argument = static_cast<int>(at_)});
    }
  }

  // The innermost elements are the terms of sums, of most operators that have any.
  void shortened() {
    for (const std::int64_t n : {2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 24, 31, 32, 48, 63, 64})
      plant(fmt::format("last_{}_lost", n),
            fmt::format("reads the last {} of the innermost elements of {} as zeros", n, name_),
            [n](TensorData& t) { return zeros(t, n, true); });
    for (const std::int64_t n : {1, 2, 4, 8, 16})
      plant(fmt::format("first_{}_lost", n),
            n == 1 ? fmt::format("reads the first of the innermost elements of {} as zero", name_)
                   : fmt::format("reads the first {} of the innermost elements of {} as zeros", n, name_),
            [n](TensorData& t) { return zeros(t, n, false); });
  }

  // A kernel of 1 x 1 in place of a larger one.
  void middle() {
    plant("middle_alone",
          fmt::format("reads {} as zero but in the middle of its dimensions after the first two", name_),
          [](TensorData& t) {
            if (t.shape.size() < 3) return false;
            return change_each(t, [&](std::int64_t i, double x) {
              bool is_middle = true;
              for (std::size_t d = t.shape.size(); d-- > 2; i /= t.shape[d])
                is_middle = is_middle && i % t.shape[d] == t.shape[d] / 2;
              return is_middle ? x : 0;
            });
          });
  }

  void shuffled() {
    for (const std::int64_t groups : {2, 3, 4, 8, 16})
      plant(fmt::format("channels_shuffled_by_{}", groups),
            fmt::format(
                "reads dimension 1 of {} shuffled, as {} groups of channels whose first ones come first",
                name_, groups),
            [groups](TensorData& t) {
              if (t.shape.size() < 2 || t.shape[1] % groups != 0 || t.shape[1] == groups) return false;
              const std::int64_t n = t.shape[1], inner = t.numel() / (t.shape[0] * n);
              TensorData read(t.dtype, t.shape);
              const auto size = static_cast<std::size_t>(bytes(t.dtype));
              for (std::int64_t i = 0; i < t.numel(); ++i) {
                const std::int64_t c = i / inner % n, from = c % groups * (n / groups) + c / groups;
                std::memcpy(read.element(i), t.element(i + (from - c) * inner), size);
              }
              t = std::move(read);
              return true;
            });
  }

 private:
  // n of each row, at its end or at its beginning.
  static bool zeros(TensorData& t, std::int64_t n, bool at_end) {
    if (t.shape.empty() || t.shape.back() <= n) return false;
    const std::int64_t size = t.shape.back();
    bool other = false;
    for (std::int64_t row = 0, all = t.numel(); row < all; row += size)
      for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t i = row + (at_end ? size - n + k : k);
        other = other || t.get(i) != 0;
        t.set(i, 0);
      }
    return other;
  }

  void plant(std::string name, std::string says, std::function<bool(TensorData&)> change) {
    all_.push_back({.name = fmt::format("{}.{}", name_, name),
                    .says = std::move(says),
                    .arguments =
                        [i = at_, change = std::move(change)](Call& call) {
                          auto* t = std::get_if<TensorData>(&call.arguments[i]);
                          return t != nullptr && t->numel() > 0 && is_float(t->dtype) && change(*t);
                        },
                    .argument = static_cast<int>(at_)});
  }

  std::size_t at_;
  std::string_view name_;
  std::vector<Variant>& all_;
};

void add_dimensions(const Operator& op, std::size_t i, std::vector<Variant>& all) {
  const Argument& a = op.schema.argument_storage[i];
  const Domain& d = domain(op, a.name);
  if (!d.has_axes()) return;
  const auto rank = [of = static_cast<std::size_t>(d.of)](const Call& call) {
    const auto* t = std::get_if<TensorData>(&call.arguments[of]);
    return t == nullptr ? std::int64_t{0} : static_cast<std::int64_t>(t->shape.size());
  };
  for (const std::int64_t dim : {0, 1, 2, 3, 4}) {
    all.push_back({.name = fmt::format("{}.is_{}", a.name, dim),
                   .says = fmt::format("takes dimension {}", dim),
                   .arguments = [i, dim, rank](Call& call) {
                     if (dim >= rank(call)) return false;
                     if (auto* one = std::get_if<std::int64_t>(&call.arguments[i])) {
                       const bool same = *one == dim || *one + rank(call) == dim;
                       *one = dim;
                       return !same;
                     }
                     auto* list = std::get_if<std::vector<std::int64_t>>(&call.arguments[i]);
                     if (list == nullptr || list->size() != 1) return false;
                     const bool same = list->front() == dim || list->front() + rank(call) == dim;
                     list->front() = dim;
                     return !same;
                   }});
  }
}

// Numbers that are taken for one another.
void add_exchanged(const Operator& op, std::vector<Variant>& all) {
  const auto is_number = [&](std::size_t i) {
    const Argument& a = op.schema.argument_storage[i];
    return !a.list && (a.type == Type::real || a.type == Type::scalar);
  };
  for (std::size_t i = 0; i < op.schema.argument_count; ++i)
    for (std::size_t j = i + 1; j < op.schema.argument_count; ++j)
      if (is_number(i) && is_number(j)) {
        const std::string_view a = op.schema.argument_storage[i].name, b = op.schema.argument_storage[j].name;
        all.push_back({.name = fmt::format("{}.exchanged_with_{}", a, b),
                       .says = fmt::format("takes {} for {}, and {} for {}", a, b, b, a),
                       .arguments = [i, j](Call& call) {
                         std::swap(call.arguments[i], call.arguments[j]);
                         return true;
                       }});
      }
}

// Tensors that have the same shape in this call, though they need not: square matrices.
void add_exchanged_tensors(const Operator& op, std::vector<Variant>& all) {
  for (std::size_t i = 0; i < op.schema.argument_count; ++i)
    for (std::size_t j = i + 1; j < op.schema.argument_count; ++j) {
      const Argument &a = op.schema.argument_storage[i], &b = op.schema.argument_storage[j];
      if (!a.is_tensor() || a.list || !b.is_tensor() || b.list) continue;
      all.push_back({.name = fmt::format("{}.exchanged_with_{}", a.name, b.name),
                     .says = fmt::format("takes {} for {}, and {} for {}", a.name, b.name, b.name, a.name),
                     .arguments = [i, j](Call& call) {
                       const auto* x = std::get_if<TensorData>(&call.arguments[i]);
                       const auto* y = std::get_if<TensorData>(&call.arguments[j]);
                       if (x == nullptr || y == nullptr || x->shape != y->shape || x->dtype != y->dtype)
                         return false;
                       std::swap(call.arguments[i], call.arguments[j]);
                       return true;
                     }});
    }
}

}  // namespace

bool change_each(TensorData& t, const std::function<double(std::int64_t, double)>& change) {
  return t.change_blocks([&](std::int64_t first, std::span<double> numbers) {
    bool changed = false;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double after = change(first + static_cast<std::int64_t>(i), numbers[i]);
      changed = changed || std::bit_cast<std::uint64_t>(after) != std::bit_cast<std::uint64_t>(numbers[i]);
      numbers[i] = after;
    }
    return changed;
  });
}

std::vector<Variant> further_suspects_of(const Operator& op) {
  std::vector<Variant> all;
  add_formula_variants(op, all, false);
  for (std::size_t i = 0; i < op.schema.argument_count; ++i) {
    const Argument& a = op.schema.argument_storage[i];
    add_dimensions(op, i, all);
    const Domain::Kind kind = domain(op, a.name).kind;
    if (!a.is_tensor() || a.list || kind == Domain::Kind::index || kind == Domain::Kind::boolean) continue;
    OfTensor of(op, i, all);
    of.shortened();
    of.shuffled();
    of.middle();
    add_quantised(op, i, all);
    of.of_another_dtype();
  }
  add_operands(op, all);
  add_fused(op, all);
  add_masks(all);
  add_exchanged(op, all);
  add_exchanged_tensors(op, all);
  return all;
}

}  // namespace assay::diagnose
