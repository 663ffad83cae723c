// What many elements of a call's results have in common, such as the mean of a row, computed for the first that asks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "scalars/arithmetic.h"
#include "scalars/scalar.h"

namespace assay {

// What a reader keeps of one reading of a call.
class Once {
 public:
  template <class T>
  struct Slot {
    std::optional<T> value;
    bool nonfinite = false;  // read_nonfinite() after it
  };

  void forget() { kept_.clear(); }

  // Of the thing that `tag` stands for; results computed in another dtype have their own. It stays where it is.
  template <class T>
  Slot<T>& slot(const void* tag, int computed_like, std::int64_t number) {
    for (const Kept& k : kept_)
      if (k.tag == tag && k.computed_like == computed_like)
        return static_cast<SlotsOf<T>&>(*k.slots).at(number);
    kept_.push_back({tag, computed_like, std::make_unique<SlotsOf<T>>()});
    return static_cast<SlotsOf<T>&>(*kept_.back().slots).at(number);
  }

 private:
  struct Slots {
    Slots() = default;
    virtual ~Slots() = default;
    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;
  };
  // Several in one piece of memory.
  template <class T>
  struct SlotsOf final : Slots {
    static constexpr std::size_t kTogether = 16;
    std::vector<std::unique_ptr<std::array<Slot<T>, kTogether>>> pieces;

    Slot<T>& at(std::int64_t number) {
      const auto n = static_cast<std::size_t>(number);
      if (n / kTogether >= pieces.size()) pieces.resize(n / kTogether + 1);
      auto& piece = pieces[n / kTogether];
      if (piece == nullptr) piece = std::make_unique<std::array<Slot<T>, kTogether>>();
      return (*piece)[n % kTogether];
    }
  };
  struct Kept {
    const void* tag;
    int computed_like;
    std::unique_ptr<Slots> slots;
  };
  std::vector<Kept> kept_;
};

namespace detail {
struct OnceHere {
  Once* once = nullptr;
  int computed_like = 0;
  // What was asked for last: neighbours ask for the same.
  const void* tag = nullptr;
  std::int64_t number = 0;
  const void* slot = nullptr;
};
inline constinit thread_local OnceHere once_here;
template <class>
inline constexpr char kOnceTag = 0;

// Makes it what was asked for last.
template <class S, class Make>
[[gnu::noinline]] void look_up(std::int64_t number, const Make& make) {
  using T = std::invoke_result_t<Make>;
  const void* const tag = &kOnceTag<Make>;
  Once::Slot<T>& slot = once_here.once->slot<T>(tag, once_here.computed_like, number);
  if (!slot.value) {
    const bool before = std::exchange(assay::read_nonfinite(), false);
    if constexpr (requires { typename ScalarOps<S>::Aside; }) {
      const typename ScalarOps<S>::Aside aside(number);
      slot.value.emplace(make());
    } else {
      slot.value.emplace(make());
    }
    slot.nonfinite = std::exchange(assay::read_nonfinite(), before);
  }
  once_here.tag = tag;
  once_here.number = number;
  once_here.slot = &slot;
}
}  // namespace detail

// Where once() keeps things while the object lives.
class OnceScope {
 public:
  OnceScope(Once& once, int computed_like)
      : saved_(std::exchange(detail::once_here, {.once = &once, .computed_like = computed_like})) {}
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
  const detail::OnceHere& here = detail::once_here;
  if (here.tag != &detail::kOnceTag<Make> || here.number != number) detail::look_up<S>(number, make);
  const auto& slot = *static_cast<const Once::Slot<T>*>(here.slot);
  if (slot.nonfinite) read_nonfinite() = true;  // a store for each element would be dear
  return *slot.value;
}

}  // namespace assay
