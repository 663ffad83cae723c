#include "together_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/text.h"

namespace assay {
namespace {

using nlohmann::json;
using Together = BisectedCall::Together;
using Status = BisectedCall::Status;

constexpr std::size_t kMostInGraph = 8;  // names

std::vector<std::string> without_last(const Together& t) {
  return {t.calls.begin(), t.calls.end() - (t.calls.empty() ? 0 : 1)};
}

std::string sharpness(const Together& t) {
  std::string s = t.undecidable == 0
                      ? std::string("none undecided")
                      : fmt::format("{:.2g}% undecided",
                                    100 * static_cast<double>(t.undecidable) / static_cast<double>(t.judged));
  if (t.width > 0) s += fmt::format(", half of the bounds within {:.1g} of the number", t.width);
  return s;
}

std::string folding(const Together& t) {
  if (t.folded.empty()) return {};
  return fmt::format("; {} folded into the convolution before {}", first_of(t.folded, kMostInGraph),
                     t.folded.size() == 1 ? "it" : "them");
}

std::string_view verdict_on(const BisectedCall& c) {
  return c.together->diverging > 0 ? "wrong" : c.status == Status::undecided ? "undecided" : "right";
}

}  // namespace

std::string wrong_together(const BisectedCall& c) {
  const Together& t = *c.together;
  const std::vector<std::string> missing = without_last(t);
  std::string s = fmt::format(
      "algorithm: the region {} and {} is at fault, judged as one graph because the dump does not have the results before "
      "{}: {} of {} elements are outside its bound on the engine's own inputs and parameters, {}{}. ",
      first_of(missing, kMostInGraph), c.name, c.name, grouped(t.diverging), grouped(t.judged), sharpness(t),
      folding(t));
  if (t.at.empty())
    return s +
           fmt::format(
               "Which of them it is would show with more of their results in the dump, or with what {} was "
               "given (\"{}:self\").",
               c.name, c.name);
  return s + fmt::format("The cause that is found is in {}.", t.at);
}

std::string together_text(const Bisection& b) {
  std::string s;
  const auto n = static_cast<std::size_t>(
      std::ranges::count_if(b.calls, [](const BisectedCall& c) { return c.together.has_value(); }));
  if (n > 0)
    s += paragraph(fmt::format("{} judged as one graph{}, as the dump does not have what lies within:",
                               counted(n, "region"), n == 1 ? "" : " each"),
                   "", "  ");
  for (const BisectedCall& c : b.calls) {
    if (!c.together) continue;
    const Together& t = *c.together;
    s += paragraph(
        fmt::format("{}: {}; not in the dump: {}; {} elements, {}{}.", verdict_on(c), c.name,
                    first_of(without_last(t), kMostInGraph), grouped(t.elements), sharpness(t), folding(t)),
        "  ", "    ");
  }
  for (const BisectedCall& c : b.calls)
    if (!c.not_together.empty())
      s += paragraph(
          fmt::format(
              "{} was not judged as one graph with the calls before it that the dump does not have: {}.",
              c.name, c.not_together),
          "", "  ");
  return s;
}

bool is_inside_another(const Bisection& b, const BisectedCall& c) {
  return std::ranges::any_of(b.calls, [&](const BisectedCall& other) {
    return &other != &c && other.together && std::ranges::count(other.together->calls, c.name) > 0;
  });
}

json json_of(const std::optional<Together>& t) {
  if (!t) return nullptr;
  return {{"calls", t->calls},
          {"folded", t->folded},
          {"graph", t->graph},
          {"elements", t->elements},
          {"judged", t->judged},
          {"diverging", t->diverging},
          {"undecidable", t->undecidable},
          {"width", t->width},
          {"at", t->at.empty() ? json(nullptr) : json(t->at)}};
}

std::optional<Together> together_of(const json& kept) {
  if (kept.is_null()) return std::nullopt;
  Together t;
  t.calls = kept.at("calls").get<std::vector<std::string>>();
  t.folded = kept.at("folded").get<std::vector<std::string>>();
  t.graph = kept.at("graph");
  t.elements = kept.at("elements");
  t.judged = kept.at("judged");
  t.diverging = kept.at("diverging");
  t.undecidable = kept.at("undecidable");
  t.width = kept.at("width");
  if (!kept.at("at").is_null()) t.at = kept.at("at");
  return t;
}

}  // namespace assay
