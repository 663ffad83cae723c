#include "rejection.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace assay::oracle {
namespace {

bool contains(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

}  // namespace

Rejection rejection(std::string_view type, std::string_view message) {
  constexpr std::array exhausted{"can't allocate memory", "not enough memory", "out of memory"};
  // The last ones: oneDNN has no code for this machine; a scalar argument beyond the range of the dtype; no code for these
  // strides; since PyTorch 2 no norms of nothing (native/Normalization.cpp, native/group_norm.cpp); no places in planes of more
  // elements than the integers as wide as the dtype count (native/cpu/MaxPoolKernel.cpp, channels_last).
  constexpr std::array unsupported{"not implemented",
                                   "not support",
                                   "unsupported",
                                   "only supports",
                                   "could not create a primitive",
                                   "cannot be converted to type",
                                   "is_contiguous(",
                                   "must have at least one element",
                                   "to be greater than 0, got 0",
                                   "std::numeric_limits<integer_t>::max()"};
  const auto said = [&](std::string_view part) { return contains(message, part); };
  if (type == "MemoryError" || std::ranges::any_of(exhausted, said)) return Rejection::failed;
  // None for every tensor: the dispatcher does not know whom to ask, and calls that NotImplementedError.
  if (said("no tensor arguments")) return Rejection::invalid;
  if (type == "NotImplementedError" || std::ranges::any_of(unsupported, said)) return Rejection::unsupported;
  // "Expected object of backend CPU but got backend ..."
  if (said("expected") && said("backend")) return Rejection::unsupported;
  return Rejection::invalid;
}

std::string brief(std::string_view message) {
  constexpr std::size_t kLongest = 300;
  while (!message.empty() && std::isspace(static_cast<unsigned char>(message.front())) != 0)
    message.remove_prefix(1);
  message = message.substr(0, message.find('\n'));
  while (!message.empty() && std::isspace(static_cast<unsigned char>(message.back())) != 0)
    message.remove_suffix(1);
  if (message.size() <= kLongest) return std::string(message);
  const std::size_t space = message.rfind(' ', kLongest);
  return std::string(message.substr(0, space == std::string_view::npos ? kLongest : space)) + " ...";
}

}  // namespace assay::oracle
