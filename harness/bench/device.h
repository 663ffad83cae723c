// The clock of a GPU, of which this is a handle: a library's assay_device_timing (assay/device_timing.h), with exceptions.
#pragma once

#include <assay/device_timing.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bandwidth.h"
#include "call_damage.h"
#include "operands.h"

namespace assay {

// A kernel of a device failed when it was called to be timed.
struct DeviceKernelError : KernelError {
  using KernelError::KernelError;
};

// Every function throws std::runtime_error with what the library says.
class Device {
 public:
  explicit Device(const assay_device_timing& table) : table_(&table) {}

  // Empty, with the reason, where there is none.
  std::optional<std::string> name(std::string& why_not) const;
  std::size_t cache_bytes() const { return table_->cache_bytes(); }
  int most_calls() const { return static_cast<int>(std::min(table_->most_calls, kMostDeviceCalls)); }

  void hold(const Operands& operands, int copies) const;
  void release() const;
  // Of each call, one after the other, each on the next copy. Throws DeviceKernelError, too.
  double ns_of_call(const assay_call& call, int calls) const;
  // Results of the last call, to where the operands have them. Throws DeviceKernelError: what calls do, they do later.
  void fetch(const Operands& operands) const;

  // Of moving so many bytes once, in as many copies as the operands have.
  double ns_of_stream(std::uint64_t read, std::uint64_t written, int copies, int calls) const;
  struct Burst {
    double operations, ns;
  };
  Burst burst(assay_arithmetic which, double wanted) const;

  // Bytes and operations a second. Takes about a second.
  std::vector<MachineLimit> limits() const;

  bool operator==(const Device&) const = default;

 private:
  static constexpr std::uint32_t kMostDeviceCalls = 1'000'000;
  template <class Error, class Function, class... A>
  void call(Function function, A... arguments) const;

  const assay_device_timing* table_;
};

}  // namespace assay
