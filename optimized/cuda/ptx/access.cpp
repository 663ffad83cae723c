// ld, st, atom, red, cp.async, fences.
#include <algorithm>
#include <charconv>

#include "lanes.h"
#include "operations.h"
#include "types.h"

namespace assay::cuda::ptx {
namespace {

using Parts = std::vector<std::string_view>;

std::uint64_t address(Warp& warp, const Instruction& i, std::size_t operand, std::size_t which,
                      std::uint32_t lane) {
  return warp.row(i.row[operand])[lane] + static_cast<std::uint64_t>(i.offset[which]);
}

// Whether a row has the same number in all these lanes.
bool is_one(const std::uint64_t* row, std::uint32_t lanes) {
  std::uint64_t differing = 0;
  const std::uint64_t first = row[std::countr_zero(lanes)];
  each_lane(lanes, [&](std::uint32_t l) { differing |= row[l] ^ first; });
  return differing == 0;
}

// A vector is one access, as wide as its elements together.
template <class T>
void load(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  const std::size_t n = i.vector;
  // One address for all lanes: a constant, or an element of a parameter. Of local memory it is another place for each.
  const bool constant = i.control == 1 && i.space != StateSpace::local && i.space != StateSpace::generic;
  if (constant || (i.space == StateSpace::param && is_one(warp.row(i.row[n]), lanes))) {
    const auto one = static_cast<std::uint32_t>(std::countr_zero(lanes));
    const std::byte* from = warp.memory(i.space, address(warp, i, n, 0, one), n * sizeof(T), false, one);
    for (std::size_t k = 0; k < n; ++k) {
      T x;
      std::memcpy(&x, from + k * sizeof(T), sizeof x);
      std::uint64_t* d = warp.row(i.row[k]);
      each_lane(lanes, [d, bits = put(x)](std::uint32_t l) { d[l] = bits; });
    }
    return;
  }
  each_lane(lanes, [&](std::uint32_t l) {
    const std::byte* from = warp.memory(i.space, address(warp, i, n, 0, l), n * sizeof(T), false, l);
    for (std::size_t k = 0; k < n; ++k) {
      T x;
      std::memcpy(&x, from + k * sizeof(T), sizeof x);
      warp.row(i.row[k])[l] = put(x);
    }
  });
}

template <class T>
void store(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  const std::size_t n = i.vector;
  each_lane(lanes, [&](std::uint32_t l) {
    std::byte* to = warp.memory(i.space, address(warp, i, 0, 0, l), n * sizeof(T), true, l);
    for (std::size_t k = 0; k < n; ++k) {
      const T x = get<T>(warp.row(i.row[1 + k])[l]);
      std::memcpy(to + k * sizeof(T), &x, sizeof x);
    }
  });
}

struct Sum {
  template <class T>
  static T next(T old, T given) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(old) + static_cast<std::uint64_t>(given));
    else
      return old + given;
  }
};
struct Smallest {
  template <class T>
  static T next(T old, T given) {
    return std::min(old, given);
  }
};
struct Largest {
  template <class T>
  static T next(T old, T given) {
    return std::max(old, given);
  }
};
struct Exchange {
  template <class T>
  static T next(T, T given) {
    return given;
  }
};

// atom d, [a], b and red [a], b, of which `control` is 1.
template <class T, class Op>
void atomic(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  const std::size_t first = i.control == 1 ? 0 : 1;
  each_lane(lanes, [&](std::uint32_t l) {
    std::byte* at = warp.memory(i.space, address(warp, i, first, 0, l), sizeof(T), true, l);
    T old;
    std::memcpy(&old, at, sizeof old);
    const T next = Op::next(old, get<T>(warp.row(i.row[first + 1])[l]));
    std::memcpy(at, &next, sizeof next);
    if (first == 1) warp.row(i.row[0])[l] = put(std::bit_cast<Bits<T>>(old));
  });
}

