// What holds between calls of different shapes, bit for bit. `assay verify` compares calls of one operator that differ in layout, in place
// or in the rows that are there; not these.
#include "cpu_support.h"

namespace assay::test {
namespace {

assay_value integers(const std::vector<std::int64_t>& list) {
  assay_value v{ASSAY_KIND_INTS, static_cast<std::uint32_t>(list.size()), {}};
  v.as.integers = list.data();
  return v;
}

// A column of a product is the product of the column, wherever its tile and its block begin.
TEST(CpuMm, ColumnsAreIndependent) {
  for (const assay_kernel& kernel : levels("mm"))
    for (const Dtype dtype : kFloats) {
      const std::int64_t m = 61, n = 83, depth = 600;
      Tensor a(dtype, {m, depth}), b(dtype, {depth, n}), out(dtype, {m, n});
      a.fill(Normal(5));
      b.fill(Normal(6));
      call(kernel, {value(a), value(b)}, {&out});
      for (const std::int64_t columns : {1, 2, 5, 13, 33}) {
        Tensor some(dtype, {depth, columns}), product(dtype, {m, columns});
        for (std::int64_t i = 0; i < some.numel(); ++i) some.set(i, b.get(i / columns * n + i % columns));
        call(kernel, {value(a), value(some)}, {&product});
        for (std::int64_t i = 0; i < product.numel(); ++i)
          ASSERT_EQ(product.get(i), out.get(i / columns * n + i % columns)) << kernel.name << " " << columns;
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
      call(kernel, {value(x), integers({3, 7}), none(), none(), value(0.1)}, {&y, &mean, &rstd});
      call(kernel, {value(flat), integers({21}), none(), none(), value(0.1)}, {&z, &flat_mean, &flat_rstd});
      ASSERT_EQ(y.bits(), z.bits()) << kernel.name << " " << name(dtype);
      ASSERT_EQ(rstd.bits(), flat_rstd.bits()) << kernel.name << " " << name(dtype);
    }
}

// Of one group, with a weight for each element of it: channels of several elements have one for all of these.
TEST(CpuGroupNorm, OfImagesIsThatOfManyChannels) {
  for (const assay_kernel& kernel : levels("native_group_norm"))
    for (const Dtype dtype : kFloats)
      for (const Layout& layout : {Layout{}, Layout{Layout::Kind::permuted, {1, 2, 0}}}) {
        Tensor x(dtype, {3, 5, 37}, layout), flat(dtype, {3, 185}), w(dtype, {5}), b(dtype, {5}),
            wide(dtype, {185}), added(dtype, {185}), y(dtype, {3, 5, 37}, layout), z(dtype, {3, 185}),
            mean(dtype, {3, 1}), rstd(dtype, {3, 1}), same(dtype, {3, 1}), again(dtype, {3, 1});
        flat.fill(Normal(1));
        x.fill_from(flat);
        w.fill(Normal(2));
        b.fill(Normal(3));
        for (std::int64_t k = 0; k < 185; ++k) {
          wide.set(k, w.get(k / 37));
          added.set(k, b.get(k / 37));
        }
        const auto sizes = [](std::int64_t channels, std::int64_t of_each) {
          return std::vector<assay_value>{value(std::int64_t{3}), value(channels), value(of_each),
                                          value(std::int64_t{1}), value(0.1)};
        };
        const auto with = [](std::vector<assay_value> all, const std::vector<assay_value>& more) {
          all.insert(all.end(), more.begin(), more.end());
          return all;
        };
        call(kernel, with({value(x), value(w), value(b)}, sizes(5, 37)), {&y, &mean, &rstd});
        call(kernel, with({value(flat), value(wide), value(added)}, sizes(185, 1)), {&z, &same, &again});
        ASSERT_EQ(y.bits(), z.bits()) << kernel.name << " " << name(dtype) << " " << text(layout);
        ASSERT_EQ(mean.bits(), same.bits()) << kernel.name << " " << name(dtype);
        ASSERT_EQ(rstd.bits(), again.bits()) << kernel.name << " " << name(dtype);
      }
}

}  // namespace
}  // namespace assay::test
