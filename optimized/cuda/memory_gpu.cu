// Memory of a GPU. A call's tensors are copied to the device, each with all that lies in its span, and results back.
//
// What a kernel must not rely on is made visible: a result's buffer is filled with 0xff, NaN in every format, unless gaps
// lie between its elements: then it is copied to the device first, so that the gaps come back as they were. Copies keep
// their place modulo 256 bytes, so that a kernel meets the alignment that the program's tensors have.
//
// While kernels are timed, the device holds the tensors of their calls (timing/resident.h): then nothing is copied, and
// nobody waits.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "call.h"
#include "timing/resident.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {
namespace {

constexpr const char* kNoDevice = "not run: no device: ";

// In a process of its own. Empty if there is a device that our code runs on.
std::string look_for_device() {
  const auto failed = [](const char* doing, cudaError_t error) {
    return std::string(kNoDevice) + doing + ": " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error);
  };
  int count = 0, major = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess)
    return failed("counting devices", error);
  if (count == 0) return std::string(kNoDevice) + "the driver has none";
  if (const cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
      error != cudaSuccess)
    return failed("asking for the compute capability", error);
  constexpr int kLeast = 8;
  if (major < kLeast)
    return std::string(kNoDevice) + "this build is for compute capability 8.0 and above, the device has " +
           std::to_string(major);
  if (const cudaError_t error = cudaFree(nullptr); error != cudaSuccess)
    return failed("starting the device", error);
  return "";
}

// What a child process says of the device, in 30 s.
std::string ask_child() {
  int ends[2];
  if (pipe(ends) != 0) return std::string(kNoDevice) + "there is no pipe to ask through";
  const pid_t child = fork();
  if (child == 0) {
    const std::string answer = look_for_device() + "\n";
    const bool said = write(ends[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    _exit(said ? 0 : 1);
  }
  close(ends[1]);
  std::string answer;
  constexpr int kPatience = 30'000;  // ms
  pollfd ready{ends[0], POLLIN, 0};
  char buffer[512];
  while (child > 0 && poll(&ready, 1, kPatience) > 0) {
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n <= 0) break;
    answer.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (child < 0) return std::string(kNoDevice) + "no process can be started to ask for one";
  if (answer.empty() || answer.back() != '\n') kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (answer.empty() || answer.back() != '\n')
    return std::string(kNoDevice) + "the process that asked the driver gave no answer";
  answer.pop_back();
  return answer;
}

std::string why_not() {
  // Of the driver on Linux, and under Windows.
  if (access("/dev/nvidiactl", F_OK) != 0 && access("/dev/dxg", F_OK) != 0)
    return std::string(kNoDevice) + "there is no /dev/nvidiactl";
  return ask_child();
}

// After these, CUDA's documentation says, a process can do no more with the device.
bool ends_process(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

// Memory that is given back stays with the process: the next call wants as much.
void keep_memory() {
  int device = 0;
  cudaMemPool_t pool{};
  std::uint64_t all = ~std::uint64_t{0};
  check(cudaGetDevice(&device), "finding the device");
  check(cudaDeviceGetDefaultMemPool(&pool, device), "finding the device's memory pool");
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "keeping memory of the device");
}

}  // namespace

const char* no_device() {
  static const std::string answer = why_not();
  return answer.empty() ? nullptr : answer.c_str();
}

void check(cudaError_t error, const char* doing, const char* file, int line) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // or the next call would report it again
  const std::string path = file;
  const std::size_t at = path.rfind("optimized/");
  const std::string what =
      std::string(doing) + " failed: " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error) + " (" +
      (at == std::string::npos ? path : path.substr(at)) + ":" + std::to_string(line) + ")";
  if (!ends_process(error)) throw std::runtime_error(what);
  // Every later call of this process would fail, too, and other kernels take the blame: a crash is that of one call, which
  // the harness repeats in a fresh process.
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

