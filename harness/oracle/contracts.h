// What PyTorch 1.13 promises about its numbers on the CPU, as far as its source says.
#pragma once

#include <string_view>

namespace assay::oracle {

// The clauses (vocabulary/contract.h) of an operator, by its name ("add.Tensor"). One that the table does not list
// gets clauses that hold for every kernel written with ATen's vector classes. Zero-terminated.
std::string_view contract_of(std::string_view op);

}  // namespace assay::oracle
