#include "unavailable.h"

#include <array>
#include <stdexcept>
#include <utility>

namespace assay::oracle {
namespace {

constexpr std::size_t kReasons = 1024;

std::array<std::string, kReasons>& reasons() {
  static std::array<std::string, kReasons> all;
  return all;
}

template <std::size_t i>
const char* reason() {
  return reasons()[i].c_str();
}

template <std::size_t... i>
constexpr std::array<Unavailable, kReasons> functions(std::index_sequence<i...>) {
  return {reason<i>...};
}

}  // namespace

Unavailable unavailable(std::string reason) {
  static constexpr auto all = functions(std::make_index_sequence<kReasons>{});
  static std::size_t used = 0;
  if (used == kReasons) throw std::length_error("more than 1024 operators are unavailable in torch");
  reasons()[used] = std::move(reason);
  return all[used++];
}

}  // namespace assay::oracle
