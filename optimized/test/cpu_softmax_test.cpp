// Softmax at every level: dimensions, layouts, lengths around every vector width, what is not finite, dtype=.
#include <omp.h>

#include "cpu_support.h"

namespace assay::test {
namespace {

struct Fibers {  // a row-major tensor as [outer, size, inner]
  std::int64_t outer = 1, size = 1, inner = 1;
  Fibers(const Shape& shape, std::size_t dim) {
    for (std::size_t d = 0; d < shape.size(); ++d) (d < dim ? outer : d == dim ? size : inner) *= shape[d];
  }
};

// Every row against the formula in double. The bound is generous: the gate judges numbers, this test
// structure.
void expect_softmax(Tensor& x, std::size_t dim, Tensor& y, const std::string& where) {
  const Fibers f(y.shape(), dim);
  const double unit = format(y.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32).unit;
  for (std::int64_t o = 0; o < f.outer; ++o)
    for (std::int64_t i = 0; i < f.inner; ++i) {
      const auto at = [&](std::int64_t j) { return (o * f.size + j) * f.inner + i; };
      std::vector<double> row(static_cast<std::size_t>(f.size));
      double max = -std::numeric_limits<double>::infinity(), sum = 0;
      bool nan = false;
      for (std::int64_t j = 0; j < f.size; ++j) {
        const double value = round_to(x.get(at(j)), format(y.dtype()));
        row[static_cast<std::size_t>(j)] = value;
        max = std::max(max, value);
        nan = nan || std::isnan(value);
      }
      for (const double value : row) sum += std::exp(value - max);
      for (std::int64_t j = 0; j < f.size; ++j) {
        const double value = row[static_cast<std::size_t>(j)], got = y.get(at(j));
        const double expected = std::exp(value - max) / sum;
        if (nan || std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(got)) << where << ": " << got;
          continue;
        }
        const double distance = std::isinf(value) ? 0 : max - value;
        const double bound = expected * (unit * (static_cast<double>(f.size) + 2 * distance + 10) +
                                         2 * format(y.dtype()).unit) +
                             2 * format(y.dtype()).min_subnormal;
        ASSERT_NEAR(got, expected, bound) << where << " row " << o << "," << i << " element " << j;
      }
    }
}

TEST(CpuSoftmax, EveryDimensionAndLayout) {
  for (const assay_kernel& kernel : levels("softmax.int"))
    for (const Dtype dtype : kFloats)
      for (const Shape& shape : {Shape{}, Shape{1}, Shape{100}, Shape{3, 70}, Shape{70, 3}, Shape{2, 3, 4, 5},
                                 Shape{33, 17}, Shape{4, 40, 50}, Shape{0, 3}, Shape{3, 0}})
        for (std::int64_t dim = shape.empty() ? -1 : -static_cast<std::int64_t>(shape.size());
             dim < std::max<std::int64_t>(1, static_cast<std::int64_t>(shape.size())); ++dim) {
          const auto axis =
              static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(shape.size()) : dim);
          Tensor packed(dtype, shape);
          packed.fill(Normal(1));
          std::vector<std::uint64_t> bits;
          for (const auto& [in, out] : layout_pairs(shape)) {
            Tensor x(dtype, shape, in, Guard::before),
                y(dtype, shape, out, in == out ? Guard::before : Guard::behind);
            x.fill_from(packed);
            call(kernel, {value(x), value(dim), value(std::optional<Dtype>())}, {&y});
            const std::string where = std::string(kernel.name) + " " + std::string(name(dtype)) + "[" +
                                      text(shape) + "] dim " + std::to_string(dim) + " " + text(in) + " " +
                                      text(out);
            if (bits.empty()) {
              bits = y.bits();
              expect_softmax(x, axis, y, where);
            }
            ASSERT_EQ(y.bits(), bits) << where;
            ASSERT_TRUE(y.gaps_untouched()) << where;
          }
        }
}

