#include "regions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>

#include "../diagnose/rounding.h"
#include "../diagnose/strictest.h"
#include "dump.h"
#include "graph/enrol_graph.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

using diagnose::Evidence;

#ifdef ASSAY_SANITIZED
constexpr std::chrono::seconds kMostJudging{1200};
#else
constexpr std::chrono::seconds kMostJudging{60};  // of one region
#endif
constexpr double kFew = 0.1;  // of elements: parameters that were used are read off no fewer

std::variant<JudgedRegion, NoRegion> judged_once(const RegionSources& from, std::size_t last,
                                                 const DumpedResults& dumped, const std::string& contract,
                                                 const RegionStyle& style) {
  std::vector<std::pair<std::string, Shape>> outputs;
  for (const DumpedResults::One& one : dumped.all) outputs.emplace_back(one.output, one.shape);
  auto found = region_of(from, last, outputs, style);
  if (auto* why = std::get_if<NoRegion>(&found)) return std::move(*why);
  JudgedRegion judged;
  judged.last = last;
  judged.dumped = dumped;
  judged.contract = contract;
  judged.region = std::make_unique<Region>(std::move(std::get<Region>(found)));
  const Call& call = judged.region->call;
  ExpectedOutputs actual;
  diagnose::Rounding rounding;
  const StopScope limit(after(std::chrono::steady_clock::now() + kMostJudging));
  try {
    if (!dumped.narrow) rounding.moved = diagnose::moved_within(call, judged.region->within);
    for (const DumpedResults::One& one : dumped.all) {
      actual.emplace_back(one.packed);
      rounding.stored.push_back(one.stored);
      if (dumped.narrow) rounding.moved.push_back(one.moved);
    }
    judged.evidence = std::make_unique<Evidence>(call, diagnose::contract_or_strangers(contract, call),
                                                 std::move(actual), std::move(rounding));
  } catch (const Stopped&) {
    return fmt::format("as one graph they take longer to judge than {} seconds", kMostJudging.count());
  }
  return judged;
}

// Of elements that were looked at, the median of what their bounds are wide.
double typical_width(const Evidence& e) {
  std::vector<double> widths;
  for (const diagnose::Element& element : e.tried())
    if (const double w = element.right.relative_width(); std::isfinite(w) && w > 0) widths.push_back(w);
  if (widths.empty()) return 0;
  const auto middle = widths.begin() + std::ssize(widths) / 2;
  std::ranges::nth_element(widths, middle);
  return *middle;
}

// The text with other names for words, and without the lines that nobody has seen.
std::string renamed(const std::string& text, const std::map<std::string, std::string>& names) {
  std::string s;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == i) {
      s += text[i++];
      continue;
    }
    const std::string word = text.substr(i, end - i);
    i = end;
    const auto name = names.find(word);
    s += name == names.end() ? word : name->second;
    if (name == names.end() || text.compare(i, 2, " (") != 0) continue;
    const std::size_t close = text.find(')', i);
    if (close != std::string::npos && text.substr(i, close - i).find("line ") != std::string::npos)
      i = close + 1;
  }
  return s;
}

std::map<std::string, std::string> names_of(const Region& region) {
  std::map<std::string, std::string> names = region.names;
  const std::vector<GraphNode>& nodes = region.call.op->graph->nodes;
  for (std::size_t n = 0; n < nodes.size(); ++n) names[nodes[n].name] = region.nodes[n];
  return names;
}

// Where numbers on the way may have been rounded, a result may have moved that does not where all is right: one that a relu makes 0. A
// cause is looked for within what half of the results may move.
std::unique_ptr<Evidence> uncertain_everywhere(const JudgedRegion& judged) {
  if (!judged.dumped.narrow) return nullptr;
  diagnose::Rounding rounding = judged.evidence->rounding();
  ExpectedOutputs actual;
  for (const DumpedResults::One& one : judged.dumped.all) actual.emplace_back(one.packed);
  for (std::vector<double>& moved : rounding.moved) {
    std::vector<double> some;
    std::ranges::copy_if(moved, std::back_inserter(some),
                         [](double by) { return by > 0 && std::isfinite(by); });
    if (some.empty()) continue;
    const auto middle = some.begin() + std::ssize(some) / 2;
    std::ranges::nth_element(some, middle);
    const double least = *middle;
    for (double& by : moved) by = std::max(by, least);
  }
  auto evidence = std::make_unique<Evidence>(judged.region->call, judged.evidence->contract(),
                                             std::move(actual), std::move(rounding));
  return evidence->diverging() > 0 ? std::move(evidence) : nullptr;
}

// Of an engine that has one for all.
void look_for_one_epsilon(const RegionSources& from, const JudgedRegion& judged, diagnose::Diagnosis& d) {
  auto again = judged_once(
      from, judged.last, judged.dumped, judged.contract,
      {.fold = judged.region->folded.empty() ? Fold::where_seen : Fold::wherever, .one_epsilon = true});
  auto* with_one = std::get_if<JudgedRegion>(&again);
  if (with_one == nullptr || with_one->evidence->diverging() == 0) return;
  for (diagnose::Inverted& i : diagnose::invert(*with_one->evidence)) {
    const auto name = with_one->region->names.find(i.argument);
    if (name == with_one->region->names.end() || !name->second.starts_with("each ")) continue;
    judged.region->names[i.argument] = name->second;
    d.kind = diagnose::Diagnosis::Kind::recovered;
    d.causes.clear();
    d.inverted = {std::move(i)};
    return;
  }
}

}  // namespace

