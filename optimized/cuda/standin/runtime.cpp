// The part of the CUDA runtime that our kernels are launched through, on the device of device.h. There is one stream, the
// default one; others are errors. What CUDA lets a program do without an error and Assay must not do is an error here:
// copies that name the wrong direction, memory freed twice.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device.h"

// What nvcc's code calls (crt/host_runtime.h, crt/device_functions.h).
extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
char __cudaInitModule(void**);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream);
}

struct CUevent_st {
  std::chrono::steady_clock::time_point when;
};

namespace {

using assay::cuda::standin::Device;

struct Kernel {
  std::string name;
  int most_shared = 48 << 10;  // bytes of dynamic shared memory without asking for more
};

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};

std::map<const void*, Kernel>& kernels() {
  static auto* const all = new std::map<const void*, Kernel>;
  return *all;
}

thread_local std::vector<Configuration> configurations;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}
cudaError_t waited() { return result(Device::own().wait() ? cudaSuccess : cudaErrorIllegalAddress); }

cudaError_t launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                   cudaStream_t stream) {
  const auto found = kernels().find(function);
  if (found == kernels().end()) return result(cudaErrorInvalidDeviceFunction);
  if (stream != nullptr || shared > static_cast<size_t>(found->second.most_shared))
    return result(cudaErrorInvalidValue);
  try {
    Device::own().launch(found->second.name.c_str(), {grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
                         shared, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return result(cudaErrorInvalidConfiguration);
  }
  return cudaSuccess;
}

}  // namespace

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
  kernels()[host].name = name;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations.empty()) return result(cudaErrorMissingConfiguration);
  const Configuration& c = configurations.back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  configurations.pop_back();
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host));
  return kernels().contains(host) ? cudaSuccess : result(cudaErrorInvalidDeviceFunction);
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared, stream);
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared, stream);
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  constexpr int kMost = 227 << 10;  // of a block, on sm_90
  const auto found = kernels().find(function);
  if (found == kernels().end()) return result(cudaErrorInvalidDeviceFunction);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || value > kMost)
    return result(cudaErrorInvalidValue);
  found->second.most_shared = value;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    default:
      return "another error";
  }
}
const char* cudaGetErrorString(cudaError_t) { return "said by the stand-in for CUDA"; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return result(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = 1;
      return cudaSuccess;
    case cudaDevAttrL2CacheSize:
      *value = 1 << 16;
      return cudaSuccess;
    default:
      return result(cudaErrorInvalidValue);
  }
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return result(cudaErrorInvalidDevice);
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "stand-in for a GPU");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (device != 0) return result(cudaErrorInvalidDevice);
  static char own;
  *pool = reinterpret_cast<cudaMemPool_t>(&own);
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void*) {
  return attribute == cudaMemPoolAttrReleaseThreshold ? cudaSuccess : result(cudaErrorInvalidValue);
}

cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t stream) {
  if (stream != nullptr || bytes == 0) return result(cudaErrorInvalidValue);
  *data = Device::own().allocate(bytes);
  if (*data == nullptr) {
    if (waited() != cudaSuccess) return cudaErrorIllegalAddress;
    *data = Device::own().allocate(bytes);  // what was freed is free now
  }
  return *data != nullptr ? cudaSuccess : result(cudaErrorMemoryAllocation);
}
cudaError_t cudaMalloc(void** data, size_t bytes) { return cudaMallocAsync(data, bytes, nullptr); }
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  return stream == nullptr && Device::own().free(data) ? cudaSuccess : result(cudaErrorInvalidValue);
}
cudaError_t cudaFree(void* data) {
  if (data != nullptr && !Device::own().free(data)) return result(cudaErrorInvalidValue);
  return waited();
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  Device& device = Device::own();
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (stream != nullptr || (!to_device && !from_device)) return result(cudaErrorInvalidValue);
  if (to_device ? !device.holds(to, bytes) : device.touches(to, bytes)) return result(cudaErrorInvalidValue);
  if (from_device ? !device.holds(from, bytes) : device.touches(from, bytes))
    return result(cudaErrorInvalidValue);
  if (from_device) {
    device.enqueue([=] { std::memcpy(to, from, bytes); });
    return to_device ? cudaSuccess : waited();  // to memory that is not pinned
  }
  const auto* const begin = static_cast<const char*>(from);
  const auto staged = std::make_shared<std::vector<char>>(begin, begin + bytes);
  device.enqueue([=] { std::memcpy(to, staged->data(), bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return error != cudaSuccess ? error : waited();
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  if (stream != nullptr || !Device::own().holds(data, bytes)) return result(cudaErrorInvalidValue);
  Device::own().enqueue([=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return stream == nullptr ? waited() : result(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceSynchronize() { return waited(); }
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (stream != nullptr) return result(cudaErrorInvalidValue);
  Device::own().enqueue([=] { function(data); });
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const cudaError_t error = waited();
  delete event;
  return error;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (stream != nullptr) return result(cudaErrorInvalidValue);
  Device::own().enqueue([event] { event->when = std::chrono::steady_clock::now(); });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return waited(); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  *ms = std::chrono::duration<float, std::milli>(end->when - begin->when).count();
  return cudaSuccess;
}
