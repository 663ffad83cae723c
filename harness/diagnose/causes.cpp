#include "causes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "../model/parallel.h"
#include "narrow.h"
#include "tried.h"
#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

// Elements that diverge, and different results among them, without which pairs of faults are not tried: there is always
// one that explains a few numbers.
constexpr std::size_t kLeastForPairs = 12, kLeastDifferent = 6;
constexpr double kSameWidth = 1;  // bits
constexpr std::chrono::milliseconds kReading{1000}, kTryingRead{1500}, kAnother{500};
constexpr std::size_t kMostShown = 5;
constexpr double kLeastShare =
    0.33;  // of the diverging elements, for a fault that does not explain all to be worth naming

struct Tried {
  Cause cause;
  std::optional<Predictions> predictions;  // as long as it explains all: of large tensors they are large
  std::size_t order;                       // among the suspects
};

// Better first. What explains all and admits least; the order of suspects decides between equals.
bool is_better(const Tried& a, const Tried& b) {
  if (a.cause.explains_all != b.cause.explains_all) return a.cause.explains_all;
  if (!a.cause.explains_all) {
    const auto net = [](const Cause& c) {
      return static_cast<std::ptrdiff_t>(c.explained) - static_cast<std::ptrdiff_t>(c.broken);
    };
    if (net(a.cause) != net(b.cause)) return net(a.cause) > net(b.cause);
  }
  // In steps, so that the order is one.
  const double wide_a = std::floor(a.cause.width / kSameWidth),
               wide_b = std::floor(b.cause.width / kSameWidth);
  if (wide_a != wide_b) return wide_a < wide_b;
  return a.order < b.order;
}

class Search {
 public:
  Search(std::span<Evidence* const> calls, const std::vector<Variant>& suspects,
         const std::vector<Variant>& further, const std::atomic<bool>* interrupted)
      : calls_(calls), elements_(calls), suspects_(suspects), further_(further), interrupted_(interrupted) {}

  void singles(std::chrono::steady_clock::time_point until) {
    within(until, [this] {
      try_in_order(suspects_, 0, [this](std::size_t i, bool shows) {
        if (shows) changing_.push_back(i);
      });
    });
  }
  void further(std::chrono::steady_clock::time_point until) {
    within(until, [this] { try_in_order(further_, suspects_.size(), [](std::size_t, bool) {}); });
  }
  std::span<const Variant> read_off(const std::function<std::span<const Variant>()>& guesses,
                                    std::chrono::steady_clock::time_point until) {
    std::span<const Variant> all;
    within(until, [&] { all = guesses(); });
    return all;
  }
  void guessed(std::span<const Variant> guesses, std::chrono::steady_clock::time_point until) {
    within(until, [&] {
      std::size_t order = suspects_.size() + further_.size() + guessed_;
      for (const Variant& v : guesses) try_single(v, order++);
      guessed_ += guesses.size();
    });
  }
  bool is_known_otherwise(const std::function<bool()>& known, std::chrono::steady_clock::time_point until) {
    bool is_known = false;
    within(until, [&] { is_known = known(); });
    return is_known;
  }
  void pairs(std::chrono::steady_clock::time_point until) {
    within(until, [this] { try_pairs(); });
  }

