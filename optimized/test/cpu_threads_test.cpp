// Bits that do not depend on the number of threads, of an operator of each driver: more numbers than `assay verify` tries, and where the
// thread sanitizer sees them.
#include <omp.h>

#include "cpu_support.h"

namespace assay::test {
namespace {

// Of all results, whose calls are made again with each number of threads.
void expect_the_same_for_all(const assay_kernel& kernel, const std::vector<assay_value>& arguments,
                             const std::vector<Tensor*>& outputs) {
  const int before = omp_get_max_threads();
  std::vector<std::vector<std::uint64_t>> one;
  for (const int threads : kThreads) {
    omp_set_num_threads(threads);
    call(kernel, arguments, outputs);
    std::vector<std::vector<std::uint64_t>> bits;
    for (const Tensor* t : outputs) bits.push_back(t->bits());
    if (threads == 1) one = bits;
    EXPECT_EQ(bits, one) << threads << " threads " << kernel.schema << " " << kernel.name;
  }
  omp_set_num_threads(before);
}

const Layout kReversed{Layout::Kind::permuted, {2, 1, 0}}, kGaps{Layout::Kind::step2, {}};

TEST(CpuAdd, ThreadsChangeNothing) {
  for (const assay_kernel& kernel : levels("add.Tensor"))
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
      for (const Layout& layout : {Layout{}, kReversed, kGaps}) {
        Tensor x(dtype, {3, 211, 331}, layout), y(dtype, {211, 1}), z(dtype, {3, 211, 331});
        x.fill(Normal(8));
        y.fill(Normal(9));
        expect_the_same_for_all(kernel, {value(x), value(y), value(0.3)}, {&z});
      }
}

TEST(CpuPreluBackward, ThreadsChangeNothing) {
  for (const assay_kernel& kernel : levels("prelu_backward"))
    for (const Shape& shape : {Shape{9, 16, 700}, Shape{300, 300, 1}, Shape{7, 5, 3600}})
      for (const Layout& layout : {Layout{}, kReversed, kGaps}) {
        Tensor grad(Dtype::f32, shape, layout), x(Dtype::f32, shape, layout), weight(Dtype::f32, {shape[1]});
        Tensor grad_x(Dtype::f32, shape), grad_weight(Dtype::f32, {shape[1]});
        grad.fill(Normal(7));
        x.fill(Normal(8));
        weight.fill(Normal(9));
        expect_the_same_for_all(kernel, {value(grad), value(x), value(weight)}, {&grad_x, &grad_weight});
      }
}

TEST(CpuSoftmax, ThreadsChangeNothing) {
  for (const assay_kernel& kernel : levels("softmax.int"))
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
      for (const std::int64_t dim : {0, 1, 2}) {
        Tensor x(dtype, {13, 70, 41}), y(dtype, {13, 70, 41});
        x.fill(Normal(5));
        expect_the_same_for_all(kernel, {value(x), value(dim), none()}, {&y});
      }
}

TEST(CpuMm, ThreadsChangeNothing) {
  for (const assay_kernel& kernel : levels("mm"))
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
      for (const Shape& s : {Shape{300, 200, 300}, Shape{20, 900, 700}, Shape{1100, 3, 900}}) {
        Tensor a(dtype, {s[0], s[2]}), b(dtype, {s[2], s[1]}), out(dtype, {s[0], s[1]});
        a.fill(Normal(7));
        b.fill(Normal(8));
        expect_the_same_for_all(kernel, {value(a), value(b)}, {&out});
      }
}

}  // namespace
}  // namespace assay::test
