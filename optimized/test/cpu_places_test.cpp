// Where the largest number is, in rows longer than a block, of any stride, against a scan; and what goes to places.
#include "cpu_support.h"

namespace assay::test {
namespace {

std::int64_t first_largest(const std::vector<double>& x) {
  std::size_t best = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (std::isnan(x[k])) return static_cast<std::int64_t>(k);
    if (x[k] > x[best]) best = k;
  }
  return static_cast<std::int64_t>(best);
}

TEST(CpuArgmax, FindsTheFirstInEveryBlock) {
  for (const assay_kernel& kernel : levels("argmax"))
    for (const Dtype dtype : kFloats)
      for (const std::int64_t n : std::initializer_list<std::int64_t>{1, 17, 1024, 1025, 3000})
        for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1})
          for (const double largest : {7.0, std::nan(""), HUGE_VAL}) {
            std::vector<double> numbers(static_cast<std::size_t>(n), -HUGE_VAL);
            for (std::size_t k = 0; k < numbers.size(); k += 3) numbers[k] = -3;
            numbers[static_cast<std::size_t>(at)] = largest;
            numbers.back() = largest;
            for (const bool strided : {false, true}) {
              Tensor x(dtype, {n}, strided ? Layout{Layout::Kind::step2, {}} : Layout{});
              std::size_t next = 0;
              x.fill([&](auto&&...) { return numbers[next++]; });
              Tensor y(Dtype::i64, {});
              assay_value dim{ASSAY_KIND_INT, 1, {}}, keepdim{ASSAY_KIND_BOOL, 1, {}};
              dim.as.integer = 0;
              call(kernel, {value(x), dim, keepdim}, {&y});
              ASSERT_EQ(y.bits()[0], static_cast<std::uint64_t>(first_largest(numbers)))
                  << kernel.name << " " << name(dtype) << " " << n << " " << largest << " at " << at;
            }
          }
}

assay_value numbers(const std::vector<std::int64_t>& list) {
  assay_value v{ASSAY_KIND_INTS, static_cast<std::uint32_t>(list.size()), {}};
  v.as.integers = list.data();
  return v;
}

// Planes of 2 x 3, of windows of 1 x 2 or of nothing that is a window: the places alone decide.
TEST(CpuMaxPool2dBackward, AddsWhatGoesToOnePlace) {
  const std::vector<double> gradients{1, 2, 4, 8, /**/ 16, 32, 64, 128, /**/ 1, 1, 1, -1, /**/ 3, 5, 7, 0.5};
  const std::vector<std::int64_t> places{0, 1, 3, 5, /**/ 2, 2, 2, 2, /**/ 5, 0, 5, 5, /**/ 4, 3, 4, 3};
  const std::vector<double> expected{1, 2, 0, 4, 0, 8, /**/ 0, 0, 240, 0,   0,  0,
                                     1, 0, 0, 0, 0, 1, /**/ 0, 0, 0,   5.5, 10, 0};
  const std::vector<std::int64_t> window{1, 2}, ones{1, 1}, none{0, 0};
  const Shape pooled{2, 2, 2, 2}, image{2, 2, 2, 3};
  for (const assay_kernel& kernel : levels("max_pool2d_with_indices_backward"))
    for (const Dtype dtype : kFloats)
      for (const auto& [in, out] : layout_pairs(pooled)) {
        Tensor grad(dtype, pooled, in), self(dtype, image), indices(Dtype::i64, pooled, out),
            result(dtype, image, out);
        for (std::size_t i = 0; i < places.size(); ++i) {
          grad.set(static_cast<std::int64_t>(i), gradients[i]);
          indices.set(static_cast<std::int64_t>(i), static_cast<double>(places[i]));
        }
        self.fill(Normal(1));
        assay_value ceil_mode{ASSAY_KIND_BOOL, 1, {}};
        call(kernel,
             {value(grad), value(self), numbers(window), numbers(ones), numbers(none), numbers(ones),
              ceil_mode, value(indices)},
             {&result});
        for (std::size_t i = 0; i < expected.size(); ++i)
          ASSERT_EQ(result.get(static_cast<std::int64_t>(i)), expected[i])
              << kernel.name << " " << name(dtype) << " element " << i;
        EXPECT_TRUE(result.gaps_untouched());
      }
}

// Two numbers that are each lost beside the first are not lost together, because sums are kept in f32.
TEST(CpuMaxPool2dBackward, RoundsASumOnce) {
  const std::vector<std::int64_t> window{1}, one{1}, none{0};
  for (const assay_kernel& kernel : levels("max_pool2d_with_indices_backward"))
    for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
      const double step = dtype == Dtype::bf16 ? 0x1p-7 : 0x1p-10;
      Tensor grad(dtype, {1, 1, 3}), self(dtype, {1, 1, 3}), indices(Dtype::i64, {1, 1, 3}),
          result(dtype, {1, 1, 3});
      grad.set(0, 1);
      grad.set(1, step / 2);
      grad.set(2, step / 2);
      self.fill(Normal(1));
      indices.fill([] { return 1; });
      assay_value ceil_mode{ASSAY_KIND_BOOL, 1, {}};
      call(kernel,
           {value(grad), value(self), numbers(window), numbers(one), numbers(none), numbers(one), ceil_mode,
            value(indices)},
           {&result});
      EXPECT_EQ(result.get(0), 0);
      EXPECT_EQ(result.get(1), 1 + step) << kernel.name << " " << name(dtype);
    }
}

}  // namespace
}  // namespace assay::test
