#include "kernel.h"

#include <string>
#include <vector>

#include "check.h"

namespace assay {
namespace {

std::vector<EnrolledKernel>& table() {
  static std::vector<EnrolledKernel> kernels;
  return kernels;
}

thread_local std::string information;

}  // namespace

void say_information(std::string_view text) { information = text; }

void deliver_information(const assay_call* call) {
  if (call->information_capacity > 0)
    std::snprintf(call->information, call->information_capacity, "%s", information.c_str());
  information.clear();
}

int refuse(const assay_call* call, const char* message) {
  if (call->message != nullptr && call->message_capacity > 0)
    std::snprintf(call->message, call->message_capacity, "%s", message);
  return ASSAY_REFUSED;
}

int check_call(const Operator& op, const assay_call* call) {
  const Checked checked = check_arguments(op, {call->arguments, call->argument_count});
  return checked.ok() ? ASSAY_OK : refuse(call, checked.error.c_str());
}

void Enrolled::enrol(const assay_kernel* kernels, std::size_t n, const char* file) {
  for (std::size_t i = 0; i < n; ++i) table().push_back({kernels[i], file});
}

std::span<const EnrolledKernel> enrolled_kernels() { return table(); }

}  // namespace assay
