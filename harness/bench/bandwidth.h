// Limits of this machine's processor, one core: bytes a second by where the data lies, and operations a second.
#pragma once

#include <string>
#include <vector>

namespace assay {

struct MachineLimit {
  std::string name;      // "read L1", "copy DRAM", "FMA f32"
  std::string kind;      // bandwidth | arithmetic
  std::string level;     // L1, L2, L3, DRAM, or empty
  std::string dtype;     // of the operands; empty for bandwidths
  double value = 0;      // bytes or operations a second; a copied byte counts twice, a fused multiply-add too
  std::string device{};  // whose, if it is a GPU's
};

// Takes about a second. Medians of several tries of each.
std::vector<MachineLimit> machine_limits();

}  // namespace assay
