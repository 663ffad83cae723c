// assay explain
//
// --json: {"format": "assay.explain/1", "case", "schema", "formula", "source", "reference", "error",
//          "results": [{"name", "dtype", "shape"}],
//          "kernels": [{"impl", "status", "reason", "peer", "first", "code", "ran", "contract": [{"field", "value", "source"}],
//                       "bounds": [{"result", "median", "largest", "undecidable", "elements"}]}]}
//
//   error    why the arguments are not allowed; there are no results and no kernels then. Else empty
//   kernels  the widest vectors first, peers last. `status`: "runs", or with the `reason` "refuses", "fails" or "not_run"
//   first    this one runs, of ours
//   code     where the kernel is, if it says so; `ran`: which code of a library ran, if that says so
//   bounds   of kernels that run: relative widths of the intervals of so many `elements`, null where none is finite
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "../generate/data.h"
#include "../judge/expectation.h"
#include "../judge/judge.h"
#include "../run/lane.h"
#include "commands.h"
#include "graph_flag.h"
#include "interrupt.h"
#include "reports/file.h"
#include "reports/text.h"
#include "reports/verdict.h"
#include "shared_flags.h"
#include "vocabulary/case.h"
#include "vocabulary/check.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainFlags {
  std::string only, json;
  std::vector<std::string> plugins;
};

// Relative widths of the intervals of (at most 64 of) the elements of a result.
struct Width {
  std::string result;
  std::optional<double> median, largest;  // of those that are finite
  std::size_t undecidable = 0, elements = 0;
};

struct Explained {
  const Kernel* kernel = nullptr;
  std::string_view status = "not_run";  // "runs", "refuses", "fails"
  std::string reason;
  bool first = false;
  std::string ran;
  Contract contract;
  std::vector<Width> widths;
};

std::vector<Width> widths(Expectation& expectation, const Contract& contract) {
  std::vector<Width> all;
  const Call& call = expectation.call();
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const std::size_t n = expectation.values(static_cast<int>(o)).size();
    const std::size_t step = std::max<std::size_t>(1, n / 64);
    Width& width = all.emplace_back();
    width.result = output_name(*call.op, o);
    width.elements = (n + step - 1) / step;
    std::vector<std::size_t> places;
    for (std::size_t e = 0; e < n; e += step) places.push_back(e);
    const Expectation::Intervals& intervals = expectation.intervals(static_cast<int>(o), places, contract);
    std::vector<double> finite;
    for (const std::size_t e : places) {
      const Interval& i = intervals[e];
      if (i.undecidable())
        ++width.undecidable;
      else if (const double w = i.relative_width(); std::isfinite(w))
        finite.push_back(w);
    }
    if (finite.empty()) continue;
    std::ranges::sort(finite);
    width.median = finite[finite.size() / 2];
    width.largest = finite.back();
  }
  return all;
}

// Each kernel of the operator is called once.
std::vector<Explained> explain(const Registry& registry, const Call& call) {
  std::vector<Explained> all;
  std::vector<Task> tasks;
  for (const Kernel* k : registry.kernels_of(*call.op)) {
    all.emplace_back().kernel = k;
    if (k->unavailable.empty()) tasks.push_back({k, &call});
  }
  Lane lane(make_zygotes(), until_interrupted());
  const std::vector<Outcome> outcomes = lane.run(tasks);
  stop_now();
  Expectation expectation(call);
  bool chosen = false;
  std::size_t next = 0;
  for (Explained& e : all) {
    if (!e.kernel->unavailable.empty()) {
      e.reason = without_words(Verdict::not_run, e.kernel->unavailable);
      continue;
    }
    const Outcome& outcome = outcomes[next++];
    if (outcome.kind != Outcome::Kind::ok) {
      if (outcome.kind != Outcome::Kind::not_run)
        e.status = outcome.kind == Outcome::Kind::refused ? "refuses" : "fails";
      e.reason = outcome.detail;
      continue;
    }
    e.status = "runs";
    e.first = !chosen && !e.kernel->peer;
    chosen |= e.first;
    e.ran = outcome.information;
    e.contract = contract_for(*e.kernel, call);
    e.widths = widths(expectation, e.contract);
  }
  return all;
}

std::string place_of(const Reference& reference) {
  return fmt::format("{}:{}", reference.file(), reference.line());
}

void print(const Case& c, const Call& call) {
  const Operator& op = *c.op;
  fmt::print("case       {}\n", text(c));
  fmt::print("Python     torch.ops.{}.{}{}\n", op.schema.ns, op.schema.base,
             op.schema.overload.empty() ? std::string() : fmt::format(".{}", op.schema.overload));
  fmt::print("schema     {}\n", op.schema.text);
  fmt::print("formula    {}\n", op.formula);
  fmt::print("source     {}\n", op.source);
  fmt::print("reference  {}\n", place_of(*find_reference(op.schema.name)));
  if (!call.error.empty())
    fmt::print("\nThese arguments are not allowed: {}\nA kernel that takes them is wrongly_accepted.\n",
               call.error);
  for (std::size_t o = 0; o < call.outputs.size(); ++o)
    fmt::print("result     {}: {}[{}]\n", output_name(op, o), name(call.outputs[o].dtype),
               text(call.outputs[o].shape));
}

