#include "bench_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "json_reader.h"
#include "machine_json.h"

namespace assay {
namespace {

constexpr std::string_view kBenchFormat = "assay.bench/1";

double number_or(const JsonReader& value, const std::string& key, double otherwise) {
  const JsonReader::Optional found = value.find(key);
  return found ? found->number() : otherwise;
}

bool boolean_or(const JsonReader& value, const std::string& key, bool otherwise) {
  const JsonReader::Optional found = value.find(key);
  return found ? found->boolean() : otherwise;
}

// The place of a text in a list of those that are allowed.
template <std::size_t N>
std::size_t one_of(const JsonReader& value, const std::array<std::string_view, N>& allowed) {
  const std::string text = value.text();
  const auto found = std::find(allowed.begin(), allowed.end(), text);
  if (found == allowed.end())
    value.fail(fmt::format("unknown \"{}\"; expected one of {}", text, fmt::join(allowed, ", ")));
  return static_cast<std::size_t>(found - allowed.begin());
}

Spread read_interval(const JsonReader& value, const std::string& key) {
  return {value.at(key).number(), value.at("low").number(), value.at("high").number()};
}

// NaN lies everywhere: of an interval nothing may be known.
Spread in_order(const Spread& s, const JsonReader& value, const std::string& key) {
  if (s.low > s.value || s.value > s.high)
    value.at(key).fail(
        fmt::format("it is {}, which does not lie between low, {}, and high, {}", s.value, s.low, s.high));
  return s;
}

MeasuredGate read_gate(const JsonReader& value) {
  MeasuredGate g;
  g.verdict = static_cast<SpeedVerdict>(one_of(value.at("verdict"), kGateTokens));
  // What was not measured again has no ratio; older files say 1.
  if (g.verdict != SpeedVerdict::unchanged && value.find("ratio"))
    g.ratio = in_order(read_interval(value, "ratio"), value, "ratio");
  g.mde = number_or(value, "mde", 0);
  g.threshold = number_or(value, "threshold", 0);
  g.rounds = value.count_or("rounds", 0);
  g.confirmed = boolean_or(value, "confirmed", false);
  return g;
}

Measurement read_bench_row(const JsonReader& value) {
  Measurement row;
  row.op = value.at("op").text();
  row.case_text = value.at("case").text();
  row.dtype = value.text_or("dtype", "");
  row.impl = value.at("impl").text();
  row.peer = boolean_or(value, "peer", false);
  row.cache = value.text_or("cache", "");
  row.threads = value.count_or("threads", 1);
  row.shape = value.text_or("shape", "");
  row.status = static_cast<MeasuredStatus>(one_of(value.at("status"), kBenchStatuses));
  row.reason = value.text_or("reason", "");
  row.rounds = value.count_or("rounds", 0);
  row.calls = value.count_or("calls", 0);
  row.clock = value.text_or("clock", "");
  if (const JsonReader::Optional ns = value.find("ns")) row.ns = read_interval(*ns, "median");
  if (row.status == MeasuredStatus::measured && !(row.ns.value > 0 && std::isfinite(row.ns.value)))
    value.at("ns").fail("it was measured, so its median must be a number above 0");
  if (const JsonReader::Optional ns = value.find("ns")) in_order(row.ns, *ns, "median");
  row.contention = number_or(value, "contention", 0);
  row.bytes = number_or(value, "bytes", 0);
  row.operations = number_or(value, "operations", 0);
  if (const JsonReader::Optional limit = value.find("limit"))
    row.limit =
        MeasuredLimit{limit->at("ns").number(), limit->text_or("binds", ""), limit->at("share").number()};
  if (const JsonReader::Optional peer = value.find("best_peer"))
    row.best_peer =
        MeasuredPeer{peer->at("impl").text(), in_order(read_interval(*peer, "ratio"), *peer, "ratio")};
  if (const JsonReader::Optional gate = value.find("gate")) row.gate = read_gate(*gate);
  row.information = value.text_or("information", "");
  row.device = value.text_or("device", "");
  return row;
}

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
      file.rows.push_back(read_bench_row(*row));
  return file;
}

SpeedVerdict shown_verdict(const BenchmarkFile& file, const MeasuredGate& gate) {
  const bool fit = !file.gate || file.gate->fit;
  return fit || gate.verdict == SpeedVerdict::unchanged ? gate.verdict : SpeedVerdict::ambiguous;
}

std::array<std::uint64_t, kGateTokens.size()> gate_counts(const BenchmarkFile& file) {
  std::array<std::uint64_t, kGateTokens.size()> counts{};
  for (const Measurement& row : file.rows)
    if (row.gate) ++counts[static_cast<std::size_t>(shown_verdict(file, *row.gate))];
  return counts;
}

}  // namespace assay
