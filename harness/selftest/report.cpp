#include "report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/text.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNameWidth = 40;
constexpr std::size_t kNumberWidth = 15;

bool survived(const Planted& p) { return !p.found && p.unobservable.empty(); }
bool wrongly_excused(const Planted& p) { return p.found && !p.unobservable.empty(); }

std::string share(std::uint64_t found, std::uint64_t of) {
  if (of == 0) return "-";
  // 100% only where all were found.
  const double percent = 100.0 * static_cast<double>(found) / static_cast<double>(of);
  return fmt::format("{} {:>5}", grouped(found),
                     found == of ? "100%" : fmt::format("{:.1f}%", std::min(percent, 99.9)));
}

std::string line(const std::string& name, const Score& s, bool rivals, const Style& style) {
  std::string text = pad_right(name, kNameWidth) + pad_left(grouped(s.observable()), kNumberWidth);
  const std::string ours = pad_left(share(s.found, s.observable()), kNumberWidth);
  text += s.found == s.observable() ? style.good(ours) : style.bad(ours);
  if (rivals)
    for (const std::uint64_t n : s.by_rivals) text += pad_left(share(n, s.observable()), kNumberWidth);
  return text + "\n";
}

// Of those that were asked.
Json by_rivals(const auto& values, bool asked) {
  Json by = Json::object();
  if (!asked) return by;
  for (std::size_t r = 0; r < kRivals; ++r) by[std::string(kRivalNames[r])] = values[r];
  return by;
}

// What the last line begins with.
std::string verdict_of(const SelftestResult& result, const Score& all, const Style& style) {
  if (selftest_exit_code(result) != 0) return style.bad("FAILED");
  if (all.observable() == 0) return style.doubtful("NOTHING OBSERVED");
  return result.complete ? style.good("PASSED") : style.doubtful("ALL FOUND SO FAR");
}

}  // namespace

void Score::add(const Planted& p) {
  ++planted;
  if (!p.unobservable.empty()) {
    ++unobservable;
    return;
  }
  found += p.found ? 1 : 0;
  for (std::size_t r = 0; r < kRivals; ++r) by_rivals[r] += p.by_rivals[r] ? 1 : 0;
}

std::string selftest_table(const SelftestResult& result, const Style& style) {
  std::map<std::string, Score> scores;
  Score all;
  for (const Planted& p : result.planted) {
    scores[p.op].add(p);
    all.add(p);
  }
  std::string text = style.heading(pad_right("operator", kNameWidth) + pad_left("planted", kNumberWidth) +
                                   pad_left("found by Assay", kNumberWidth));
  if (result.rivals)
    for (const std::string_view rival : kRivalNames) text += style.heading(pad_left(rival, kNumberWidth));
  text += "\n";
  for (const auto& [op, score] : scores) text += line(op, score, result.rivals, style);
  text += line("all", all, result.rivals, style);

  // The same variant of one operator in several dtypes stands in one line.
  const auto list = [&](std::string_view heading, auto&& chosen, auto&& why) {
    std::map<std::string, std::vector<const Planted*>> groups;
    for (const Planted& p : result.planted)
      if (chosen(p)) groups[fmt::format("{} {}", p.op, p.variant)].push_back(&p);
    if (groups.empty()) return;
    text += fmt::format("\n{}\n", heading);
    for (const auto& [what, planted] : groups) {
      std::string dtypes;
      for (const Planted* p : planted) dtypes += (dtypes.empty() ? "" : " ") + p->dtype;
      text += paragraph(fmt::format("{} ({}): {}; {}", what, dtypes, planted[0]->says, why(*planted[0])),
                        "  ", "    ");
    }
  };
  list("Survived: these faults would not be found.", survived, [](const Planted& p) {
    return p.changed
               ? fmt::format("every result of {} was admissible", counted(p.cases, "case"))
               : fmt::format("none of {} shows a difference from the reference", counted(p.cases, "case"));
  });
  list(
      "Found on further cases, as few of the operator's show a difference.",
      [](const Planted& p) { return p.found && p.further; },
      [](const Planted& p) { return fmt::format("{} in {}", token(p.verdict), p.case_text); });
  list("Said to be unobservable, but found: the reason is wrong.", wrongly_excused, [](const Planted& p) {
    return fmt::format("{}; {} in {}", p.unobservable, token(p.verdict), p.case_text);
  });
  list(
      "Cannot be observed: a right kernel may do the same.",
      [](const Planted& p) { return !p.found && !p.unobservable.empty(); },
      [](const Planted& p) { return p.unobservable; });

  std::array<std::uint64_t, kRivals> alarms{};
  std::uint64_t ours = 0;
  for (const ControlRow& c : result.controls) {
    for (std::size_t r = 0; r < kRivals; ++r) alarms[r] += c.alarms_of_rivals[r] ? 1 : 0;
    if (c.alarm.empty()) continue;
    if (ours++ == 0) text += "\nFalse alarms: right kernels that Assay calls wrong.\n";
    text += paragraph(fmt::format("{} {} {}: {}", c.op, c.kernel, c.dtype, c.alarm), "  ", "    ");
  }
  if (!result.fit_nowhere.empty()) {
    std::map<std::string, std::set<std::string>> operators;
    for (const Planted& p : result.fit_nowhere) operators[p.variant].insert(p.op);
    text += fmt::format(
        "\nNot planted: {} that fit no case: what they change is not there, or gives results of other shapes or the same ones.\n",
        counted(operators.size(), "variant"));
    for (const auto& [variant, ops] : operators)
      text += paragraph(fmt::format("{}: {}", variant, fmt::join(ops, " ")), "  ", "    ");
  }
  text += fmt::format("\nOf {} (an operator, a right kernel, a dtype), called wrong: Assay {}",
                      counted(result.controls.size(), "row"), grouped(ours));
  if (result.rivals)
    for (std::size_t r = 0; r < kRivals; ++r)
      text += fmt::format(", {} {}", kRivalNames[r], grouped(alarms[r]));
  const double share = 100.0 * static_cast<double>(all.unobservable) / static_cast<double>(all.planted);
  text +=
      fmt::format(".\n{}: {} of {} found{}, {} cannot be observed{}. {}, seed {}.\n",
                  verdict_of(result, all, style), grouped(all.found), counted(all.observable(), "fault"),
                  result.complete ? "" : " (interrupted: not all were planted)", grouped(all.unobservable),
                  all.unobservable == 0 ? "" : fmt::format(", {:.1f}% of all", share),
                  duration(result.seconds), result.seed);
  return text;
}

