// From the table of kernels to the device: tensors, scratch memory, launches, errors.
//
//   void prelu(const View& self, const View& weight, View& out);    // launches kernels on tensors of the device
//   constexpr assay_kernel kernels[] = {ASSAY_CUDA(ops::prelu, prelu, "...contract...")};
//   const Enrolled enrolled{kernels};
//
// On a GPU, tensors of the program are copied there and back; what lies between the elements of a result comes back as
// it was. In the emulation the memory of the program is the device's.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "device.h"
#include "memory.h"
#if !defined(ASSAY_CUDA_GPU)
#include "ptx/run.h"
#endif
#include "vocabulary/kernel.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

inline constexpr int kWarpSize = 32;

// How many blocks `count` pieces of work take, `each` of them a block; at most as many as keep a GPU busy, whose threads
// then take several.
inline dim3 blocks_for(std::int64_t count, std::int64_t each) {
  constexpr std::int64_t most = 132 * 16;
  const std::int64_t blocks = (count + each - 1) / each;
  return dim3(static_cast<unsigned>(blocks < 1 ? 1 : blocks > most ? most : blocks));
}

#if defined(__CUDACC__) || !defined(ASSAY_CUDA_GPU)  // there is no kernel in what only calls CUDA
// This thread among those of a launch in one dimension, and how many they are.
__device__ __forceinline__ std::int64_t global_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::int64_t global_threads() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}
#endif

template <auto kernel>
struct KernelName {};

template <auto kernel, class F>
struct Launcher;

#if defined(__CUDACC__)
template <auto kernel, class... P>
struct Launcher<kernel, void (*)(P...)> {
  static void run(dim3 grid, dim3 block, std::size_t shared, P... arguments) {
    constexpr std::size_t kWithoutAsking = 48 << 10;
    if (shared > kWithoutAsking)
      check(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
          "asking for shared memory");
    kernel<<<grid, block, shared>>>(arguments...);
    check(cudaGetLastError(), "launching a kernel");
  }
};
#elif !defined(ASSAY_CUDA_GPU)
template <auto kernel, class... P>
struct Launcher<kernel, void (*)(P...)> {
  static void run(dim3 grid, dim3 block, std::size_t shared, P... arguments) {
    const std::tuple<P...> all(arguments...);
    const std::array<emulation::Argument, sizeof...(P)> list{{{&arguments, sizeof arguments}...}};
    const emulation::Launch launch{.grid = grid,
                                   .block = block,
                                   .shared_bytes = shared,
                                   .thread =
                                       [](const void* given) ASSAY_EMULATION {
                                         std::apply([](const P&... each) ASSAY_EMULATION { kernel(each...); },
                                                    *static_cast<const std::tuple<P...>*>(given));
                                       },
                                   .arguments = &all,
                                   .arguments_bytes = sizeof all,
                                   .argument_list = list.data(),
                                   .argument_count = list.size(),
                                   .kernel = typeid(KernelName<kernel>).name()};
    if (ptx::interpreted()) return ptx::run(launch);
    emulation::run(launch);
  }
};
#endif

// Runs a kernel with these arguments, converted to its parameters' types. Throws what check() throws, or Fault.
template <auto kernel, class... A>
void launch(dim3 grid, dim3 block, std::size_t shared, A&&... arguments) {
  Launcher<kernel, decltype(+kernel)>::run(grid, block, shared, std::forward<A>(arguments)...);
}

// `function` with its tensors on the device.
template <auto function, class F>
struct OnDevice;

template <auto function, class... P>
struct OnDevice<function, void (*)(P...)> {
  static void run(P... arguments) {
    Tensors tensors;
    function(tensors.on_device(arguments)...);
    tensors.bring_back();
  }
};

template <auto function>
inline constexpr auto on_device = &OnDevice<function, decltype(+function)>::run;

#if !defined(ASSAY_CUDA_GPU)
// `function`, its launches as compiled to PTX.
template <auto function, class F>
struct AsPtx;

template <auto function, class... P>
struct AsPtx<function, void (*)(P...)> {
  static void run(P... arguments) {
    const ptx::Interpreted interpreted;
    OnDevice<function, void (*)(P...)>::run(std::forward<P>(arguments)...);
  }
};

template <auto function>
inline constexpr auto as_ptx = &AsPtx<function, decltype(+function)>::run;
#endif

consteval const char* from_optimized(const char* path) {
  const std::string_view text = path;
  const std::size_t at = text.rfind("optimized/");
  return at == std::string_view::npos ? path : path + at;
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda

#define ASSAY_CUDA_TEXT_(x) #x
#define ASSAY_CUDA_TEXT(x) ASSAY_CUDA_TEXT_(x)
#define ASSAY_CUDA_ENTRY(op, function, name, lacks, contract_text, more_flags)                \
  ::assay::kernel<op, function>(                                                              \
      name, {.contract = contract_text,                                                       \
             .unavailable = lacks,                                                            \
             .source = ::assay::cuda::from_optimized(__FILE__ ":" ASSAY_CUDA_TEXT(__LINE__)), \
             .flags = ASSAY_CHECKS_ARGUMENTS | (more_flags)})

// The entries of a table of kernels: `function`, for operator `op`, under one contract.
#if defined(ASSAY_CUDA_GPU)
#define ASSAY_CUDA(op, function, contract_text)                                                  \
  ASSAY_CUDA_ENTRY(op, ::assay::cuda::on_device<function>, "cuda.gpu", ::assay::cuda::no_device, \
                   contract_text, ASSAY_ON_DEVICE)
#elif defined(ASSAY_HAVE_NVCC)
#define ASSAY_CUDA(op, function, contract_text)                                                         \
  ASSAY_CUDA_ENTRY(op, ::assay::cuda::on_device<function>, "cuda.emulated", nullptr, contract_text, 0), \
      ASSAY_CUDA_ENTRY(op, ::assay::cuda::as_ptx<function>, "cuda.ptx", nullptr, contract_text, 0)
#else
#define ASSAY_CUDA(op, function, contract_text)                                                         \
  ASSAY_CUDA_ENTRY(op, ::assay::cuda::on_device<function>, "cuda.emulated", nullptr, contract_text, 0), \
      ASSAY_CUDA_ENTRY(op, ::assay::cuda::as_ptx<function>, "cuda.ptx", ::assay::cuda::not_built,       \
                       contract_text, 0),                                                               \
      ASSAY_CUDA_ENTRY(op, ::assay::cuda::on_device<function>, "cuda.gpu", ::assay::cuda::not_built,    \
                       contract_text, ASSAY_ON_DEVICE)
#endif
