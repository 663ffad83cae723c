#include "bench_row.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "json_fields.h"

namespace assay {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson number_or_text(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Estimate read_interval(const JsonReader& value, const std::string& key) {
  // Of an interval nothing may be known: NaN, which is null in files.
  const auto part = [&](const std::string& name) {
    return number_or(value, name, std::numeric_limits<double>::quiet_NaN());
  };
  return {part(key), part("low"), part("high")};
}

// NaN lies everywhere.
Estimate in_order(const Estimate& e, const JsonReader& value, const std::string& key) {
  if (e.low > e.median || e.median > e.high)
    value.at(key).fail(
        fmt::format("it is {}, which does not lie between low, {}, and high, {}", e.median, e.low, e.high));
  return e;
}

GateOutcome read_gate(const JsonReader& value) {
  GateOutcome g;
  g.verdict = static_cast<SpeedVerdict>(one_of(value.at("verdict"), kGateTokens));
  // What was not measured again has no ratio; older files say 1.
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  g.ratio = {kNone, kNone, kNone};
  if (g.verdict != SpeedVerdict::unchanged) g.ratio = in_order(read_interval(value, "ratio"), value, "ratio");
  g.detectable = number_or(value, "mde", 0);
  g.threshold = number_or(value, "threshold", 0);
  g.rounds = value.count_or("rounds", 0);
  g.confirmed = boolean_or(value, "confirmed", false);
  g.note = value.text_or("note", "");
  g.unseen = value.text_or("unseen", "");
  return g;
}

std::int64_t amount(const JsonReader& value, const std::string& key) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(value.count_or(key, 0), std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

std::string BenchRow::key() const { return fmt::format("{}\n{}\n{}\n{}", case_text, impl, place(), threads); }

OrderedJson bench_row_json(const BenchRow& row) {
  const auto estimate = [](const Estimate& e) {
    return OrderedJson{{"median", number_or_text(e.median)},
                       {"low", number_or_text(e.low)},
                       {"high", number_or_text(e.high)}};
  };
  OrderedJson j{{"op", row.op},
                {"case", row.case_text},
                {"dtype", row.dtype},
                {"impl", row.impl},
                {"peer", row.peer},
                {"cache", row.cache},
                {"threads", row.threads},
                {"shape", row.shape},
                {"status", token(row.status)},
                {"reason", row.reason},
                {"information", row.information}};
  if (!row.planned.empty() && row.planned != row.impl) j["planned"] = row.planned;
  if (row.gate) {
    const GateOutcome& g = *row.gate;
    j["gate"] = {{"verdict", token(g.verdict)},
                 {"ratio", number_or_text(g.ratio.median)},
                 {"low", number_or_text(g.ratio.low)},
                 {"high", number_or_text(g.ratio.high)},
                 {"mde", number_or_text(g.detectable)},
                 {"threshold", g.threshold},
                 {"rounds", g.rounds},
                 {"confirmed", g.confirmed},
                 {"note", g.note}};
    if (!g.unseen.empty()) j["gate"]["unseen"] = g.unseen;
  }
  if (row.status != BenchStatus::measured && row.status != BenchStatus::impossible) return j;
  j["rounds"] = row.rounds;
  j["calls"] = row.calls;
  j["clock"] = row.clock;
  if (!row.device.empty()) j["device"] = row.device;
  j["ns"] = estimate(row.ns);
  j["contention"] = number_or_text(row.contention);
  j["bytes"] = row.bytes;
  j["operations"] = row.operations;
  j["functions"] = row.functions;
  j["limit"] = row.limit ? OrderedJson{{"ns", number_or_text(row.limit->ns)},
                                       {"binds", row.limit->binds},
                                       {"share", number_or_text(row.limit->share)}}
                         : OrderedJson(nullptr);
  if (row.best_peer) {
    j["best_peer"] = {{"impl", row.best_peer->impl},
                      {"ratio", number_or_text(row.best_peer->ratio.median)},
                      {"low", number_or_text(row.best_peer->ratio.low)},
                      {"high", number_or_text(row.best_peer->ratio.high)}};
  } else {
    j["best_peer"] = nullptr;
  }
  return j;
}

BenchRow bench_row_of(const JsonReader& value) {
  BenchRow row;
  row.op = value.at("op").text();
  row.case_text = value.at("case").text();
  row.dtype = value.text_or("dtype", "");
  row.impl = value.at("impl").text();
  row.planned = value.text_or("planned", row.impl);
  row.peer = boolean_or(value, "peer", false);
  row.cache = value.text_or("cache", "");
  row.threads = static_cast<int>(std::min<std::uint64_t>(value.count_or("threads", 1), 1'000'000));
  row.shape = value.text_or("shape", "");
  row.status = static_cast<BenchStatus>(one_of(value.at("status"), kBenchStatuses));
  row.reason = value.text_or("reason", "");
  row.information = value.text_or("information", "");
  row.device = value.text_or("device", "");
  row.rounds = value.count_or("rounds", 0);
  row.calls = value.count_or("calls", 0);
  row.clock = value.text_or("clock", "");
  if (const JsonReader::Optional ns = value.find("ns")) row.ns = read_interval(*ns, "median");
  if (row.status == BenchStatus::measured && !(row.ns.median > 0 && std::isfinite(row.ns.median)))
    value.at("ns").at("median").fail("it was measured, so it must be a number above 0");
  if (const JsonReader::Optional ns = value.find("ns")) in_order(row.ns, *ns, "median");
  row.contention = number_or(value, "contention", 0);
  row.bytes = amount(value, "bytes");
  row.operations = amount(value, "operations");
  row.functions = amount(value, "functions");
  if (const JsonReader::Optional limit = value.find("limit"))
    row.limit = BoundBy{limit->at("ns").number(), limit->text_or("binds", ""), limit->at("share").number()};
  if (const JsonReader::Optional peer = value.find("best_peer"))
    row.best_peer =
        AgainstPeer{peer->at("impl").text(), in_order(read_interval(*peer, "ratio"), *peer, "ratio")};
  if (const JsonReader::Optional gate = value.find("gate")) row.gate = read_gate(*gate);
  return row;
}

}  // namespace assay
