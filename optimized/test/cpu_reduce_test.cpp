// What reductions keep and what they go through, for any strides, and that bits do not depend on them.
#include "../cpu/reduced.h"

#include <map>

#include "cpu_support.h"

namespace assay::test {
namespace {

using cpu::reduced_space;
using cpu::ReducedSpace;
using cpu::Runs;
using cpu::Walk;

View view_of(const Shape& shape, const std::vector<std::int64_t>& strides) {
  View v;
  v.ndim = static_cast<int>(shape.size());
  v.shape = const_cast<std::int64_t*>(shape.data());
  v.strides = const_cast<std::int64_t*>(strides.data());
  return v;
}

// By the offset of each output: the offsets of its inputs in row-major order of the reduced dimensions.
using Visits = std::map<std::int64_t, std::vector<std::int64_t>>;

Visits by_definition(const Shape& shape, const std::vector<std::int64_t>& in, const Axes& axes,
                     const std::vector<std::int64_t>& out, bool keepdim) {
  Visits visits;
  std::int64_t numel = 1;
  for (const std::int64_t n : shape) numel *= n;
  for (std::int64_t k = 0; k < numel; ++k) {
    std::int64_t to = 0, from = 0, left = k;
    auto o = static_cast<int>(out.size());
    for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d) {
      const auto at = static_cast<std::size_t>(d);
      const std::int64_t index = left % shape[at];
      left /= shape[at];
      from += index * in[at];
      if (axes.contains(d))
        o -= keepdim ? 1 : 0;
      else
        to += index * out[static_cast<std::size_t>(--o)];
    }
    visits[to].push_back(from);
  }
  return visits;
}

TEST(ReducedSpace, VisitsTheInputsOfEachOutputInRowMajorOrder) {
  const Shape shape{2, 3, 4, 5};
  const std::vector<std::vector<std::int64_t>> inputs{
      {60, 20, 5, 1}, {1, 2, 6, 24}, {60, 1, 15, 3}, {0, 5, 0, 1}};
  for (const std::vector<std::int64_t>& in : inputs)
    for (unsigned mask = 1; mask < 16; ++mask)
      for (const bool keepdim : {false, true}) {
        std::vector<std::int64_t> list, out;
        Shape out_shape;
        for (int d = 0; d < 4; ++d) {
          const bool reduced = (mask >> d & 1) != 0;
          if (reduced) list.push_back(d - (d % 2 == 0 ? 4 : 0));
          if (!reduced || keepdim) out_shape.push_back(reduced ? 1 : shape[static_cast<std::size_t>(d)]);
        }
        std::int64_t stride = 1;
        for (std::size_t d = out_shape.size(); d-- > 0; stride *= out_shape[d])
          out.insert(out.begin(), stride);
        const Axes axes(std::span<const std::int64_t>(list), 4);
        const ReducedSpace space = reduced_space(view_of(out_shape, out), view_of(shape, in), axes, keepdim);
        Visits visits;
        for (Runs run(space.kept, 0, space.kept.count); !run.done(); run.next())
          for (std::int64_t i = 0; i < run.length; ++i) {
            const auto step = [&](std::size_t k) {
              return space.kept.rank == 0 ? 0 : space.kept.stride[k][0];
            };
            for (Walk walk(space); !walk.done(); walk.next())
              for (std::int64_t k = 0; k < space.size[0]; ++k)
                visits[run.offset[0] + i * step(0)].push_back(run.offset[1] + i * step(1) + walk.offset() +
                                                              k * space.stride[0]);
          }
        ASSERT_EQ(visits, by_definition(shape, in, axes, out, keepdim)) << mask << " " << keepdim;
      }
}

TEST(ReducedSpace, OfNoElementsAndOfNoDimensions) {
  const Shape empty{3, 0}, three{3}, none;
  const std::vector<std::int64_t> strides{1, 1}, one{1};
  const std::int64_t last[] = {1}, scalar[] = {0};
  const ReducedSpace nothing = reduced_space(view_of(three, one), view_of(empty, strides),
                                             Axes(std::span<const std::int64_t>(last), 2), false);
  EXPECT_EQ(nothing.count, 0);
  EXPECT_EQ(nothing.kept.count, 3);
  EXPECT_TRUE(Walk(nothing).done());
  const ReducedSpace single = reduced_space(view_of(none, {}), view_of(none, {}),
                                            Axes(std::span<const std::int64_t>(scalar), 0), false);
  EXPECT_EQ(single.count, 1);
  EXPECT_FALSE(Walk(single).done());
}

TEST(CpuSum, BitsDoNotDependOnStrides) {
  const Shape shape{3, 37, 5};
  for (const assay_kernel& kernel : levels("sum.dim_IntList"))
    for (const Dtype dtype : kFloats) {
      Tensor packed(dtype, shape), y(dtype, {5});
      packed.fill(Normal(1));
      std::vector<std::uint64_t> bits;
      for (const auto& [in, out] : layout_pairs(shape)) {
        Tensor x(dtype, shape, in);
        x.fill_from(packed);
        const std::int64_t dims[] = {0, -2};
        assay_value dim{ASSAY_KIND_INTS, 2, {}}, keepdim{ASSAY_KIND_BOOL, 1, {}};
        dim.as.integers = dims;
        call(kernel, {value(x), dim, keepdim, value(std::optional<Dtype>())}, {&y});
        if (bits.empty()) bits = y.bits();
        ASSERT_EQ(y.bits(), bits) << kernel.name << " " << name(dtype) << " " << text(in);
      }
    }
}

}  // namespace
}  // namespace assay::test
