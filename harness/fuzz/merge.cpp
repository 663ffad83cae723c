// Run files joined: merge() throws MergeError that names a file, or gives a run in which no case and no fault is lost, and that is
// written and read the same. The input has several files, a form feed between them; one alone stands for both halves of itself.
#include "reports/merge.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "reports/file.h"
#include "reports/run_file.h"
#include "target.h"

namespace assay::fuzz {
namespace {

constexpr char kBetween = '\f';
constexpr std::size_t kMostFiles = 4;

RunResult half(const std::string& shard, std::uint64_t index) {
  RunResult run;
  run.command = {"assay", "verify", "--shard", shard, "--json", shard + ".json"};
  run.machine = {"CPU", 8, {"avx2"}, {{"dnnl", "2.6"}}, "g++", "0.1.0"};
  run.seed = 7;
  run.shard = shard;
  Row row;
  row.op = "toy";
  row.impl = "cpu.avx2";
  row.dtype = "f32";
  row.cases = 3;
  row.verdict = index % 2 == 0 ? Verdict::pass : Verdict::diverged;
  row.counts[0] = 2;
  row.counts[static_cast<std::size_t>(row.verdict)] += 1;
  row.refused = {{"too large", index}};
  row.elements = 100 * index;
  row.undecidable_elements = index;
  row.worst = 0.5;
  row.reason = "r" + shard;
  row.failures = {{"toy:f32:self=2", Verdict::diverged, "detail", "out/x.h5", "", index}};
  run.rows = {row};
  row.impl = "torch";
  row.peer = true;
  row.verdict = Verdict::not_run;
  row.counts = {};
  run.rows.push_back(row);
  run.short_run = ShortRun{120, 40 * index, 250, {"cuda.ptx"}, {{"torch", 8}}};
  run.accesses = {{"a.h:1", "k", "shared read, 4 B", index, 2, 1}};
  return run;
}

std::vector<std::string> seeds() {
  const std::string first = to_json(half("1/2", 1)), second = to_json(half("2/2", 2));
  const std::string little =
      R"({"format":"assay.run/1","command":[],"machine":{},"seed":1,"shard":"3/9","results":[]})";
  return {first, first + kBetween + second, second + kBetween + first, little,
          to_json(half("2/3", 4)) + kBetween + to_json(half("3/3", 5))};
}

std::vector<Shard> shards_of(std::string_view input) {
  std::vector<Shard> shards;
  for (bool more = true; more && shards.size() < kMostFiles;) {
    const std::size_t end = std::min(input.find(kBetween), input.size());
    shards.push_back({kInputName, run_from_json(input.substr(0, end), kInputName)});
    more = end < input.size();
    input.remove_prefix(more ? end + 1 : end);
  }
  if (shards.size() > 1) return shards;
  shards.push_back(shards[0]);
  shards[0].run.shard = "1/2";
  shards[1].run.shard = "2/2";
  return shards;
}

// Of all rows of one operator, dtype and kernel.
struct Sum {
  std::uint64_t cases = 0;
  std::array<std::uint64_t, kVerdicts> counts{};
  std::size_t failures = 0;
  Verdict fault = Verdict::pass;  // the most severe
  bool operator==(const Sum&) const = default;
};
using Sums = std::map<std::tuple<std::string, std::string, std::string, bool>, Sum>;

Sums sums_of(const std::vector<Shard>& shards) {
  Sums sums;
  for (const Shard& shard : shards)
    for (const Row& row : shard.run.rows) {
      Sum& sum = sums[{row.op, row.dtype, row.impl, row.peer}];
      sum.cases += row.cases;
      for (std::size_t v = 0; v < sum.counts.size(); ++v) sum.counts[v] += row.counts[v];
      sum.failures += row.failures.size();
      if (is_fault(row.verdict)) sum.fault = std::max(sum.fault, row.verdict);
    }
  for (auto& [key, sum] : sums)
    for (std::size_t v = 0; v < sum.counts.size(); ++v)
      if (is_fault(static_cast<Verdict>(v)) && sum.counts[v] > 0)
        sum.fault = std::max(sum.fault, static_cast<Verdict>(v));
  return sums;
}

// What a file can hold: reading one refuses more.
bool is_of_possible_size(const RunResult& run) {
  return std::ranges::all_of(run.rows, [](const Row& r) { return r.elements <= std::uint64_t{1} << 50; });
}

void look_at(const Merged& merged, const std::vector<Shard>& shards) {
  const Sums sums = sums_of({{kInputName, merged.run}});
  if (sums != sums_of(shards)) broken("cases, failures or faults are lost, or more than there were");
  if (merged.run.rows.size() != sums.size()) broken("two rows of one operator, dtype and kernel");
  if (merged.run.shard) broken("all shards are one again");
  if (!merged.missing.empty() && (merged.run.complete || merged.run.incomplete.empty()))
    broken("complete, with " + merged.missing);
  if (merged.warnings.size() > shards.size()) broken("more warnings than shards");
  if (!is_of_possible_size(merged.run)) return;
  const std::string written = to_json(merged.run);
  const std::string again = to_json(run_from_json(written, kInputName));
  if (again != written) broken("written and read again, the merged run is another one:\n" + written + again);
}

bool run(std::string_view input) {
  return accepted([&] {
    const std::vector<Shard> shards = shards_of(input);
    Merged merged;
    try {
      merged = merge(shards);
    } catch (const MergeError& e) {
      throw FileError(e.what());  // accepted() asks for its name
    }
    look_at(merged, shards);
  });
}

}  // namespace

const Target kMerge{"merge", seeds, run};

}  // namespace assay::fuzz
