// Layer and group norm: that bits do not depend on strides or on how many dimensions are normalised.
#include "cpu_support.h"

namespace assay::test {
namespace {

assay_value integers(const std::vector<std::int64_t>& list) {
  assay_value v{ASSAY_KIND_INTS, static_cast<std::uint32_t>(list.size()), {}};
  v.as.integers = list.data();
  return v;
}

TEST(CpuLayerNorm, BitsDoNotDependOnStrides) {
  const Shape shape{3, 5, 37}, one{3, 5, 1}, row{37};
  for (const assay_kernel& kernel : levels("native_layer_norm"))
    for (const Dtype dtype : kFloats) {
      Tensor packed(dtype, shape), w(dtype, row), b(dtype, row);
      packed.fill(Normal(1));
      w.fill(Normal(2));
      b.fill(Normal(3));
      std::vector<std::uint64_t> bits[3];
      for (const auto& [in, out] : layout_pairs(shape)) {
        Tensor x(dtype, shape, in), weight(dtype, row, in.kind == Layout::Kind::step2 ? in : Layout{}),
            y(dtype, shape, out);
        Tensor mean(dtype, one, out), rstd(dtype, one);
        x.fill_from(packed);
        weight.fill_from(w);
        call(kernel, {value(x), integers({37}), value(weight), value(b), value(1e-5)}, {&y, &mean, &rstd});
        if (bits[0].empty()) {
          bits[0] = y.bits();
          bits[1] = mean.bits();
          bits[2] = rstd.bits();
        }
        ASSERT_EQ(y.bits(), bits[0]) << kernel.name << " " << name(dtype) << " " << text(in) << " "
                                     << text(out);
        ASSERT_EQ(mean.bits(), bits[1]) << kernel.name << " " << name(dtype);
        ASSERT_EQ(rstd.bits(), bits[2]) << kernel.name << " " << name(dtype);
        ASSERT_TRUE(y.gaps_untouched() && mean.gaps_untouched());
      }
    }
}

TEST(CpuLayerNorm, OfTwoDimensionsIsThatOfOneRow) {
  for (const assay_kernel& kernel : levels("native_layer_norm"))
    for (const Dtype dtype : kFloats) {
      Tensor x(dtype, {4, 3, 7}), flat(dtype, {4, 21}), y(dtype, {4, 3, 7}), z(dtype, {4, 21});
      Tensor mean(dtype, {4, 1, 1}), rstd(dtype, {4, 1, 1}), flat_mean(dtype, {4, 1}),
          flat_rstd(dtype, {4, 1});
      x.fill(Normal(1));
      flat.fill_from(x);
      const std::optional<Dtype> none;
      call(kernel, {value(x), integers({3, 7}), value(none), value(none), value(0.1)}, {&y, &mean, &rstd});
      call(kernel, {value(flat), integers({21}), value(none), value(none), value(0.1)},
           {&z, &flat_mean, &flat_rstd});
      ASSERT_EQ(y.bits(), z.bits()) << kernel.name << " " << name(dtype);
      ASSERT_EQ(rstd.bits(), flat_rstd.bits()) << kernel.name << " " << name(dtype);
    }
}

// With one group, group norm is layer norm but for the weights; without images it has one weight for each element.
TEST(CpuGroupNorm, IsLayerNormOfOneGroup) {
  const Shape shape{3, 5, 37};
  for (const assay_kernel& kernel : levels("native_group_norm"))
    for (const Dtype dtype : kFloats)
      for (const auto& [in, out] : layout_pairs(shape)) {
        Tensor x(dtype, shape, in), flat(dtype, {3, 185}), w(dtype, {5}), b(dtype, {5}), wide(dtype, {185}),
            added(dtype, {185}), y(dtype, shape, out), z(dtype, {3, 185}), mean(dtype, {3, 1}),
            rstd(dtype, {3, 1}), same(dtype, {3, 1}), again(dtype, {3, 1});
        flat.fill(Normal(1));
        x.fill_from(flat);
        std::size_t k = 0, l = 0;
        w.fill([&](auto&&...) { return 1.0 + static_cast<double>(k++); });
        wide.fill([&](auto&&...) { return 1.0 + static_cast<double>(l++ / 37); });
        k = l = 0;
        b.fill([&](auto&&...) { return 0.5 * static_cast<double>(k++); });
        added.fill([&](auto&&...) { return 0.5 * static_cast<double>(l++ / 37); });
        call(kernel,
             {value(x), value(w), value(b), value(std::int64_t{3}), value(std::int64_t{5}),
              value(std::int64_t{37}), value(std::int64_t{1}), value(0.1)},
             {&y, &mean, &rstd});
        call(kernel,
             {value(flat), value(wide), value(added), value(std::int64_t{3}), value(std::int64_t{185}),
              value(std::int64_t{1}), value(std::int64_t{1}), value(0.1)},
             {&z, &same, &again});
        ASSERT_EQ(y.bits(), z.bits())
            << kernel.name << " " << name(dtype) << " " << text(in) << " " << text(out);
        ASSERT_EQ(mean.bits(), same.bits()) << kernel.name << " " << name(dtype);
        ASSERT_EQ(rstd.bits(), again.bits()) << kernel.name << " " << name(dtype);
        ASSERT_TRUE(y.gaps_untouched());
      }
}

}  // namespace
}  // namespace assay::test