  bool enough_for_pairs() const {
    std::set<std::tuple<double, double, std::int64_t>> different;
    for (const Elements::Place& p : elements_.wrong())
      different.emplace(std::isnan(p.element->actual) ? 0 : p.element->actual, p.element->right.value,
                        p.element->integer);
    return elements_.wrong().size() >= kLeastForPairs && different.size() >= kLeastDifferent;
  }
  // Whether a fault can be told by what it gives. What gives NaN for every element is a fault of many kinds.
  bool has_numbers() const {
    const auto is_number = [](const Elements::Place& p) { return std::isfinite(p.element->actual); };
    return std::ranges::any_of(elements_.wrong(), is_number) ||
           std::ranges::any_of(elements_.right(), is_number);
  }
  // What explains all that was tried is held against all elements: the best of them first.
  void confirm(std::chrono::steady_clock::time_point until) {
    within(until, [this] {
      std::vector<Tried*> order;
      for (Tried& t : tried_)
        if (t.cause.explains_all && !t.cause.whole) order.push_back(&t);
      std::ranges::sort(order, [](const Tried* a, const Tried* b) { return is_better(*a, *b); });
      for (Tried* t : order) {
        t->cause.whole = on_the_whole(calls_, *t->predictions);
        if (t->cause.whole->holds()) continue;
        t->cause.explains_all = false;
        t->predictions.reset();
      }
    });
  }
  // Single faults that explain each element that diverges, and say of others that they would, too, in the order of suspects. In a part of
  // the results they are alike: which of them breaks least elsewhere is no matter.
  std::vector<const Variant*> beyond_the_right() const {
    std::vector<const Tried*> order;
    for (const Tried& t : tried_)
      if (t.cause.explained == elements_.wrong().size() && t.cause.broken > 0 && t.cause.discriminating > 0 &&
          t.cause.hypothesis.faults.size() == 1 && t.cause.hypothesis.faults[0]->contract.empty())
        order.push_back(&t);
    std::ranges::sort(order, {}, &Tried::order);
    std::vector<const Variant*> all;
    for (const Tried* t : order) all.push_back(t->cause.hypothesis.faults[0]);
    return all;
  }
  bool any_wrong() const { return !elements_.wrong().empty(); }
  bool any_proves_all() const {
    return std::ranges::any_of(
        tried_, [](const Tried& t) { return t.cause.explains_all && t.cause.discriminating > 0; });
  }
  bool any_explains_all() const {
    return std::ranges::any_of(tried_, [](const Tried& t) { return t.cause.explains_all; });
  }

  Causes result() {
    found_.without_numbers = !elements_.wrong().empty() && !has_numbers();
    found_.tried = elements_.wrong().size() + elements_.right().size();
    found_.tried_diverging = elements_.wrong().size();
    std::vector<Tried*> order;
    for (Tried& t : tried_) order.push_back(&t);
    std::ranges::sort(order, [](const Tried* a, const Tried* b) { return is_better(*a, *b); });
    for (Tried* t : order) {
      const Cause& c = t->cause;
      if (!c.explains_all) {
        const bool worth =
            static_cast<double>(c.explained) > kLeastShare * static_cast<double>(elements_.wrong().size());
        const bool contradicted = c.broken > 0 || (c.whole && c.whole->broken > 0);
        if (!order[0]->cause.explains_all && worth && found_.causes.size() < kMostShown && !contradicted &&
            c.matched > 0)
          found_.causes.push_back(c);
        continue;
      }
      if (found_.causes.empty() || told_apart(*t, *order[0]))
        found_.causes.push_back(c);
      else if (c.width <= order[0]->cause.width + kSameWidth)
        found_.same.push_back(c);
      else
        found_.weaker.push_back(c);
    }
    return std::move(found_);
  }

 private:
  // On large data a single fault may take longer than all of them may: what tries it ends, too.
  template <class Work>
  void within(std::chrono::steady_clock::time_point until, const Work& work) {
    const StopScope scope([this, until] {
      return (interrupted_ != nullptr && *interrupted_) || std::chrono::steady_clock::now() > until;
    });
    try {
      work();
    } catch (const Stopped&) {
      found_.complete = false;
    }
  }

  bool is_for_results(const Variant& suspect) const {
    return suspect.dtypes.contains(calls_[0]->call().outputs[0].computed_in);
  }

  // Whether its predictions can be made beside those of others: nothing of the evidence is computed for them.
  bool may_be_made_apart(const Variant& v) const {
    const Operator& op = *calls_[0]->call().op;
    return is_for_results(v) && !v.within &&
           (v.arguments || v.formula != nullptr || (v.moves && !op.in_integers));
  }

