// Element-wise kernels of every level: each layout, broadcasting, sizes around every vector width, threads.
#include <omp.h>

#include "cpu_support.h"

namespace assay::test {
namespace {

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = [] {
    std::vector<Shape> some{{},           {1, 1, 1},     {2, 0, 3},     {3, 5},          {17, 33},
                            {2, 3, 4, 5}, {2, 17, 3, 3}, {3, 1, 1, 40}, {2, 2, 2, 2, 2}, {5, 600},
                            {600, 5}};
    for (const std::int64_t n : kSizes) some.push_back({n});
    return some;
  }();
  return all;
}

std::string describe(const assay_kernel& k, Dtype d, const Shape& s, const Layout& a, const Layout& b) {
  return std::string(k.name) + " " + std::string(name(d)) + "[" + text(s) + "] " + text(a) + " -> " + text(b);
}

TEST(CpuRelu, EveryLayoutGivesTheFormula) {
  for (const assay_kernel& kernel : levels("relu"))
    for (const Dtype dtype : kFloats)
      for (const Shape& shape : shapes())
        for (const auto& [in, out] : layout_pairs(shape)) {
          const Guard guard = in == out ? Guard::before : Guard::behind;
          Tensor x(dtype, shape, in, guard), y(dtype, shape, out, guard);
          x.fill(Edgy(1));
          call(kernel, {value(x)}, {&y});
          for (std::int64_t i = 0; i < y.numel(); ++i) {
            const double expected = x.get(i) < 0 ? 0.0 : x.get(i);
            ASSERT_TRUE(std::isnan(expected)
                            ? std::isnan(y.get(i))
                            : y.get(i) == expected && std::signbit(y.get(i)) == std::signbit(expected))
                << describe(kernel, dtype, shape, in, out) << " at " << i << ": " << x.get(i) << " "
                << y.get(i);
          }
          ASSERT_TRUE(y.gaps_untouched()) << describe(kernel, dtype, shape, in, out);
        }
}

TEST(CpuRelu, WorksInPlace) {
  for (const assay_kernel& kernel : levels("relu"))
    for (const Dtype dtype : kFloats)
      for (const Shape& shape : shapes())
        for (const Layout& layout : layouts(shape)) {
          Tensor x(dtype, shape, layout), y(dtype, shape, layout);
          x.fill(Edgy(2));
          call(kernel, {value(x)}, {&y});
          call(kernel, {value(x)}, {&x});
          ASSERT_EQ(x.bits(), y.bits()) << describe(kernel, dtype, shape, layout, layout);
        }
}

TEST(CpuRelu, ReadsAnExpandedTensor) {
  for (const assay_kernel& kernel : levels("relu"))
    for (const Dtype dtype : kFloats)
      for (const Layout& layout : {Layout{Layout::Kind::expanded, {0}}, Layout{Layout::Kind::expanded, {1}},
                                   Layout{Layout::Kind::expanded, {0, 1}}}) {
        Tensor x(dtype, {40, 50}, layout), y(dtype, {40, 50});
        x.fill(Normal(3));
        call(kernel, {value(x)}, {&y});
        for (std::int64_t i = 0; i < y.numel(); ++i) ASSERT_EQ(y.get(i), std::max(x.get(i), 0.0));
      }
}

// What the contract allows: alpha rounded, then one or two roundings of the compute type, then the store.
void expect_sum(const assay_kernel& kernel, double self, double other, double alpha, double got, Dtype type) {
  double fused = 0, separate = 0;
  if (type == Dtype::f64) {
    fused = std::fma(alpha, other, self);
    separate = alpha * other + self;
  } else {
    const auto a = static_cast<float>(alpha), x = static_cast<float>(self), y = static_cast<float>(other);
    fused = round_to(std::fma(a, y, x), format(type));
    separate = round_to(a * y + x, format(type));
  }
  if (std::isnan(fused) || std::isnan(separate)) {
    ASSERT_TRUE(std::isnan(got)) << kernel.name << " " << self << " + " << alpha << " * " << other << " = "
                                 << got;
  } else {
    ASSERT_TRUE(got == fused || got == separate)
        << kernel.name << " " << name(type) << " " << self << " + " << alpha << " * " << other << " = " << got
        << ", not " << fused;
  }
}

TEST(CpuAdd, EveryLayoutGivesTheFormula) {
  for (const assay_kernel& kernel : levels("add.Tensor"))
    for (const Dtype dtype : kFloats)
      for (const Shape& shape : shapes())
        for (const Layout& in : layouts(shape)) {
          Tensor packed_x(dtype, shape), packed_y(dtype, shape), packed(dtype, shape);
          packed_x.fill(Edgy(4));
          packed_y.fill(Edgy(5));
          call(kernel, {value(packed_x), value(packed_y), value(0.3)}, {&packed});
          for (std::int64_t i = 0; i < packed.numel(); ++i)
            expect_sum(kernel, packed_x.get(i), packed_y.get(i), 0.3, packed.get(i), dtype);
          for (const Layout& out : layouts(shape)) {
            const Guard guard = in == out ? Guard::before : Guard::behind;
            Tensor x(dtype, shape, in, guard), y(dtype, shape, out, guard), z(dtype, shape, out, guard);
            x.fill_from(packed_x);
            y.fill_from(packed_y);
            call(kernel, {value(x), value(y), value(0.3)}, {&z});
            ASSERT_EQ(z.bits(), packed.bits()) << describe(kernel, dtype, shape, in, out);
            ASSERT_TRUE(z.gaps_untouched());
            call(kernel, {value(y), value(x), value(std::int64_t{1})}, {&y});
            call(kernel, {value(packed_y), value(packed_x), value(std::int64_t{1})}, {&z});
            ASSERT_EQ(y.bits(), z.bits()) << "in place: " << describe(kernel, dtype, shape, in, out);
          }
        }
}

TEST(CpuAdd, BroadcastsAndPromotes) {
  struct Shapes {
    Shape self, other, out;
  };
  const std::vector<Shapes> cases{{{3, 40}, {40}, {3, 40}},
                                  {{3, 40}, {3, 1}, {3, 40}},
                                  {{40}, {}, {40}},
                                  {{}, {40}, {40}},
                                  {{2, 1, 50}, {7, 1}, {2, 7, 50}},
                                  {{5, 3}, {3}, {5, 3}},
                                  {{1}, {1}, {1}},
                                  {{4, 3, 5, 5}, {3, 1, 1}, {4, 3, 5, 5}},
                                  {{700, 1}, {1, 3}, {700, 3}},
                                  {{}, {}, {}},
                                  {{2, 0}, {1}, {2, 0}}};
  for (const assay_kernel& kernel : levels("add.Tensor"))
    for (const Shapes& s : cases)
      for (const Dtype a : kFloats)
        for (const Dtype b : kFloats) {
          // Zero-dimensional tensors yield to others.
          const bool keep_a = !s.self.empty() || s.other.empty(), keep_b = !s.other.empty() || s.self.empty();
          const Dtype type = keep_a && keep_b ? promote(a, b) : keep_a ? a : b;
          for (const Layout& layout : layouts(s.out)) {
            Tensor x(a, s.self), y(b, s.other, {}, Guard::before), z(type, s.out, layout);
            x.fill(Edgy(6));
            y.fill(Edgy(7));
            call(kernel, {value(x), value(y), value(-1.7)}, {&z});
            const auto at = [&](Tensor& t, std::int64_t i) {
              std::int64_t index = 0, scale = 1;
              for (std::size_t d = s.out.size(); d-- > 0; i /= s.out[d]) {
                const std::size_t skipped = s.out.size() - t.shape().size();
                if (d < skipped) continue;
                const std::int64_t size = t.shape()[d - skipped];
                if (size != 1) index += i % s.out[d] * scale;
                scale *= size;
              }
              return round_to(t.get(index), format(type));
            };
            for (std::int64_t i = 0; i < z.numel(); ++i)
              expect_sum(kernel, at(x, i), at(y, i), -1.7, z.get(i), type);
            ASSERT_TRUE(z.gaps_untouched());
          }
        }
}

TEST(CpuWhere, TakesAConditionOfAnyLayout) {
  for (const assay_kernel& kernel : levels("where.self"))
    for (const Dtype dtype : kFloats)
      for (const Shape& shape : shapes())
        for (const auto& [in, out] : layout_pairs(shape)) {
          Tensor c(Dtype::boolean, shape, in), x(dtype, shape, out), y(dtype, shape, in),
              z(dtype, shape, out);
          std::mt19937_64 coin(9);
          c.fill([&] { return static_cast<double>(coin() & 1); });
          x.fill(Edgy(10));
          y.fill(Edgy(11));
          call(kernel, {value(c), value(x), value(y)}, {&z});
          const std::vector<std::uint64_t> bits = z.bits(), of_x = x.bits(), of_y = y.bits();
          for (std::size_t i = 0; i < bits.size(); ++i)
            ASSERT_EQ(bits[i], c.get(static_cast<std::int64_t>(i)) != 0 ? of_x[i] : of_y[i])
                << describe(kernel, dtype, shape, in, out) << " at " << i;
          ASSERT_TRUE(z.gaps_untouched());
        }
}

TEST(CpuAdd, ThreadsChangeNothing) {
  const int before = omp_get_max_threads();
  for (const assay_kernel& kernel : levels("add.Tensor"))
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
      for (const Layout& layout : layouts({3, 211, 331})) {
        Tensor x(dtype, {3, 211, 331}, layout), y(dtype, {211, 1}), z(dtype, {3, 211, 331});
        x.fill(Normal(8));
        y.fill(Normal(9));
        std::vector<std::uint64_t> one;
        for (const int threads : kThreads) {
          omp_set_num_threads(threads);
          call(kernel, {value(x), value(y), value(0.3)}, {&z});
          if (threads == 1) one = z.bits();
          ASSERT_EQ(z.bits(), one) << threads << " threads, "
                                   << describe(kernel, dtype, x.shape(), layout, {});
        }
      }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace assay::test
