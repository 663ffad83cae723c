// Matrix product: gemm.cpp on views. There stand the algorithm, the order of accumulation and its error.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/mm.cpp"
#include "levels.h"

#include "gemm.h"
#include "ops/mm.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

Matrix matrix(const View& v) { return {v.data, v.size(0), v.size(1), v.stride(0), v.stride(1)}; }

void mm(const View& self, const View& mat2, View& out) {
  gemm(out.type(), matrix(self), matrix(mat2), matrix(out));
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr const char* kContract =
    "chain=blocked(256) -- optimized/cpu/gemm.cpp: sums of kGemmBlock terms, then their sum";
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::mm, mm, kContract)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