Memory::Memory(std::size_t bytes, const char* name) : bytes_(bytes) {
  static const bool keeps = (keep_memory(), true);
  static_cast<void>(keeps);
  const std::string doing = "allocating " + std::to_string(bytes) + " bytes of the device for " + name;
  check(cudaMallocAsync(&data_, bytes == 0 ? 1 : bytes, nullptr), doing.c_str());
}
// An error here was one of the kernel's, and bring_back() reports it.
Memory::~Memory() {
  if (data_ != nullptr) cudaFreeAsync(data_, nullptr);
}

struct Tensors::Tensor {
  std::unique_ptr<View> view;  // of the device
  char* begin;                 // in the program's memory
  std::size_t bytes;
  bool output;
  std::unique_ptr<Memory> memory;  // or null, if another tensor's holds it
};

Tensors::Tensors() = default;
Tensors::~Tensors() = default;

View& Tensors::add(const View& view, bool output) {
  Tensor added{std::make_unique<View>(view), static_cast<char*>(view.data), 0, output, nullptr};
  const std::int64_t count = view.numel();
  if (count == 0) {
    tensors_.push_back(std::move(added));
    return *tensors_.back().view;
  }
  std::int64_t last = 0;
  for (int d = 0; d < view.rank(); ++d) last += (view.size(d) - 1) * view.stride(d);
  added.bytes = static_cast<std::size_t>(last + 1) * view.dtype.bits / 8;
  char* const begin = added.begin;
  char* const end = begin + added.bytes;
  if (void* const there = held(begin, added.bytes)) {
    added.view->data = there;
    added.bytes = 0;  // nothing to copy
    tensors_.push_back(std::move(added));
    return *tensors_.back().view;
  }
  for (const Tensor& t : tensors_) {
    if (t.bytes == 0 || begin >= t.begin + t.bytes || t.begin >= end) continue;
    if (begin >= t.begin && end <= t.begin + t.bytes)
      added.view->data = static_cast<char*>(t.view->data) + (begin - t.begin);
    else if (output || t.output)
      throw std::runtime_error("a result and another tensor share a part of their memory");
  }
  if (added.view->data == begin) {
    const std::uintptr_t beyond = reinterpret_cast<std::uintptr_t>(begin) % kAlignment;
    added.memory = std::make_unique<Memory>(added.bytes + beyond, output ? "a result" : "a tensor");
    added.view->data = static_cast<char*>(added.memory->data()) + beyond;
  }
  // Of a tensor in the memory of another one, that one's contents stand, or what it was given up to be.
  if (!output || (added.memory != nullptr && last + 1 != count))
    check(cudaMemcpyAsync(added.view->data, begin, added.bytes, cudaMemcpyHostToDevice, nullptr),
          "copying a tensor to the device");
  else if (added.memory != nullptr)
    check(cudaMemsetAsync(added.view->data, 0xff, added.bytes, nullptr), "filling a result");
  tensors_.push_back(std::move(added));
  return *tensors_.back().view;
}

const View& Tensors::on_device(const View& input) { return add(input, false); }
const View* Tensors::on_device(const View* input) { return input == nullptr ? nullptr : &add(*input, false); }
std::span<const View* const> Tensors::on_device(std::span<const View* const> inputs) {
  std::vector<const View*>& list = lists_.emplace_back();
  for (const View* v : inputs) list.push_back(&add(*v, false));
  return list;
}
View& Tensors::on_device(View& output) { return add(output, true); }

void Tensors::bring_back() {
  const auto copied = [](const Tensor& t) { return t.bytes != 0; };
  if (std::none_of(tensors_.begin(), tensors_.end(), copied)) return;
  check(cudaStreamSynchronize(nullptr), "running the kernels");
  for (const Tensor& t : tensors_)
    if (t.output && t.bytes != 0)
      check(cudaMemcpy(t.begin, t.view->data, t.bytes, cudaMemcpyDeviceToHost),
            "copying a result from the device");
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
