// Where the CUDA kernels find an element, and the division that they do it by (cuda/space.h).
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "cuda/space.h"

namespace assay {
namespace {

TEST(CudaDivisor, IsDivision) {
  std::mt19937_64 random(9);
  std::vector<std::uint32_t> numbers{0, 1, 2, 3, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  for (int i = 0; i < 1000; ++i)
    numbers.push_back(static_cast<std::uint32_t>(random() >> (32 + random() % 32)));
  std::vector<std::uint32_t> divisors{0x80000000, 0x7fffffff, 0x40000001, 0x40000000, 0x3fffffff};
  for (std::uint32_t d = 1; d < 1100; ++d) divisors.push_back(d);
  for (int i = 0; i < 1000; ++i)
    divisors.push_back(1 + static_cast<std::uint32_t>(random() >> (33 + random() % 31)));
  for (const std::uint32_t d : divisors) {
    const cuda::Divisor divisor(d);
    for (const std::uint32_t x : numbers) ASSERT_EQ(divisor.quotient(x), x / d) << x << " / " << d;
    // Where the quotient changes.
    for (std::uint64_t multiple = d; multiple < std::uint64_t{1} << 32;
         multiple += d * (1 + (std::uint64_t{1} << 32) / d / 100))
      for (const std::uint64_t x : {multiple - 1, multiple}) {
        const auto narrow = static_cast<std::uint32_t>(x);
        ASSERT_EQ(divisor.quotient(narrow), narrow / d) << x << " / " << d;
      }
  }
}

cpu::Space cuda_test_space(std::vector<std::int64_t> sizes) {
  cpu::Space space;
  space.operands = 2;
  space.rank = static_cast<int>(sizes.size());
  space.count = 1;
  std::int64_t step = 3;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    space.size[d] = sizes[d];
    space.stride[0][d] = space.count;
    space.stride[1][sizes.size() - 1 - d] = step;
    space.count *= sizes[d];
    step *= 7;
  }
  return space;
}

void expect_located(const cpu::Space& given, std::int64_t i) {
  const cuda::Space<2> space(given);
  std::int64_t offset[2];
  space.locate(i, offset);
  std::int64_t expected[2] = {0, 0}, rest = i;
  for (std::size_t d = 0; d < static_cast<std::size_t>(given.rank); ++d) {
    for (std::size_t k = 0; k < 2; ++k) expected[k] += rest % given.size[d] * given.stride[k][d];
    rest /= given.size[d];
  }
  EXPECT_EQ(offset[0], expected[0]) << i;
  EXPECT_EQ(offset[1], expected[1]) << i;
}

TEST(CudaSpace, LocatesElements) {
  for (const auto& sizes : {std::vector<std::int64_t>{},
                            {5},
                            {5, 3},
                            {2, 3, 5, 7},
                            {16, 1000},
                            {3, 1 << 29},
                            {1 << 16, 1 << 15}}) {
    const cpu::Space space = cuda_test_space(sizes);
    std::mt19937_64 random(10);
    for (int i = 0; i < 300; ++i)
      expect_located(space, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(space.count)));
    expect_located(space, 0);
    expect_located(space, space.count - 1);
  }
}

// Beyond what the multiplication is for.
TEST(CudaSpace, LocatesElementsOfLargeTensors) {
  for (const auto& sizes :
       {std::vector<std::int64_t>{3, (1 << 30) + 1}, {1 << 16, 1 << 15, 3}, {std::int64_t{1} << 33, 5}}) {
    const cpu::Space space = cuda_test_space(sizes);
    std::mt19937_64 random(11);
    for (int i = 0; i < 300; ++i)
      expect_located(space, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(space.count)));
    expect_located(space, space.count - 1);
  }
}

TEST(CudaSpace, JoinsElementsIntoVectors) {
  const cuda::Space<2> rows(cuda_test_space({16, 3}), 4);
  EXPECT_EQ(rows.count, 12);
  EXPECT_EQ(rows.size[0], 4);
  EXPECT_EQ(rows.stride[0][0], 4);
  EXPECT_EQ(rows.stride[0][1], 16);
  const cuda::Space<2> one_row(cuda_test_space({17}), 4);
  EXPECT_EQ(one_row.count, 5);
  const cuda::Space<2> element(cuda_test_space({}), 4);
  EXPECT_EQ(element.count, 1);
}

}  // namespace
}  // namespace assay
