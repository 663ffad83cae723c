// What the harness asks of a library whose kernels run on a GPU: assay/device_timing.h.
#include <assay/device_timing.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "limits.h"
#include "resident.h"
#include "stopwatch.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {
namespace {

void say(assay_message message, const char* text) {
  if (message.capacity != 0) std::snprintf(message.text, message.capacity, "%s", text);
}

template <class Work>
int guarded(assay_message message, const Work& work) {
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    say(message, error.what());
    return 1;
  }
}

const char* device(assay_message message) {
  if (const char* const why = no_device()) {
    say(message, why);
    return nullptr;
  }
  static const std::string name = [] {
    cudaDeviceProp properties{};
    return cudaGetDeviceProperties(&properties, 0) == cudaSuccess ? std::string(properties.name) : "a GPU";
  }();
  return name.c_str();
}

std::uint64_t bytes_of_cache() {
  std::uint64_t bytes = 0;
  guarded({nullptr, 0}, [&] { bytes = cache_bytes(); });
  return bytes;
}

int hold_memory(const assay_memory* memory, std::uint32_t count, std::uint32_t copies,
                assay_message message) {
  return guarded(message, [&] { hold({memory, count}, copies); });
}

void run(const assay_call* call) {
  const int status = call->kernel->run(call);
  if (status == ASSAY_OK) return;
  const bool says = call->message_capacity != 0 && call->message[0] != 0;
  throw std::runtime_error(says ? call->message : "a kernel returned " + std::to_string(status));
}

// In parts, if the device's queue does not take as many calls.
double time_of(const assay_call* call, std::uint32_t calls) {
  if (copies_held() > 1) empty_cache();
  const Elapsed elapsed = device_time([&] {
    for (std::uint32_t k = 0; k < calls; ++k) {
      use_next_copy();
      run(call);
    }
  });
  if (!elapsed.late || calls == 1) return elapsed.ns;
  return time_of(call, calls / 2) + time_of(call, calls - calls / 2);
}

int time_calls(const assay_call* call, std::uint32_t calls, double* ns, assay_message message) {
  return guarded(message, [&] { *ns = time_of(call, calls); });
}

int fetch_memory(const assay_memory* memory, std::uint32_t count, assay_message message) {
  return guarded(message, [&] { fetch({memory, count}); });
}

int stream(std::uint64_t read, std::uint64_t written, std::uint32_t copies, std::uint32_t calls, double* ns,
           assay_message message) {
  return guarded(message, [&] { *ns = stream_ns(read, written, copies, calls); });
}

int operations(assay_arithmetic which, double wanted, double* done, double* ns, assay_message message) {
  return guarded(message, [&] {
    const Operations measured = arithmetic(which, wanted);
    *done = measured.done;
    *ns = measured.ns;
  });
}

constexpr assay_device_timing kTable{.size = sizeof(assay_device_timing),
                                     .most_calls = kMostCalls,
                                     .device = device,
                                     .cache_bytes = bytes_of_cache,
                                     .hold = hold_memory,
                                     .time = time_calls,
                                     .fetch = fetch_memory,
                                     .release = release,
                                     .stream = stream,
                                     .arithmetic = operations};

}  // namespace
}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda

extern "C" const assay_device_timing* assay_device_timing_v1(void) { return &assay::cuda::kTable; }
