// assay explain
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../generate/data.h"
#include "../judge/expectation.h"
#include "../judge/judge.h"
#include "../run/lane.h"
#include "commands.h"
#include "reports/verdict.h"
#include "vocabulary/case.h"
#include "vocabulary/check.h"

namespace assay {
namespace {

struct ExplainFlags {
  std::string only;
  std::vector<std::string> plugins;
};

void print_contract(const Kernel& kernel, const Call& call) {
  const Contract c = contract_for(kernel, call);
  if (c.stated.empty()) {
    fmt::print("      contract  strict\n");
    return;
  }
  for (const Contract::Stated& s : c.stated)
    fmt::print("      contract  {}={}  ({})\n", s.field, s.value, s.source);
}

// Median and largest relative width of the intervals of (at most 64 of) the elements.
void print_width(Expectation& expectation, const Kernel& kernel, const Call& call) {
  const Contract contract = contract_for(kernel, call);
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const std::size_t n = expectation.values(static_cast<int>(o)).size();
    const std::size_t step = std::max<std::size_t>(1, n / 64);
    std::vector<double> widths;
    std::size_t undecidable = 0;
    for (std::size_t e = 0; e < n; e += step) {
      const Interval& i = expectation.interval(static_cast<int>(o), static_cast<std::int64_t>(e), contract);
      if (i.undecidable())
        ++undecidable;
      else if (const double w = i.relative_width(); std::isfinite(w))
        widths.push_back(w);
    }
    if (widths.empty()) {
      fmt::print("      bound     {}: no finite interval among {} elements\n", output_name(*call.op, o),
                 (n + step - 1) / step);
      continue;
    }
    std::ranges::sort(widths);
    fmt::print("      bound     {}: relative width {:.2g} median, {:.2g} at most; {} undecidable\n",
               output_name(*call.op, o), widths[widths.size() / 2], widths.back(), undecidable);
  }
}

int explain_command(const ExplainFlags& flags) {
  const auto registry = load_registry(flags.plugins, true);
  const Case c = parse_case(flags.only);
  const Operator& op = *c.op;
  const Call call = materialise(c);
  const Reference* reference = find_reference(op.schema.name);
  fmt::print("case       {}\n", text(c));
  fmt::print("Python     torch.ops.{}.{}{}\n", op.schema.ns, op.schema.base,
             op.schema.overload.empty() ? std::string() : fmt::format(".{}", op.schema.overload));
  fmt::print("schema     {}\n", op.schema.text);
  fmt::print("formula    {}\n", op.formula);
  fmt::print("source     {}\n", op.source);
  fmt::print("reference  {}:{}\n", reference->file(), reference->line());
  if (!call.error.empty()) {
    fmt::print("\nThese arguments are not allowed: {}\nA kernel that takes them is wrongly_accepted.\n",
               call.error);
    return kAllWell;
  }
  for (std::size_t o = 0; o < call.outputs.size(); ++o)
    fmt::print("result     {}: {}[{}]\n", output_name(op, o), name(call.outputs[o].dtype),
               text(call.outputs[o].shape));

  std::vector<const Kernel*> kernels;
  std::vector<Task> tasks;
  for (const Kernel* k : registry->kernels_of(op)) {
    kernels.push_back(k);
    if (k->unavailable.empty()) tasks.push_back({k, &call});
  }
  Lane lane(make_zygotes(), RunOptions{});
  const std::vector<Outcome> outcomes = lane.run(tasks);

  Expectation expectation(call);
  bool chosen = false;
  std::size_t next = 0;
  fmt::print("\nkernels, fastest first\n");
  for (const Kernel* k : kernels) {
    if (!k->unavailable.empty()) {
      fmt::print("    {:<20} cannot run here: {}\n", k->name,
                 without_words(Verdict::not_run, k->unavailable));
      continue;
    }
    const Outcome& outcome = outcomes[next++];
    if (outcome.kind != Outcome::Kind::ok) {
      fmt::print("    {:<20} {}: {}\n", k->name, outcome.kind == Outcome::Kind::refused ? "refuses" : "fails",
                 outcome.detail);
      continue;
    }
    const bool runs = !chosen && !k->peer;
    chosen |= runs;
    fmt::print("  {} {:<20} {}\n", runs ? "*" : " ", k->name, k->peer ? "peer" : runs ? "this one runs" : "");
    if (!k->source.empty()) fmt::print("      code      {}\n", k->source);
    if (!outcome.information.empty()) fmt::print("      ran       {}\n", outcome.information);
    print_contract(*k, call);
    print_width(expectation, *k, call);
  }
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
  command->add_option("--plugin", flags->plugins, "a shared library of kernels")
      ->allow_extra_args(false)
      ->type_name("LIB.so");
  command->callback([flags, &chosen] { chosen = [flags] { return explain_command(*flags); }; });
}

}  // namespace assay
