#include "merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "row.h"

namespace assay {
namespace {

struct Position {
  std::uint64_t index = 0;  // from 1
  std::uint64_t total = 0;
};

// 0 if it is no whole number.
std::uint64_t whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

Position position(const Shard& shard) {
  if (!shard.run.shard)
    throw MergeError(
        fmt::format("{} is no shard: only runs of `assay verify --shard I/N` can be merged", shard.name));
  const std::string_view text = *shard.run.shard;
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::uint64_t index = whole_number(text.substr(0, slash));
  const std::uint64_t total = slash == text.size() ? 0 : whole_number(text.substr(slash + 1));
  if (index < 1 || index > total)
    throw MergeError(
        fmt::format("{}: its shard is \"{}\", which is not I/N with I from 1 to N", shard.name, text));
  if (total > kMostShards)
    throw MergeError(
        fmt::format("{}: its shard is \"{}\", but {} shards are the most", shard.name, text, kMostShards));
  return {index, total};
}

// The words that decide which cases a run has: without the program, --shard, and how and where results go.
std::vector<std::string> what_was_asked(const std::vector<std::string>& command) {
  static const std::set<std::string, std::less<>> kAside{"--shard", "--json", "--junit",
                                                         "--html",  "--out",  "--jobs"};
  std::vector<std::string> words;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string_view word = command[i];
    const std::size_t equals = word.find('=');
    if (!kAside.contains(word.substr(0, equals)))
      words.push_back(command[i]);
    else if (equals == std::string_view::npos)
      ++i;
  }
  return words;
}

void require_same_run(const Shard& first, const Shard& other) {
  if (first.run.seed != other.run.seed)
    throw MergeError(fmt::format("{} has seed {} and {} has seed {}: they are not of one run", first.name,
                                 first.run.seed, other.name, other.run.seed));
  const std::vector<std::string> a = what_was_asked(first.run.command);
  const std::vector<std::string> b = what_was_asked(other.run.command);
  if (a != b)
    throw MergeError(fmt::format("{} was asked \"{}\" and {} was asked \"{}\": they are not of one run",
                                 first.name, fmt::join(a, " "), other.name, fmt::join(b, " ")));
}

// The shards that are there, in order. Throws MergeError for what does not fit together.
std::map<std::uint64_t, const Shard*> in_order(const std::vector<Shard>& shards) {
  const std::uint64_t total = position(shards.front()).total;
  std::map<std::uint64_t, const Shard*> ordered;
  for (const Shard& shard : shards) {
    const Position at = position(shard);
    if (at.total != total)
      throw MergeError(fmt::format("{} is shard {} and {} is shard {}: they are not of one run",
                                   shards.front().name, *shards.front().run.shard, shard.name,
                                   *shard.run.shard));
    require_same_run(shards.front(), shard);
    const auto [entry, is_new] = ordered.emplace(at.index, &shard);
    if (!is_new)
      throw MergeError(
          fmt::format("{} and {} are both shard {}", entry->second->name, shard.name, *shard.run.shard));
  }
  return ordered;
}

// Distinct texts, joined; empty ones say nothing.
void add_text(std::string& all, const std::string& text) {
  if (text.empty() || text == kNoCases || all == text ||
      ("; " + all + "; ").find("; " + text + "; ") != std::string::npos)
    return;
  if (!all.empty() && all != kNoCases)
    all += "; " + text;
  else
    all = text;
}

void add_class(ClassCount& sum, const ClassCount& part) {
  sum.judged += part.judged;
  sum.refused += part.refused;
  sum.ordinary = sum.ordinary || part.ordinary;
  sum.reasons.insert(part.reasons.begin(), part.reasons.end());
}

class MergedRow {
 public:
  void add(const Row& part) {
    if (first_) {
      first_ = false;
      sum_ = part;
    } else {
      sum_.named = sum_.named || part.named;
      sum_.literally = sum_.literally || part.literally;
      sum_.given_up += part.given_up;
      sum_.cases += part.cases;
      for (std::size_t v = 0; v < sum_.counts.size(); ++v) sum_.counts[v] += part.counts[v];
      for (const auto& [reason, cases] : part.refused) sum_.refused[reason] += cases;
      for (const auto& [reason, cases] : part.undeclared) sum_.undeclared[reason] += cases;
      for (const auto& [field, cases] : part.needs) sum_.needs[field] += cases;
      sum_.asked += part.asked;
      sum_.judged += part.judged;
      sum_.instead += part.instead;
      for (const auto& [name, count] : part.classes) add_class(sum_.classes[name], count);
      sum_.strict = sum_.strict || part.strict;
      sum_.elements += part.elements;
      sum_.undecidable_elements += part.undecidable_elements;
      sum_.undecidable_cases += part.undecidable_cases;
      // A NaN is worse than any number.
      if (!std::isnan(sum_.worst) && !(part.worst <= sum_.worst)) {
        sum_.worst = part.worst;
        sum_.worst_case = part.worst_case;
      }
      add_text(sum_.reason, part.reason);
      add_text(sum_.information, part.information);
      assay::add(sum_.replaced, part.replaced);
      sum_.failures.insert(sum_.failures.end(), part.failures.begin(), part.failures.end());
    }
    lacking_ = lacking_ || lacks_environment(part);
    severest_fault_ = std::max(severest_fault_, is_fault(part.verdict) ? part.verdict : Verdict::pass);
  }

