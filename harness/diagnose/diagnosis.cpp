#include "diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "../generate/cases.h"
#include "../generate/data.h"
#include "another_operator.h"
#include "fill.h"
#include "fused.h"
#include "gathered.h"
#include "in_part.h"
#include "moved.h"
#include "narrow.h"
#include "outside.h"
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

constexpr std::uint64_t kMostSeparating = 300;  // cases that are tried
constexpr double kAllOfThem = 0.9999;           // of the elements
constexpr std::size_t kEnoughToChoose = 8;      // elements that diverge
constexpr std::size_t kMostElements = 256;      // of such a case, that are looked at

Named named(const Cause& c) {
  const bool beside_arithmetic =
      c.hypothesis.faults.size() > 1 &&
      std::ranges::any_of(c.hypothesis.faults, [](const Variant* v) { return !v->contract.empty(); });
  return {.name = c.hypothesis.name(),
          .says = c.hypothesis.says(),
          .explained = c.explained,
          .broken = c.broken,
          .discriminating = c.discriminating,
          .matched = c.matched,
          .explains_all = c.explains_all,
          .whole = c.whole,
          .beside_arithmetic = beside_arithmetic,
          .definition = c.hypothesis.faults.size() == 1 ? std::string(c.hypothesis.faults[0]->definition)
                                                        : std::string(),
          .proven = c.discriminating > 0 && c.is_confirmed() && !beside_arithmetic};
}

constexpr double kNearOne = 0x1p-6;
constexpr double kABit = 64;  // ulp
constexpr std::string_view kApproximate = "arithmetic.approximate";
#ifdef ASSAY_SANITIZED
constexpr std::chrono::seconds kMostAcquitting{120}, kMostAdmitting{60}, kMostDeciding{60};
#else
constexpr std::chrono::seconds kMostAcquitting{5};  // for what the results need
constexpr std::chrono::seconds kMostAdmitting{1};   // for what a contract would have to say
constexpr std::chrono::seconds kMostDeciding{2};    // for a case that decides
#endif

// Whether a parameter gives every element: which is a cause, where factors of results by their places are a description.
bool gives_all(const std::vector<Inverted>& inverted) {
  return std::ranges::any_of(
      inverted, [](const Inverted& i) { return i.argument != "the result" && i.reproduced >= kAllOfThem; });
}

// The same of one number, or a factor and an offset of the whole result.
bool gives_all_with_few(const std::vector<Inverted>& inverted) {
  return std::ranges::any_of(inverted,
                             [](const Inverted& i) { return !i.dimension && i.reproduced >= kAllOfThem; });
}

// Factors near 1, another one for each index, are what an approximation gives that is computed once for each: a root in a norm.
bool is_recovered_otherwise(const std::vector<Inverted>& inverted) {
  return std::ranges::any_of(inverted, [](const Inverted& i) {
    return i.argument != "the result" || !i.dimension ||
           !std::ranges::all_of(i.values, [](double x) { return std::fabs(x - 1) < kNearOne; });
  });
}

Named approximation(int bits, std::size_t diverging) {
  return {
      .name = std::string(kApproximate),
      .says = fmt::format(
          "approximates: results have about {} correct bits, and errors that are no rounding to a format of "
          "so many; fast reciprocals, roots and exponentials give such",
          bits),
      .explained = diverging,
      .explains_all = true};
}

// A cause that is nothing but functions that are less accurate.
bool is_of_functions(const Named& c) {
  return c.name.starts_with("arithmetic.functions") || c.name == kApproximate;
}

Named inaccurate(const Admitting& a, std::size_t diverging) {
  return {.name = fmt::format("arithmetic.inaccurate_{}", a.what),
          .says = fmt::format("has a {} that is less accurate than the contract says", a.what),
          .explained = diverging,
          .explains_all = true};
}

// What a fault makes of a call; the reference, where it changes nothing.
Prediction prediction(const Cause& c, const Call& call, const Contract& contract) {
  auto p = Prediction::of(c.hypothesis, call, contract);
  return p ? std::move(*p) : Prediction(call, contract);
}

