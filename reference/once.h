// What many elements of a call's results have in common, such as the mean of a row, computed for the first that asks.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "scalars/arithmetic.h"
#include "scalars/scalar.h"

namespace assay {

// What a reader keeps of one reading of a call.
class Once {
 public:
  struct Slot {
    std::shared_ptr<const void> value;
    bool nonfinite = false;  // read_nonfinite() after it
  };

  void forget() { kept_.clear(); }

  // Of the thing that `tag` stands for; results computed in another dtype have their own.
  Slot& slot(const void* tag, int computed_like, std::int64_t number) {
    for (Kept& k : kept_)
      if (k.tag == tag && k.computed_like == computed_like) return k.at(number);
    kept_.push_back({tag, computed_like, {}});
    return kept_.back().at(number);
  }

 private:
  struct Kept {
    const void* tag;
    int computed_like;
    std::vector<Slot> slots;

    Slot& at(std::int64_t number) {
      const auto n = static_cast<std::size_t>(number);
      if (n >= slots.size()) slots.resize(n + 1);
      return slots[n];
    }
  };
  std::vector<Kept> kept_;
};

namespace detail {
struct OnceHere {
  Once* once = nullptr;
  int computed_like = 0;
};
inline constinit thread_local OnceHere once_here;
template <class>
inline constexpr char kOnceTag = 0;
}  // namespace detail

// Where once() keeps things while the object lives.
class OnceScope {
 public:
  OnceScope(Once& once, int computed_like)
      : saved_(std::exchange(detail::once_here, {&once, computed_like})) {}
  ~OnceScope() { detail::once_here = saved_; }
  OnceScope(const OnceScope&) = delete;
  OnceScope& operator=(const OnceScope&) = delete;

 private:
  detail::OnceHere saved_;
};

// make(), which is called for the first element or result that asks for this number, of a row say. It depends on nothing but
// the arguments of the call and the number. Lambdas at different places have numbers of their own. The result stays until the
// reader forgets it. Precondition: there is an OnceScope.
template <class S, class Make>
const std::invoke_result_t<Make>& once(std::int64_t number, const Make& make) {
  using T = std::invoke_result_t<Make>;
  const detail::OnceHere here = detail::once_here;
  const void* const tag = &detail::kOnceTag<Make>;
  if (const Once::Slot& known = here.once->slot(tag, here.computed_like, number); known.value != nullptr) {
    read_nonfinite() |= known.nonfinite;
    return *static_cast<const T*>(known.value.get());
  }
  const bool before = std::exchange(read_nonfinite(), false);
  const auto value = [&] {
    if constexpr (requires { typename ScalarOps<S>::Aside; }) {
      const typename ScalarOps<S>::Aside aside(number);
      return std::make_shared<const T>(make());
    } else {
      return std::make_shared<const T>(make());
    }
  }();
  Once::Slot& slot = here.once->slot(tag, here.computed_like, number);  // make() may have moved it
  slot = {value, read_nonfinite()};
  read_nonfinite() |= before;
  return *value;
}

}  // namespace assay
