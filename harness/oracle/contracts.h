// What PyTorch promises about its numbers on the CPU: 1.13 as far as its source says, other versions what common libraries do.
#pragma once

#include <string_view>

namespace assay::oracle {

// The clauses (vocabulary/contract.h) of an operator, by its name ("add.Tensor"). One that the table does not list
// gets clauses that hold for every kernel written with ATen's vector classes. Zero-terminated.
std::string_view contract_of(std::string_view op);

inline constexpr std::string_view kKnownVersion = "1.13.";
// Of versions whose source nobody has read as a whole. Zero-terminated.
std::string_view contract_of_other_versions(std::string_view op);

}  // namespace assay::oracle
