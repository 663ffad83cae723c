#include "result_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

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

ResultRow read_ours(const JsonReader& a) {
  ResultRow row;
  row.op = a.at("op").text();
  row.case_text = a.at("case").text();
  row.impl = a.at("impl").text();
  row.peer = a.at("peer").boolean();
  row.cache = a.at("cache").text();
  // Where the data is and whose clock was read: what another device took says nothing about this one.
  if (const std::string device = a.text_or("device", ""); !device.empty()) row.cache += " on " + device;
  row.threads = static_cast<int>(std::min<std::uint64_t>(a.at("threads").count(), 1'000'000));
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
  const double ns = positive(b.at("cpu_time")) * unit(b.at("time_unit"));
  row.ns = {ns, ns, ns};
  return row;
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
  } else {
    file.machine = fmt::format("{}; {} processors", context.text_or("host_name", "unknown host"),
                               context.count_or("num_cpus", 0));
  }
  std::set<std::string> medians;
  std::vector<JsonReader> theirs;
  for (const JsonReader& b : root.at("benchmarks").items()) {
    if (const JsonReader::Optional ours = b.find("assay")) {
      if (ours->at("status").text() == "measured") file.rows.push_back(read_ours(*ours));
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
  return file;
}

ResultFile read_result_file(const std::string& path) { return result_file_from(read_file(path), path); }

}  // namespace assay