  // Of large tensors the predictions of several are made at a time, for each changes all of a tensor; they are tried in their order.
  template <class Then>
  void try_in_order(const std::vector<Variant>& all, std::size_t order, const Then& then) {
    constexpr std::uint64_t kLarge = 1 << 20;  // elements of results
    constexpr std::size_t kMostAtATime = 4;    // each has a copy of the call
    const bool large = std::ranges::any_of(calls_, [](Evidence* e) { return e->elements() > kLarge; });
    const std::size_t at_a_time = large ? std::min<std::size_t>(kMostAtATime, threads_for(0)) : 1;
    for (Evidence* const e : calls_) e->expectation().evaluation();
    for (std::size_t begin = 0; begin < all.size(); begin += at_a_time) {
      const std::size_t n = std::min(at_a_time, all.size() - begin);
      std::array<std::optional<Predictions>, kMostAtATime> made;
      if (n > 1)
        for_each_parallel(static_cast<unsigned>(n), n, [&](std::size_t k) {
          if (may_be_made_apart(all[begin + k])) made[k].emplace(Hypothesis{{&all[begin + k]}}, calls_);
        });
      for (std::size_t k = 0; k < n; ++k)
        then(begin + k, try_single(all[begin + k], order + begin + k, std::move(made[k])));
    }
  }

  // Whether it would show.
  bool try_single(const Variant& suspect, std::size_t order, std::optional<Predictions> made = {}) {
    stop_now();
    if (!is_for_results(suspect)) return false;
    const Hypothesis h{{&suspect}};
    Predictions p = made ? std::move(*made) : Predictions(h, calls_);
    if (!p.any()) return false;
    ++found_.tested;
    if (!shows(p, !suspect.contract.empty())) {
      found_.untestable.push_back(suspect.name);
      return false;
    }
    found_.testable.push_back(suspect.name);
    if (std::ranges::any_of(elements_.first_wrong(), [&](const auto& at) { return p.admits(at); }))
      add(h, std::move(p), order);
    return true;
  }

  void try_pairs() {
    for (const std::size_t i : changing_)
      for (const std::size_t j : changing_) {
        if (i >= j || !together(suspects_[i], suspects_[j])) continue;
        stop_now();
        ++found_.pairs;
        const Hypothesis h{{&suspects_[i], &suspects_[j]}};
        Predictions p(h, calls_);
        // Two faults that lose all that goes in admit anything.
        const bool promises_less = !suspects_[i].contract.empty() || !suspects_[j].contract.empty();
        if (p.any() &&
            std::ranges::all_of(elements_.first_wrong(), [&](const auto& at) { return p.admits(at); }) &&
            shows(p, promises_less) && !(promises_less && admits_others(elements_, p)))
          add(h, std::move(p), suspects_.size() + further_.size() + guessed_ + i + j);
      }
  }

  // Two wrong formulas are no stacked cause that anybody would believe. Of one tensor two are, if one says where its elements are
  // read, and the other what numbers they become.
  static bool together(const Variant& a, const Variant& b) {
    // How far off such a kernel typically is, nobody can say: its bound alone would admit too much.
    const auto changes_numbers = [](const Variant& v) { return v.results && !v.moves; };
    if ((!a.contract.empty() && changes_numbers(b)) || (!b.contract.empty() && changes_numbers(a)))
      return false;
    const auto subject = [](const Variant& v) {
      return std::string_view(v.name).substr(0, v.name.find('.'));
    };
    return subject(a) != subject(b) || (a.argument >= 0 && a.moves != b.moves);
  }

  // Whether on this data it can be told from the reference. What only promises less may show, or not.
  bool shows(Predictions& p, bool promises_less) const {
    const auto differs = [&](const auto& at) { return promises_less ? p.allows_more(at) : p.differs(at); };
    // What explains an element that diverges shows, though for every element some results are as both say: but not what admits more.
    const auto admits = [&](const auto& at) {
      return !promises_less && p.admits(at) && p.width(at) <= width_of(at.element->right) + kSameWidth;
    };
    return std::ranges::any_of(elements_.wrong(), differs) ||
           std::ranges::any_of(elements_.right(), differs) || std::ranges::any_of(elements_.wrong(), admits);
  }

