// assay diagnose
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "../diagnose/diagnosis.h"
#include "../diagnose/given.h"
#include "../diagnose/totals.h"
#include "../examine/examine.h"
#include "../files/tensor_data.h"
#include "../recorded/recorded_call.h"
#include "../registry/registry.h"
#include "../verify/verify.h"
#include "commands.h"
#include "graph_flag.h"
#include "interrupt.h"
#include "memory.h"
#include "number_checks.h"
#include "reports/file.h"
#include "reports/text.h"
#include "shared_flags.h"
#include "terminal.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using diagnose::Diagnosis;

struct DiagnoseFlags {
  std::string file, op, contract, json, svg;
  std::vector<std::string> arguments, actual, expected, plugins;
  int call = -1;
  double seconds = 10;
};

diagnose::Options options(const DiagnoseFlags& flags) {
  const std::chrono::milliseconds pairs(static_cast<std::int64_t>(flags.seconds * 1000));
  diagnose::Options o{.patience = {.pairs = pairs, .interrupted = &interrupted()}};
  o.patience.singles = std::max(o.patience.singles, pairs);
  return o;
}

// That of the flag, or else what is called `otherwise`. Throws std::invalid_argument if that does not parse.
Contract contract(const DiagnoseFlags& flags, const std::string& otherwise, const Call& call) {
  return parse_contract(flags.contract.empty() ? otherwise : contract_of_flag(flags.contract),
                        call.outputs[0].computed_in);
}

// Of a call that cannot be looked at.
Diagnosis nothing(const RecordedCall& recorded, std::string why) {
  Diagnosis d;
  d.op = recorded.op;
  d.case_text = recorded.case_text;
  d.impl = recorded.impl;
  d.kind = Diagnosis::Kind::no_results;
  d.fault = is_fault(recorded_verdict(recorded).value_or(Verdict::pass));
  d.skipped.push_back(std::move(why));
  return d;
}

// Everything in the file that a tensor of the call may have been overwritten with.
std::vector<diagnose::Source> tensors_of(const CaseFile& file, std::size_t call_at_hand) {
  std::vector<diagnose::Source> all;
  for (std::size_t n = 0; n < file.calls.size(); ++n) {
    const RecordedCall& call = file.calls[n];
    const std::string who = call.name.empty() ? fmt::format("call {}", n) : call.name;
    const auto add = [&](const std::string& name, const RecordedTensor& tensor) {
      all.push_back({fmt::format("{} of {}", name, who), [&tensor] { return tensor_of(tensor); },
                     n == call_at_hand ? name : ""});
    };
    for (const auto& input : call.inputs) add(input.first, input.second);
    for (const auto& output : call.outputs)
      if (output.second.actual) add(output.first, *output.second.actual);
  }
  // An input that went through a kernel unchanged stands in its result, too: whose it was before says more.
  std::stable_partition(all.begin(), all.end(), [](const diagnose::Source& s) { return s.own.empty(); });
  return all;
}

// The recorded kernel, if this machine has it.
class RecordedKernel {
 public:
  RecordedKernel(const RecordedCall& call, const std::vector<std::string>& plugins)
      : call_(call), plugins_(plugins) {}

  std::optional<ExpectedOutputs> operator()(const Call& call) {
    if (call_.impl.empty() || !call.error.empty()) return std::nullopt;
    if (!registry_) {
      // A library that the file names may be anybody's.
      registry_ = load_registry(plugins_, selects_torch({call_.impl}));
      examiner_ = std::make_shared<Examiner>(make_zygotes(), until_interrupted());
    }
    const auto found = std::ranges::find_if(registry_->kernels(), [&](const Kernel& k) {
      return k.name == call_.impl && k.op == call.op && k.unavailable.empty();
    });
    if (found == registry_->kernels().end()) return std::nullopt;
    const Kernel* const kernels[] = {&*found};
    const std::uint64_t choices[] = {0};
    const Finding ran =
        examiner_->examine({call}, choices, kernels, {.properties = false, .keep_outputs = true})[0]
            .findings[0];
    if (ran.outputs.empty()) return std::nullopt;
    return ExpectedOutputs(ran.outputs.begin(), ran.outputs.end());
  }

 private:
  const RecordedCall& call_;
  const std::vector<std::string>& plugins_;
  std::shared_ptr<Registry> registry_;
  std::shared_ptr<Examiner> examiner_;
};

std::vector<std::string> parameters_of(const RecordedCall& call) {
  constexpr std::string_view kPrefix = "parameter.";
  std::vector<std::string> all;
  for (const auto& note : call.notes)
    if (note.first.starts_with(kPrefix)) all.push_back(note.first.substr(kPrefix.size()));
  return all;
}

