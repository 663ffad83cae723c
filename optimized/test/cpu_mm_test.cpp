// The matrix product at every level: sizes around tiles and blocks, strides of all three matrices, order of
// the sums.
#include <omp.h>

#include "cpu_support.h"

namespace assay::test {
namespace {

const std::vector<Layout>& matrix_layouts() {
  static const std::vector<Layout> all{{}, {Layout::Kind::permuted, {1, 0}}, {Layout::Kind::step2, {}}};
  return all;
}

// Against double, element by element: u (K + 3) sum |a b| is what any order may be off.
void expect_product(Tensor& a, Tensor& b, Tensor& out, const std::string& where) {
  const std::int64_t m = out.shape()[0], n = out.shape()[1], depth = a.shape()[1];
  const double unit = format(out.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32).unit;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        const double term = a.get(i * depth + k) * b.get(k * n + j);
        sum += term;
        size += std::fabs(term);
      }
      const double bound =
          size * unit * static_cast<double>(depth + 3) + std::fabs(sum) * 2 * format(out.dtype()).unit;
      ASSERT_NEAR(out.get(i * n + j), sum, bound) << where << " at " << i << "," << j;
    }
}

std::string describe(const assay_kernel& kernel, Dtype d, const Shape& s) {
  return std::string(kernel.name) + " " + std::string(name(d)) + " " + text(s);
}

TEST(CpuMm, SizesAndStrides) {
  std::vector<Shape> sizes{{1, 1, 1},     {2, 3, 4},     {5, 7, 300}, {12, 32, 256},  {13, 33, 257},
                           {1, 100, 513}, {100, 1, 513}, {7, 1, 9},   {3, 50, 0},     {0, 5, 3},
                           {5, 0, 3},     {25, 47, 31},  {4, 24, 8},  {101, 97, 103}, {11, 95, 2},
                           {250, 70, 64}, {6, 1600, 20}};
  for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17, 23, 31, 33, 48}) {
    sizes.push_back({n, 13, 5});
    sizes.push_back({13, n, 5});
    sizes.push_back({13, 5, n});
  }
  for (const assay_kernel& kernel : levels("mm"))
    for (const Dtype dtype : kFloats)
      for (const Shape& s : sizes) {
        if (kSanitized && s[0] * s[1] * s[2] > 120'000) continue;
        const Shape shape_a{s[0], s[2]}, shape_b{s[2], s[1]}, shape{s[0], s[1]};
        Tensor packed_a(dtype, shape_a), packed_b(dtype, shape_b);
        packed_a.fill(Normal(1));
        packed_b.fill(Normal(2));
        std::vector<std::uint64_t> bits;
        for (const Layout& layout_a : matrix_layouts())
          for (const Layout& layout_b : matrix_layouts())
            for (const Layout& layout : matrix_layouts()) {
              const Guard guard = layout == layout_a ? Guard::before : Guard::behind;
              Tensor a(dtype, shape_a, layout_a, guard), b(dtype, shape_b, layout_b, guard);
              Tensor out(dtype, shape, layout, guard);
              a.fill_from(packed_a);
              b.fill_from(packed_b);
              call(kernel, {value(a), value(b)}, {&out});
              const std::string where = describe(kernel, dtype, s) + " " + text(layout_a) + " " +
                                        text(layout_b) + " " + text(layout);
              if (bits.empty()) {
                bits = out.bits();
                expect_product(a, b, out, where);
              }
              ASSERT_EQ(out.bits(), bits) << where;
              ASSERT_TRUE(out.gaps_untouched()) << where;
            }
      }
}

TEST(CpuMm, WithoutTermsTheSumIsZero) {
  for (const assay_kernel& kernel : levels("mm"))
    for (const Dtype dtype : kFloats)
      for (const Layout& layout : matrix_layouts()) {
        Tensor a(dtype, {3, 0}), b(dtype, {0, 70}), out(dtype, {3, 70}, layout);
        call(kernel, {value(a), value(b)}, {&out});
        for (std::int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(out.get(i), 0);
        ASSERT_TRUE(out.gaps_untouched());
      }
}

TEST(CpuMm, ReadsExpandedMatrices) {
  for (const assay_kernel& kernel : levels("mm"))
    for (const Dtype dtype : kFloats)
      for (const std::int64_t dim : {0, 1}) {
        Tensor a(dtype, {40, 50}, {Layout::Kind::expanded, {dim}}),
            b(dtype, {50, 60}, {Layout::Kind::expanded, {1 - dim}});
        Tensor out(dtype, {40, 60});
        a.fill(Normal(3));
        b.fill(Normal(4));
        call(kernel, {value(a), value(b)}, {&out});
        expect_product(a, b, out, describe(kernel, dtype, {40, 60, 50}));
      }
}

// Row i of the product is the product of row i, bit for bit; the same for columns.
TEST(CpuMm, RowsAndColumnsAreIndependent) {
  for (const assay_kernel& kernel : levels("mm"))
    for (const Dtype dtype : kFloats) {
      const std::int64_t m = 61, n = 83, depth = 600;
      Tensor a(dtype, {m, depth}), b(dtype, {depth, n}), out(dtype, {m, n});
      a.fill(Normal(5));
      b.fill(Normal(6));
      call(kernel, {value(a), value(b)}, {&out});
      for (const std::int64_t rows : {1, 2, 5, 13, 30}) {
        Tensor some(dtype, {rows, depth}), product(dtype, {rows, n});
        for (std::int64_t i = 0; i < some.numel(); ++i) some.set(i, a.get((m - rows) * depth + i));
        call(kernel, {value(some), value(b)}, {&product});
        for (std::int64_t i = 0; i < product.numel(); ++i)
          ASSERT_EQ(product.get(i), out.get((m - rows) * n + i));
      }
      for (const std::int64_t columns : {1, 2, 5, 13, 33}) {
        Tensor some(dtype, {depth, columns}), product(dtype, {m, columns});
        for (std::int64_t i = 0; i < some.numel(); ++i) some.set(i, b.get(i / columns * n + i % columns));
        call(kernel, {value(a), value(some)}, {&product});
        for (std::int64_t i = 0; i < product.numel(); ++i)
          ASSERT_EQ(product.get(i), out.get(i / columns * n + i % columns)) << columns;
      }
    }
}

TEST(CpuMm, NonFiniteNumbersReachTheirRowAndColumnAndNoOther) {
  for (const assay_kernel& kernel : levels("mm"))
    for (const Dtype dtype : kFloats)
      for (const std::int64_t n : {3, 17, 70, 130}) {
        const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
        Tensor a(dtype, {n, n}), b(dtype, {n, n}), out(dtype, {n, n});
        a.fill([] { return 1.0; });
        b.fill([] { return 0.0; });
        a.set(1 * n + 2, nan);         // row 1
        b.set(0 * n + (n - 1), inf);   // the last column, and there times 1
        a.set((n - 1) * n + 1, -inf);  // the last row, times 0
        call(kernel, {value(a), value(b)}, {&out});
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            const double got = out.get(i * n + j);
            if (i == 1 || i == n - 1)
              ASSERT_TRUE(std::isnan(got)) << describe(kernel, dtype, {i, j});
            else
              ASSERT_EQ(got, j == n - 1 ? inf : 0.0) << describe(kernel, dtype, {i, j});
          }
      }
}

