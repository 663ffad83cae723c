// What a diagnosis says, as JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "diagnosis.h"

namespace assay::diagnose {
namespace {

using nlohmann::json;

json whole_json(const Whole& w) {
  return {{"elements", w.elements},
          {"read", w.read},
          {"unread", w.unread},
          {"unexplained", w.unexplained},
          {"broken", w.broken}};
}

json named_json(const Named& c) {
  return {{"name", c.name},
          {"says", c.says},
          {"explains_all", c.explains_all},
          {"explained", c.explained},
          {"broken", c.broken},
          {"discriminating", c.discriminating},
          {"matched", c.matched},
          {"proven", c.proven},
          {"definition", c.definition},
          {"whole", c.whole ? whole_json(*c.whole) : json(nullptr)}};
}

json named_json(const std::vector<Named>& all) {
  json j = json::array();
  for (const Named& c : all) j.push_back(named_json(c));
  return j;
}

constexpr std::string_view kKinds[] = {"no_fault", "named",   "ambiguous",  "recovered",
                                       "partly",   "unknown", "no_results", "undecided"};

json number_json(double x) {
  if (std::isnan(x)) return nullptr;
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

json strictest_json(const Strictest& s) {
  json needs = json::array();
  for (const Allowance& a : s.needs)
    needs.push_back({{"clause", a.clause}, {"says", a.says}, {"excess", number_json(a.excess)}});
  return {{"contract", s.contract},      {"needs", std::move(needs)},         {"looked_at", s.looked_at},
          {"used", number_json(s.used)}, {"typical", number_json(s.typical)}, {"decided", s.decided()}};
}

json diagnosis_json(const Diagnosis& d) {
  json j{{"op", d.op},
         {"case", d.case_text},
         {"impl", d.impl},
         {"contract", d.contract},
         {"kind", kKinds[static_cast<std::size_t>(d.kind)]},
         {"summary", summary(d)},
         {"elements", d.elements},
         {"judged", d.judged},
         {"diverging", d.diverging},
         {"undecidable", d.undecidable},
         {"unrelated", d.unrelated},
         {"tried", d.tried},
         {"worst", d.worst},
         {"where", json::array()},
         {"causes", named_json(d.causes)},
         {"indistinguishable", named_json(d.same)},
         {"weaker", named_json(d.weaker)},
         {"recovered", json::array()},
         {"untestable", d.untestable},
         {"blind", d.blind},
         {"skipped", d.skipped},
         {"advice", d.advice},
         {"separating_case", d.separating ? json(*d.separating) : json(nullptr)},
         {"showing_case", d.showing ? json(*d.showing) : json(nullptr)},
         {"tested", d.tested},
         {"pairs", d.pairs},
         {"complete", d.complete},
         {"seconds", d.searched}};
  for (const Where& w : d.where) {
    json one{{"output", w.output}, {"diverging", w.diverging}, {"elements", w.elements}};
    if (w.rule)
      one["rule"] = {{"text", w.rule->text},
                     {"precision", w.rule->precision},
                     {"recall", w.rule->recall},
                     {"sampled", false}};  // as in the report of diff
    if (w.rearranged) one["rearranged"] = *w.rearranged;
    j["where"].push_back(std::move(one));
  }
  for (const Inverted& i : d.inverted) {
    json values = json::array();
    for (const double x : i.values) values.push_back(number_json(x));
    j["recovered"].push_back({{"argument", i.argument},
                              {"says", i.says},
                              {"values", std::move(values)},
                              {"dimension", i.dimension ? json(*i.dimension) : json(nullptr)},
                              {"reproduced", i.reproduced}});
  }
  j["deciding_case"] = d.deciding ? json(d.deciding->case_text) : json(nullptr);
  j["nearer"] = d.nearer ? json{{"name", d.nearer->name},
                                {"says", d.nearer->says},
                                {"times", d.nearer->times},
                                {"as_near", d.nearer->as_near}}
                         : json(nullptr);
  j["winograd"] = d.winograd ? json{{"name", d.winograd->name},
                                    {"says", d.winograd->says},
                                    {"correlation", d.winograd->correlation}}
                             : json(nullptr);
  j["admitting"] = d.admitting ? json{{"contract", d.admitting->clause},
                                      {"or", d.admitting->or_else},
                                      {"looked_at", d.admitting->looked_at},
                                      {"likely", d.admitting->likely}}
                               : json(nullptr);
  j["strictest"] = d.strictest ? strictest_json(*d.strictest) : json(nullptr);
  j["stages"] = d.stages ? to_json(*d.stages) : json(nullptr);
  return j;
}

}  // namespace

std::string to_json(const std::vector<Diagnosis>& all) {
  json j{{"format", "assay.diagnosis/1"}, {"diagnoses", json::array()}};
  for (const Diagnosis& d : all) j["diagnoses"].push_back(diagnosis_json(d));
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace assay::diagnose
