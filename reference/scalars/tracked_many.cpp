// Sums of many numbers of the plain kind, in tight loops: finite and exact, under an arithmetic without flushing and narrower operands.
// Every loop gives what OpenSum::add gives for one term after the other, to the bit, because it has the same operations in the same
// order; what is not plain goes through that.
#include "tracked_many.h"

#include <algorithm>
#include <array>

namespace assay {
namespace many {
namespace {

// Without branches: compilers take several at a time.
ASSAY_MANY_AT_ONCE
Looks look_at(const double* __restrict x, std::size_t n) {
  std::int64_t others = 0, zeros = 0;  // as wide as what is looked at
  for (std::size_t k = 0; k < n; ++k) {
    const double as_f32 = static_cast<double>(static_cast<float>(x[k]));
    others += as_f32 - x[k] == 0 ? 0 : 1;  // of infinity it is NaN
    zeros += x[k] == 0 ? 1 : 0;
  }
  return {others == 0, static_cast<std::size_t>(zeros)};
}

}  // namespace

Looks look_at(std::span<const double> x, int least_grid) {
  if (least_grid > kGridOfF32) return {false, 0};
  return look_at(x.data(), x.size());
}

bool none_is_negative_zero(std::span<const double> x) {
  return std::ranges::none_of(x, [](double each) { return each == 0 && std::signbit(each); });
}

void add_all(T& sum, std::span<const double> value, const double* error) {
  double s = sum.value, of_sum = sum.error, magnitude = sum.magnitude;
  for (std::size_t k = 0; k < value.size(); ++k) {
    const double next = s + value[k];
    if (error != nullptr) of_sum += error[k];
    of_sum += C::residual(s, value[k], next);
    magnitude += std::fabs(value[k]);
    s = next;
  }
  sum.value = s;
  sum.error = of_sum;
  sum.magnitude = magnitude;
  sum.terms += static_cast<double>(value.size());
  sum.pending = true;
  sum.free_sign = false;
}

void add_exact(T& sum, std::span<const double> x) {
  if (x.empty()) return;
  add_all(sum, x, nullptr);
  if (sum.error != 0) {
    sum.grid = kNoGrid;
    return;
  }
  for (const double each : x) sum.grid = std::min(sum.grid, C::grid(each));
}

}  // namespace many

template <class V>
bool OpenSum<V>::plain(std::uint8_t may_be) const {
  const Arithmetic& a = arithmetic();
  return std::is_same_v<V, double> && any_ && sum_.terms >= 2 && (sum_.may_be & ~may_be) == 0 &&
         Carrier<V>::finite(sum_.value) && !a.rounds_operands && !a.flushes;
}

template <class V>
bool OpenSum<V>::stays() const {
  const Arithmetic& a = arithmetic();
  return std::is_same_v<V, double> && any_ && sum_.terms >= 2 && !Carrier<V>::finite(sum_.value) &&
         sum_.error == 0 && sum_.may_be == 0 && sum_.pending && !a.rounds_operands && !a.flushes;
}

template <class V>
void OpenSum<V>::add_inputs(std::span<const double> x) {
  add_many([&] { add_inputs_in_loops(x); });
}
template <class V>
void OpenSum<V>::add_products(std::span<const double> a, std::span<const double> b) {
  add_many([&] { add_products_in_loops(a, b); });
}

template <class V>
void OpenSum<V>::add_inputs_in_loops(std::span<const double> x) {
  using namespace many;
  using Ops = ScalarOps<Tracked<V>>;
  std::size_t k = 0;
  if constexpr (std::is_same_v<V, double>) {
    const int least_grid = arithmetic().compute.grid;
    while (k < x.size()) {
      const bool finite = plain();
      if (!finite && !stays()) {
        add(Ops::input(x[k++]));
        continue;
      }
      const auto block = x.subspan(k, std::min(kBlock, x.size() - k));
      const std::size_t end = k + block.size();
      if (const Looks looks = look_at(block, least_grid); finite && looks.exact) {
        count_ += static_cast<std::int64_t>(block.size());
        k = end;
        if (looks.zeros == 0) {
          add_exact(sum_, block);
          continue;
        }
        std::array<double, kBlock> others;
        std::size_t n = 0;
        for (const double each : block) {
          if (each != 0) others[n++] = each;
          positive_zero_ = positive_zero_ || (each == 0 && !std::signbit(each));
        }
        add_exact(sum_, {others.data(), n});
        continue;
      }
      T sum = sum_;
      for (; k < end && is_exact(x[k], least_grid); ++k) {
        ++count_;
        if (x[k] == 0) {
          positive_zero_ = positive_zero_ || !std::signbit(x[k]);
          continue;
        }
        if (!finite) {
          sum.magnitude += std::fabs(x[k]);
          sum.terms += 1;
          continue;
        }
        sum.grid = sum.error == 0 ? std::min(sum.grid, C::grid(x[k])) : kNoGrid;
        add_settled(sum, x[k], 0, std::fabs(x[k]));
        if (sum.error != 0) sum.grid = kNoGrid;
        sum.pending = true;
        sum.free_sign = false;
      }
      sum_ = sum;
      if (k < end) add(Ops::input(x[k++]));
    }
  }
  for (; k < x.size(); ++k) {
    stop_point_at(static_cast<std::int64_t>(k));
    add(Ops::input(x[k]));
  }
}

template <class V>
void OpenSum<V>::add_products_in_loops(std::span<const double> a, std::span<const double> b) {
  using namespace many;
  using Ops = ScalarOps<Tracked<V>>;
  std::size_t k = 0;
  const auto add_next = [&] {
    add(Ops::input(a[k]) * Ops::input(b[k]));
    ++k;
  };
  if constexpr (std::is_same_v<V, double>) {
    while (k < a.size() && !plain() && k < 4) add_next();
    const Rounding& to = arithmetic().compute;
    const auto least = static_cast<double>(to.half_subnormal), overflow = static_cast<double>(to.overflow);
    double largest_a = 0, largest_b = 0;
    bool exact = plain();
    for (std::size_t j = k; j < a.size(); ++j) {
      exact = exact && is_f32(a[j]) && is_f32(b[j]);  // NaN is not
      largest_a = std::max(largest_a, std::fabs(a[j]));
      largest_b = std::max(largest_b, std::fabs(b[j]));
    }
    // Half of it, because a product has an error beside its size. Infinities are not below.
    exact = exact && largest_a < overflow && largest_b < overflow && largest_a * largest_b < overflow / 2;
    if (exact) {
      T sum = sum_;
      for (; k < a.size(); ++k) {
        const double p = a[k] * b[k], size = std::fabs(p);
        ++count_;
        if (p == 0) {
          positive_zero_ = positive_zero_ || !std::signbit(p);
          continue;
        }
        const double half_unit = size < least ? size : std::max(to.format.unit * size, least);
        if (sum.grid != kNoGrid) sum.grid = std::min(sum.grid, C::grid(p));
        add_settled(sum, p, is_of(to.format, p) ? 0.0 : detail::inflate(half_unit), size);
        if (sum.error != 0) sum.grid = kNoGrid;
      }
      sum_ = sum;
    }
  }
  while (k < a.size()) add_next();
}

template class OpenSum<double>;
template class OpenSum<Real>;

}  // namespace assay
