// Run files: run_from_json() throws FileError that names the file, or gives a run that is written and read the same.
#include "reports/run_file.h"

#include "reports/file.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  RunResult run;
  run.command = {"assay", "verify", "\x01\xC3\xA9"};
  run.machine = {"CPU", 8, {"avx2"}, {{"dnnl", "2.6"}}, "g++", "0.1.0"};
  run.seed = ~std::uint64_t{0};
  run.shard = "1/2";
  std::vector<std::string> all{to_json(run)};
  Row row;
  row.op = "toy";
  row.impl = "cpu.avx2";
  row.dtype = "f32";
  row.verdict = Verdict::diverged;
  row.cases = 3;
  row.counts[0] = 2;
  row.counts[1] = 1;
  row.refused = {{"too large", 1}};
  row.undeclared = row.refused;
  row.elements = 1000;
  row.undecidable_elements = 7;
  row.worst = 1e300 * 1e300;
  row.failures = {{"toy:f32:self=2", Verdict::diverged, "detail", "out/x.h5", "", 4}};
  run.rows = {row};
  all.push_back(to_json(run));
  // A small one, as another program might write it: most mutations hit what is read.
  all.push_back(
      R"({"format":"assay.run/1","command":[],"machine":{},"seed":1,"results":[{"op":"a","impl":"b","peer":false,)"
      R"("dtype":"f32","verdict":"pass","cases":1,"counts":{"pass":1},"refused":{},"undecidable":0.25,"elements":8,)"
      R"("worst":"nan","reason":"","failures":[]}]})");
  return all;
}

bool run(std::string_view input) {
  return accepted([&] {
    const std::string written = to_json(run_from_json(input, kInputName));
    const std::string again = to_json(run_from_json(written, kInputName));
    if (again != written) broken("written and read again, the run is another one:\n" + written + again);
  });
}

}  // namespace

const Target kRunFile{"run_file", seeds, run};

}  // namespace assay::fuzz
