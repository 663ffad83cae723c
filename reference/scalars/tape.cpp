#include "tape.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "tracked_many.h"

namespace assay {
namespace {

constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
constexpr std::size_t kTermsOfANumber = 8;
constexpr std::size_t kSymbolsOfANumber = 16;

// What a sum of products may be off by for each of its terms, relative to their sizes: a product and an addition, twice over, of
// doubles and of floats. And what underflow may lose of one.
constexpr double kRounding = 0x1p-51;
constexpr float kRoundingOfSizes = 0x1p-22F;
constexpr float kUnderflow = 0x1p-120F;
constexpr std::uint32_t kMoreUses = 8;
constexpr double kSlack = 1 + 0x1p-20;

constexpr std::size_t kBits = 64;

float rounded_up(double x) {
  const auto f = static_cast<float>(x);
  return static_cast<double>(f) < x ? std::nextafterf(f, std::numeric_limits<float>::infinity()) : f;
}

}  // namespace

// What all uses of a number make of it, once they are all known.
void Tape::settle_adjoints(Adjoints& a, std::uint32_t uses, bool once) {
  const auto rounding = static_cast<float>((uses + kMoreUses) * kRounding);
  const float scale = 1 + static_cast<float>(uses + kMoreUses) * kRoundingOfSizes;
  for (std::size_t l = 0; l < kLanes; ++l) {
    a.radius[l] = (a.radius[l] + rounding * a.all[l]) * scale + kUnderflow;
    const float size = (static_cast<float>(std::fabs(a.middle[l])) + a.radius[l]) * scale;
    const float all = a.all[l] * scale + kUnderflow;
    a.all[l] = once || all < size ? size : all;
  }
}

void Tape::ask_for(std::uint32_t place) {
  if (slots_[place] != kNowhere) return;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(adjoints_.size()));
    adjoints_.emplace_back();
  }
  slots_[place] = free_.back();
  free_.pop_back();
  waiting_[place / kBits] |= std::uint64_t{1} << place % kBits;
}

ASSAY_MANY_AT_ONCE
void Tape::pass_on(const Adjoints& a, std::span<const KeptTerm> terms, const std::uint32_t* slots,
                   Adjoints* adjoints) {
  for (const KeptTerm& term : terms) {
    Adjoints& to = adjoints[slots[term.of]];
    const auto slope = static_cast<float>(std::fabs(term.middle));
    const float radius = term.radius;
    for (std::size_t l = 0; l < kLanes; ++l) to.middle[l] += term.middle * a.middle[l];
    for (std::size_t l = 0; l < kLanes; ++l) to.radius[l] += slope * a.radius[l] + radius * a.all[l];
    for (std::size_t l = 0; l < kLanes; ++l) to.all[l] += (slope + radius) * a.all[l];
  }
}

void Tape::clear() {
  places_.assign(1, kNowhere);  // kNone
  numbers_.clear();
  terms_.clear();
  closed_.clear();
  last_ = kNone;
  full_ = false;
  work_ = 0;
}

bool Tape::is_true(Symbol s, const Tracked<double>& t) const {
  if (s == kNone || s >= places_.size() || places_[s] == kNowhere) return false;
  const Number& n = numbers_[places_[s]];
  return n.value == t.value && n.error == t.error;
}

Tape::Symbol Tape::append(const Tracked<double>& t, double own, Computed computed) {
  full_ = full_ || numbers_.size() >= most_ || terms_.size() >= most_ * kTermsOfANumber ||
          places_.size() >= most_ * kSymbolsOfANumber;
  if (full_) return kNone;
  last_ = static_cast<Symbol>(places_.size());
  places_.push_back(static_cast<std::uint32_t>(numbers_.size()));
  numbers_.push_back({t.value, t.error, own, terms_.size(), last_, 0, kNowhere, computed});
  return last_;
}

Tape::Symbol Tape::symbol_of(const Tracked<double>& t) {
  if (t.error == 0) return kNone;
  return is_true(t.symbol, t) ? t.symbol : append(t, t.error, Computed::again);
}

void Tape::write(Tracked<double>& t, std::span<const Term> terms, double own, Computed computed) {
  t.symbol = kNone;
  if (t.error == 0 || full_) return;
  const bool known = std::ranges::none_of(
      terms, [&](const Term& term) { return term.of != kNone && places_[term.of] == kNowhere; });
  const bool says_more = known && own < t.error && std::isfinite(t.value);
  t.symbol = append(t, says_more ? own : t.error, computed);
  if (!says_more || t.symbol == kNone) return;
  for (const Term& term : terms) {
    if (term.of == kNone) continue;
    const std::uint32_t of = places_[term.of];
    ++numbers_[of].uses;
    terms_.push_back({term.slope.middle, rounded_up(term.slope.radius), of});
  }
}