// cp.async [shared], [global], 16, bytes: fewer bytes than 16 are read, the rest is 0. The destination is poison until the
// copy is waited for.
void start_copy(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  each_lane(lanes, [&](std::uint32_t l) {
    std::byte* to = warp.memory(StateSpace::shared, address(warp, i, 0, 0, l), 16, true, l);
    const std::uint64_t from = address(warp, i, 1, 1, l);
    const std::uint64_t bytes = i.control == 1 ? warp.row(i.row[3])[l] & 0xffffffffu : 16;
    if (bytes > 16) warp.fail("a copy of " + std::to_string(bytes) + " bytes", l);
    if (from % 16 != 0) warp.fail("misaligned: a copy from no multiple of 16", l);
    if (bytes != 0) warp.memory(StateSpace::global, from, bytes, false, l, 1);
    std::memset(to, 0xff, 16);
    warp.block().copies.add(warp.thread(l), to, std::bit_cast<const void*>(from), static_cast<int>(bytes));
  });
}
void end_group(Warp& warp, const Instruction&, std::uint32_t lanes) {
  each_lane(lanes, [&](std::uint32_t l) { warp.block().copies.end_group(warp.thread(l)); });
}
void wait_for_groups(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  each_lane(lanes,
            [&](std::uint32_t l) { warp.block().copies.arrive(warp.thread(l), warp.row(i.row[0])[l]); });
}
void nothing(Warp&, const Instruction&, std::uint32_t) {}

bool orders_memory(const Parts& p) {
  return p.size() > 1 && std::all_of(p.begin() + 1, p.end(), [](std::string_view part) {
           return part == "gl" || part == "cta" || part == "sys" || part == "gpu" || part == "sc" ||
                  part == "acq_rel";
         });
}

bool take_space(std::string_view name, Instruction& i) {
  if (name == "global")
    i.space = StateSpace::global;
  else if (name == "shared")
    i.space = StateSpace::shared;
  else if (name == "local")
    i.space = StateSpace::local;
  else if (name == "param")
    i.space = StateSpace::param;
  else
    return false;
  return true;
}

Handler load_or_store(const Parts& p, Instruction& i) {
  for (std::size_t k = 1; k + 1 < p.size(); ++k) {
    if (take_space(p[k].substr(0, p[k].find("::")), i)) continue;
    if (p[k] == "v2" || p[k] == "v4") {
      i.vector = static_cast<std::uint8_t>(p[k][1] - '0');
      continue;
    }
    // How caches treat it, and orders, which an interpreter of one thread keeps anyway.
    if (p[k] == "nc" || p[k] == "volatile" || p[k] == "relaxed" || p[k] == "weak" || p[k] == "gpu" ||
        p[k] == "cta" || p[k] == "ca" || p[k] == "cg" || p[k] == "cs" || p[k] == "cv" || p[k] == "L1")
      continue;
    return nullptr;
  }
  const bool loads = p[0] == "ld";
  return of_number(p.back(), [&](auto t) -> Handler {
    using T = Bits<typename decltype(t)::type>;
    return loads ? &load<T> : &store<T>;
  });
}

Handler atomic_operation(const Parts& p, Instruction& i) {
  i.control = p[0] == "red" ? 1 : 0;
  std::string_view operation;
  for (std::size_t k = 1; k + 1 < p.size(); ++k) {
    if (take_space(p[k].substr(0, p[k].find("::")), i) || p[k] == "relaxed" || p[k] == "gpu" || p[k] == "cta")
      continue;
    if (!operation.empty()) return nullptr;
    operation = p[k];
  }
  return of_number(p.back(), [&](auto t) -> Handler {
    using T = typename decltype(t)::type;
    if constexpr (sizeof(T) >= 4) {
      if (operation == "add") return &atomic<T, Sum>;
      if (operation == "exch") return &atomic<Bits<T>, Exchange>;
      if constexpr (std::is_integral_v<T>) {
        if (operation == "min") return &atomic<T, Smallest>;
        if (operation == "max") return &atomic<T, Largest>;
      }
    }
    return nullptr;
  });
}

}  // namespace

Handler memory_handler(const Parts& p, Instruction& i) {
  if (p[0] == "ld" || p[0] == "st") return load_or_store(p, i);
  if (p[0] == "atom" || p[0] == "red") return atomic_operation(p, i);
  if (p[0] == "membar" || p[0] == "fence") return orders_memory(p) ? &nothing : nullptr;
  if (p[0] == "cp" && p.size() >= 3 && p[1] == "async") {
    if (p.size() == 3 && p[2] == "commit_group") return &end_group;
    if (p.size() == 3 && p[2] == "wait_group") return &wait_for_groups;
    if (p.size() == 5 && p[2] == "cg" && p[3] == "shared" && p[4] == "global") {
      i.control = 1;  // with a fourth operand; the linker clears it where there is none
      return &start_copy;
    }
  }
  return nullptr;
}

}  // namespace assay::cuda::ptx
