#include "row_json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reports/text.h"

namespace assay {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace

std::string benchmark_name(const BenchRow& row) {
  return printable(fmt::format("{}/{}/{}/{}/threads:{}", row.op,
                               row.case_text.substr(row.case_text.find(':') + 1), row.impl, name(row.cache),
                               row.threads));
}

OrderedJson row_json(const BenchRow& row) {
  const auto estimate = [](const Estimate& e) {
    return OrderedJson{{"median", number(e.median)}, {"low", number(e.low)}, {"high", number(e.high)}};
  };
  OrderedJson j{{"op", row.op},
                {"case", row.case_text},
                {"dtype", row.dtype},
                {"impl", row.impl},
                {"peer", row.peer},
                {"cache", name(row.cache)},
                {"threads", row.threads},
                {"shape", row.shape},
                {"status", token(row.status)},
                {"reason", row.reason},
                {"information", row.information}};
  if (!row.planned.empty() && row.planned != row.impl) j["planned"] = row.planned;
  if (row.gate) {
    const GateOutcome& g = *row.gate;
    j["gate"] = {
        {"verdict", token(g.verdict)},  {"ratio", number(g.ratio.median)}, {"low", number(g.ratio.low)},
        {"high", number(g.ratio.high)}, {"mde", number(g.detectable)},     {"threshold", g.threshold},
        {"rounds", g.rounds},           {"confirmed", g.confirmed},        {"note", g.note}};
    if (!g.unseen.empty()) j["gate"]["unseen"] = g.unseen;
  }
  if (row.status != BenchRow::Status::measured && row.status != BenchRow::Status::impossible) return j;
  j["rounds"] = row.rounds;
  j["calls"] = row.calls;
  j["clock"] = !row.device.empty() ? "device" : row.by_wall ? "wall" : "cpu";
  if (!row.device.empty()) j["device"] = row.device;
  j["ns"] = estimate(row.ns);
  j["contention"] = number(row.contention);
  j["bytes"] = row.bytes;
  j["operations"] = row.operations;
  j["functions"] = row.functions;
  j["limit"] = row.limit ? OrderedJson{{"ns", number(row.limit->ns)},
                                       {"binds", row.limit->binds},
                                       {"share", number(row.limit->share)}}
                         : OrderedJson(nullptr);
  if (row.best_peer) {
    j["best_peer"] = {{"impl", row.best_peer->impl},
                      {"ratio", number(row.best_peer->ratio.median)},
                      {"low", number(row.best_peer->ratio.low)},
                      {"high", number(row.best_peer->ratio.high)}};
  } else {
    j["best_peer"] = nullptr;
  }
  return j;
}

BenchRow row_of(const nlohmann::json& j) {
  const auto number_of = [](const nlohmann::json& n) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (n.is_null()) return std::numeric_limits<double>::quiet_NaN();
    return n.is_string() ? (n == "-inf" ? -kInfinity : kInfinity) : n.get<double>();
  };
  const auto estimate = [&](const nlohmann::json& e, const char* median) {
    return Estimate{number_of(e.at(median)), number_of(e.at("low")), number_of(e.at("high"))};
  };
  BenchRow row;
  row.op = j.at("op");
  row.case_text = j.at("case");
  row.dtype = j.at("dtype");
  row.impl = j.at("impl");
  row.planned = j.value("planned", row.impl);
  row.peer = j.at("peer");
  row.cache = cache_named(j.at("cache").get<std::string>()).value();
  row.threads = j.at("threads");
  row.shape = j.at("shape");
  for (const auto s : {BenchRow::Status::measured, BenchRow::Status::refused, BenchRow::Status::failed,
                       BenchRow::Status::not_run, BenchRow::Status::impossible})
    if (token(s) == j.at("status").get<std::string>()) row.status = s;
  row.reason = j.at("reason");
  row.information = j.at("information");
  if (const auto at = j.find("gate"); at != j.end()) {
    GateOutcome& g = row.gate.emplace();
    for (const auto v :
         {GateOutcome::Verdict::regressed, GateOutcome::Verdict::improved, GateOutcome::Verdict::same,
          GateOutcome::Verdict::ambiguous, GateOutcome::Verdict::unchanged})
      if (token(v) == at->at("verdict").get<std::string>()) g.verdict = v;
    g.ratio = estimate(*at, "ratio");
    g.detectable = number_of(at->at("mde"));
    g.threshold = at->at("threshold");
    g.rounds = at->at("rounds");
    g.confirmed = at->at("confirmed");
    g.note = at->at("note");
    g.unseen = at->value("unseen", "");
  }
  if (!j.contains("ns")) return row;
  row.rounds = j.at("rounds");
  row.calls = j.at("calls");
  row.by_wall = j.at("clock") == "wall";
  row.device = j.value("device", "");
  row.ns = estimate(j.at("ns"), "median");
  row.contention = number_of(j.at("contention"));
  row.bytes = j.at("bytes");
  row.operations = j.at("operations");
  row.functions = j.at("functions");
  if (const auto& limit = j.at("limit"); !limit.is_null())
    row.limit = BoundBy{number_of(limit.at("ns")), limit.at("binds"), number_of(limit.at("share"))};
  if (const auto& peer = j.at("best_peer"); !peer.is_null())
    row.best_peer = AgainstPeer{peer.at("impl"), estimate(peer, "ratio")};
  return row;
}

}  // namespace assay
