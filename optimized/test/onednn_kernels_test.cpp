// Every oneDNN kernel against a loop in double, at every level of this machine, over shapes and strides. The
// data are small integers: every result is exact before its last rounding, so all but softmax is compared bit
// for bit.
#ifdef ASSAY_HAVE_ONEDNN
#include "onednn_level.h"

namespace assay::onednn_test {
namespace {

INSTANTIATE_TEST_SUITE_P(Onednn, OnednnLevel,
                         testing::Values("onednn.sse41", "onednn.avx2", "onednn.avx512",
                                         "onednn.avx512_bf16"),
                         [](const auto& p) { return std::string(p.param).substr(7); });

constexpr Dtype kTried[] = {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f64};

const std::vector<Sizes> kShapes{{},
                                 {1},
                                 {7},
                                 {16},
                                 {33},
                                 {3, 5},
                                 {2, 17},
                                 {35, 3},
                                 {2, 3, 5},
                                 {2, 16, 9},
                                 {2, 3, 4, 5},
                                 {1, 16, 3, 3},
                                 {2, 19, 1, 2},
                                 {2, 3, 2, 3, 2},
                                 {2, 1, 2, 1, 2, 3},
                                 {0},
                                 {3, 0, 2}};

// Results have no stride 0.
Layout of_result(Layout layout) { return layout == Layout::expanded ? Layout::contiguous : layout; }

TEST_P(OnednnLevel, Relu) {
  if (!here("relu")) return;
  for (const Dtype dtype : kTried)
    for (const Sizes& sizes : kShapes)
      for (const Layout layout : kLayouts) {
        Tensor x(dtype, sizes, layout), y(dtype, sizes, of_result(layout));
        x.fill(1);
        if (!call({value(x)}, {&y})) continue;
        for (std::int64_t i = 0; i < y.numel(); ++i)
          ASSERT_EQ(y.get(i), x.get(i) > 0 ? x.get(i) : 0) << described() << " at " << i;
      }
  EXPECT_GE(computed(), 60);
}

TEST_P(OnednnLevel, Add) {
  if (!here("add.Tensor")) return;
  const std::pair<Sizes, Sizes> broadcasts[] = {{{2, 3, 4, 5}, {3, 1, 1}}, {{2, 3, 4, 5}, {5}},
                                                {{2, 3, 4, 5}, {}},        {{2, 17, 3}, {2, 1, 3}},
                                                {{17}, {4, 1, 17}},        {{4, 1}, {1, 6}}};
  std::vector<std::pair<Sizes, Sizes>> shapes(std::begin(broadcasts), std::end(broadcasts));
  for (const Sizes& sizes : kShapes) shapes.emplace_back(sizes, sizes);
  for (const auto& [dtype, other_dtype] : {std::pair{Dtype::f32, Dtype::f32},
                                           {Dtype::bf16, Dtype::bf16},
                                           {Dtype::f32, Dtype::bf16},
                                           {Dtype::bf16, Dtype::f32},
                                           {Dtype::f16, Dtype::f16},
                                           {Dtype::f64, Dtype::f64}})
    for (const auto& [sizes, other_sizes] : shapes)
      for (const Layout layout : kLayouts)
        for (const Layout other_layout : {Layout::contiguous, layout})
          for (const double alpha : {1.0, -3.0}) {
            Tensor a(dtype, sizes, layout), b(other_dtype, other_sizes, other_layout);
            Sizes result(std::max(sizes.size(), other_sizes.size()), 1);
            for (const Sizes* from : {&sizes, &other_sizes})
              for (std::size_t d = 0; d < from->size(); ++d)
                if ((*from)[d] != 1) result[result.size() - from->size() + d] = (*from)[d];
            // A tensor of rank 0 yields to the other's dtype.
            const Dtype to = sizes.empty() == other_sizes.empty() ? promote(dtype, other_dtype)
                             : sizes.empty()                      ? other_dtype
                                                                  : dtype;
            Tensor y(to, result, of_result(layout));
            a.fill(1), b.fill(2);
            if (!call({value(a), value(b), value(alpha)}, {&y})) continue;
            for (std::int64_t i = 0; i < y.numel(); ++i) {
              const auto read = [&](const Tensor& t) {
                Sizes index = y.index_of(i);
                index.erase(index.begin(), index.end() - static_cast<std::ptrdiff_t>(t.sizes().size()));
                for (std::size_t d = 0; d < index.size(); ++d)
                  if (t.sizes()[d] == 1) index[d] = 0;
                return t.get(index);
              };
              ASSERT_EQ(y.get(i), read(a) + alpha * read(b))
                  << described() << " at " << i << " alpha " << alpha;
            }
          }
  EXPECT_GE(computed(), 200);
}

// The driver of eltwise with parameters, and its refusals.
TEST_P(OnednnLevel, Clamp) {
  if (!here("clamp")) return;
  for (const Dtype dtype : kTried)
    for (const Sizes& sizes : kShapes)
      for (const Layout layout : kLayouts)
        for (const auto& [min, max] : {std::pair{-2.0, 1.0}, {0.0, 0.0}, {1.0, -2.0}}) {
          Tensor x(dtype, sizes, layout), y(dtype, sizes, of_result(layout));
          x.fill(1);
          if (!call({value(x), value(min), value(max)}, {&y})) continue;
          EXPECT_LE(min, max);
          for (std::int64_t i = 0; i < y.numel(); ++i)
            ASSERT_EQ(y.get(i), std::clamp(x.get(i), min, max)) << described() << " at " << i;
        }
  EXPECT_GE(computed(), 120);
}

TEST_P(OnednnLevel, TanhBackward) {
  if (!here("tanh_backward")) return;
  for (const Dtype dtype : kTried)
    for (const Sizes& sizes : kShapes)
      for (const Layout layout : kLayouts)
        for (const Layout other : {Layout::contiguous, layout}) {
          Tensor g(dtype, sizes, other), t(dtype, sizes, layout), y(dtype, sizes, of_result(layout));
          g.fill(1), t.fill(2);
          if (!call({value(g), value(t)}, {&y})) continue;
          for (std::int64_t i = 0; i < y.numel(); ++i)
            ASSERT_EQ(y.get(i), rounded(g.get(i) * (1 - t.get(i) * t.get(i)), dtype))
                << described() << " at " << i;
        }
  EXPECT_GE(computed(), 60);
}

TEST_P(OnednnLevel, Binary) {
  const std::pair<const char*, double (*)(double, double)> operators[] = {
      {"mul.Tensor", [](double a, double b) { return a * b; }},
      {"maximum", [](double a, double b) { return std::max(a, b); }}};
  for (const auto& [op, formula] : operators) {
    if (!here(op)) return;
    for (const Dtype dtype : kTried)
      for (const Sizes& sizes : kShapes)
        for (const Layout layout : kLayouts)
          for (const Sizes& other : {sizes, Sizes{}}) {
            if (other.empty() != sizes.empty() && sizes.empty()) continue;
            Tensor a(dtype, sizes, layout), b(dtype, other), y(dtype, sizes, of_result(layout));
            a.fill(1), b.fill(2);
            if (!call({value(a), value(b)}, {&y})) continue;
            for (std::int64_t i = 0; i < y.numel(); ++i)
              ASSERT_EQ(y.get(i), formula(a.get(i), b.get(other.empty() ? 0 : i)))
                  << op << described() << " at " << i;
          }
  }
  EXPECT_GE(computed(), 200);
}

TEST_P(OnednnLevel, Prelu) {
  if (!here("prelu")) return;
  for (const Dtype dtype : kTried)
    for (const Sizes& sizes : kShapes)
      for (const Layout layout : kLayouts)
        for (const bool one : {false, true}) {
          if (!one && sizes.size() < 2) continue;
          const std::int64_t channels = one ? 1 : sizes[1];
          for (const Layout weight_layout : {Layout::contiguous, Layout::step2, Layout::expanded}) {
            Tensor x(dtype, sizes, layout), w(dtype, {channels}, weight_layout),
                y(dtype, sizes, of_result(layout));
            x.fill(1), w.fill(2);
            if (!call({value(x), value(w)}, {&y})) continue;
            for (std::int64_t i = 0; i < y.numel(); ++i) {
              const double slope = w.get(one ? 0 : y.index_of(i)[1]);
              ASSERT_EQ(y.get(i), x.get(i) > 0 ? x.get(i) : slope * x.get(i)) << described() << " at " << i;
            }
          }
        }
  EXPECT_GE(computed(), 100);
}

TEST_P(OnednnLevel, PreluBackward) {
  if (!here("prelu_backward")) return;
  for (const Dtype dtype : kTried)
    for (const Sizes& sizes : kShapes)
      for (const Layout layout : kLayouts)
        for (const bool one : {false, true}) {
          if (!one && sizes.size() < 2) continue;
          const std::int64_t channels = one ? 1 : sizes[1];
          for (const Layout other : {Layout::contiguous, Layout::step2, layout}) {
            Tensor g(dtype, sizes, of_result(other)), x(dtype, sizes, layout), w(dtype, {channels}, other);
            Tensor gx(dtype, sizes, of_result(other)), gw(dtype, {channels}, of_result(other));
            g.fill(1), x.fill(2), w.fill(3);
            if (!call({value(g), value(x), value(w)}, {&gx, &gw})) continue;
            std::vector<double> sum(static_cast<std::size_t>(channels), 0);
            for (std::int64_t i = 0; i < gx.numel(); ++i) {
              const std::int64_t c = one ? 0 : gx.index_of(i)[1];
              EXPECT_EQ(gx.get(i), x.get(i) > 0 ? g.get(i) : w.get(c) * g.get(i))
                  << described() << " at " << i;
              if (!(x.get(i) > 0)) sum[static_cast<std::size_t>(c)] += x.get(i) * g.get(i);
            }
            for (std::int64_t c = 0; c < channels; ++c)
              EXPECT_EQ(gw.get(c), rounded(sum[static_cast<std::size_t>(c)], dtype))
                  << described() << " at " << c;
          }
        }
  EXPECT_GE(computed(), 60);
}

TEST_P(OnednnLevel, Softmax) {
  if (!here("softmax.int")) return;
  for (const auto& [dtype, to] : {std::pair{Dtype::f32, Dtype::f32},
                                  {Dtype::bf16, Dtype::bf16},
                                  {Dtype::bf16, Dtype::f32},
                                  {Dtype::f32, Dtype::bf16},
                                  {Dtype::f16, Dtype::f16},
                                  {Dtype::f64, Dtype::f64}})
    for (const Sizes& sizes : kShapes)
      for (const Layout layout : kLayouts)
        for (const Layout result_layout : {of_result(layout), Layout::contiguous})
          for (std::int64_t dim = sizes.empty() ? -1 : 0; dim < static_cast<std::int64_t>(sizes.size());
               ++dim) {
            Tensor x(dtype, sizes, layout), y(to, sizes, result_layout);
            x.fill(1);
            assay_value as{};
            as.kind = ASSAY_KIND_DTYPE;
            as.as.dtype = info(to).dlpack;
            if (!call({value(x), value(dim), dtype == to ? none() : as}, {&y})) continue;
            for (std::int64_t i = 0; i < y.numel(); ++i) {
              Sizes index = y.index_of(i);
              double sum = 0;
              const std::int64_t n = sizes.empty() ? 1 : sizes[static_cast<std::size_t>(dim)];
              for (std::int64_t j = 0; j < n; ++j) {
                if (!sizes.empty()) index[static_cast<std::size_t>(dim)] = j;
                sum += std::exp(x.get(index) - x.get(i));
              }
              // The contract's exp, n additions, a division with one rounding more, the store.
              const double u = format(Dtype::f32).unit;
              const double bound = ((2 * 4.0 + static_cast<double>(n) + 4) * u +
                                    (to == Dtype::bf16 ? 3 * format(to).unit : 0)) /
                                   sum;
              ASSERT_LE(std::abs(y.get(i) - 1 / sum), bound) << described() << " at " << i << " dim " << dim;
            }
          }
  EXPECT_GE(computed(), 100);
}

class OnednnMatmul : public OnednnLevel {};
INSTANTIATE_TEST_SUITE_P(Onednn, OnednnMatmul,
                         testing::Values("onednn.sse41", "onednn.avx2", "onednn.avx512", "onednn.avx512_bf16",
                                         "onednn.amx"),
                         [](const auto& p) { return std::string(p.param).substr(7); });

TEST_P(OnednnMatmul, AgreesWithALoop) {
  if (!here("mm")) return;
  const Sizes shapes[] = {{1, 1, 1},   {5, 6, 7},  {1, 9, 33},      {16, 16, 16},
                          {17, 31, 2}, {3, 1, 40}, {kMany, 64, 64}, {33, kMany + 1, 129},
                          {2, 3, 300}, {0, 3, 4},  {3, 0, 4},       {3, 4, 0}};
  for (const Dtype dtype : kTried)
    for (const Sizes& s : shapes)
      for (const Layout la : kLayouts)
        for (const Layout lb : {Layout::contiguous, Layout::reversed, Layout::padded_rows, Layout::step2})
          for (const Layout lc : {Layout::contiguous, Layout::padded_rows, Layout::reversed, Layout::step2}) {
            const std::int64_t m = s[0], n = s[1], k = s[2];
            Tensor a(dtype, {m, k}, la), b(dtype, {k, n}, lb), c(dtype, {m, n}, lc);
            a.fill(1), b.fill(2);
            if (!call({value(a), value(b)}, {&c})) continue;
            const std::vector<double> av = a.values(), bv = b.values(), cv = c.values();
            for (std::int64_t i = 0; i < m; ++i)
              for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::int64_t l = 0; l < k; ++l)
                  sum += av[static_cast<std::size_t>(i * k + l)] * bv[static_cast<std::size_t>(l * n + j)];
                ASSERT_EQ(cv[static_cast<std::size_t>(i * n + j)], rounded(sum, dtype))
                    << described() << " at " << i << ", " << j;
              }
          }
  EXPECT_GE(computed(), 400);
}

}  // namespace
}  // namespace assay::onednn_test
#endif
