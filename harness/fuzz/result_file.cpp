// Benchmark files, ours and Google Benchmark's: result_file_from() throws FileError that names the file, or gives rows of positive
// times, which can be compared.
#include "../bench/result_file.h"

#include <cmath>

#include "../bench/compare.h"
#include "reports/file.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {
      R"({"context":{"date":"2026-01-02T03:04:05+00:00","assay":{"format":"assay.bench/1","commit":"ab","machine":)"
      R"({"fingerprint":"x"}}},"benchmarks":[{"name":"a","assay":{"op":"relu","case":"relu:f32:self=3","impl":"cpu",)"
      R"("peer":false,"cache":"warm","threads":1,"status":"measured","ns":{"median":2,"low":1.5,"high":"inf"},)"
      R"("limit":{"ns":1,"binds":"memory L1","share":0.5},"best_peer":{"impl":"torch","ratio":1.1,"low":1,"high":1.2}}}]})",
      R"({"context":{"host_name":"h","num_cpus":2},"benchmarks":[{"name":"b/3","run_name":"b/3","run_type":"iteration",)"
      R"("threads":1,"cpu_time":12.5,"time_unit":"us"},{"name":"b/3_median","run_name":"b/3","run_type":"aggregate",)"
      R"("aggregate_name":"median","cpu_time":12,"time_unit":"us"}]})",
      R"({"context":{"host_name":"h"},"benchmarks":[{"name":"c","error_occurred":true,"error_message":"no"},)"
      R"({"name":"d","skipped":true,"skip_message":"no"},{"name":"e","cpu_time":0,"time_unit":"ns","skipped":1.0}]})"};
}

bool run(std::string_view input) {
  return accepted([&] {
    const ResultFile file = result_file_from(input, kInputName);
    for (const BenchRow& r : file.rows)
      if (!(r.ns.median > 0 && std::isfinite(r.ns.median))) broken("a row without a time");
    if (compare(file, file).rows.size() > file.rows.size()) broken("more rows than there are");
  });
}

}  // namespace

const Target kResultFile{"result_file", seeds, run};

}  // namespace assay::fuzz