Contract contract_of(const DiagnoseFlags& flags, const RecordedCall& recorded, const Call& call) {
  try {
    return contract(flags, recorded.contract, call);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(
        fmt::format("{}: {}", flags.contract.empty() ? "attribute contract" : "--contract", e.what()));
  }
}

// Throws std::invalid_argument for what the call should not have.
Diagnosis of_call(const DiagnoseFlags& flags, const CaseFile& file, std::size_t n) {
  const RecordedCall& recorded = file.calls[n];
  recorded_verdict(recorded);  // throws if it is none
  if (std::ranges::none_of(operators(), [&](const Operator* o) { return o->schema.name == recorded.op; }))
    return nothing(recorded, fmt::format("Assay has no reference for {}.", recorded.op));
  const Replayable r = replayable(recorded);
  if (!r.call.error.empty()) return nothing(recorded, fmt::format("No result is right: {}.", r.call.error));
  const ExpectedOutputs actual = recorded_results(recorded, r.call);
  if (std::ranges::none_of(actual, [](const auto& result) { return result.has_value(); }))
    return nothing(
        recorded,
        fmt::format("The file has no results of this call{}{}: there is nothing to look for causes in.",
                    recorded.verdict.empty() ? "" : ", which was recorded as ", recorded.verdict));
  const Contract judged_by = contract_of(flags, recorded, r.call);
  const auto staged =
      diagnose::staged(r.call, recorded.stages, actual, parameters_of(recorded), tensors_of(file, n));
  const Call& executed = staged ? staged->executed : r.call;
  diagnose::Evidence evidence(executed, judged_by, actual);
  Diagnosis d = diagnose::diagnose(evidence, options(flags));
  if (staged) {
    d.stages = {staged->steps, swap(*staged, judged_by, actual, RecordedKernel(recorded, flags.plugins)),
                staged->unused};
    d.fault = d.fault || !staged->steps.empty();
    if (recorded.impl.starts_with(kPluginPrefix) && !recorded.plugin.empty() && flags.plugins.empty())
      d.skipped.push_back(
          fmt::format("The kernel was not run on what was swapped: it is of the library {0}, which is loaded "
                      "only if you name it, too: --plugin {0}.",
                      shell_word(recorded.plugin)));
  }
  d.case_text = recorded.case_text;
  d.impl = recorded.impl;
  if (!recorded.name.empty()) d.impl += "  " + recorded.name;
  if (const auto found = recorded.notes.find("source"); found != recorded.notes.end())
    d.impl += "  " + found->second;
  if (const auto found = recorded.notes.find("diagnosis"); found != recorded.notes.end())
    d.skipped.push_back("When it was found, on the case before it was made small: " + found->second + ".");
  return d;
}

struct OfFile {
  std::vector<Diagnosis> all;
  std::string totals;  // of several calls
};

OfFile of_file(const DiagnoseFlags& flags) {
  const CaseFile file = read_calls(flags.file);
  if (flags.call >= static_cast<int>(file.calls.size()))
    throw UsageError(
        fmt::format("--call {}: {} has {} calls, from 0", flags.call, flags.file, file.calls.size()));
  std::vector<Diagnosis> all;
  std::vector<std::string> names;
  ProgressLine line;
  for (std::size_t n = 0; n < file.calls.size(); ++n) {
    if (flags.call >= 0 && static_cast<int>(n) != flags.call) continue;
    if (interrupted()) break;
    line.show(file.calls[n].case_text);
    all.push_back(
        at_place(fmt::format("{}, call {}", flags.file, n), [&] { return of_call(flags, file, n); }));
    const std::string& name = file.calls[n].name.empty() ? file.calls[n].op : file.calls[n].name;
    names.push_back(fmt::format("call {}, {}", n, name));
  }
  if (flags.call >= 0 || file.calls.size() < 2) return {std::move(all), ""};
  std::string totals = to_text(diagnose::totals_of(all, names), file.calls.size() - all.size());
  return {std::move(all), std::move(totals)};
}

Diagnosis of_results(const DiagnoseFlags& flags, const diagnose::GivenCall& given,
                     const std::vector<std::string>& results, const std::string& whose) {
  ExpectedOutputs outputs;
  diagnose::Rounding rounding;
  std::vector<std::string> said;
  for (const std::string& r : results)
    if (auto says = diagnose::read_result(r, given.call, outputs, rounding)) said.push_back(*std::move(says));
  diagnose::Evidence evidence(given.call, contract(flags, diagnose::strangers_contract(*given.call.op), given.call),
                              std::move(outputs), std::move(rounding));
  diagnose::Options how = options(flags);
  how.stranger = flags.contract.empty();
  Diagnosis d = diagnose::diagnose(evidence, how);
  d.skipped.insert(d.skipped.end(), said.begin(), said.end());
  d.case_text = given.case_text;
  d.impl = whose;
  if (flags.contract.empty()) d.contract = diagnose::kOfStrangers;
  return d;
}

