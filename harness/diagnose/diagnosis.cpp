#include "diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "another_operator.h"
#include "exchanged.h"
#include "fill.h"
#include "fused.h"
#include "gathered.h"
#include "graph/recurrent.h"
#include "in_part.h"
#include "misread.h"
#include "moved.h"
#include "named.h"
#include "narrow.h"
#include "outside.h"
#include "recovered.h"
#include "separating.h"
#include "showing.h"
#include "suspects.h"
#include "terms.h"
#include "tiles.h"
#include "turned.h"
#include "unrelated.h"
#include "vocabulary/stop.h"
#include "where.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kEnoughToChoose = 8;  // elements that diverge
constexpr double kABit = 64;                // ulp
#ifdef ASSAY_SANITIZED
constexpr std::chrono::seconds kMostAcquitting{120}, kMostAdmitting{60}, kMostDeciding{60};
#else
constexpr std::chrono::seconds kMostAcquitting{5};  // for what the results need
constexpr std::chrono::seconds kMostAdmitting{1};   // for what a contract would have to say
constexpr std::chrono::seconds kMostDeciding{2};    // for a case that decides
#endif

// Arguments of which no fault that was tried could show: their numbers do not matter on this data.
std::vector<std::string> blind(const Operator& op, const Causes& causes) {
  std::vector<std::string> all;
  for (const Argument& a : op.schema.arguments()) {
    const auto is_of = [prefix = std::string(a.name) + "."](const std::string& n) {
      return n.starts_with(prefix);
    };
    if (std::ranges::any_of(causes.untestable, is_of) && std::ranges::none_of(causes.testable, is_of))
      all.emplace_back(a.name);
  }
  return all;
}

}  // namespace

Diagnosis diagnose(Evidence& evidence, const Options& options) {
  Evidence* const one[] = {&evidence};
  return diagnose(one, options);
}

namespace {

// The parts of a diagnosis, in order. Each may be ended by a StopScope; what was found before it stays.
class Diagnoser {
 public:
  Diagnoser(std::span<Evidence* const> calls, const Options& options)
      : calls_(calls),
        options_(options),
        evidence_(**std::ranges::max_element(calls, {}, [](const Evidence* e) { return e->diverging(); })),
        layer_(recurrent_layer_of(*evidence_.call().op)),
        suspects_(suspects_of(*evidence_.call().op)),
        further_(layer_ != nullptr ? std::vector<Variant>() : further_suspects_of(*evidence_.call().op)) {
    // Cases of its graph have states that no layer would give.
    if (layer_ != nullptr) options_.separate = false;
  }

  Diagnosis diagnose() {
    const auto begin = std::chrono::steady_clock::now();
    count();
    attempt([this] { find(); });
    if (d_.fault)
      explain();
    else
      attempt([this] { acquit(); });
    d_.searched = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(d_);
  }

 private:
  template <class Work>
  void attempt(const Work& work) {
    try {
      work();
    } catch (const Stopped&) {
      d_.complete = false;
    }
  }

  void count() {
    d_.op = layer_ != nullptr ? name_of(layer_->cell) : evidence_.call().op->schema.name;
    d_.contract = text(evidence_.contract());
    for (const Evidence* e : calls_) {
      d_.elements += e->elements();
      d_.judged += e->judged();
      d_.diverging += e->diverging();
      d_.undecidable += e->undecidable();
    }
    d_.fault = d_.diverging > 0;
    if (evidence_.worst()) d_.worst = place(evidence_, *evidence_.worst());
  }

