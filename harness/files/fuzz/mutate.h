// Damages case files: their bytes, or what HDF5 finds in them.
#pragma once

#include <random>
#include <string>

namespace assay {

// Flips, overwrites, moves and cuts bytes. Checksums find nearly all of it.
std::string mutate_bytes(std::string bytes, std::mt19937_64& random);

// Deletes, replaces, renames and links objects and attributes, with checksums in order, so that our own
// checks are reached. What is no case file comes back as it is.
std::string mutate_objects(const std::string& bytes, std::mt19937_64& random);

}  // namespace assay
