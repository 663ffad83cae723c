// A table of kernels as JSON: how a worker executable tells the harness what it has.
//
//   {"format": "assay.kernels/1", "plugin": "mine", "version": "1.0",
//    "kernels": [{"schema", "name", "contract", "source", "flags", "environment", "unavailable"}]}
//
// Absent texts are empty. `flags` is the number of assay_kernel::flags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lane.h"

namespace assay {

struct DescribedKernel {
  std::string schema;
  std::string name;  // empty if the table gives none
  std::string contract;
  std::string source;
  std::uint32_t flags = 0;  // ASSAY_CHECKS_ARGUMENTS, ASSAY_PEER, ASSAY_ON_DEVICE
  std::string environment;  // NAME=VALUE, separated by spaces
  std::string unavailable;  // why this machine cannot run it
  std::string plugin;       // name and version of the plugin it comes from, or empty
  std::string version;
};

// Calls each kernel's `unavailable`.
std::string description(const WorkerTable& table);

// Throws std::runtime_error if the text is not such a description; the message says what is wrong.
std::vector<DescribedKernel> parse_description(std::string_view json);

}  // namespace assay
