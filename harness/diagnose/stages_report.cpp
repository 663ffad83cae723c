// What the stages of a call say: as text, and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "reports/text.h"
#include "stages.h"

namespace assay::diagnose {
namespace {

using nlohmann::json;

constexpr std::string_view kAlgorithm = "algorithm";

struct Words {
  std::string_view token, heading, meaning;
};
constexpr std::array<Words, 5> kWords{{
    {"parameters", "parameters", "(a) the operator was handed other parameters than the model has"},
    {"input", "input", "(a) the operator was handed another input than the call before gave"},
    {"packing", "packing", "(a') the engine packed or converted them wrongly"},
    {"changed", "changed later", "(b) something wrote to them later"},
    {kAlgorithm, "algorithm", "(c) the kernel is wrong for what it was given"},
}};

const Words& words_of(std::string_view token) { return *std::ranges::find(kWords, token, &Words::token); }

std::string count_text(std::uint64_t n) { return n == 0 ? "none" : grouped(n); }

std::string sentence(std::string_view said) { return paragraph(said, "  ", "  "); }

const Swap::Row* row(const Swap& s, bool parameters, bool inputs, bool kernel) {
  for (const Swap::Row& r : s.rows)
    if (r.parameters == parameters && r.inputs == inputs && r.kernel == kernel) return &r;
  return nullptr;
}

}  // namespace

std::vector<std::string> verdict(const Staging& s) {
  std::vector<std::string> all;
  for (const Words& w : kWords)
    if (w.token == kAlgorithm ? s.swap.of_kernel > 0 : std::ranges::any_of(s.steps, [&](const Step& t) {
          return token(t.blame) == w.token;
        }))
      all.emplace_back(w.token);
  return all;
}

std::string heading(const Staging& s) {
  std::string text;
  const std::vector<std::string> tokens = verdict(s);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    text += fmt::format("{}{}",
                        i == 0                   ? ""
                        : i + 1 == tokens.size() ? " and "
                                                 : ", ",
                        words_of(tokens[i]).heading);
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string to_text(const Staging& s) {
  std::string out;
  for (const std::string& token : verdict(s)) {
    out += sentence(fmt::format("{}{}", words_of(token).meaning, token == kAlgorithm ? "." : ":"));
    for (const Step& t : s.steps)
      if (assay::diagnose::token(t.blame) == token) out += paragraph(t.says + ".", "    ", "    ");
  }
  if (s.steps.empty())
    out += sentence(
        "Each of its stages has the numbers of the one before it. (In a packed form of another shape their order was not looked at.)");
  else if (const Swap::Row* p = row(s.swap, true, false, false), *i = row(s.swap, false, true, false);
           p != nullptr && i != nullptr) {
    std::string said = fmt::format(
        "Of {} elements these leave the bound of right results: with these parameters alone {}, with these inputs alone {}, by the "
        "kernel on what it was given {}.",
        grouped(s.swap.elements), count_text(p->diverging), count_text(i->diverging),
        count_text(s.swap.of_kernel));
    if (const Swap::Row* k = row(s.swap, false, false, true); k != nullptr && k->run_here)
      said += fmt::format(" Run here on the source, the kernel's results leave it at {}.",
                          k->diverging == 0 ? "no element" : counted(k->diverging, "element"));
    out += sentence(said);
  }
  if (!s.unused.empty())
    out += sentence(fmt::format("Stages that are of no argument or result: {}.", fmt::join(s.unused, ", ")));
  return out;
}

json to_json(const Staging& s) {
  json j{{"verdict", verdict(s)},         {"steps", json::array()}, {"elements", s.swap.elements},
         {"of_kernel", s.swap.of_kernel}, {"swap", json::array()},  {"unused", s.unused}};
  for (const Step& t : s.steps)
    j["steps"].push_back({{"tensor", t.tensor},
                          {"from", t.from},
                          {"to", t.to},
                          {"verdict", token(t.blame)},
                          {"says", t.says}});
  for (const Swap::Row& r : s.swap.rows)
    j["swap"].push_back({{"parameters", r.parameters ? "executed" : "source"},
                         {"inputs", r.inputs ? "executed" : "source"},
                         {"kernel", r.kernel ? "actual" : "reference"},
                         {"diverging", r.diverging}});
  return j;
}

}  // namespace assay::diagnose
