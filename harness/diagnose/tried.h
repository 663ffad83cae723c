// Elements of several calls that a cause is tried on, and what the cause makes of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "evidence.h"
#include "prediction.h"

namespace assay::diagnose {

// Elements of all calls: of each as many as make one call's together, and not too few.
class Elements {
 public:
  explicit Elements(std::span<Evidence* const> calls) {
    constexpr std::size_t kLeastOfACall = 32;
    const std::size_t most = std::max(kLeastOfACall, kMostTried / std::max<std::size_t>(1, calls.size()));
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const std::span<const Element> all = calls[c]->tried();
      const std::size_t wrong = calls[c]->tried_diverging();
      take(c, all.first(wrong), most, wrong_);
      take(c, all.subspan(wrong), most, right_);
    }
  }

  struct Place {
    std::size_t call;
    const Element* element;
  };
  static void take(std::size_t call, std::span<const Element> all, std::size_t most,
                   std::vector<Place>& into) {
    const std::size_t n = std::min(all.size(), most);
    for (std::size_t k = 0; k < n; ++k) into.push_back({call, &all[k * all.size() / n]});
  }
  const std::vector<Place>& wrong() const { return wrong_; }  // they diverge
  const std::vector<Place>& right() const { return right_; }
  // A fault must explain one of them to be looked at further.
  std::vector<Place> first_wrong() const {
    constexpr std::size_t kFirst = 16;
    std::vector<Place> some;
    const std::size_t n = wrong_.size(), most = std::min(n, kFirst);
    for (std::size_t k = 0; k < most; ++k) some.push_back(wrong_[k * n / most]);
    return some;
  }

 private:
  std::vector<Place> wrong_, right_;
};

// What a fault makes of each call; it is the reference in those that it changes nothing in.
class Predictions {
 public:
  Predictions(const Hypothesis& h, std::span<Evidence* const> calls) {
    for (Evidence* const e : calls) {
      parts_.push_back(
          Prediction::of(h, e->call(), e->contract(), &e->rounding(), &e->expectation().evaluation()));
      any_ = any_ || parts_.back();
    }
  }

  bool any() const { return any_; }
  // nullptr: it changes nothing there.
  Prediction* of_call(std::size_t call) { return parts_[call] ? &*parts_[call] : nullptr; }
  bool admits(const Elements::Place& p) {
    auto& part = parts_[p.call];
    return part ? part->admits(*p.element) : !p.element->diverges;
  }
  bool differs(const Elements::Place& p) {
    auto& part = parts_[p.call];
    return part && part->differs(*p.element);
  }
  bool differs(const Elements::Place& p, Predictions& other) {
    auto &a = parts_[p.call], &b = other.parts_[p.call];
    if (a && b) return a->differs(*p.element, *b);
    return a ? a->differs(*p.element) : b && b->differs(*p.element);
  }
  bool typically_diverges(const Elements::Place& p) {
    auto& part = parts_[p.call];
    return part && part->typically_diverges(*p.element);
  }
  bool allows_more(const Elements::Place& p) {
    auto& part = parts_[p.call];
    return part && part->allows_more(*p.element);
  }
  double value(const Elements::Place& p) {
    auto& part = parts_[p.call];
    return part ? part->value(p.element->output, p.element->at) : p.element->right.value;
  }
  double exact(const Elements::Place& p) {
    auto& part = parts_[p.call];
    return part ? part->exact(*p.element) : p.element->right.value;
  }
  // What a kernel that computes as it says typically gives; nothing where that is not known.
  std::optional<double> typical(const Elements::Place& p) {
    auto& part = parts_[p.call];
    return part ? part->typical(*p.element) : std::nullopt;
  }
  std::optional<double> typical(const Elements::Place& p, const Chain& chain) {
    auto& part = parts_[p.call];
    return part ? part->typical(*p.element, chain) : std::nullopt;
  }
  std::optional<double> typical_error(const Elements::Place& p) {
    auto& part = parts_[p.call];
    return part ? part->typical_error(*p.element) : std::nullopt;
  }
  double width(const Elements::Place& p) {
    auto& part = parts_[p.call];
    return part ? part->width(*p.element) : 0;
  }

 private:
  std::vector<std::optional<Prediction>> parts_;
  bool any_ = false;
};

}  // namespace assay::diagnose
