// What the lanes of a warp do together: shfl, vote, activemask, barriers, ldmatrix, mma.
#include <algorithm>

#include "../emulation/tensor.h"
#include "lanes.h"
#include "operations.h"

namespace assay::cuda::ptx {
namespace {

using Parts = std::vector<std::string_view>;

enum Shuffle : std::uint8_t { up, down, butterfly, index };

// shfl.sync d|p, a, b, c, mask; PTX ISA's own description, line by line.
void shuffle(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint64_t *d = warp.row(i.row[0]), *p = warp.row(i.row[1]), *a = warp.row(i.row[2]);
  std::uint64_t *b = warp.row(i.row[3]), *c = warp.row(i.row[4]);
  std::uint32_t value[kWarp]{}, inside[kWarp]{};
  each_lane(lanes, [&](std::uint32_t l) {
    const int lane = static_cast<int>(l), by = static_cast<int>(b[l] & 31);
    const int clamp = static_cast<int>(c[l] & 31), segment = static_cast<int>(c[l] >> 8 & 31);
    const int largest = (lane & segment) | (clamp & ~segment), smallest = lane & segment;
    int from = 0;
    bool in = false;
    switch (i.control) {
      case up:
        from = lane - by, in = from >= largest;
        break;
      case down:
        from = lane + by, in = from <= largest;
        break;
      case butterfly:
        from = lane ^ by, in = from <= largest;
        break;
      default:
        from = smallest | (by & ~segment), in = from <= largest;
        break;
    }
    if (!in) from = lane;
    // Of a lane that is not of the mask the value is undefined.
    value[l] = (lanes >> from & 1) != 0 ? static_cast<std::uint32_t>(a[from]) : 0xffffffffu;
    inside[l] = in;
  });
  each_lane(lanes, [&](std::uint32_t l) { d[l] = value[l], p[l] = inside[l]; });
}

enum Vote : std::uint8_t { all, any, ballot };

void vote(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint32_t yes = 0;
  each_lane(lanes,
            [&](std::uint32_t l) { yes |= static_cast<std::uint32_t>(warp.row(i.row[1])[l] & 1) << l; });
  const std::uint64_t result = i.control == all ? yes == lanes : i.control == any ? yes != 0 : yes;
  each_lane(lanes, [&](std::uint32_t l) { warp.row(i.row[0])[l] = result; });
}

void active_mask(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  each_lane(lanes, [&](std::uint32_t l) { warp.row(i.row[0])[l] = warp.running; });
}

void load_matrices(Warp& warp, const Instruction& i, std::uint32_t) {
  const bool transposed = i.control == 1;
  const std::byte* rows[kWarp];
  for (std::uint32_t l = 0; l < kWarp; ++l)
    rows[l] = warp.memory(StateSpace::shared, warp.row(i.row[4])[l] + static_cast<std::uint64_t>(i.offset[0]),
                          16, false, l);
  for (std::uint32_t l = 0; l < kWarp; ++l)
    for (std::uint32_t matrix = 0; matrix < 4; ++matrix) {
      std::uint32_t bits = 0;
      for (std::uint32_t h = 0; h < 2; ++h) {
        std::uint32_t row = l / 4, column = l % 4 * 2 + h;
        if (transposed) std::swap(row, column);
        std::uint16_t element;
        std::memcpy(&element, rows[matrix * 8 + row] + 2 * column, 2);
        bits |= static_cast<std::uint32_t>(element) << 16 * h;
      }
      warp.row(i.row[matrix])[l] = bits;
    }
}

// mma.m16n8k16 {d0-3}, {a0-3}, {b0-1}, {c0-3}
template <class T>
void multiply_add(Warp& warp, const Instruction& i, std::uint32_t) {
  emulation::TensorOperands operands;
  const auto bits = [&](std::size_t k, std::uint32_t lane) {
    return static_cast<std::uint32_t>(warp.row(i.row[k])[lane]);
  };
  for (std::uint32_t l = 0; l < kWarp; ++l) {
    for (std::size_t k = 0; k < 4; ++k) operands.a_of(l, k) = bits(4 + k, l);
    for (std::size_t k = 0; k < 2; ++k) operands.b_of(l, k) = bits(8 + k, l);
    for (std::size_t k = 0; k < 4; ++k) operands.d_of(l, k) = std::bit_cast<float>(bits(10 + k, l));
  }
  emulation::tensor_product<T>(operands);
  for (std::uint32_t l = 0; l < kWarp; ++l)
    for (std::size_t k = 0; k < 4; ++k) warp.row(i.row[k])[l] = put<float>(operands.d_of(l, k));
}

}  // namespace

Handler warp_handler(const Parts& p, Instruction& i) {
  const auto names = [&](std::initializer_list<std::string_view> want) {
    return p.size() == want.size() && std::equal(want.begin(), want.end(), p.begin());
  };
  if (names({"activemask", "b32"})) return &active_mask;
  if (p[0] == "shfl" && p.size() == 4 && p[1] == "sync" && p[3] == "b32") {
    i.flow = Flow::warp_barrier;
    i.control = p[2] == "up" ? up : p[2] == "down" ? down : p[2] == "bfly" ? butterfly : index;
    return i.control != index || p[2] == "idx" ? &shuffle : nullptr;
  }
  if (p[0] == "vote" && p.size() == 4 && p[1] == "sync") {
    i.flow = Flow::warp_barrier;
    i.control = p[2] == "all" ? all : p[2] == "any" ? any : ballot;
    if (i.control == ballot) return p[2] == "ballot" && p[3] == "b32" ? &vote : nullptr;
    return p[3] == "pred" ? &vote : nullptr;
  }
  const auto together = [&](Handler handler) {
    i.flow = Flow::warp_barrier;
    return handler;
  };
  if (p[0] == "ldmatrix") {
    if (names({"ldmatrix", "sync", "aligned", "m8n8", "x4", "shared", "b16"}))
      return together(&load_matrices);
    i.control = 1;
    if (names({"ldmatrix", "sync", "aligned", "m8n8", "x4", "trans", "shared", "b16"}))
      return together(&load_matrices);
  }
  if (names({"mma", "sync", "aligned", "m16n8k16", "row", "col", "f32", "f16", "f16", "f32"}))
    return together(&multiply_add<__half>);
  if (names({"mma", "sync", "aligned", "m16n8k16", "row", "col", "f32", "bf16", "bf16", "f32"}))
    return together(&multiply_add<__nv_bfloat16>);
  return nullptr;
}

bool& in_avx2() {
#if defined(__x86_64__)
  static thread_local bool own = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  static thread_local bool own = false;
#endif
  return own;
}

bool choose_operation(const Parts& p, Instruction& i) {
  if (p[0] == "bar" || p[0] == "barrier") {
    std::string_view rest[3];
    if (p.size() > 4) return false;
    std::copy(p.begin() + 1, p.end(), rest);
    if (rest[0] == "warp" && rest[1] == "sync" && rest[2].empty()) return i.flow = Flow::warp_barrier, true;
    if (rest[0] == "cta") std::rotate(rest, rest + 1, rest + 3), rest[2] = {};
    i.flow = Flow::block_barrier;
    return rest[0] == "sync" && (rest[1].empty() || rest[1] == "aligned") && rest[2].empty();
  }
  for (const auto choose : {&arithmetic_handler, &bits_handler, &comparison_handler, &conversion_handler,
                            &memory_handler, &warp_handler}) {
    i.control = 0;
    i.run = choose(p, i);
    if (i.run != nullptr) return true;
  }
  return false;
}

}  // namespace assay::cuda::ptx