bool Tape::take_last(const Tracked<double>& t, std::vector<Term>& terms, double& own) {
  if (t.symbol == kNone || t.symbol != last_ || !is_true(t.symbol, t)) return false;
  const Number n = numbers_.back();
  if (n.computed == Computed::once) return false;
  for (std::size_t k = n.first; k < terms_.size(); ++k) {
    const KeptTerm& term = terms_[k];
    --numbers_[term.of].uses;
    terms.push_back({numbers_[term.of].symbol, {term.middle, static_cast<double>(term.radius)}});
  }
  own += n.own;
  terms_.resize(n.first);
  numbers_.pop_back();
  places_[t.symbol] = kNowhere;
  last_ = kNone;
  return true;
}

const Tracked<double>* Tape::closed(const Tracked<double>& open) const {
  if (!is_true(open.symbol, open)) return nullptr;
  const std::uint32_t at = numbers_[places_[open.symbol]].closed;
  if (at == kNowhere) return nullptr;
  const auto& [of, t] = closed_[at];
  const bool same = of.value == open.value && of.error == open.error && of.terms == open.terms &&
                    of.magnitude == open.magnitude && of.summed == open.summed && of.pending == open.pending;
  return same ? &t : nullptr;
}

void Tape::set_closed(const Tracked<double>& open, const Tracked<double>& t) {
  if (!is_true(open.symbol, open)) return;
  numbers_[places_[open.symbol]].closed = static_cast<std::uint32_t>(closed_.size());
  closed_.emplace_back(open, t);
}

void Tape::narrow(Tracked<double>& t, Symbol s) {
  if (s == kNone || places_[s] == kNowhere || numbers_[places_[s]].value != t.value) return;
  t.symbol = s;
  numbers_[places_[s]].error = t.error;
}

void Tape::sharpen(std::span<Tracked<double>* const> numbers) {
  std::array<double, kLanes> errors;
  for (std::size_t k = 0; k < numbers.size(); k += kLanes) {
    const auto some = numbers.subspan(k, std::min(kLanes, numbers.size() - k));
    stop_now();  // not in the middle of it, when adjoints are not zero
    bounds(some, errors);
    for (std::size_t l = 0; l < some.size(); ++l) {
      Tracked<double>& t = *some[l];
      if (!(errors[l] < t.error)) continue;
      t.error = errors[l];
      narrow(t, t.symbol);
    }
  }
}

void Tape::bounds(std::span<Tracked<double>* const> numbers, std::span<double> errors) {
  slots_.resize(std::max(slots_.size(), numbers_.size()), kNowhere);
  waiting_.resize(std::max(waiting_.size(), numbers_.size() / kBits + 1));
  std::size_t words = 0;
  for (std::size_t l = 0; l < numbers.size(); ++l) {
    const Tracked<double>& t = *numbers[l];
    if (t.error == 0 || !std::isfinite(t.error) || !is_true(t.symbol, t)) continue;
    const std::uint32_t place = places_[t.symbol];
    ask_for(place);
    Adjoints& asked = adjoints_[slots_[place]];
    asked.middle[l] = asked.all[l] = 1;
    words = std::max(words, place / kBits + 1);
  }
  std::array<double, kLanes> total{};
  for (std::size_t word = words; word-- > 0;) {
    while (waiting_[word] != 0) {
      const std::size_t bit = kBits - 1 - static_cast<std::size_t>(std::countl_zero(waiting_[word]));
      waiting_[word] &= ~(std::uint64_t{1} << bit);
      const std::size_t k = word * kBits + bit;
      const Number& n = numbers_[k];
      const std::uint32_t slot = std::exchange(slots_[k], kNowhere);
      Adjoints a = adjoints_[slot];
      adjoints_[slot] = {};
      free_.push_back(slot);
      settle_adjoints(a, n.uses, n.computed == Computed::once);
      for (std::size_t l = 0; l < kLanes; ++l) total[l] += static_cast<double>(a.all[l]) * n.own;
      const std::size_t end = k + 1 < numbers_.size() ? numbers_[k + 1].first : terms_.size();
      const auto terms = std::span(terms_).subspan(n.first, end - n.first);
      for (const KeptTerm& term : terms) ask_for(term.of);
      pass_on(a, terms, slots_.data(), adjoints_.data());
      work_ += end - n.first + 1;
    }
  }
  for (std::size_t l = 0; l < numbers.size(); ++l) {
    const Tracked<double>& t = *numbers[l];
    const double bound = total[l] * kSlack;
    const bool known = t.error != 0 && std::isfinite(t.error) && is_true(t.symbol, t);
    errors[l] = known && bound < t.error ? bound : t.error;  // not if it is NaN
  }
}

}  // namespace assay
