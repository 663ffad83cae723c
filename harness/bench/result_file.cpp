#include "result_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/bench_file.h"
#include "reports/file.h"
#include "reports/json_reader.h"

namespace assay {
namespace {

double positive(const JsonReader& value) {
  const double x = value.number();
  if (!(x > 0)) value.fail("expected a number above 0");
  return x;
}

Estimate estimate(const JsonReader& value, const char* median) {
  return {positive(value.at(median)), value.at("low").number(), value.at("high").number()};
}

ResultRow what_is_timed(const JsonReader& a) {
  ResultRow row;
  row.op = a.at("op").text();
  row.case_text = a.at("case").text();
  row.impl = a.at("impl").text();
  row.peer = a.at("peer").boolean();
  row.cache = a.at("cache").text();
  // Where the data is and whose clock was read: what another device took says nothing about this one.
  if (const std::string device = a.text_or("device", ""); !device.empty()) row.cache += " on " + device;
  row.threads = static_cast<int>(std::min<std::uint64_t>(a.at("threads").count(), 1'000'000));
  return row;
}

ResultRow read_ours(const JsonReader& a) {
  ResultRow row = what_is_timed(a);
  row.ns = estimate(a.at("ns"), "median");
  if (const JsonReader::Optional limit = a.find("limit")) row.share = limit->at("share").number();
  if (const JsonReader::Optional peer = a.find("best_peer")) {
    row.best_peer = peer->at("impl").text();
    row.ratio = estimate(*peer, "ratio");
  }
  return row;
}

double unit(const JsonReader& value) {
  const std::string name = value.text();
  if (name == "ns") return 1;
  if (name == "us") return 1e3;
  if (name == "ms") return 1e6;
  if (name == "s") return 1e9;
  value.fail(fmt::format("\"{}\" is no unit of time: ns, us, ms or s", name));
}

ResultRow read_theirs(const JsonReader& b) {
  ResultRow row;
  row.case_text = b.text_or("run_name", b.at("name").text());
  row.threads = static_cast<int>(std::min<std::uint64_t>(b.count_or("threads", 1), 1'000'000));
  // Parts of a name say by which clock a benchmark wants to be read.
  const std::string name = row.case_text + "/";
  const bool by_other_clock =
      name.find("/real_time/") != std::string::npos || name.find("/manual_time/") != std::string::npos;
  const double ns = positive(b.at(by_other_clock ? "real_time" : "cpu_time")) * unit(b.at("time_unit"));
  row.ns = {ns, ns, ns};
  return row;
}

// One row for each key, in the order of the first ones.
void keep_medians(std::vector<ResultRow>& rows) {
  std::map<std::string, std::vector<const ResultRow*>> by_key;
  for (const ResultRow& r : rows) by_key[r.key()].push_back(&r);
  if (by_key.size() == rows.size()) return;
  std::vector<ResultRow> kept;
  for (const ResultRow& r : rows) {
    std::vector<const ResultRow*>& same = by_key[r.key()];
    if (same.empty()) continue;
    const auto middle = same.begin() + static_cast<std::ptrdiff_t>(same.size() / 2);
    std::ranges::nth_element(same, middle, {}, [](const ResultRow* x) { return x->ns.median; });
    kept.push_back(**middle);
    same.clear();
  }
  rows = std::move(kept);
}

}  // namespace

std::string ResultRow::key() const { return fmt::format("{}\n{}\n{}\n{}", case_text, impl, cache, threads); }

ResultFile result_file_from(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name);
  const JsonReader root = document.root();
  const JsonReader context = root.at("context");
  ResultFile file;
  file.name = name;
  file.date = context.text_or("date", "");
  if (const JsonReader::Optional ours = context.find("assay")) {
    const std::string format = ours->at("format").text();
    if (format != "assay.bench/1")
      ours->at("format").fail(fmt::format("it is {}, and this program reads assay.bench/1", format));
    file.machine = ours->at("machine").at("fingerprint").text();
    file.commit = ours->text_or("commit", "");
    if (const JsonReader::Optional complete = ours->find("complete"); complete && !complete->boolean())
      file.incomplete = ours->text_or("incomplete", "it does not say why");
  } else {
    file.machine = fmt::format("{}; {} processors", context.text_or("host_name", "unknown host"),
                               context.count_or("num_cpus", 0));
  }
  std::set<std::string> medians;
  std::vector<JsonReader> theirs;
  for (const JsonReader& b : root.at("benchmarks").items()) {
    if (const JsonReader::Optional ours = b.find("assay")) {
      const std::string status = ours->at("status").text();
      if (std::ranges::find(kBenchStatuses, status) == kBenchStatuses.end())
        ours->at("status").fail(
            fmt::format("unknown \"{}\"; expected one of {}", status, fmt::join(kBenchStatuses, ", ")));
      if (status == kBenchStatuses[0])
        file.rows.push_back(read_ours(*ours));
      else
        file.untimed.push_back({what_is_timed(*ours), status, ours->text_or("reason", "")});
      continue;
    }
    if (const JsonReader::Optional error = b.find("error_occurred"); error && error->boolean()) continue;
    if (const JsonReader::Optional skipped = b.find("skipped"); skipped && skipped->boolean()) continue;
    if (b.text_or("run_type", "iteration") != "aggregate") {
      theirs.push_back(b);
    } else if (b.text_or("aggregate_name", "") == "median") {
      file.rows.push_back(read_theirs(b));
      medians.insert(file.rows.back().key());
    }
  }
  for (const JsonReader& b : theirs) {
    ResultRow row = read_theirs(b);
    if (!medians.contains(row.key())) file.rows.push_back(std::move(row));
  }
  keep_medians(file.rows);
  return file;
}

ResultFile read_result_file(const std::string& path) { return result_file_from(read_file(path), path); }

}  // namespace assay