// Without all inputs there is no reference: what others expect takes its place, to the bit.
Diagnosis without_inputs(const DiagnoseFlags& flags, const std::vector<std::string>& missing) {
  if (flags.expected.size() != 1 || flags.actual.size() != 1)
    throw UsageError(
        fmt::format("{} needs --arg {}=@FILE; without it give one --actual and one --expected, to compare "
                    "the two",
                    flags.op, missing[0]));
  const auto path = [](const std::string& text) {
    const std::string file = text.substr(text.find('=') == std::string::npos ? 0 : text.find('=') + 1);
    if (file.empty()) throw UsageError(fmt::format("{}: no file is named", text));
    return file;
  };
  diagnose::GivenCall copy = diagnose::given_call("clone", {{"self", "@" + path(flags.expected[0])}});
  ExpectedOutputs outputs;
  diagnose::Rounding rounding;
  const auto said = diagnose::read_result(path(flags.actual[0]), copy.call, outputs, rounding);
  diagnose::Evidence evidence(copy.call, contract({}, "", copy.call), std::move(outputs),
                              std::move(rounding));
  Diagnosis d = diagnose::diagnose(evidence, options(flags));
  if (said) d.skipped.push_back(*said);
  d.op = flags.op;
  d.impl = flags.actual[0];
  d.skipped.push_back(fmt::format(
      "Without {} there is no reference: every bit is compared with what was expected, and faults in how arguments are read "
      "or computed with were not looked for. \"self\" stands for the expected result.",
      fmt::join(missing, ", ")));
  return d;
}

std::vector<Diagnosis> of_arguments(const DiagnoseFlags& flags) {
  if (flags.actual.empty()) throw UsageError("--op needs --actual FILE: what the kernel gave");
  std::vector<diagnose::GivenArgument> arguments;
  for (const std::string& a : flags.arguments) arguments.push_back(diagnose::parse_argument(a));
  const diagnose::GivenCall given = diagnose::given_call(flags.op, arguments);
  if (!given.missing.empty()) return {without_inputs(flags, given.missing)};
  std::vector<Diagnosis> all{of_results(flags, given, flags.actual, "actual")};
  if (!flags.expected.empty()) all.push_back(of_results(flags, given, flags.expected, "expected"));
  return all;
}

// What goes with a case file does not go with --op, nor the other way round.
void check_belongs(const DiagnoseFlags& flags) {
  const std::pair<std::string_view, bool> of_results[] = {{"--arg", !flags.arguments.empty()},
                                                          {"--actual", !flags.actual.empty()},
                                                          {"--expected", !flags.expected.empty()}};
  const std::pair<std::string_view, bool> of_files[] = {{"--call", flags.call >= 0},
                                                        {"--plugin", !flags.plugins.empty()}};
  if (flags.op.empty()) {
    for (const auto& [flag, given] : of_results)
      if (given)
        throw UsageError(fmt::format(
            "{} is for --op: a case file has the arguments and results of its calls; give one or the other",
            flag));
    return;
  }
  for (const auto& [flag, given] : of_files)
    if (given)
      throw UsageError(fmt::format("{} is for the calls of a case file, which --op has none of", flag));
}

int diagnose_command(const DiagnoseFlags& flags) {
  keep_freed_memory();
  std::vector<std::string> inputs = flags.plugins;
  inputs.push_back(flags.file);
  for (const std::vector<std::string>& places : {flags.arguments, flags.actual, flags.expected})
    for (const std::string& place : places)
      std::ranges::move(files_of_tensors(place), std::back_inserter(inputs));
  check_files({{"--json", flags.json}, {"--svg", flags.svg}}, inputs);
  if (flags.file.empty() == flags.op.empty())
    throw UsageError("give either a case file, or --op with --arg and --actual");
  check_belongs(flags);
  const OfFile found = flags.op.empty() ? of_file(flags) : OfFile{of_arguments(flags), ""};
  const std::vector<Diagnosis>& all = found.all;
  if (flags.json != "-" && flags.svg != "-") {
    for (std::size_t i = 0; i < all.size(); ++i)
      fmt::print("{}{}", i == 0 ? "" : "\n", to_text(all[i], Style(use_colour())));
    if (!found.totals.empty()) fmt::print("\n{}", found.totals);
    if (all.size() == 2 && !flags.expected.empty() && !flags.op.empty()) {
      const bool actual = all[0].diverging > 0, expected = all[1].diverging > 0;
      fmt::print("\n{}\n", actual && expected ? "Both the actual and the expected results are wrong."
                           : actual           ? "The actual results are wrong; the expected ones are right."
                           : expected
                               ? "The actual results are right; it is the expected ones that are wrong."
                               : "Both are right: what differs between them is inside the bound.");
    }
  }
  if (!flags.json.empty()) write_file(flags.json, to_json(all));
  if (!flags.svg.empty()) write_file(flags.svg, to_svg(all));
  if (interrupted()) return kInterrupted;
  const bool well = std::ranges::none_of(
      all, [](const Diagnosis& d) { return d.fault || d.kind == Diagnosis::Kind::undecided; });
  return well ? kAllWell : kFaultFound;
}

}  // namespace