  void find() {
    const auto guessed = [this]() -> std::span<const Variant> { return read_off_all(); };
    // What reads its own results explains them by themselves: nothing is read off those.
    const auto another = [this] {
      if (layer_ != nullptr) return false;
      another_ = another_operator(calls_);
      return another_.has_value();
    };
    const auto in_part = [this](std::span<const Variant* const> faults) -> std::span<const Variant> {
      if (calls_.size() == 1) parts_ = in_part_of(evidence_, faults);
      return parts_;
    };
    causes_ = find_causes(calls_, suspects_, further_, guessed, in_part, another, options_.patience);
    d_.tried = causes_.tried;
    d_.tried_diverging = causes_.tried_diverging;
    d_.tested = causes_.tested;
    d_.pairs = causes_.pairs;
    d_.complete = d_.complete && causes_.complete;
    if (causes_.without_numbers)
      d_.skipped.push_back(
          "Every result that was looked at is NaN or infinite, as many faults would give: no cause can be told from "
          "another. Finite inputs, or fewer of them, may show more.");
    d_.untestable = causes_.untestable;
    d_.blind = blind(*evidence_.call().op, causes_);
  }

  // The quickest first; those that hold for every operator's results are named first.
  std::span<const Variant> read_off_all() {
    if (layer_ != nullptr) return {};
    try {
      for (const auto some : {moved_of, turned_of, exchanged_of, gathered_of, misread_of, fused_of,
                              outside_of, tiles_of, terms_of}) {
        std::vector<Variant> found = some(evidence_);
        guessed_.insert(some == terms_of ? guessed_.begin() : guessed_.end(),
                        std::move_iterator(found.begin()), std::move_iterator(found.end()));
      }
    } catch (const Stopped&) {
      d_.complete = false;
    }
    return guessed_;
  }

  // Where there is no fault.
  void acquit() {
    if (options_.stranger && calls_.size() == 1) {
      const auto until = std::chrono::steady_clock::now() + kMostAcquitting;
      const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
      try {
        d_.strictest = strictest(evidence_);
      } catch (const Stopped&) {
        d_.skipped.push_back(fmt::format(
            "What the kernel must be allowed, so that these results are right, was not found out in {} s: how wide their bound is "
            "beside what kernels err is not known.",
            kMostAcquitting.count()));
      }
      if (d_.strictest && !d_.strictest->decided()) {
        d_.kind = Diagnosis::Kind::undecided;
        attempt([this] { d_.nearer = nearest(evidence_, suspects_, further_); });
        attempt([this] { d_.winograd = winograd_of(evidence_); });
        attempt([this] { decide(); });
      }
    }
    show();
  }

  // A case that decides: with the cause to which the results are nearest, or with none.
  void decide() {
    if (!options_.separate) return;
    const Variant* nearest = nullptr;
    for (const std::vector<Variant>* some : {&suspects_, &further_})
      if (d_.nearer && nearest == nullptr)
        if (const auto v = std::ranges::find(*some, d_.nearer->name, &Variant::name); v != some->end())
          nearest = &*v;
    const auto until = std::chrono::steady_clock::now() + kMostDeciding;
    const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
    try {
      d_.deciding = deciding(evidence_, nearest);
    } catch (const Stopped&) {  // without one, what is known is not less complete
    }
  }

  // A case that shows more.
  void show() {
    if (!options_.separate || d_.untestable.empty()) return;
    Showing s = showing(evidence_.call(), evidence_.contract(), suspects_, d_.untestable);
    d_.shown = s.causes;
    if (s.causes > 0) d_.showing = std::move(s.case_text);
  }

