#include "run_file.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "file.h"
#include "gaps.h"
#include "row.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json by_token(const std::array<std::uint64_t, kVerdicts>& counts) {
  Json object = Json::object();
  for (std::size_t v = 0; v < counts.size(); ++v) object[std::string(kVerdictTokens[v])] = counts[v];
  return object;
}

Json by_reason(const std::map<std::string, std::uint64_t>& cases) {
  Json object = Json::object();
  for (const auto& [reason, n] : cases) object[reason] = n;
  return object;
}

// Only the counts that there are.
Json to_json(const Replaced& r) {
  Json counts = Json::object();
  for (std::size_t v = 0; v < r.counts.size(); ++v)
    if (r.counts[v] > 0) counts[std::string(kVerdictTokens[v])] = r.counts[v];
  return {{"counts", std::move(counts)},
          {"refused", by_reason(r.refused)},
          {"undeclared", by_reason(r.undeclared)},
          {"needs", by_reason(r.needs)}};
}

Json to_json(const Harmed& h) {
  Json harmed{{"impl", h.impl}, {"case", h.case_text}};
  if (h.repeated) harmed["repeated"] = true;
  if (!h.before.empty()) harmed["before"] = h.before;
  if (h.after_repeats) harmed["after_repeats"] = true;
  return harmed;
}

Json to_json(const Failure& f) {
  Json failure{{"case", f.case_text}, {"index", f.index},   {"kind", token(f.kind)},
               {"detail", f.detail},  {"replay", f.replay}, {"diagnosis", f.diagnosis}};
  if (!f.plugin.empty()) failure["plugin"] = f.plugin;
  if (!f.contract.empty()) failure["contract"] = f.contract;
  if (f.harms_others) failure["harms_others"] = true;
  if (f.harmed) failure["harmed"] = to_json(*f.harmed);
  return failure;
}

// A line for each class, for there are many.
void add_classes(const Row& row, Json& object) {
  if (row.classes.empty()) return;
  Json judged = Json::object(), refused = Json::object(), reasons = Json::object();
  for (const auto& [name, count] : row.classes) {
    judged[name] = count.judged;
    if (count.refused > 0) refused[name] = count.refused;
    if (count.judged == 0 && !count.reasons.empty()) reasons[name] = count.reasons;
  }
  object["classes"] = {
      {"judged", std::move(judged)}, {"refused", std::move(refused)}, {"reasons", std::move(reasons)}};
}

// The same of all rows of an operator.
Json ordinary_classes_of(const RunResult& run) {
  std::map<std::string, std::set<std::string>> classes;
  for (const Row& row : run.rows)
    for (const auto& [name, count] : row.classes)
      if (count.ordinary) classes[row.op].insert(name);
  return classes;
}

Json to_json(const std::vector<CodeGap>& gaps) {
  Json list = Json::array();
  for (const CodeGap& g : gaps)
    list.push_back({{"function", g.function},
                    {"file", g.file},
                    {"lines", g.lines},
                    {"blocks", g.blocks},
                    {"unjudged", g.unjudged}});
  return list;
}

Json to_json(const CodeCoverage& c) {
  if (!c.reason.empty()) return {{"reason", c.reason}};
  return {{"file", c.file},   {"blocks", c.blocks},   {"ran", c.ran}, {"unjudged", c.unjudged},
          {"drawn", c.drawn}, {"reached", c.reached}, {"cut", c.cut}, {"not_run", to_json(c.gaps)}};
}

Json to_json(const LibraryCoverage& c) {
  Json files = Json::array();
  for (const FileCoverage& f : c.files)
    files.push_back(
        {{"file", f.file}, {"blocks", f.blocks}, {"ran", f.ran}, {"lines_not_run", f.lines_not_run}});
  return {{"library", c.library},
          {"reason", c.reason},
          {"blocks", c.blocks},
          {"ran", c.ran},
          {"unjudged", c.unjudged},
          {"files", std::move(files)},
          {"never_entered", to_json(c.never_entered)}};
}

