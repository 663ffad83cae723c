// Case files that HDF5 finds in order but that are not as they should be.
#pragma once

#include <functional>
#include <string>

#include "../hdf5.h"

namespace assay::hdf5 {

// A copy of the file in which `edit` has changed the root group. Takes a Session of its own.
std::string edited(const std::string& bytes, const std::function<void(hid_t root)>& edit);

}  // namespace assay::hdf5