TEST(CpuSoftmax, EveryLengthAlongAndAcross) {
  for (const assay_kernel& kernel : levels("softmax.int"))
    for (const Dtype dtype : kFloats)
      for (const std::int64_t n : kSizes)
        for (const std::int64_t rows : {1, 5, 16, 35}) {
          const std::string where =
              std::string(kernel.name) + " " + std::string(name(dtype)) + " " + std::to_string(n);
          for (const Guard guard : {Guard::behind, Guard::before}) {
            Tensor along(dtype, {rows, n}, {}, guard), across(dtype, {n, rows}, {}, guard);
            Tensor y(dtype, {rows, n}, {}, guard), z(dtype, {n, rows}, {}, guard);
            along.fill(Normal(2));
            for (std::int64_t r = 0; r < rows; ++r)
              for (std::int64_t j = 0; j < n; ++j) across.set(j * rows + r, along.get(r * n + j));
            call(kernel, {value(along), value(std::int64_t{1}), value(std::optional<Dtype>())}, {&y});
            call(kernel, {value(across), value(std::int64_t{0}), value(std::optional<Dtype>())}, {&z});
            expect_softmax(along, 1, y, where);
            for (std::int64_t r = 0; r < rows; ++r)
              for (std::int64_t j = 0; j < n; ++j) ASSERT_EQ(z.get(j * rows + r), y.get(r * n + j)) << where;
          }
        }
}

TEST(CpuSoftmax, WhatIsNotFinite) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const assay_kernel& kernel : levels("softmax.int"))
    for (const Dtype dtype : kFloats)
      for (const std::int64_t n : {1, 3, 16, 40, 100})
        for (const double special : {inf, -inf, nan, -60000.0, 60000.0})
          for (const bool whole_row : {false, true})
            for (std::int64_t at = 0; at < n; at += 7) {
              Tensor x(dtype, {n, 20}), y(dtype, {n, 20}), t(dtype, {20, n}), u(dtype, {20, n});
              x.fill(Normal(3));
              for (std::int64_t j = 0; j < n; ++j) {
                if (whole_row || j == at) x.set(j * 20 + 11, special);
                for (std::int64_t i = 0; i < 20; ++i) t.set(i * n + j, x.get(j * 20 + i));
              }
              call(kernel, {value(x), value(std::int64_t{0}), value(std::optional<Dtype>())}, {&y});
              call(kernel, {value(t), value(std::int64_t{1}), value(std::optional<Dtype>())}, {&u});
              const std::string where =
                  std::string(kernel.name) + " " + std::to_string(n) + " " + std::to_string(special);
              expect_softmax(x, 0, y, where);
              expect_softmax(t, 1, u, where);
            }
}

TEST(CpuSoftmax, ConvertsFirst) {
  for (const assay_kernel& kernel : levels("softmax.int"))
    for (const Dtype from : kFloats)
      for (const Dtype to : kFloats)
        for (const std::int64_t dim : {0, 1})
          for (const Layout& layout : layouts({37, 50})) {
            Tensor x(from, {37, 50}, layout), y(to, {37, 50});
            x.fill(Normal(4));
            call(kernel, {value(x), value(dim), value(std::optional(to))}, {&y});
            expect_softmax(x, static_cast<std::size_t>(dim), y,
                           std::string(name(from)) + " to " + std::string(name(to)));
          }
}

TEST(CpuSoftmax, ThreadsChangeNothing) {
  const int before = omp_get_max_threads();
  for (const assay_kernel& kernel : levels("softmax.int"))
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
      for (const std::int64_t dim : {0, 1, 2}) {
        Tensor x(dtype, {13, 70, 41}), y(dtype, {13, 70, 41});
        x.fill(Normal(5));
        std::vector<std::uint64_t> one;
        for (const int threads : kThreads) {
          omp_set_num_threads(threads);
          call(kernel, {value(x), value(dim), value(std::optional<Dtype>())}, {&y});
          if (threads == 1) one = y.bits();
          ASSERT_EQ(y.bits(), one) << threads << " threads " << kernel.name;
        }
      }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace assay::test
