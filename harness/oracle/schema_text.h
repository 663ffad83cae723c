// Comparing schema texts that mean the same.
#pragma once

#include <string>
#include <string_view>

namespace assay::oracle {

// The schema without what does not change a call: the namespace, alias annotations ("Tensor(a!)"), SymInt for int, the
// names of results. Two schemas that torch has printed are the same call exactly if these texts are equal.
std::string comparable(std::string_view schema);

}  // namespace assay::oracle