void add_diagnose(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("diagnose", "Why the results of a call are wrong, with proof");
  command->footer(
      "Looks for the cause in a case file (which `assay verify` writes for each failure), or in results from anywhere:\n\n"
      "  assay diagnose assay-out/prelu-cpu.avx2-f32-diverged-17.h5\n"
      "  assay diagnose --op prelu --arg self=@x.npy --arg weight=@w.npy --actual y.npy\n"
      "  assay diagnose --op add.Tensor --arg self=@io.npz:a --arg other=@io.npz:b --arg alpha=2 --actual y.npy \\\n"
      "      --expected torch.npy\n\n"
      "Every known fault of the operator is tried: what it would give must be inside its own bound for every element, those that\n"
      "are right included. The cause is named with the elements that prove it, those that cannot be told from it on this data, and\n"
      "a case that tells them apart. If no single cause explains all, pairs are tried. Parameters are also computed back from\n"
      "results, so that a fault nobody listed shows as what was used: \"1.07 times those given\". So are tiles of terms that are stale or\n"
      "lost, also in a block of results alone, results that stand elsewhere, functions that were fused, and another operator whose\n"
      "results these are. Results of a kernel about which\n"
      "nothing is known are judged as those of common libraries are, or by --contract (`assay ops --help` explains its fields). Where\n"
      "they are right, the strictest contract is named under which they are; where its bound is so wide that it says little, \"Not\n"
      "decided\". A file with fewer bits than the result has (f16 of f32) is taken for a rounded one, and judged within that rounding.\n"
      "A case file may also hold how tensors were elsewhere on their way: stages/source/weight in the model's file, received as the\n"
      "operator was handed it, packed as the engine keeps it, executed as the kernel read it, after when it had returned, and read/out\n"
      "the result as its consumer read it. Then the verdict is (a) parameters, (a') packing, (b) changed later, naming the tensor whose\n"
      "numbers stand there, or (c) algorithm; parameters, inputs and kernel are swapped one by one to see what each of them does.\n"
      "A library that a case file names is loaded only if --plugin names it, too.\n"
      "It cannot see: faults whose results lie inside the bound, as f32 sums over thousands of terms of either sign have; results\n"
      "of another algorithm, which diverge without a fault of this kind (Winograd's errors are told); what happened before or after the call.\n\n"
      "Single causes are tried for a minute at most, or as long as --time says if that is more; where the time ends the search, the output\n"
      "says so.\n\n"
      "Exit code 0: no fault; 1: a fault, named or not, or results inside a bound that is too wide to decide; 2: a file or an\n"
      "argument is wrong; 130: interrupted, with what was found.");
  auto flags = std::make_shared<DiagnoseFlags>();
  command->add_option("FILE", flags->file, "a case file (.h5)")->type_name("");
  command->add_option("--call", flags->call, "only this call of the file, counted from 0")
      ->type_name("N")
      ->check(whole_number(std::numeric_limits<int>::max()));
  command->add_option("--op", flags->op, "the operator whose results these are")->type_name("OP");
  command
      ->add_option("--arg", flags->arguments,
                   "an argument: a tensor as @FILE or @FILE:NAME, a number, a list, none")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_option("--actual", flags->actual, "what the kernel gave")
      ->type_name("[OUT=]FILE")
      ->allow_extra_args(false);
  command->add_option("--expected", flags->expected, "what was expected instead; it is judged, too")
      ->type_name("[OUT=]FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--contract", flags->contract,
                   "what the kernel promises about its numbers: fields of a contract, or strict")
      ->type_name("TEXT");
  add_graphs(*command);
  command
      ->add_option("--plugin", flags->plugins,
                   "a shared library of kernels: that of a recorded kernel, to run it on what is swapped")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false)
      ->type_name("LIB.so");
  command
      ->add_option("--time", flags->seconds,
                   "for pairs of causes, where no single one explains all; default 10")
      ->type_name("SECONDS")
      ->check(duration_number());
  command->add_option("--json", flags->json, "write the result; - is standard output")->type_name("F");
  command->add_option("--svg", flags->svg, "draw where results diverge; - is standard output")
      ->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return diagnose_command(*flags); }; });
}

}  // namespace assay