bool differ_on(const Case& c, const Cause& cause, const std::vector<Cause>& others,
               const Contract& contract) {
  const Call call = materialise(c);
  if (!call.error.empty()) return false;
  Prediction p = prediction(cause, call, contract);
  return std::ranges::all_of(others, [&](const Cause& other) {
    Prediction q = prediction(other, call, contract);
    for (std::size_t o = 0; o < call.outputs.size(); ++o) {
      std::int64_t n = 1;
      for (const std::int64_t size : call.outputs[o].shape) n *= size;
      const std::int64_t step = std::max<std::int64_t>(1, n / static_cast<std::int64_t>(kMostElements));
      for (std::int64_t e = 0; e < n; e += step)
        if (disjoint(p.interval(static_cast<int>(o), e), q.interval(static_cast<int>(o), e))) return true;
    }
    return false;
  });
}

// A case on which the first cause differs from all the others that fit as well.
std::optional<std::string> separating(const Causes& causes, const Evidence& evidence) {
  std::vector<Cause> others;
  for (const Cause& c : causes.same)
    if (others.size() < kMostSeparated) others.push_back(c);
  const Operator& op = *evidence.call().op;
  for (std::uint64_t i = ladder_length(op); i < kMostSeparating; ++i) {
    const Case c = generate(op, evidence.call().outputs[0].dtype, 0, i);
    if (has_dtypes_of(c, evidence.call()) && differ_on(c, causes.causes[0], others, evidence.contract()))
      return text(c);
  }
  return std::nullopt;
}

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

Named read_off(std::string name, std::string says, std::size_t diverging) {
  return {.name = std::move(name),
          .says = std::move(says),
          .explained = diverging,
          .discriminating = diverging,
          .matched = diverging,
          .explains_all = true,
          .proven = true};
}

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
        suspects_(suspects_of(*evidence_.call().op)),
        further_(further_suspects_of(*evidence_.call().op)) {}

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
    d_.op = evidence_.call().op->schema.name;
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
    const auto another = [this] {
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
    try {
      for (const auto some : {moved_of, turned_of, gathered_of, fused_of, outside_of, tiles_of, terms_of}) {
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
    attempt([this] { d_.inverted = invert(evidence_); });
    explained_ = !causes_.causes.empty() && causes_.causes[0].explains_all;
    const bool is_pair = explained_ && causes_.causes[0].hypothesis.faults.size() > 1;
    const bool is_weak = explained_ && causes_.causes[0].discriminating == 0 &&
                         !d_.causes[0].name.starts_with("arithmetic.functions");
    // Parameters that give every element say more than a cause which only promises less, and admits these results among others. A
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
      if (is_somewhere() || (!d_.admitting->likely && d_.admitting->least > kABit)) d_.admitting.reset();
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

  // Whether it diverges in a small part, of which coordinates say where it is. An approximation is one everywhere.
  bool is_somewhere() {
    constexpr double kNearlyAll = 0.9, kSmall = 0.5;
    for (std::size_t o = 0; o < evidence_.call().outputs.size(); ++o) {
      const diff::Mask& mask = evidence_.mask(static_cast<int>(o));
      if (static_cast<double>(mask.count()) > kSmall * static_cast<double>(mask.size())) continue;
      const std::optional<diff::Rule> rule = diff::smallest_rule(evidence_.call().outputs[o].shape, mask, {});
      if (rule && rule->conditions > 0 && rule->precision > kNearlyAll && rule->recall > kNearlyAll)
        return true;
    }
    return false;
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
      for (const std::string& call : another_->as_well)
        d_.same.push_back(read_off("results.of_" + call.substr(0, call.find('(')),
                                   fmt::format("gives the result of {}", call), d_.tried_diverging));
      if (!d_.same.empty()) d_.advice = "Other arguments would tell them apart.";
      d_.weaker.clear();
      d_.inverted.clear();
      d_.separating.reset();
      d_.kind = Diagnosis::Kind::named;
      return;
    }
    // What only promises less than the reference fits many results: one that a few elements needed is no proof.
    if ((!explained_ || !d_.causes[0].proven) && !gives_all(d_.inverted) && !is_rearranged() &&
        is_unrelated(evidence_)) {
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
    } else if (const std::optional<int> bits = is_recovered_otherwise(d_.inverted) || is_somewhere()
                                                   ? std::nullopt
                                                   : bits_of_approximation(calls_)) {
      d_.causes = {approximation(*bits, d_.tried_diverging)};
      d_.kind = Diagnosis::Kind::named;
    }
  }

  std::span<Evidence* const> calls_;
  const Options& options_;
  Evidence& evidence_;  // of the call in which most elements diverge
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
