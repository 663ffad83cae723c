// Matrix products: gemm.cpp on views. There stand the algorithm, the order of accumulation and its error.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/mm.cpp"
#include "levels.h"

#include "../geometry/without.h"
#include "gemm.h"
#include "ops/mm.h"
#include "parallel.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kBatchGrain = std::int64_t{1} << 20;  // multiplications that are worth another thread

Matrix matrix(const View& v) { return {v.data, v.size(0), v.size(1), v.stride(0), v.stride(1)}; }

// The last dimensions of a view that broadcasts to `rows` and `columns`.
Matrix broadcast(const View& v, std::int64_t rows, std::int64_t columns) {
  const auto stride = [&](int from_the_right) {
    const int d = v.rank() - 1 - from_the_right;
    return d < 0 || v.size(d) == 1 ? 0 : v.stride(d);
  };
  return {v.data, rows, columns, stride(1), stride(0)};
}

void mm(const View& self, const View& mat2, View& out) {
  gemm(out.type(), matrix(self), matrix(mat2), matrix(out));
}

void addmm(const View& self, const View& mat1, const View& mat2, Scalar beta, Scalar alpha, View& out) {
  Affine affine{alpha, beta, {}};
  if (beta.real != 0) affine.addend = broadcast(self, out.size(0), out.size(1));
  gemm(out.type(), matrix(mat1), matrix(mat2), matrix(out), affine);
}

// Matrix i of a stack.
Matrix matrix(const View& v, std::int64_t i) {
  const std::int64_t bytes = v.dtype.bits / 8;
  return {static_cast<char*>(v.data) + i * v.stride(0) * bytes, v.size(1), v.size(2), v.stride(1),
          v.stride(2)};
}

void bmm(const View& self, const View& mat2, View& out) {
  // Threads take whole products where there are enough of them; gemm sees that it is inside.
  const std::int64_t work = HWY_MAX(std::int64_t{1}, out.size(1) * out.size(2) * self.size(2));
  parallel_for(out.size(0), 1 + kBatchGrain / work, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    for (std::int64_t i = begin; i < end; ++i)
      gemm(out.type(), matrix(self, i), matrix(mat2, i), matrix(out, i));
  });
}

// Rows of the input that lie at one distance from each other make a matrix; the others follow one by one.
void linear(const View& input, const View& weight, const View* bias, View& out) {
  if (out.numel() == 0) return;
  const Matrix w = matrix(weight).transposed();
  const int last = input.rank() - 1;
  const View* const views[] = {&out, &input};
  const Space rows = space_without(last, views, 2);
  const auto product = [&](std::int64_t to, std::int64_t from, std::int64_t n, std::int64_t to_step,
                           std::int64_t from_step) HWY_ATTR {
    const std::int64_t bytes = out.dtype.bits / 8;
    Affine affine;
    if (bias != nullptr) affine = {Affine::kOne, Affine::kOne, broadcast(*bias, n, out.size(last))};
    gemm(out.type(),
         {static_cast<char*>(input.data) + from * bytes, n, w.rows, from_step, input.stride(last)}, w,
         {static_cast<char*>(out.data) + to * bytes, n, w.columns, to_step, out.stride(last)}, affine);
  };
  if (rows.rank == 0) return product(0, 0, 1, 0, 0);
  for (Runs run(rows, 0, rows.count); !run.done(); run.next())
    product(run.offset[0], run.offset[1], run.length, rows.stride[0][0], rows.stride[1][0]);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr const char* kContract =
    "chain=blocked(256) -- optimized/cpu/gemm.cpp: sums of kGemmBlock terms, then their sum";
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::mm, mm, kContract), ASSAY_CPU_LEVELS(ops::addmm, addmm, kContract),
    ASSAY_CPU_LEVELS(ops::bmm, bmm, kContract), ASSAY_CPU_LEVELS(ops::linear, linear, kContract)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
