// What an exception of torch means: no support, wrong arguments, or a failure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::oracle {

enum class Rejection : std::uint8_t {
  unsupported,  // "not implemented for 'Half'": the arguments may be right, torch has no code for them
  invalid,      // the arguments are wrong, says torch
  failed,       // neither: memory ran out
};

// `type` is the name of the Python exception.
Rejection rejection(std::string_view type, std::string_view message);

// The first line of the message, cut at 300 characters: torch appends declarations and lists of backends.
std::string brief(std::string_view message);

}  // namespace assay::oracle
