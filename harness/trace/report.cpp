// What a bisection says: as text, and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bisect.h"
#include "reports/text.h"
#include "share.h"
#include "together_report.h"

namespace assay {
namespace {

using nlohmann::json;
using Status = BisectedCall::Status;

constexpr std::array<std::string_view, 10> kTokens{"right",      "inherited", "parameters", "packing",
                                                   "changed",    "wrong",     "not_dumped", "no_reference",
                                                   "not_judged", "undecided"};

std::string_view token_of(Status s) { return kTokens[static_cast<std::size_t>(s)]; }

constexpr std::size_t kMostNamed = 8;

// What is said of a wrong operator, or of one that is not decided.
std::optional<BisectedCall::Shown> shown_of(const BisectedCall& c) {
  if (!c.diagnosis) return c.shown;
  return BisectedCall::Shown{to_text(*c.diagnosis, Style(false)), summary(*c.diagnosis),
                             json::parse(diagnose::to_json({*c.diagnosis})).at("diagnoses").at(0).dump()};
}

json json_of(const BisectedCall& c) {
  json call{{"name", c.name},
            {"op", c.op},
            {"case", c.case_text},
            {"source", c.source},
            {"status", token_of(c.status)},
            {"blames", json::array()},
            {"one_of", json::array()},
            {"says", c.says},
            {"dumped_as", c.dumped_as},
            {"elements", c.elements},
            {"quantised", c.quantised},
            {"signal_to_noise", c.signal_to_noise && std::isfinite(*c.signal_to_noise) ? json(*c.signal_to_noise) : json(nullptr)},
            {"stored_as", c.stored_as.empty() ? json(nullptr) : json(c.stored_as)},
            {"diagnosis", nullptr},
            {"together", json_of(c.together)},
            {"not_together", c.not_together.empty() ? json(nullptr) : json(c.not_together)}};
  for (const diagnose::Blame blame : c.blames) call["blames"].push_back(diagnose::token(blame));
  for (const auto& assumed : c.one_of) call["one_of"].push_back(assumed.second);
  if (c.status == Status::wrong) call["blames"].push_back("algorithm");
  if (const auto shown = shown_of(c)) call["diagnosis"] = json::parse(shown->json);
  return call;
}

std::string line(std::string_view said) { return paragraph(said, "    ", "    "); }

std::string_view meaning(diagnose::Blame b) {
  switch (b) {
    case diagnose::Blame::parameters:
      return "parameters: it was given others than PyTorch";
    case diagnose::Blame::packing:
      return "packing: the engine packed or converted what it was given wrongly";
    default:
      return "changed in between: something wrote to what it was given, or to what it gave";
  }
}

// The nearest before it first.
std::string one_of(const BisectedCall& c) {
  std::vector<std::string> names;
  for (const auto& assumed : c.one_of) names.insert(names.begin(), assumed.second);
  return first_of(names, kMostNamed) + (names.size() > kMostNamed ? " before these" : "");
}

std::string algorithm(const BisectedCall& c) {
  if (c.together && c.together->diverging > 0) return wrong_together(c);
  const bool has_cause = c.diagnosis || c.shown;
  if (!has_cause && !c.has_reference)
    return "algorithm: it gave other numbers than PyTorch for the same, or another shape.";
  if (!has_cause) return "algorithm: its result has another shape.";
  if (c.one_of.empty()) return "algorithm: wrong on the engine's own inputs and parameters.";
  return fmt::format(
      "algorithm: this call is wrong, or one before it that the dump does not have, and that was taken for right: {}. With "
      "their results in the dump, or with what this call was given (\"{}:self\"), it would show which.",
      one_of(c), c.name);
}

std::string finding(const BisectedCall& c, std::size_t number, Style style) {
  std::string s = fmt::format("{}. {}  {}\n", number, style.bad(printable(c.name)),
                              printable(c.source.empty() ? c.op : c.op + "  " + c.source));
  for (const diagnose::Blame b : c.blames) s += line(fmt::format("{}.", meaning(b)));
  if (c.status != Status::wrong && !c.one_of.empty())
    s += line(fmt::format("Or a call before it is wrong, which the dump does not have: {}.", one_of(c)));
  if (c.status == Status::wrong) s += line(algorithm(c));
  for (const std::string& said : c.says) s += line(said + ".");
  if (c.status != Status::wrong && !c.dumped_as.empty() && c.has_reference)
    s += line("With what it was given, its result is right.");
  const auto shown = shown_of(c);
  if (!shown) return s;
  if (!c.one_of.empty() && !c.together) s += line("If it is this call:");
  const std::string& text = shown->text;
  for (std::size_t begin = text.find('\n') + 1, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    s += "  " + text.substr(begin, end - begin) + "\n";
  }
  return s;
}

// Calls of operators that Assay does not have.
std::string compared_with_pytorch(const Bisection& b) {
  std::vector<std::string> alike, differing, absent;
  for (const BisectedCall& c : b.calls)
    if (c.status == Status::no_reference)
      (c.dumped_as.empty() ? absent : c.says.empty() ? alike : differing).push_back(c.name);
  const std::size_t all = alike.size() + differing.size() + absent.size();
  if (all == 0) return {};
  std::string s;
  const auto add = [&](const std::vector<std::string>& names, std::string_view what) {
    if (names.empty()) return;
    s += fmt::format("{} {} {} ({})", s.empty() ? "" : ",", names.size(), what, first_of(names, kMostNamed));
  };
  add(alike, "nearly the same");
  add(differing, differing.size() == 1 ? "differs" : "differ");
  add(absent, "not in the dump");
  return paragraph(fmt::format("{} of operators without a reference, compared with PyTorch's results:{}.",
                               counted(all, "call"), s),
                   "", "  ");
}

}  // namespace

std::string to_text(const Bisection& b, Style style) {
  std::string s;
  std::size_t findings = 0;
  for (const BisectedCall& c : b.calls)
    if (c.is_finding()) s += finding(c, ++findings, style) + "\n";
  for (const BisectedCall& c : b.calls)
    if (!c.is_finding() && !c.says.empty()) {
      s += printable(fmt::format("{}  {}", c.name, c.op)) + "\n";
      for (const std::string& said : c.says) s += line(said + ".");
    }
  const auto list = [&](Status status) {
    std::vector<std::string> names;
    for (const BisectedCall& c : b.calls)
      if (c.status == status && (status != Status::not_dumped || !is_inside_another(b, c)))
        names.push_back(c.name);
    return names;
  };
  const auto said = [&](Status status, std::string_view what) {
    const std::vector<std::string> names = list(status);
    if (!names.empty())
      s += paragraph(
          fmt::format("{} {}: {}.", counted(names.size(), "call"), what, first_of(names, kMostNamed)), "",
          "  ");
  };
  said(Status::right, "right");
  said(Status::inherited, "right, on inputs that are not PyTorch's any more");
  s += together_text(b);
  said(
      Status::not_dumped,
      "not in the dump, computed from the engine's numbers instead (within the bounds of right results: smaller faults of "
      "what follows do not show)");
  s += compared_with_pytorch(b);
  said(Status::not_judged, "not judged");
  for (const BisectedCall& c : b.calls)
    if (c.status == Status::undecided)
      s += paragraph(fmt::format("{}: {}. `assay diagnose` says more of it; --contract decides it.",
                                 printable(c.name), shown_of(c)->summary),
                     "", "  ");
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> rounded;
  for (const BisectedCall& c : b.calls)
    if (!c.stored_as.empty()) rounded[{c.stored_as, c.computed_in}].push_back(c.name);
  for (const auto& [dtypes, names] : rounded)
    s += paragraph(
        fmt::format(
            "The dump is rounded: it has the results of {} as {}, which are computed in {}. They are judged within "
            "that rounding, and what follows from them within what it does to that; smaller faults do not show.",
            counted(names.size(), "call"), dtypes.first, dtypes.second),
        "", "  ");
  for (const BisectedCall& c : b.calls)
    if (c.dumped_as.find(", the only one") != std::string::npos)
      s += paragraph(fmt::format("Taken for the result of {}: {}.", c.name, c.dumped_as), "", "  ");
  for (const std::string& u : b.unread) s += paragraph(u, "not read: ", "    ");
  if (!b.written.empty())
    s += paragraph(
        fmt::format(
            "Not compared, as the program writes to them and nobody knows when the dump was made: {}.",
            first_of(b.written, kMostNamed)),
        "", "  ");
  if (!b.unused.empty())
    s += paragraph(fmt::format("Not used of the dump: {}. --map says which call or parameter a tensor is.",
                               first_of(b.unused, kMostNamed)),
                   "", "  ");
  s += quantised_text(b) + share_text(b);
  const auto first = std::ranges::find_if(b.calls, &BisectedCall::is_finding);
  const auto judged = std::ranges::count_if(b.calls, [](const BisectedCall& c) {
    return !c.dumped_as.empty() && c.status != Status::no_reference && c.status != Status::not_judged;
  });
  const auto differing = std::ranges::count_if(
      b.calls, [](const BisectedCall& c) { return c.status == Status::no_reference && !c.says.empty(); });
  return s +
         (first == b.calls.end() && b.any_doubt()
              ? style.doubtful(
                    "No call is at fault for certain, but the last result is another one than PyTorch's: what is not decided may be the reason.") +
                    "\n"
          : first == b.calls.end() && !b.judged().is_most()
              ? style.doubtful("No call that was judged is at fault, but less than half of the program was judged.") + "\n"
          : first == b.calls.end()
              ? style.good(judged == 0
                               ? std::string("No call is at fault, as far as the inputs in the dump show.")
                               : fmt::format("No call is at fault, of {} that the dump has.", judged)) +
                    "\n" +
                    (differing > 0
                         ? paragraph(fmt::format("{} without a reference {} other results than PyTorch's.",
                                                 counted(static_cast<std::size_t>(differing), "call"),
                                                 differing == 1 ? "has" : "have"),
                                     "", "")
                         : std::string())
              : fmt::format("\n{} at fault; the first is {}{}.\n", counted(findings, "call"),
                            style.bad(printable(first->name)),
                            first->one_of.empty() ? std::string()
                            : first->together && !first->together->at.empty()
                                ? fmt::format(", by {}", printable(first->together->at))
                                : ", or one before it that is not in the dump"));
}

std::string to_json(const Bisection& b) {
  const auto first = std::ranges::find_if(b.calls, &BisectedCall::is_finding);
  json j{{"format", "assay.bisect/1"},
         {"trace", b.trace},
         {"dump", b.dump},
         {"first", first == b.calls.end() ? json(nullptr) : json(first->name)},
         {"calls", json::array()},
         {"written", b.written},
         {"unused", b.unused},
         {"unread", b.unread},
         {"engine", b.engine.empty() ? json(nullptr) : json(b.engine)},
         {"settings", b.settings},
         {"matched", {{"module", b.by_module}, {"numbers", b.by_numbers}, {"place", b.by_place}}}};
  const Bisection::Share share = b.judged();
  j["judged"] = {{"calls", share.calls},
                 {"of_calls", share.of_calls},
                 {"elements", share.elements},
                 {"of_elements", share.of_elements}};
  for (const BisectedCall& c : b.calls) j["calls"].push_back(json_of(c));
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

json kept_call(const BisectedCall& c) { return json_of(c); }

json more_of(const BisectedCall& c) {
  json more{{"has_reference", c.has_reference},
            {"compared", c.compared},
            {"computed_in", c.computed_in},
            {"blames", json::array()},
            {"one_of", json::array()}};
  for (const diagnose::Blame blame : c.blames) more["blames"].push_back(static_cast<int>(blame));
  for (const auto& [number, name] : c.one_of) more["one_of"].push_back({number, name});
  if (const auto shown = shown_of(c))
    more["shown"] = {{"text", shown->text}, {"summary", shown->summary}, {"json", shown->json}};
  return more;
}

BisectedCall call_of(const json& kept, const json& more) {
  BisectedCall c;
  const auto status = std::ranges::find(kTokens, kept.at("status").get<std::string>());
  c.status = static_cast<Status>(status - kTokens.begin());
  c.name = kept.at("name");
  c.op = kept.at("op");
  c.source = kept.at("source");
  c.case_text = kept.at("case");
  c.dumped_as = kept.at("dumped_as");
  c.elements = kept.value("elements", std::uint64_t{0});
  c.quantised = kept.value("quantised", std::vector<std::string>());
  if (const auto noise = kept.find("signal_to_noise"); noise != kept.end() && noise->is_number())
    c.signal_to_noise = noise->get<double>();
  c.says = kept.at("says").get<std::vector<std::string>>();
  if (!kept.at("stored_as").is_null()) c.stored_as = kept.at("stored_as");
  c.has_reference = more.at("has_reference");
  c.compared = more.at("compared");
  c.together = together_of(kept.at("together"));
  if (!kept.at("not_together").is_null()) c.not_together = kept.at("not_together");
  c.computed_in = more.at("computed_in");
  for (const json& blame : more.at("blames")) c.blames.insert(static_cast<diagnose::Blame>(blame.get<int>()));
  for (const json& one : more.at("one_of"))
    c.one_of.emplace(one.at(0).get<std::size_t>(), one.at(1).get<std::string>());
  if (const auto shown = more.find("shown"); shown != more.end())
    c.shown = BisectedCall::Shown{shown->at("text"), shown->at("summary"), shown->at("json")};
  return c;
}

}  // namespace assay
