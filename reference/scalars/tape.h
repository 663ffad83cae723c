// Where the errors of Tracked numbers come from: one equation a number, and by them a bound that knows which errors are the same.
//
// A set forgets by which errors it came about, so that each operation takes absolute values again. While a TapeScope lives, the rules of
// Tracked<double> also write down, for a number x with value v,
//
//   x - v = sum of slope * (a - value of a) + own,   |own| <= what this operation itself may do,
//
// over the numbers a that it was made of; slopes are known to within a radius. sharpen() solves these equations backwards from some
// numbers. adjoint.md has the model and the proof. What a rule does not write down is a number of its own, with its whole error: never wrong,
// only wide.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "tracked_set.h"

namespace assay {

// A factor that is one of [middle - radius, middle + radius].
struct SlopeRange {
  double middle = 1;
  double radius = 0;
};

class Tape {
 public:
  using Symbol = std::uint32_t;
  static constexpr Symbol kNone = 0;
  static constexpr std::size_t kLanes = 16;

  // By how the number's own error counts where a kernel uses it several times.
  enum class Computed : std::uint8_t {
    again,  // it may be another one for each use
    once,   // it is the same for all: a sum, or what is shared as one number
  };

  struct Term {
    Symbol of = kNone;
    SlopeRange slope{};
  };

  // Keeps at most so many numbers, and eight times as many terms: about 500 bytes a number. Beyond that nothing is written down.
  explicit Tape(std::size_t most = kMost) : most_(most) { clear(); }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // The number's equation; a new one, with its error and nothing else, if it has none that is still true. kNone if it has no error.
  Symbol symbol_of(const Tracked<double>& t);
  // Writes t's equation. Terms of kNone are left out.
  void write(Tracked<double>& t, std::span<const Term> terms, double own,
             Computed computed = Computed::again);
  void write(Tracked<double>& t, std::initializer_list<Term> terms, double own,
             Computed computed = Computed::again) {
    write(t, std::span(terms.begin(), terms.size()), own, computed);
  }
  // Takes the number that was written last off the tape, if it is this one, and adds its terms and its own error. Whoever asks for
  // its equation after that finds none.
  bool take_last(const Tracked<double>& t, std::vector<Term>& terms, double& own);
  // Symbols from this one on will be those of numbers that are written from now on.
  Symbol next() const { return static_cast<Symbol>(places_.size()); }
  // The number that was written last is not to be taken off.
  void protect_last() { last_ = kNone; }
  // What became of a number when its roundings were done, if that is known: one equation is enough for all its uses.
  const Tracked<double>* closed(const Tracked<double>& open) const;
  void set_closed(const Tracked<double>& open, const Tracked<double>& t);
  // t is still the number of this symbol, but its error is known better.
  void narrow(Tracked<double>& t, Symbol s);

  // Makes each error the bound that the equations give, where that is less: for what is computed from these numbers, too.
  void sharpen(std::span<Tracked<double>* const> numbers);
  // Terms that have been looked at for that, for kLanes numbers at a time.
  std::uint64_t work() const { return work_; }
  bool is_full() const { return full_; }
  void clear();

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  struct Number {
    double value, error, own;  // value and error are those of the Tracked number that it was written for
    std::uint64_t first;       // its terms end where the next number's begin
    Symbol symbol;
    std::uint32_t uses;
    std::uint32_t closed;  // the place in closed_, or kNowhere
    Computed computed;
  };
  struct KeptTerm {
    double middle;
    float radius;
    std::uint32_t of;  // place
  };
  // Of as many numbers that are asked for.
  struct Adjoints {
    std::array<double, kLanes> middle{};  // of the sum over all uses of a number
    std::array<float, kLanes> radius{};   // of that
    std::array<float, kLanes> all{};      // the sum of their sizes
  };

  // Of at most kLanes numbers: bounds on their errors, none larger than those they have. The error of a number that is asked for
  // counts once.
  void bounds(std::span<Tracked<double>* const> numbers, std::span<double> errors);
  static void settle_adjoints(Adjoints& a, std::uint32_t uses, bool once);
  static void pass_on(const Adjoints& a, std::span<const KeptTerm> terms, const std::uint32_t* slots,
                      Adjoints* adjoints);
  // Gives the number a slot, if it has none, and lets it wait.
  void ask_for(std::uint32_t place);
  bool is_true(Symbol s, const Tracked<double>& t) const;
  // kNone if there is no more room.
  Symbol append(const Tracked<double>& t, double own, Computed computed);

  std::size_t most_;
  std::vector<std::uint32_t> places_;  // of each symbol among the numbers, or kNowhere
  std::vector<Number> numbers_;
  std::vector<KeptTerm> terms_;
  std::vector<std::pair<Tracked<double>, Tracked<double>>> closed_;
  std::vector<Adjoints> adjoints_;      // of the numbers that wait, close together
  std::vector<std::uint32_t> slots_;    // where each number's are, or kNowhere
  std::vector<std::uint32_t> free_;     // slots whose adjoints are zero
  std::vector<std::uint64_t> waiting_;  // a bit a number
  Symbol last_ = kNone;                 // of the last number, unless it is not known
  bool full_ = false;
  std::uint64_t work_ = 0;
};

namespace detail {
inline constinit thread_local Tape* current_tape = nullptr;
}

// The tape that this thread's readings write, or null.
template <class V>
Tape* tape() {
  if constexpr (std::is_same_v<V, double>)
    return detail::current_tape;
  else
    return nullptr;
}

class TapeScope {
 public:
  explicit TapeScope(Tape* t) : saved_(detail::current_tape) { detail::current_tape = t; }
  ~TapeScope() { detail::current_tape = saved_; }
  TapeScope(const TapeScope&) = delete;
  TapeScope& operator=(const TapeScope&) = delete;

 private:
  Tape* saved_;
};

// With a tape: t's symbol, and t's equation.
template <class V>
Tape::Symbol symbol_on_tape(const Tracked<V>& t) {
  if constexpr (std::is_same_v<V, double>)
    if (Tape* const on = tape<V>()) return on->symbol_of(t);
  return Tape::kNone;
}
template <class V>
void write_on_tape(Tracked<V>& t, std::initializer_list<Tape::Term> terms, typename Tracked<V>::Bound own,
                   Tape::Computed computed = Tape::Computed::again) {
  if constexpr (std::is_same_v<V, double>)
    if (Tape* const on = tape<V>()) on->write(t, terms, own, computed);
}
template <class V>
Tape::Symbol next_on_tape() {
  const Tape* const on = tape<V>();
  return on == nullptr ? Tape::kNone : on->next();
}

namespace detail {

// How far one rounding to the format may move a number of the set, whether or not it is done.
template <class V>
typename Tracked<V>::Bound rounding_moves(const Tracked<V>& t, const Rounding& to) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  const Bound size = C::size(t.value) + t.error;
  Bound moves = 0;
  if (t.error != 0 || !representable(t.value, t.grid, to)) {
    const auto least = static_cast<Bound>(to.half_subnormal);
    moves = size < least ? size : std::max(static_cast<Bound>(to.format.unit) * size, least);
    const bool near = t.error < Bound(kNearby) * moves && representable(t.value, C::grid(t.value), to);
    if (t.error != 0 && (near || t.value == V{})) moves = std::min(moves, t.error);
  }
  if (arithmetic().flushes && C::least_size(t.value) - t.error < static_cast<Bound>(to.format.min_normal))
    moves = std::max(moves, std::min(size, static_cast<Bound>(to.format.min_normal)));
  return inflate(moves);
}

}  // namespace detail

}  // namespace assay
