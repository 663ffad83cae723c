// Where the largest number is, in rows longer than a block, of any stride, against a scan.
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

}  // namespace
}  // namespace assay::test