TEST(CpuMm, HalfPrecisionSumsAreNotRoundedOnTheWay) {
  for (const assay_kernel& kernel : levels("mm"))
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
      const std::int64_t depth = 2001;  // several blocks; 1 + 2000 / 4096 needs f32
      Tensor a(dtype, {2, depth}), b(dtype, {depth, 2}), out(dtype, {2, 2});
      a.fill([] { return 0x1p-6; });
      b.fill([] { return 0x1p-6; });
      a.set(0, 1);
      b.set(0, 1);
      call(kernel, {value(a), value(b)}, {&out});
      ASSERT_EQ(out.get(0), round_to(1 + 2000 * 0x1p-12, format(dtype)));
    }
}

// To the bit, for any order of terms; i64 numbers are large enough for every product to wrap.
TEST(CpuMm, IntegersWrap) {
  for (const assay_kernel& kernel : levels("mm"))
    for (const Dtype dtype : {Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8, Dtype::u8})
      for (const Shape& s : {Shape{1, 1, 1}, Shape{5, 7, 300}, Shape{13, 33, 257}, Shape{1, 100, 513},
                             Shape{100, 1, 513}, Shape{250, 70, 64}, Shape{6, 1600, 20}, Shape{3, 50, 0}})
        for (const Layout& layout : matrix_layouts()) {
          if (kSanitized && s[0] * s[1] * s[2] > 120'000) continue;
          Tensor a(dtype, {s[0], s[2]}, layout), b(dtype, {s[2], s[1]}, layout),
              out(dtype, {s[0], s[1]}, layout);
          std::mt19937_64 random(9);
          std::vector<std::int64_t> x, y;
          const auto fill = [&](Tensor& t, std::vector<std::int64_t>& numbers) {
            for (std::int64_t i = 0; i < t.numel(); ++i) {
              store_integer(t.element(i), dtype, static_cast<std::int64_t>(random()));
              numbers.push_back(load_integer(t.element(i), dtype));
            }
          };
          fill(a, x);
          fill(b, y);
          call(kernel, {value(a), value(b)}, {&out});
          ASSERT_TRUE(out.gaps_untouched());
          for (std::int64_t i = 0; i < out.numel(); ++i) {
            std::uint64_t sum = 0;
            for (std::int64_t k = 0; k < s[2]; ++k)
              sum += static_cast<std::uint64_t>(x[static_cast<std::size_t>(i / s[1] * s[2] + k)]) *
                     static_cast<std::uint64_t>(y[static_cast<std::size_t>(k * s[1] + i % s[1])]);
            std::int64_t expected = 0;
            store_integer(&expected, dtype, static_cast<std::int64_t>(sum));
            ASSERT_EQ(load_integer(out.element(i), dtype), load_integer(&expected, dtype))
                << describe(kernel, dtype, s) << " at " << i;
          }
        }
}

TEST(CpuMm, ThreadsChangeNothing) {
  const int before = omp_get_max_threads();
  for (const assay_kernel& kernel : levels("mm"))
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
      for (const Shape& s : {Shape{300, 200, 300}, Shape{20, 900, 700}, Shape{1100, 3, 900}}) {
        Tensor a(dtype, {s[0], s[2]}), b(dtype, {s[2], s[1]}), out(dtype, {s[0], s[1]});
        a.fill(Normal(7));
        b.fill(Normal(8));
        std::vector<std::uint64_t> one;
        for (const int threads : kThreads) {
          omp_set_num_threads(threads);
          call(kernel, {value(a), value(b)}, {&out});
          if (threads == 1) one = out.bits();
          ASSERT_EQ(out.bits(), one) << threads << " threads " << describe(kernel, dtype, s);
        }
      }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace assay::test
