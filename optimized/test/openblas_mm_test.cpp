// OpenBLAS against a loop in double, for every pair of operand layouts that BLAS can and cannot express.
#ifdef ASSAY_OPENBLAS
#include "onednn_level.h"

namespace assay::onednn_test {
namespace {

TEST(OpenblasMm, AgreesWithALoopOrRefuses) {
  const assay_kernel* kernel = kernel_of("mm", "openblas");
  ASSERT_NE(kernel, nullptr);
  if (kernel->unavailable() != nullptr) GTEST_SKIP() << kernel->unavailable();
  setenv("OPENBLAS_NUM_THREADS", "1", 1);  // it is loaded by the first call
  int computed = 0, refused = 0;
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16})
    for (const Sizes& s : {Sizes{1, 1, 1},
                           {5, 6, 7},
                           {1, 9, 33},
                           {17, 1, 2},
                           {3, 4, 1},
                           {kMany, 33, 129},
                           {0, 3, 4},
                           {3, 0, 4},
                           {3, 4, 0}})
      for (const Layout la : kLayouts)
        for (const Layout lb : kLayouts)
          for (const Layout lc : {Layout::contiguous, Layout::reversed, Layout::padded_rows, Layout::step2}) {
            const std::int64_t m = s[0], n = s[1], k = s[2];
            Tensor a(dtype, {m, k}, la), b(dtype, {k, n}, lb), c(dtype, {m, n}, lc);
            a.fill(1), b.fill(2);
            for (std::int64_t i = 0; i < c.numel(); ++i) c.set(i, NAN);  // beta is 0: nothing of it may stay
            assay_value arguments[] = {value(a), value(b)};
            assay_tensor* outputs[] = {&c.view()};
            char message[256] = "";
            assay_call call{};
            call.size = sizeof call;
            call.argument_count = 2;
            call.arguments = arguments;
            call.output_count = 1;
            call.outputs = outputs;
            call.message = message;
            call.message_capacity = sizeof message;
            call.kernel = kernel;
            const int declared = kernel->refuses(&call);
            const int status = kernel->run(&call);
            EXPECT_EQ(declared, status) << message;
            const std::string where =
                describe(a.view()) + " " + describe(b.view()) + " -> " + describe(c.view());
            const bool plain =
                (la == Layout::contiguous || la == Layout::reversed || la == Layout::padded_rows) &&
                (lb == Layout::contiguous || lb == Layout::reversed || lb == Layout::padded_rows) &&
                lc != Layout::step2 && dtype != Dtype::bf16;
            EXPECT_TRUE(!plain || status == ASSAY_OK) << where << ": " << message;
            if (status == ASSAY_REFUSED) {
              EXPECT_STRNE(message, "");
              ++refused;
              continue;
            }
            ASSERT_EQ(status, ASSAY_OK) << where << ": " << message;
            ++computed;
            EXPECT_TRUE(c.surroundings_intact()) << where;
            for (std::int64_t i = 0; i < m; ++i)
              for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::int64_t l = 0; l < k; ++l) sum += a.get({i, l}) * b.get({l, j});
                ASSERT_EQ(c.get({i, j}), sum) << where << " at " << i << ", " << j;
              }
          }
  std::printf("openblas: %d calls agree, %d refused\n", computed, refused);
  EXPECT_GE(computed, 500);
}

}  // namespace
}  // namespace assay::onednn_test
#endif