Json to_json(const Row& row) {
  Json failures = Json::array();
  for (const Failure& f : row.failures) failures.push_back(to_json(f));
  Json object = {{"op", row.op},
                 {"impl", row.impl},
                 {"peer", row.peer},
                 {"named", row.named},
                 {"dtype", row.dtype},
                 {"verdict", row_token(row)},
                 {"cases", row.cases},
                 {"counts", by_token(row.counts)},
                 {"refused", by_reason(row.refused)},
                 {"undeclared", by_reason(row.undeclared)},
                 {"elements", row.elements},
                 {"undecidable", number(row.undecidable())},
                 {"undecidable_cases", row.undecidable_cases},
                 {"worst", number(row.worst)},
                 {"worst_case", row.worst_case},
                 {"reason", row.reason},
                 {"information", row.information},
                 {"failures", std::move(failures)}};
  if (row.literally) object["literally"] = true;
  if (row.given_up > 0) object["given_up"] = row.given_up;
  if (!row.needs.empty()) object["needs"] = by_reason(row.needs);
  if (row.asked > 0) object["asked"] = row.asked;
  if (row.judged > 0) object["judged"] = row.judged;
  if (row.instead > 0) object["instead"] = row.instead;
  if (row.replaced != Replaced{}) object["replaced"] = to_json(row.replaced);
  add_classes(row, object);
  if (row.code) object["coverage"] = to_json(*row.code);
  if (row.strict) object["strict"] = true;
  if (!row.may_refuse.empty()) object["may_refuse"] = row.may_refuse;
  if (const std::vector<std::string> found = gaps(row); !found.empty()) object["gaps"] = found;
  return object;
}

Json to_json(const Machine& m) {
  return {{"cpu", m.cpu},           {"cores", m.cores},    {"isa", m.isa}, {"libraries", m.libraries},
          {"compiler", m.compiler}, {"version", m.version}};
}

Json to_json(const CountedLine& l) {
  return {{"place", l.place},       {"kernel", l.kernel}, {"access", l.access},
          {"requests", l.requests}, {"units", l.units},   {"least", l.least}};
}

}  // namespace

std::string to_json(const RunResult& run) {
  Json results = Json::array();
  Json summary = by_token({});
  for (const Row& row : run.rows) {
    results.push_back(to_json(row));
    Json& rows = summary[std::string(row_token(row))];
    rows = rows.is_null() ? 1 : rows.get<std::uint64_t>() + 1;
  }
  Json document{{"format", kRunFormat},
                {"command", run.command},
                {"machine", to_json(run.machine)},
                {"seed", run.seed},
                {"seconds", number(run.seconds)},
                {"complete", run.complete},
                {"incomplete", run.incomplete},
                {"cases_not_run", run.cases_not_run},
                {"shard", run.shard ? Json(*run.shard) : Json(nullptr)},
                {"results", std::move(results)},
                {"summary", std::move(summary)}};
  if (const auto fields = passed_by_declaration(run).fields; !fields.empty())
    document["passed_by_declaration"] = by_reason(fields);
  if (!run.contract.empty()) document["contract"] = run.contract;
  if (run.short_run)
    document["short_run"] = {{"budget", number(run.short_run->budget)},
                             {"cases", run.short_run->cases},
                             {"of", run.short_run->of},
                             {"left_out", run.short_run->left_out},
                             {"sampled", by_reason(run.short_run->sampled)},
                             {"not_built", run.short_run->not_built}};
  if (Json ordinary = ordinary_classes_of(run); !ordinary.empty())
    document["ordinary_classes"] = std::move(ordinary);
  if (run.fixtures)
    document["fixtures"] = {{"source", run.fixtures->source},
                            {"found", run.fixtures->found},
                            {"left_out", by_reason(run.fixtures->left_out)}};
  for (const LibraryCoverage& c : run.code) document["coverage"].push_back(to_json(c));
  for (const CountedLine& l : run.accesses) document["accesses"].push_back(to_json(l));
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string row_json(const Row& row) { return to_json(row).dump(-1, ' ', false, Json::error_handler_t::replace); }

void write_run_file(const std::string& path, const RunResult& run) { write_file(path, to_json(run)); }

}  // namespace assay
