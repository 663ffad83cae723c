// The entry of another library's kernel in the table of kernels, and what such kernels share.
//
//   void relu(const View& self, View& out) {
//     ...                       // describes the call; throws Refused
//     if (asks_only()) return;
//     ...                       // calls the library on tensors of the device
//   }
//   constexpr assay_kernel kernels[] = {peer<ops::relu, relu>("cudnn", no_cudnn, kContract, kSource)};
//
// One function serves both questions, so that what is refused beforehand is what would be refused.
#pragma once

#include <limits>
#include <string>

#include "cuda/call.h"

namespace assay::cuda::peers {

// While one lives, this thread's kernels only say whether they support a call. Their tensors are the caller's
// then, not the device's, and their numbers are not to be read.
class AskingOnly {
 public:
  AskingOnly() { asked() = true; }
  ~AskingOnly() { asked() = false; }
  AskingOnly(const AskingOnly&) = delete;
  AskingOnly& operator=(const AskingOnly&) = delete;

  static bool& asked() {
    static thread_local bool value = false;
    return value;
  }
};
inline bool asks_only() { return AskingOnly::asked(); }

// The table's `refuses`.
template <const Operator& op, auto function>
int refuses(const assay_call* call) {
  constexpr assay_kernel asked = kernel<op, function>("");
  const AskingOnly only;
  return asked.run(call);
}

template <const Operator& op, auto function>
consteval assay_kernel peer(const char* name, const char* (*unavailable)(), const char* contract,
                            const char* source) {
  return kernel<op, on_device<function>>(name, {.contract = contract,
                                                .refuses = refuses<op, function>,
                                                .unavailable = unavailable,
                                                .source = source,
                                                .flags = ASSAY_PEER | ASSAY_ON_DEVICE});
}

// Sizes and strides of these libraries are 32-bit integers. `what` names the number in the refusal.
inline int to_int(std::int64_t number, const char* what) {
  if (number > std::numeric_limits<int>::max() || number < std::numeric_limits<int>::min())
    throw Refused(std::string(what) + " is " + std::to_string(number) +
                  ", which is more than a 32-bit integer holds");
  return static_cast<int>(number);
}

}  // namespace assay::cuda::peers
