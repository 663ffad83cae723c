#include "bench_file.h"

#include <fmt/format.h>

#include "json_fields.h"
#include "machine_json.h"

namespace assay {
namespace {

constexpr std::string_view kBenchFormat = "assay.bench/1";

Ceiling read_limit(const JsonReader& value) {
  static constexpr std::array<std::string_view, 2> kKinds{"arithmetic", "bandwidth"};
  return {value.at("name").text(),    one_of(value.at("kind"), kKinds) == 1,
          value.text_or("dtype", ""), value.text_or("level", ""),
          value.at("value").number(), value.text_or("device", "")};
}

GateSetting read_gate_run(const JsonReader& value) {
  GateSetting g;
  g.base = value.text_or("base", "");
  g.candidate = value.text_or("candidate", "");
  if (const JsonReader::Optional canary = value.find("canary")) {
    g.canary_alarms = canary->count_or("alarms", 0);
    g.canary_trials = canary->count_or("trials", 0);
  }
  g.fit = boolean_or(value, "fit", true);
  return g;
}

}  // namespace

BenchmarkFile bench_from_json(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name);
  const JsonReader root = document.root();
  const JsonReader context = root.at("context").at("assay");
  const JsonReader format = context.at("format");
  if (format.text() != kBenchFormat)
    format.fail(
        fmt::format("it is \"{}\", so this is no benchmark file of Assay ({})", format.text(), kBenchFormat));
  BenchmarkFile file;
  file.name = name;
  if (const JsonReader::Optional command = context.find("command"))
    for (const JsonReader& word : command->items()) file.command.push_back(word.text());
  if (const JsonReader::Optional machine = context.find("machine")) {
    file.machine = read_machine(*machine);
    file.fingerprint = machine->text_or("fingerprint", "");
  }
  file.seed = context.count_or("seed", 0);
  file.seconds = number_or(context, "seconds", 0);
  file.complete = boolean_or(context, "complete", true);
  file.incomplete = context.text_or("incomplete", "");
  file.commit = context.text_or("commit", "");
  if (const JsonReader::Optional limits = context.find("limits"))
    for (const JsonReader& limit : limits->items()) file.limits.push_back(read_limit(limit));
  if (const JsonReader::Optional gate = context.find("gate")) file.gate = read_gate_run(*gate);
  for (const JsonReader& benchmark : root.at("benchmarks").items())
    if (const JsonReader::Optional row = benchmark.find("assay"); row && row->is_object())
      file.rows.push_back(bench_row_of(*row));
  return file;
}

SpeedVerdict shown_verdict(const BenchmarkFile& file, const GateOutcome& gate) {
  const bool fit = !file.gate || file.gate->fit;
  return fit || gate.verdict == SpeedVerdict::unchanged ? gate.verdict : SpeedVerdict::ambiguous;
}

std::array<std::uint64_t, kGateTokens.size()> gate_counts(const BenchmarkFile& file) {
  std::array<std::uint64_t, kGateTokens.size()> counts{};
  for (const BenchRow& row : file.rows)
    if (row.gate) ++counts[static_cast<std::size_t>(shown_verdict(file, *row.gate))];
  return counts;
}

}  // namespace assay
