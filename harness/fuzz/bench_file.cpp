// Benchmark files: bench_from_json() throws FileError that names the file, or gives rows that can be reported: what was measured
// has a time.
#include "reports/bench_file.h"

#include "reports/file.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  const std::string context =
      R"({"context":{"assay":{"format":"assay.bench/1","command":["assay"],"machine":{"cpu":"c","cores":2,"fingerprint":"f"},)"
      R"("seed":1,"seconds":0.5,"complete":false,"incomplete":"x","commit":"abc","limits":[{"name":"read L1","kind":"bandwidth",)"
      R"("dtype":"","level":"L1","value":1e11},{"name":"FMA","kind":"arithmetic","dtype":"f32","level":"","value":5e10}],)"
      R"("gate":{"base":"a","candidate":"b","canary":{"alarms":0,"trials":9},"fit":true}}},"benchmarks":[)";
  const std::string measured =
      R"({"name":"n","assay":{"op":"toy","case":"toy:f32:self=2","dtype":"f32","impl":"cpu","peer":false,"cache":"l2","threads":2,)"
      R"("shape":"s","status":"measured","reason":"","rounds":3,"calls":4,"clock":"cpu","ns":{"median":2,"low":1,"high":3},)"
      R"("contention":1.5,"bytes":8,"operations":2,"limit":{"ns":1,"binds":"memory L2","share":0.5},)"
      R"("best_peer":{"impl":"p","ratio":0.9,"low":0.8,"high":1},"gate":{"verdict":"SAME","ratio":1,"low":0.9,"high":1.1,"mde":0.01,)"
      R"("threshold":0.03,"rounds":5,"confirmed":false},"information":"i"}})";
  const std::string refused =
      R"({"assay":{"op":"toy","case":"c","impl":"cpu","status":"refused","reason":"no","limit":null}})";
  return {context + measured + "," + refused + "]}", context + refused + "]}",
          R"({"context":{"assay":{"format":"assay.bench/1"}},"benchmarks":[{"name":"another's"}]})"};
}

bool run(std::string_view input) {
  return accepted([&] {
    const BenchmarkFile file = bench_from_json(input, kInputName);
    for (const BenchRow& row : file.rows)
      if (row.status == BenchStatus::measured && !row.measured())
        broken("a row that was measured has no time");
    std::uint64_t gated = 0, counted = 0;
    for (const BenchRow& row : file.rows) gated += row.gate ? 1 : 0;
    for (const std::uint64_t n : gate_counts(file)) counted += n;
    if (gated != counted) broken("rows of the gate that are counted under no verdict");
  });
}

}  // namespace

const Target kBenchFile{"bench_file", seeds, run};

}  // namespace assay::fuzz
