#include "kept_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "reports/run_file.h"

namespace assay {
namespace {

using nlohmann::json;

std::string failures_key(const Row& row) {
  return fmt::format("recorded {} {} {}", row.op, row.impl, row.dtype);
}

}  // namespace

const Kernel* kernel_in(const std::map<RowKey, Tally>& rows, std::string_view op, const std::string& impl) {
  for (const auto& [key, tally] : rows)
    if (key.first->op->schema.name == op && key.first->name == impl) return key.first;
  return nullptr;
}

std::vector<Row> rows_of(const std::map<RowKey, Tally>& rows, const VerifyOptions& options) {
  std::vector<Row> all;
  for (const auto& [key, tally] : rows) {
    Row& row = all.emplace_back(tally.row());
    row.named = names(options.impls, key.first->name);
    row.literally = names_literally(options.impls, key.first->name);
    row.strict = options.strict_coverage;
    row.may_refuse = options.may_refuse;
  }
  return all;
}

void add_blamed(Examiner& examiner, std::uint64_t index, KeptParts& parts) {
  for (const Blamed& b : examiner.take_blamed()) {
    const auto dtype = static_cast<Dtype>(b.row - 1);
    Tally& tally =
        parts.try_emplace({b.kernel, dtype}, KeptPart{Tally(*b.kernel, dtype)}).first->second.tally;
    tally.add(b.finding, text(b.of), index);
    tally.replace(b.instead);
  }
}

void keep(Journal& journal, const std::string& key, double at, const KeptParts& parts, std::uint64_t cases) {
  json results = json::array(), rows = json::array();
  for (const auto& [row, part] : parts) {
    if (part.tally.empty()) continue;
    json more = part.tally.more(), seen = json::array();
    for (const SeenCase& s : part.seen) seen.push_back({s.index, s.refused});
    more["seen"] = std::move(seen);
    results.push_back(part.tally.result());
    rows.push_back(std::move(more));
  }
  journal.add(key, at, {{"results", std::move(results)}}, {{"rows", std::move(rows)}, {"cases", cases}});
}

KeptParts kept(const JournalEntry& entry, const std::map<RowKey, Tally>& rows) {
  KeptParts parts;
  const json& results = entry.add.at("results");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const json& more = entry.more.at("rows").at(i);
    for (const auto& [key, tally] : rows) {
      if (key.first->op->schema.name != results[i].at("op").get_ref<const std::string&>() ||
          key.first->name != results[i].at("impl").get_ref<const std::string&>() ||
          name(key.second) != results[i].at("dtype").get_ref<const std::string&>())
        continue;
      KeptPart& part = parts[key];
      part.tally = Tally::of(results[i], more);
      for (const json& s : more.at("seen"))
        part.seen.push_back({s.at(0).get<std::uint64_t>(), s.at(1).get<bool>()});
    }
  }
  return parts;
}

std::uint64_t kept_count(const JournalEntry& entry) { return entry.more.at("cases").get<std::uint64_t>(); }

void keep_failures(Journal& journal, double at, const Row& row) {
  json recorded = json::array();
  recorded.push_back(json::parse(row_json(row)));
  journal.add(failures_key(row), at, {{"recorded", std::move(recorded)}});
}

bool take_failures(const Journal& journal, Row& row) {
  const JournalEntry* const entry = journal.find(failures_key(row));
  if (entry == nullptr) return false;
  const Row recorded = row_from_json(entry->add.at("recorded").at(0).dump(), journal.path());
  const auto is_there = [](const Failure& f) {
    std::error_code error;
    return f.replay.empty() || std::filesystem::exists(f.replay, error);
  };
  if (!std::ranges::all_of(recorded.failures, is_there)) return false;
  row.failures = recorded.failures;
  return true;
}

}  // namespace assay