namespace {

Json planted_json(const Planted& p, bool rivals) {
  Json j{{"op", p.op},
         {"dtype", p.dtype},
         {"variant", p.variant},
         {"says", p.says},
         {"found", p.found},
         {"verdict", token(p.verdict)},
         {"case", p.case_text},
         {"cases", p.cases},
         {"further", p.further},
         {"by", by_rivals(p.by_rivals, rivals)},
         {"unobservable", p.unobservable}};
  if (p.changed) j["changed"] = true;
  return j;
}

Json not_planted_json(const Planted& p) {
  return {{"op", p.op}, {"dtype", p.dtype}, {"variant", p.variant}, {"says", p.says}};
}

Json control_json(const ControlRow& c, bool rivals) {
  return {{"op", c.op},
          {"dtype", c.dtype},
          {"kernel", c.kernel},
          {"alarm", c.alarm},
          {"by", by_rivals(c.alarms_of_rivals, rivals)}};
}

std::array<bool, kRivals> rivals_of(const nlohmann::json& by) {
  std::array<bool, kRivals> all{};
  for (std::size_t r = 0; r < kRivals; ++r) all[r] = by.value(std::string(kRivalNames[r]), false);
  return all;
}

Planted planted_of(const nlohmann::json& j) {
  Planted p;
  p.op = j.at("op");
  p.dtype = j.at("dtype");
  p.variant = j.at("variant");
  p.says = j.at("says");
  if (!j.contains("found")) return p;  // it fits nowhere
  p.found = j.at("found");
  p.verdict = assay::verdict_of(j.at("verdict").get<std::string>());
  p.case_text = j.at("case");
  p.changed = j.value("changed", false);
  p.cases = j.at("cases");
  p.further = j.at("further");
  p.by_rivals = rivals_of(j.at("by"));
  p.unobservable = j.at("unobservable");
  return p;
}

}  // namespace

nlohmann::json kept_selftest(const SelftestResult& part) {
  nlohmann::json kept{{"planted", nlohmann::json::array()},
                      {"not_planted", nlohmann::json::array()},
                      {"controls", nlohmann::json::array()}};
  for (const Planted& p : part.planted) kept["planted"].push_back(nlohmann::json(planted_json(p, part.rivals)));
  for (const Planted& p : part.fit_nowhere) kept["not_planted"].push_back(nlohmann::json(not_planted_json(p)));
  for (const ControlRow& c : part.controls) kept["controls"].push_back(nlohmann::json(control_json(c, part.rivals)));
  return kept;
}

SelftestResult selftest_of(const nlohmann::json& kept) {
  SelftestResult part;
  for (const auto& p : kept.at("planted")) part.planted.push_back(planted_of(p));
  for (const auto& p : kept.at("not_planted")) part.fit_nowhere.push_back(planted_of(p));
  for (const auto& c : kept.at("controls"))
    part.controls.push_back({c.at("op"), c.at("dtype"), c.at("kernel"), c.at("alarm"), rivals_of(c.at("by"))});
  return part;
}

std::string selftest_json(const SelftestResult& result) {
  Score all;
  Json planted = Json::array(), not_planted = Json::array(), controls = Json::array();
  for (const Planted& p : result.planted) {
    all.add(p);
    planted.push_back(planted_json(p, result.rivals));
  }
  for (const Planted& p : result.fit_nowhere) not_planted.push_back(not_planted_json(p));
  for (const ControlRow& c : result.controls) controls.push_back(control_json(c, result.rivals));
  const Json document = {{"format", "assay.selftest/1"},
                         {"seed", result.seed},
                         {"complete", result.complete},
                         {"seconds", result.seconds},
                         {"planted", planted},
                         {"not_planted", not_planted},
                         {"controls", controls},
                         {"score",
                          {{"planted", all.planted},
                           {"unobservable", all.unobservable},
                           {"found", all.found},
                           {"by", by_rivals(all.by_rivals, result.rivals)}}}};
  return document.dump(1) + "\n";
}

int selftest_exit_code(const SelftestResult& result) {
  const bool well = std::ranges::none_of(result.planted, survived) &&
                    std::ranges::none_of(result.planted, wrongly_excused) &&
                    std::ranges::all_of(result.controls, [](const ControlRow& c) { return c.alarm.empty(); });
  return well ? 0 : 1;
}

}  // namespace assay