void print(const Explained& e) {
  if (e.status != "runs") {
    fmt::print("    {:<20} {}: {}\n", e.kernel->name, e.status == "not_run" ? "cannot run here" : e.status,
               printable_lines(e.reason));
    return;
  }
  fmt::print("  {} {:<20} {}\n", e.first ? "*" : " ", e.kernel->name,
             e.kernel->peer ? "peer"
             : e.first      ? "this one runs"
                            : "");
  if (!e.kernel->source.empty()) fmt::print("      code      {}\n", e.kernel->source);
  if (!e.ran.empty()) fmt::print("      ran       {}\n", printable(e.ran));
  if (e.contract.stated.empty()) fmt::print("      contract  strict\n");
  for (const Contract::Stated& s : e.contract.stated)
    fmt::print("      contract  {}={}  ({})\n", s.field, s.value, s.source);
  for (const Width& w : e.widths)
    if (w.median)
      fmt::print("      bound     {}: relative width {:.2g} median, {:.2g} at most; {} undecidable\n",
                 w.result, *w.median, *w.largest, w.undecidable);
    else
      fmt::print("      bound     {}: no finite interval among {} elements\n", w.result, w.elements);
}

Json json_of(const Explained& e) {
  const auto number = [](const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); };
  Json contract = Json::array(), bounds = Json::array();
  for (const Contract::Stated& s : e.contract.stated)
    contract.push_back({{"field", s.field}, {"value", s.value}, {"source", s.source}});
  for (const Width& w : e.widths)
    bounds.push_back({{"result", w.result},
                      {"median", number(w.median)},
                      {"largest", number(w.largest)},
                      {"undecidable", w.undecidable},
                      {"elements", w.elements}});
  return {{"impl", e.kernel->name},
          {"status", e.status},
          {"reason", e.reason},
          {"peer", e.kernel->peer},
          {"first", e.first},
          {"code", e.kernel->source},
          {"ran", e.ran},
          {"contract", std::move(contract)},
          {"bounds", std::move(bounds)}};
}

std::string json_of(const Case& c, const Call& call, const std::vector<Explained>& explained) {
  const Operator& op = *c.op;
  Json results = Json::array(), kernels = Json::array();
  for (std::size_t o = 0; o < call.outputs.size(); ++o)
    results.push_back({{"name", output_name(op, o)},
                       {"dtype", name(call.outputs[o].dtype)},
                       {"shape", call.outputs[o].shape}});
  for (const Explained& e : explained) kernels.push_back(json_of(e));
  const Json document{
      {"format", "assay.explain/1"},  {"case", text(c)},
      {"schema", op.schema.text},     {"formula", op.formula},
      {"source", op.source},          {"reference", place_of(*find_reference(op.schema.name))},
      {"error", call.error},          {"results", std::move(results)},
      {"kernels", std::move(kernels)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

int explain_command(const ExplainFlags& flags) {
  check_files({{"--json", flags.json}}, flags.plugins);
  const auto registry =
      load_registry(flags.plugins, true, [&] { return std::vector{parse_case(flags.only).op}; });
  const Case c = parse_case(flags.only);
  const Call call = materialise(c);
  const bool text_out = flags.json != "-";
  if (text_out) print(c, call);
  std::vector<Explained> explained;
  if (call.error.empty()) {
    explained = explain(*registry, call);
    if (text_out) fmt::print("\nkernels, ours from the widest vectors down, then others\n");
    for (const Explained& e : explained)
      if (text_out) print(e);
  }
  if (!flags.json.empty()) write_file(flags.json, json_of(c, call, explained));
  return kAllWell;
}

}  // namespace

void add_explain(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "explain", "Which kernel runs a case, which do not and why, contracts, bound widths");
  command->footer(
      "  assay explain prelu:f32:self=2x6x5x7,weight=6\n"
      "Every kernel is called once; `assay verify --case TEXT` judges the results.");
  auto flags = std::make_shared<ExplainFlags>();
  command->add_option("CASE", flags->only, "a case, as printed by any command")->required()->type_name("");
  add_graphs(*command);
  command
      ->add_option("--plugin,--python,--source", flags->plugins,
                   "a shared library of kernels, its source text, or a function of Python")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command->add_option("--json", flags->json, "write the answer; - is standard output")->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return explain_command(*flags); }; });
}

}  // namespace assay