std::variant<JudgedRegion, NoRegion> judged_as_one(const RegionSources& from, std::size_t last,
                                                   const DumpedResults& dumped, const std::string& contract) {
  auto plain = judged_once(from, last, dumped, contract, {.fold = Fold::where_seen});
  auto* judged = std::get_if<JudgedRegion>(&plain);
  if (judged == nullptr || judged->evidence->diverging() == 0) return plain;
  const bool may_be_folded = std::ranges::any_of(judged->region->calls, [&](std::size_t k) {
    const auto convolution = from.foldings.convolution_of(k);
    return convolution && std::ranges::count(judged->region->calls, *convolution) > 0 &&
           std::ranges::count(judged->region->folded, k) == 0;
  });
  if (!may_be_folded) return plain;
  auto folded = judged_once(from, last, dumped, contract, {.fold = Fold::wherever});
  auto* other = std::get_if<JudgedRegion>(&folded);
  return other != nullptr && other->evidence->diverging() == 0 ? std::move(folded) : std::move(plain);
}

BisectedCall::Together said_of(const RegionSources& from, const JudgedRegion& judged) {
  const Region& region = *judged.region;
  const Evidence& e = *judged.evidence;
  BisectedCall::Together t;
  for (const std::size_t k : region.calls) t.calls.push_back(name_of(from.trace, k));
  for (const std::size_t k : region.folded) t.folded.push_back(name_of(from.trace, k));
  t.graph = region.text;
  t.elements = e.elements();
  t.judged = e.judged();
  t.diverging = e.diverging();
  t.undecidable = e.undecidable();
  t.width = typical_width(e);
  return t;
}

diagnose::Diagnosis cause_of(const RegionSources& from, JudgedRegion& judged,
                             const diagnose::Options& options) {
  using Kind = diagnose::Diagnosis::Kind;
  enrol_wrong_graphs(*judged.region->call.op);
  diagnose::Options without_cases = options;
  without_cases.separate = false;  // a case of this graph says little to whoever has not written it
  std::unique_ptr<Evidence> everywhere = uncertain_everywhere(judged);
  Evidence& evidence = everywhere ? *everywhere : *judged.evidence;
  diagnose::Diagnosis d = diagnose::diagnose(evidence, without_cases);
  const bool admits_nearly_all = static_cast<double>(d.diverging) < kFew * static_cast<double>(d.judged);
  if (admits_nearly_all) {
    d.inverted.clear();
    if (d.kind == Kind::recovered) d.kind = Kind::unknown;
  }
  const bool is_proven = d.kind == Kind::named && !d.causes.empty() && d.causes[0].proven;
  if (!admits_nearly_all && !is_proven && d.kind != Kind::recovered && judged.region->epsilons > 1)
    look_for_one_epsilon(from, judged, d);
  return d;
}

std::optional<diagnose::Diagnosis> doubt_of(JudgedRegion& judged) {
  if (!diagnose::doubt_of(*judged.evidence, kMostDoubting)) return std::nullopt;
  enrol_wrong_graphs(*judged.region->call.op);  // for the cause that it is nearest to
  return diagnose::doubt_of(*judged.evidence, kMostDoubting);
}

std::string place_of(const JudgedRegion& judged, const diagnose::Diagnosis& d) {
  using Kind = diagnose::Diagnosis::Kind;
  constexpr std::string_view kFormula = "formula.";
  constexpr std::size_t kMostPlaces = 3;
  std::vector<std::string> causes;
  if (d.kind == Kind::named && !d.causes.empty() && d.causes[0].proven) {
    causes.push_back(d.causes[0].name);
    for (const diagnose::Named& same : d.same) causes.push_back(same.name);
  }
  // One number that was used in place of another says more than a list of them, which fits wherever the one does.
  if (d.kind == Kind::recovered)
    for (const diagnose::Inverted& i : d.inverted)
      if (i.values.size() == 1 && i.argument != "the result") causes.push_back(i.argument);
  const std::map<std::string, std::string> names = names_of(*judged.region);
  std::vector<std::string> places;
  for (std::string& name : causes) {
    if (name.starts_with(kFormula)) name.erase(0, kFormula.size());
    const auto found = names.find(name.substr(0, name.find('.')));
    if (found == names.end()) return {};
    if (std::ranges::find(places, found->second) == places.end()) places.push_back(found->second);
  }
  return places.size() > kMostPlaces ? std::string() : fmt::format("{}", fmt::join(places, " or "));
}

void call_by_name(const JudgedRegion& judged, diagnose::Diagnosis& d) {
  const std::map<std::string, std::string> names = names_of(*judged.region);
  const auto rename = [&](std::string& text) { text = renamed(text, names); };
  for (auto* all : {&d.causes, &d.same, &d.weaker})
    for (diagnose::Named& n : *all) rename(n.says);
  for (std::string& b : d.blind) rename(b);
  for (diagnose::Inverted& i : d.inverted) {
    rename(i.argument);
    rename(i.says);
  }
  if (d.nearer) rename(d.nearer->says);
  d.op = "the engine";
}

}  // namespace assay