  void explain() {
    attempt([this] {
      for (std::size_t o = 0; o < evidence_.call().outputs.size(); ++o)
        if (evidence_.has(static_cast<int>(o))) d_.where.push_back(where(evidence_, static_cast<int>(o)));
    });
    for (const Cause& c : causes_.causes) d_.causes.push_back(named(c));
    for (const Cause& c : causes_.same) d_.same.push_back(named(c));
    for (const Cause& c : causes_.weaker) d_.weaker.push_back(named(c));
    if (layer_ == nullptr) attempt([this] { d_.inverted = invert(evidence_); });
    explained_ = !causes_.causes.empty() && causes_.causes[0].explains_all;
    const bool is_pair = explained_ && causes_.causes[0].hypothesis.faults.size() > 1;
    const bool is_weak = explained_ && causes_.causes[0].discriminating == 0 &&
                         !d_.causes[0].name.starts_with("arithmetic.functions");
    // A function that gives every element says more than a cause which only promises less, and admits these results among others.
    if (is_weak && !another_ && layer_ == nullptr) attempt([this] { another_ = another_operator(calls_); });
    // So do parameters that give every element. A
    // factor and an offset for each row say less than arithmetic that errs as these rows do, and more than a pair.
    const bool recovered =
        calls_.size() == 1 && std::ranges::any_of(d_.inverted, [is_pair](const Inverted& i) {
          return i.reproduced >= kAllOfThem && (is_pair || i.argument != "the result" || !i.dimension);
        });
    // So does one factor of the result beside two faults that together are one: twice this, and twice that.
    const bool simpler = is_pair && (!d_.causes[0].proven || gives_all_with_few(d_.inverted));
    if (recovered && (is_weak || simpler)) {
      explained_ = false;
      d_.weaker.insert(d_.weaker.begin(), d_.causes.begin(), d_.causes.end());
      d_.causes.clear();
      d_.same.clear();
    }
    if (explained_ && !causes_.same.empty() && options_.separate)
      attempt([this] { d_.separating = separating(causes_, evidence_); });
    d_.kind = d_.causes.empty() ? Diagnosis::Kind::unknown : Diagnosis::Kind::partly;
    if (!d_.inverted.empty()) d_.kind = Diagnosis::Kind::recovered;
    attempt([this] { conclude(); });
    if (!d_.unrelated && is_of_arithmetic_or_unknown()) admit();
  }

  bool is_of_arithmetic_or_unknown() const {
    if (d_.kind == Diagnosis::Kind::unknown || d_.kind == Diagnosis::Kind::partly) return true;
    return d_.kind != Diagnosis::Kind::recovered && !d_.causes.empty() && is_of_functions(d_.causes[0]);
  }

  // A function that is not as accurate as was promised is a cause of its own where nothing else explains the errors, which are no proof.
  void admit() {
    const auto until = std::chrono::steady_clock::now() + kMostAdmitting;
    const StopScope limit([until] { return std::chrono::steady_clock::now() > until; });
    try {
      d_.admitting = admitting(calls_);
      if (!d_.admitting) return;
      // A bit outside, that is; where coordinates say where it is, a function is not what is wrong there.
      if (is_somewhere(evidence_) || (!d_.admitting->likely && d_.admitting->least > kABit))
        d_.admitting.reset();
      if (!d_.admitting) return;
    } catch (const Stopped&) {  // what else is known is not less complete
      d_.admitting.reset();
      return;
    }
    const bool named = !d_.causes.empty() && is_of_functions(d_.causes[0]);
    if (named || !d_.admitting->likely) return;
    d_.causes = {inaccurate(*d_.admitting, d_.tried_diverging)};
    d_.kind = Diagnosis::Kind::named;
  }

  // Some are right, and the rest is where a rule says exactly: numbers that have nothing to do with these would not be.
  bool are_right_in_a_place() const {
    constexpr double kExactly = 0.999;
    return std::ranges::any_of(d_.where, [](const Where& w) {
      return w.diverging < w.elements && w.rule && w.rule->conditions > 0 && w.rule->precision > kExactly &&
             w.rule->recall > kExactly;
    });
  }

  // One number, or one in place of another: much gives these.
  bool says_little() {
    constexpr std::size_t kLeastElements = 3;
    std::set<std::pair<double, double>> different;
    std::size_t tried = 0;
    for (const Evidence* e : calls_)
      for (const Element& t : e->tried()) {
        ++tried;
        if (std::isnan(t.actual) || std::isnan(t.right.value)) return false;
        different.emplace(t.actual, t.right.value);
      }
    d_.says_little = tried < kLeastElements || different.size() == 1;
    return d_.says_little;
  }

  std::optional<Fill> filled() {
    std::optional<Fill> fill = fill_of(evidence_);
    return fill ? std::move(fill) : end_of(evidence_);
  }

  bool is_rearranged() const {
    return std::ranges::any_of(d_.where, [](const Where& w) { return w.rearranged.has_value(); });
  }