  Row take() {
    replace_cases(sum_);
    sum_.verdict = std::max(severest_fault_, row_verdict(sum_));
    if (sum_.cases > 0 && sum_.reason == kNoCases) sum_.reason.clear();
    // A shard whose machine could not run the kernel leaves a hole, however well the others went.
    if (lacking_ && sum_.verdict <= Verdict::refused) sum_.verdict = Verdict::not_run;
    std::stable_sort(sum_.failures.begin(), sum_.failures.end(),
                     [](const Failure& a, const Failure& b) { return a.index < b.index; });
    return std::move(sum_);
  }

 private:
  Row sum_;
  bool first_ = true;
  bool lacking_ = false;
  Verdict severest_fault_ = Verdict::pass;
};

std::vector<Row> merge_rows(const std::map<std::uint64_t, const Shard*>& shards) {
  std::map<std::tuple<std::string, std::string, std::string, bool>, MergedRow> rows;
  for (const auto& [index, shard] : shards)
    for (const Row& row : shard->run.rows) rows[{row.op, row.dtype, row.impl, row.peer}].add(row);
  std::vector<Row> merged;
  for (auto& [key, row] : rows) merged.push_back(row.take());
  return merged;
}

std::vector<CountedLine> merge_accesses(const std::map<std::uint64_t, const Shard*>& shards) {
  std::vector<CountedLine> all;
  for (const auto& [index, shard] : shards)
    all.insert(all.end(), shard->run.accesses.begin(), shard->run.accesses.end());
  return summed(all);
}

// Shards have cases of their own, and may have had time for more or fewer of them.
void add(ShortRun& sum, const ShortRun& part) {
  const auto more = [&](std::uint64_t& n, std::uint64_t by) { n += std::min(by, sum.of - n); };
  more(sum.cases, part.cases);
  for (const auto& [kernel, cases] : part.sampled) more(sum.sampled[kernel], cases);
  const auto unite = [](std::vector<std::string>& names, const std::vector<std::string>& others) {
    std::set<std::string> all(names.begin(), names.end());
    all.insert(others.begin(), others.end());
    names.assign(all.begin(), all.end());
  };
  unite(sum.left_out, part.left_out);
  unite(sum.not_built, part.not_built);
}

void note_missing(const std::map<std::uint64_t, const Shard*>& shards, std::uint64_t total, Merged& merged) {
  constexpr std::uint64_t kNamed = 8;
  const std::uint64_t missing = total - shards.size();
  if (missing == 0) return;
  std::vector<std::string> named;
  for (std::uint64_t i = 1; named.size() < std::min(missing, kNamed); ++i)
    if (!shards.contains(i)) named.push_back(fmt::format("{}/{}", i, total));
  std::string text = fmt::format("shard{} {}", missing > 1 ? "s" : "", fmt::join(named, ", "));
  if (missing > kNamed) text += fmt::format(" and {} more", missing - kNamed);
  text += missing > 1 ? " are missing" : " is missing";
  merged.warnings.push_back(text + ": the merged run is incomplete");
  merged.missing = text;
  merged.run.complete = false;
  add_text(merged.run.incomplete, text);
}

}  // namespace

std::vector<Row> summed(std::vector<Row> rows) {
  std::map<std::tuple<std::string, std::string, std::string, bool>, MergedRow> all;
  for (const Row& row : rows) all[{row.op, row.dtype, row.impl, row.peer}].add(row);
  rows.clear();
  for (auto& [key, row] : all) rows.push_back(row.take());
  return rows;
}

Merged merge(std::vector<Shard> shards) {
  if (shards.empty()) throw MergeError("there is no run to merge");
  if (shards.size() == 1 && !shards.front().run.shard) return {std::move(shards.front().run), {}, {}};
  const std::map<std::uint64_t, const Shard*> ordered = in_order(shards);
  const Shard& first = *ordered.begin()->second;

  Merged merged;
  merged.run = first.run;
  merged.run.shard.reset();
  merged.run.rows = merge_rows(ordered);
  merged.run.accesses = merge_accesses(ordered);
  for (const auto& [index, shard] : ordered) {
    if (shard == &first) continue;
    merged.run.seconds = std::max(merged.run.seconds, shard->run.seconds);
    merged.run.complete = merged.run.complete && shard->run.complete;
    add_text(merged.run.incomplete, shard->run.incomplete);
    merged.run.cases_not_run += shard->run.cases_not_run;
    if (merged.run.short_run && shard->run.short_run) add(*merged.run.short_run, *shard->run.short_run);
    if (shard->run.machine.cpu != first.run.machine.cpu || shard->run.machine.isa != first.run.machine.isa)
      merged.warnings.push_back(fmt::format("{} ran on {}, but {} on {}: which kernels run may differ",
                                            first.name, first.run.machine.cpu, shard->name,
                                            shard->run.machine.cpu));
  }
  note_missing(ordered, position(first).total, merged);
  return merged;
}

}  // namespace assay
