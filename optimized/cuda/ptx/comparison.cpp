// setp, selp.
#include <algorithm>

#include "lanes.h"
#include "operations.h"
#include "types.h"

namespace assay::cuda::ptx {
namespace {

using Parts = std::vector<std::string_view>;

template <class T>
bool unordered(T a, T b) {
  return a != a || b != b;
}

struct Less {
  template <class T>
  static bool is(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  static bool is(T a, T b) {
    return a <= b;
  }
};
struct Equal {
  template <class T>
  static bool is(T a, T b) {
    return a == b;
  }
};
struct NotEqual {  // of numbers: false if one is none
  template <class T>
  static bool is(T a, T b) {
    return !unordered(a, b) && a != b;
  }
};
template <class C>
struct Swapped {
  template <class T>
  static bool is(T a, T b) {
    return C::is(b, a);
  }
};
template <class C>
struct OrUnordered {
  template <class T>
  static bool is(T a, T b) {
    return unordered(a, b) || C::is(a, b);
  }
};
struct Unordered {
  template <class T>
  static bool is(T a, T b) {
    return unordered(a, b);
  }
};
struct Ordered {
  template <class T>
  static bool is(T a, T b) {
    return !unordered(a, b);
  }
};

// What becomes of a comparison and c: bit 2 * comparison + c.
enum Combination : std::uint8_t { none = 0b1100, with_and = 0b1000, with_or = 0b1110, with_xor = 0b0110 };

// setp p, a, b; or, with a predicate c, setp.and p, a, b, c
template <class T, class C>
void compare(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint64_t *p = warp.row(i.row[0]), *a = warp.row(i.row[1]), *b = warp.row(i.row[2]),
                *c = warp.row(i.row[3]);
  const std::uint64_t combination = i.control == 0 ? std::uint64_t{none} : i.control;
  in_vectors(lanes, [=](std::uint32_t l) {
    const std::uint64_t is = C::is(get<T>(a[l]), get<T>(b[l]));
    p[l] = combination >> (2 * is + (c[l] & 1)) & 1;
  });
}

template <class T>
void select(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint64_t *d = warp.row(i.row[0]), *a = warp.row(i.row[1]), *b = warp.row(i.row[2]),
                *p = warp.row(i.row[3]);
  in_vectors(lanes, [=](std::uint32_t l) { d[l] = put<T>(get<T>((p[l] & 1) != 0 ? a[l] : b[l])); });
}

template <class T>
Handler comparison(std::string_view name) {
  const bool is_float = std::is_floating_point_v<T>;
  if (name == "eq") return best<&compare<T, Equal>>();
  if (name == "ne") return best<&compare<T, NotEqual>>();
  if (name == "lt" || (name == "lo" && !is_float)) return best<&compare<T, Less>>();
  if (name == "le" || (name == "ls" && !is_float)) return best<&compare<T, LessEqual>>();
  if (name == "gt" || (name == "hi" && !is_float)) return best<&compare<T, Swapped<Less>>>();
  if (name == "ge" || (name == "hs" && !is_float)) return best<&compare<T, Swapped<LessEqual>>>();
  if (!is_float) return nullptr;
  if (name == "equ") return best<&compare<T, OrUnordered<Equal>>>();
  if (name == "neu") return best<&compare<T, OrUnordered<NotEqual>>>();
  if (name == "ltu") return best<&compare<T, OrUnordered<Less>>>();
  if (name == "leu") return best<&compare<T, OrUnordered<LessEqual>>>();
  if (name == "gtu") return best<&compare<T, OrUnordered<Swapped<Less>>>>();
  if (name == "geu") return best<&compare<T, OrUnordered<Swapped<LessEqual>>>>();
  if (name == "num") return best<&compare<T, Ordered>>();
  if (name == "nan") return best<&compare<T, Unordered>>();
  return nullptr;
}

}  // namespace

Handler comparison_handler(const Parts& p, Instruction& i) {
  if (p[0] == "selp") {
    if (p.size() != 2) return nullptr;
    return of_number(p[1],
                     [](auto t) -> Handler { return best<&select<Bits<typename decltype(t)::type>>>(); });
  }
  if (p[0] != "setp" || p.size() < 3 || p.size() > 4) return nullptr;
  if (p.size() == 4) {
    i.control = p[2] == "and" ? with_and : p[2] == "or" ? with_or : p[2] == "xor" ? with_xor : 0;
    if (i.control == 0) return nullptr;
  }
  return of_number(p.back(), [&](auto t) { return comparison<typename decltype(t)::type>(p[1]); });
}

}  // namespace assay::cuda::ptx