  bool told_apart(Tried& a, Tried& b) const {
    const auto differ = [&](const auto& at) { return a.predictions->differs(at, *b.predictions); };
    return std::ranges::any_of(elements_.wrong(), differ) || std::ranges::any_of(elements_.right(), differ);
  }

  void add(const Hypothesis& h, Predictions p, std::size_t order) {
    Cause c{.hypothesis = h};
    double width = 0;
    const auto count = [&](const Elements::Place& at, bool admitted) {
      const bool discriminates = p.differs(at);
      c.discriminating += discriminates ? 1 : 0;
      c.matched += discriminates && admitted ? 1 : 0;
    };
    for (const Elements::Place& at : elements_.wrong()) {
      const bool admitted = p.admits(at);
      c.explained += admitted ? 1 : 0;
      width += p.width(at);
      count(at, admitted);
    }
    for (const Elements::Place& at : elements_.right()) {
      const bool admitted = p.admits(at);
      c.broken += admitted ? 0 : 1;
      count(at, admitted);
    }
    if (std::ranges::any_of(h.faults, [](const Variant* v) { return !v->contract.empty(); })) {
      c.broken += too_accurate(calls_, elements_, p);
      if (c.explained > 0 && is_no_such_arithmetic(h, calls_, elements_, p)) c.explained = 0;
    }
    c.width = width / static_cast<double>(std::max<std::size_t>(1, elements_.wrong().size()));
    // Two faults fit where each makes the other's results unsure. Without an element that tells them from the reference they say nothing.
    if (h.faults.size() > 1 && c.discriminating == 0) c.explained = 0;
    c.explains_all = c.explained == elements_.wrong().size() && c.broken == 0 && c.explained > 0;
    std::optional<Predictions> kept;
    if (c.explains_all) kept = std::move(p);
    tried_.push_back({std::move(c), std::move(kept), order});
  }

  std::span<Evidence* const> calls_;
  Elements elements_;
  const std::vector<Variant>&suspects_, &further_;
  const std::atomic<bool>* interrupted_;
  std::vector<Tried> tried_;
  std::vector<std::size_t> changing_;
  std::size_t guessed_ = 0;
  Causes found_;
};

}  // namespace

Causes find_causes(std::span<Evidence* const> calls, const std::vector<Variant>& suspects,
                   const std::vector<Variant>& further,
                   const std::function<std::span<const Variant>()>& guessed, const InPart& in_part,
                   const std::function<bool()>& known_otherwise, const Patience& patience) {
  const auto begin = std::chrono::steady_clock::now();
  Search search(calls, suspects, further, patience.interrupted);
  if (!search.has_numbers()) return search.result();
  search.singles(begin + patience.singles);
  search.confirm(begin + patience.singles);
  if (search.any_wrong() && !search.any_proves_all()) {
    search.further(begin + patience.singles);
    search.confirm(begin + patience.singles);
  }
  if (search.any_wrong() && !search.any_explains_all()) {
    // What is read off results is quick: it is looked for where the others took all the time as well, as they do of large tensors.
    const auto at_least = [&](std::chrono::milliseconds time) {
      return std::max<std::chrono::steady_clock::time_point>(
          begin + patience.singles, std::chrono::steady_clock::now() + std::min(time, patience.singles / 8));
    };
    const std::span<const Variant> guesses = search.read_off(guessed, at_least(kReading));
    const auto until = at_least(kTryingRead);
    search.guessed(guesses, until);
    search.confirm(until);
    if (!search.any_explains_all()) {
      search.guessed(in_part(search.beyond_the_right()), at_least(kTryingRead));
      search.confirm(at_least(kTryingRead));
    }
    if (!search.any_explains_all() && search.is_known_otherwise(known_otherwise, at_least(kAnother)))
      return search.result();
  }
  if (search.enough_for_pairs() && !search.any_explains_all()) {
    const auto until = std::chrono::steady_clock::now() + patience.pairs;
    search.pairs(until);
    search.confirm(until);
  }
  return search.result();
}

}  // namespace assay::diagnose