  void conclude() {
    // A parameter that makes every result the same explains nothing that this does not.
    if (const std::optional<Fill> constant = calls_.size() == 1 ? constant_of(evidence_) : std::nullopt) {
      d_.causes = {read_off(constant->name, constant->says, d_.tried_diverging)};
      d_.same.clear();
      d_.weaker.clear();
      d_.inverted.clear();
      d_.separating.reset();
      d_.kind = Diagnosis::Kind::named;
      return;
    }
    if (another_) {
      d_.causes = {read_off(another_->name, another_->says, d_.tried_diverging)};
      d_.causes[0].proven = another_->is_exact;
      if (another_->of_all) d_.causes[0].whole = Whole{.elements = d_.elements, .read = d_.judged};
      for (const AnotherOperator::Other& other : another_->as_well)
        d_.same.push_back(read_off(other.name, other.says, d_.tried_diverging));
      if (!d_.same.empty()) d_.advice = "Other arguments would tell them apart.";
      d_.weaker.clear();
      d_.inverted.clear();
      d_.separating.reset();
      d_.kind = Diagnosis::Kind::named;
      return;
    }
    // What only promises less than the reference fits many results: one that a few elements needed is no proof.
    if ((!explained_ || !d_.causes[0].proven) && !gives_all(d_.inverted) && !is_rearranged() &&
        !are_right_in_a_place() && is_unrelated(evidence_)) {
      d_.unrelated = true;
      d_.causes.clear();
      d_.same.clear();
      d_.weaker.clear();
      d_.inverted.clear();
      d_.separating.reset();
      d_.kind = Diagnosis::Kind::unknown;
      return;
    }
    if (says_little()) {
      d_.inverted.clear();
      d_.kind = d_.causes.empty() ? Diagnosis::Kind::unknown : Diagnosis::Kind::ambiguous;
      if (!d_.causes.empty()) return;
    }
    const bool certain = explained_ && causes_.same.empty() && causes_.causes[0].discriminating > 0;
    if (explained_) {
      const bool enough = certain || d_.tried_diverging >= kEnoughToChoose;
      d_.kind =
          enough && !d_.causes[0].beside_arithmetic ? Diagnosis::Kind::named : Diagnosis::Kind::ambiguous;
      return;
    }
    if (const std::optional<Fill> fill =
            calls_.size() == 1 && !gives_all(d_.inverted) ? filled() : std::nullopt) {
      d_.causes = {read_off(fill->name, fill->says, d_.tried_diverging)};
      for (const ReadAsZeros& r : fill->or_read_as_zeros)
        d_.same.push_back(read_off(r.name, r.says, d_.tried_diverging));
      if (!d_.same.empty())
        d_.advice = "What is unwritten keeps what was in memory before, and what is read as zeros does not.";
      d_.kind = fill->certain ? Diagnosis::Kind::named : Diagnosis::Kind::ambiguous;
    } else if (d_.inverted.empty() && (d_.winograd = winograd_of(evidence_))) {
      d_.causes = {{.name = d_.winograd->name,
                    .says = d_.winograd->says,
                    .explained = d_.tried_diverging,
                    .explains_all = true}};
      d_.kind = Diagnosis::Kind::named;
    } else if (const std::optional<int> bits = is_recovered_otherwise(d_.inverted) || is_somewhere(evidence_)
                                                   ? std::nullopt
                                                   : bits_of_approximation(calls_)) {
      d_.causes = {approximation(*bits, d_.tried_diverging)};
      d_.kind = Diagnosis::Kind::named;
    }
  }

  std::span<Evidence* const> calls_;
  Options options_;
  Evidence& evidence_;  // of the call in which most elements diverge
  const RecurrentLayer* layer_;  // if it is one
  std::vector<Variant> suspects_, further_, guessed_, parts_;
  Causes causes_;
  std::optional<AnotherOperator> another_;
  bool explained_ = false;
  Diagnosis d_;
};

}  // namespace

Diagnosis diagnose(std::span<Evidence* const> calls, const Options& options) {
  return Diagnoser(calls, options).diagnose();
}

}  // namespace assay::diagnose
